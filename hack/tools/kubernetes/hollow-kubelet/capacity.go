// Which machine does the kubelet believe it runs on?
package main

import (
	cadvisorapi "github.com/google/cadvisor/info/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/kubelet/cadvisor/testing"
	"k8s.io/kubernetes/pkg/kubelet/cm"
)

// machine answers what cAdvisor would read from /proc: cores and memory.
type machine struct {
	testing.Fake
	cores  int
	memory uint64
}

func newMachine(n *node) *machine {
	return &machine{Fake: testing.Fake{NodeName: n.name}, cores: n.cpus, memory: uint64(n.memory.Value())}
}

func (m *machine) MachineInfo() (*cadvisorapi.MachineInfo, error) {
	seen, err := m.Fake.MachineInfo()
	if err != nil {
		return nil, err
	}
	seen.NumCores, seen.MemoryCapacity = m.cores, m.memory
	return seen, nil
}

// containers is the stub container manager with a disk: the stub alone reports none, and a pod that asks for
// ephemeral storage would never fit. Devices come from the stub.
type containers struct {
	cm.ContainerManager
	capacity v1.ResourceList
}

func newContainers(n *node) containers {
	return containers{
		ContainerManager: cm.NewStubContainerManagerWithDevicePluginResource(n.extended),
		capacity:         v1.ResourceList{v1.ResourceEphemeralStorage: n.disk},
	}
}

func (c containers) GetCapacity(bool) v1.ResourceList {
	return c.capacity
}
