// Who ends the processes of a test cluster when the one who started them is gone?
//
// keeper starts processes on request and outlives none of its duties: when its owner dies in whatever way, the pipe on
// stdin closes, and keeper kills every process it started and removes the directories it was told to sweep. If keeper
// itself is killed, the kernel kills its children (parent death signal). So neither Ctrl-C nor SIGKILL leaves anything.
//
//	words.go   what owner and keeper say to each other (JSON lines on stdin and stdout)
//	child.go   one process: start, stop, death
//	probe.go   is it ready?
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// The parent death signal fires when the *thread* that forked ends. The main thread never does.
func init() { runtime.LockOSThread() }

func main() {
	sweep := flag.String("sweep", "", "directories to remove at the end, separated by commas")
	flag.Parse()

	// A session of our own: Ctrl-C in the owner's terminal must not kill us before we have cleaned up.
	_, _ = syscall.Setsid()
	signal.Ignore(syscall.SIGHUP, syscall.SIGPIPE)
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTERM, syscall.SIGINT)

	k := &keeper{children: map[string]*child{}, reports: make(chan report, 64), out: json.NewEncoder(os.Stdout)}
	k.serve(listen(), told)
	k.end()
	for _, dir := range strings.Split(*sweep, ",") {
		remove(dir)
	}
}

type keeper struct {
	children map[string]*child
	reports  chan report
	out      *json.Encoder
}

// serve returns when it is time to end.
func (k *keeper) serve(orders <-chan order, told <-chan os.Signal) {
	staying := false
	for {
		select {
		case o, open := <-orders:
			switch {
			case !open && staying:
				orders = nil // nobody will ask again; a signal ends us
			case !open || o.Do == doEnd:
				return
			case o.Do == doStay:
				staying = true
				k.say(event{Event: sayStaying})
			default:
				k.obey(o)
			}
		case r := <-k.reports:
			k.note(r)
		case <-told:
			return
		}
	}
}

func (k *keeper) obey(o order) {
	switch o.Do {
	case doStart:
		if k.children[o.Name] != nil {
			k.say(event{Event: sayRefused, Name: o.Name, Said: "is running already"})
			return
		}
		c, err := start(o, k.reports)
		if err != nil {
			k.say(event{Event: sayRefused, Name: o.Name, Said: err.Error()})
			return
		}
		k.children[o.Name] = c
		k.say(event{Event: sayStarted, Name: o.Name, Pid: c.cmd.Process.Pid})
	case doStop:
		if c := k.children[o.Name]; c != nil {
			c.stop(time.Duration(o.GraceMillis) * time.Millisecond)
		} else {
			k.say(event{Event: sayExited, Name: o.Name, Said: "was not running"})
		}
	default:
		k.say(event{Event: sayRefused, Name: o.Name, Said: fmt.Sprintf("unknown order %q", o.Do)})
	}
}

func (k *keeper) note(r report) {
	if k.children[r.name] != r.from {
		return // an earlier process of that name
	}
	if r.event.Event == sayExited {
		delete(k.children, r.name)
	}
	k.say(r.event)
}

func (k *keeper) say(e event) {
	_ = k.out.Encode(e) // the owner may be gone; our duties stay the same
}

// end kills at once: what these processes know is about to be deleted, so there is nothing to save.
func (k *keeper) end() {
	for _, c := range k.children {
		c.kill()
	}
	for _, c := range k.children {
		<-c.gone
	}
}

func listen() <-chan order {
	orders := make(chan order)
	go func() {
		defer close(orders)
		lines := bufio.NewReader(os.Stdin)
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return // the owner is gone
			}
			var o order
			if err := json.Unmarshal(line, &o); err != nil {
				o = order{Do: "unreadable: " + err.Error()}
			}
			orders <- o
		}
	}()
	return orders
}

func remove(dir string) {
	if dir == "" {
		return
	}
	var err error
	for range 20 {
		if err = os.RemoveAll(dir); err == nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	fmt.Fprintln(os.Stderr, "keeper:", err)
}
