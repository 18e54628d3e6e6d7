// What would Karpenter's scheduler make of the files that `joiner plan` reads?
//
// It is fed exactly the input of `joiner plan` (see the user guide) and prints one JSON object: figures of the plan, and
// the time each Solve took. Only Solve is timed: reading, cluster state and topology are built outside the clock.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime/pprof"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/karpenter/pkg/operator/logging"
)

type settings struct {
	files      []string
	catalog    string
	preference string
	minValues  string
	workers    int
	repeat     int
	warm       int
	limit      time.Duration
	listClaims bool
	profile    string
}

func main() {
	// As Karpenter's own benchmark does: writing lines is not scheduling.
	log.SetLogger(logging.NopLogger)
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run() error {
	asked := settings{}
	flag.Func("f", "file with objects, repeatable", func(path string) error {
		asked.files = append(asked.files, path)
		return nil
	})
	flag.StringVar(&asked.catalog, "catalog", "", "file with the catalog")
	flag.StringVar(&asked.preference, "preference-policy", "Respect", "Respect or Ignore")
	flag.StringVar(&asked.minValues, "min-values-policy", "Strict", "Strict or BestEffort")
	flag.IntVar(&asked.workers, "workers", 1, "parallel workers: 1 is what Karpenter takes by default, 5 what its benchmark takes")
	flag.IntVar(&asked.repeat, "repeat", 1, "timed runs")
	flag.IntVar(&asked.warm, "warm", 0, "pods of an untimed run before the timed ones; 0: none")
	flag.DurationVar(&asked.limit, "limit", 0, "stop a Solve after this time; 0: never")
	flag.BoolVar(&asked.listClaims, "claims", false, "list the claims and the refusals too")
	flag.StringVar(&asked.profile, "cpuprofile", "", "write where the time went into this file")
	flag.Parse()
	if asked.profile != "" {
		file, err := os.Create(asked.profile)
		if err != nil {
			return err
		}
		if err := pprof.StartCPUProfile(file); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}

	objects, err := read(asked.files)
	if err != nil {
		return err
	}
	catalog, err := readCatalog(asked.catalog)
	if err != nil {
		return err
	}
	if asked.warm > 0 {
		if _, err := schedule(objects.first(asked.warm), catalog, asked); err != nil {
			return err
		}
	}
	var last *figures
	var times []float64
	for range max(asked.repeat, 1) {
		last, err = schedule(objects, catalog, asked)
		if err != nil {
			return err
		}
		times = append(times, last.solve.Seconds()*1000)
	}
	last.SolveMs = times
	last.PeakRssKiB = peakRss()
	text, err := json.Marshal(last)
	if err != nil {
		return err
	}
	fmt.Println(string(text))
	return nil
}

// The most memory this process ever held.
func peakRss() int {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		var kib int
		if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &kib); err == nil {
			return kib
		}
	}
	return 0
}
