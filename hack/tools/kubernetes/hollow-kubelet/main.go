// Which node should pretend to be a machine, and how does it end?
//
// hollow-kubelet runs the real kubelet code on a pretended machine: fake container runtime, fake cAdvisor, stub
// container manager. Unlike the stock hollow node it lets the caller choose provider ID, capacity (disk and devices
// too), labels, taints and `--cloud-provider=external`, opens no port unless asked, and cleans up behind itself.
//
//	flags.go      what the caller may choose, and what is refused
//	join.go       from bootstrap token to client certificate, with an error that says what is wrong
//	capacity.go   the machine the kubelet believes in
//	run.go        the kubelet itself, its scratch directory, its end
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	"k8s.io/klog/v2"
)

func main() {
	klog.InitFlags(nil)
	wish, err := parse(flag.CommandLine, os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(0)
	}
	if err == nil {
		err = run(context.Background(), wish)
	}
	if err != nil {
		klog.Flush()
		fmt.Fprintf(os.Stderr, "hollow-kubelet: %v\n", err)
		os.Exit(1)
	}
}
