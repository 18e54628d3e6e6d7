// What may the caller choose about the node, and which choices are refused before anything starts?
package main

import (
	"errors"
	"flag"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/kubernetes/pkg/util/taints"
)

// node is everything the caller chose, already parsed.
type node struct {
	name                string
	bootstrapKubeconfig string
	kubeconfig          string
	certDir             string
	rootDir             string
	joinWithin          time.Duration

	providerID    string
	nodeIP        string
	cloudProvider string
	labels        map[string]string
	taints        []v1.Taint

	cpus     int
	memory   resource.Quantity
	disk     resource.Quantity
	extended v1.ResourceList
	maxPods  int
	port     int
}

func parse(set *flag.FlagSet, args []string) (*node, error) {
	n := &node{}
	set.StringVar(&n.name, "name", "", "node name (required)")
	set.StringVar(&n.bootstrapKubeconfig, "bootstrap-kubeconfig", "", "kubeconfig with a bootstrap token; without it -kubeconfig must exist")
	set.StringVar(&n.kubeconfig, "kubeconfig", "", "kubeconfig to write after the join, or to use if it is valid (default: kubeconfig in -root-dir)")
	set.StringVar(&n.certDir, "cert-dir", "", "where the client certificate goes (default: pki in -root-dir)")
	set.StringVar(&n.rootDir, "root-dir", "", "scratch directory, removed at the end (default: a fresh one in the temporary directory); keep the path short, sockets live in it")
	set.DurationVar(&n.joinWithin, "join-within", time.Minute, "how long API server and certificate approval may take")

	set.StringVar(&n.providerID, "provider-id", "", "spec.providerID, e.g. openstack:///6c1f…")
	set.StringVar(&n.nodeIP, "node-ip", "", "the node's InternalIP; must be an address of this host (default: the kubelet's own choice)")
	set.StringVar(&n.cloudProvider, "cloud-provider", "", "'external' registers with the uninitialized taint")
	labels := set.String("node-labels", "", "k=v,...")
	taintList := set.String("register-with-taints", "", "k=v:Effect,...")

	set.IntVar(&n.cpus, "cpus", 2, "capacity: cpu")
	memory := set.String("memory", "4Gi", "capacity: memory")
	disk := set.String("ephemeral-storage", "50Gi", "capacity: ephemeral-storage")
	extended := set.String("extended-resources", "", "capacity: devices, e.g. nvidia.com/gpu=1,...")
	set.IntVar(&n.maxPods, "max-pods", 110, "capacity: pods")
	set.IntVar(&n.port, "port", 0, "kubelet port on 127.0.0.1 (0: none)")
	if err := set.Parse(args); err != nil {
		return nil, err
	}

	var wrong []error
	note := func(flagName string, err error) {
		if err != nil {
			wrong = append(wrong, fmt.Errorf("-%s: %w", flagName, err))
		}
	}
	if n.name == "" {
		note("name", errors.New("is required"))
	}
	if n.bootstrapKubeconfig == "" && n.kubeconfig == "" {
		note("bootstrap-kubeconfig", errors.New("give it, or -kubeconfig of a node that has joined before"))
	}
	if n.cpus < 1 {
		note("cpus", fmt.Errorf("%d is not a machine; use 1 or more", n.cpus))
	}
	var err error
	n.memory, err = resource.ParseQuantity(*memory)
	note("memory", err)
	n.disk, err = resource.ParseQuantity(*disk)
	note("ephemeral-storage", err)
	n.labels, err = pairs(*labels)
	note("node-labels", err)
	n.extended, err = devices(*extended)
	note("extended-resources", err)
	n.taints, err = parseTaints(*taintList)
	note("register-with-taints", err)
	return n, errors.Join(wrong...)
}

func pairs(text string) (map[string]string, error) {
	found := map[string]string{}
	for _, part := range strings.Split(text, ",") {
		if part == "" {
			continue
		}
		key, value, ok := strings.Cut(part, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("%q is not key=value", part)
		}
		found[key] = value
	}
	return found, nil
}

func devices(text string) (v1.ResourceList, error) {
	written, err := pairs(text)
	list := v1.ResourceList{}
	for name, amount := range written {
		quantity, parseErr := resource.ParseQuantity(amount)
		if parseErr != nil {
			return nil, fmt.Errorf("%s=%s: %w", name, amount, parseErr)
		}
		list[v1.ResourceName(name)] = quantity
	}
	return list, err
}

func parseTaints(text string) ([]v1.Taint, error) {
	if text == "" {
		return nil, nil
	}
	add, remove, err := taints.ParseTaints(strings.Split(text, ","))
	if err == nil && len(remove) > 0 {
		err = fmt.Errorf("%q would remove a taint; write key=value:Effect", text)
	}
	return add, err
}
