// What do owner and keeper say to each other?
package main

const (
	doStart = "start" // start a process
	doStop  = "stop"  // ask it to end, kill it after the grace time
	doStay  = "stay"  // outlive the owner; from now on SIGTERM ends the keeper
	doEnd   = "end"   // kill all, sweep, exit

	sayStarted = "started"
	sayReady   = "ready"   // the probe was answered
	sayLate    = "late"    // the probe was not answered in time
	sayExited  = "exited"  // asked for or not
	sayRefused = "refused" // the order could not be carried out
	sayStaying = "staying"
)

type order struct {
	Do          string            `json:"do"`
	Name        string            `json:"name"`
	Argv        []string          `json:"argv"`
	Env         map[string]string `json:"env"`
	Log         string            `json:"log"`
	Ready       *probe            `json:"ready"`
	GraceMillis int               `json:"graceMillis"`
}

// probe is an HTTPS address that answers 200 once the process is ready. Both sides show certificates, so a foreign
// process on the same port can never pass for ours.
type probe struct {
	URL          string `json:"url"`
	CA           string `json:"ca"`
	Cert         string `json:"cert"`
	Key          string `json:"key"`
	WithinMillis int    `json:"withinMillis"`
}

type event struct {
	Event string `json:"event"`
	Name  string `json:"name,omitempty"`
	Pid   int    `json:"pid,omitempty"`
	Said  string `json:"said,omitempty"`
}

// report is an event from a goroutine that watches one child.
type report struct {
	name  string
	from  *child
	event event
}
