// hollow-kubelet: the real kubelet code with a fake CRI, fake cadvisor and a stub container manager,
// with what kubemark does not offer: provider ID, capacity, disk, --cloud-provider=external, no server port.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	cadvisorapi "github.com/google/cadvisor/info/v1"
	"go.opentelemetry.io/otel/trace/noop"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	_ "k8s.io/component-base/logs/json/register"
	remote "k8s.io/cri-client/pkg"
	fakeremote "k8s.io/cri-client/pkg/fake"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/cadvisor/testing"
	"k8s.io/kubernetes/pkg/kubelet/certificate/bootstrap"
	"k8s.io/kubernetes/pkg/kubelet/cm"
	"k8s.io/kubernetes/pkg/kubemark"
)

type machine struct {
	testing.Fake
	cpus int
	mem  uint64
}

func (m *machine) MachineInfo() (*cadvisorapi.MachineInfo, error) {
	i, err := m.Fake.MachineInfo()
	i.NumCores, i.MemoryCapacity = m.cpus, m.mem
	return i, err
}

// the stub container manager reports no disk
type manager struct {
	cm.ContainerManager
	disk resource.Quantity
}

func (m manager) GetCapacity(bool) v1.ResourceList {
	return v1.ResourceList{v1.ResourceEphemeralStorage: m.disk}
}

func kv(s string) map[string]string {
	m := map[string]string{}
	for _, p := range strings.Split(s, ",") {
		if k, v, ok := strings.Cut(p, "="); ok {
			m[k] = v
		}
	}
	return m
}

func main() {
	klog.InitFlags(nil)
	name := flag.String("name", "", "node name")
	bootKC := flag.String("bootstrap-kubeconfig", "", "kubeconfig with a bootstrap token")
	kc := flag.String("kubeconfig", "", "kubeconfig to write (or to use if it exists)")
	certDir := flag.String("cert-dir", "", "where the client certificate goes")
	providerID := flag.String("provider-id", "", "spec.providerID")
	cpus := flag.Int("cpus", 2, "capacity")
	mem := flag.String("memory", "4Gi", "capacity")
	disk := flag.String("ephemeral-storage", "50Gi", "capacity")
	ext := flag.String("extended-resources", "", "nvidia.com/gpu=1,...")
	pods := flag.Int("max-pods", 110, "capacity")
	labels := flag.String("node-labels", "", "k=v,...")
	taints := flag.String("register-with-taints", "", "k=v:Effect,...")
	port := flag.Int("port", 0, "kubelet port (0: no server)")
	cloud := flag.String("cloud-provider", "", "'external' to register with the uninitialized taint")
	flag.Parse()
	ctx := context.Background()
	die := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, "hollow-kubelet:", err)
			os.Exit(1)
		}
	}
	if *bootKC != "" {
		die(bootstrap.LoadClientCert(ctx, *kc, *bootKC, *certDir, types.NodeName(*name)))
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", *kc)
	die(err)
	client, err := clientset.NewForConfig(cfg)
	die(err)
	hb := *cfg
	hb.Timeout, hb.QPS = 10*time.Second, -1
	hbClient, err := clientset.NewForConfig(&hb)
	die(err)
	var ts []v1.Taint
	for _, t := range strings.Split(*taints, ",") {
		if k, e, ok := strings.Cut(t, ":"); ok {
			key, val, _ := strings.Cut(k, "=")
			ts = append(ts, v1.Taint{Key: key, Value: val, Effect: v1.TaintEffect(e)})
		}
	}
	f, c := kubemark.GetHollowKubeletConfig(&kubemark.HollowKubeletOptions{
		NodeName: *name, KubeletPort: *port, MaxPods: *pods, NodeLabels: kv(*labels), RegisterWithTaints: ts,
	})
	f.CloudProvider = *cloud
	c.ProviderID = *providerID
	c.EnableServer = *port != 0
	c.Address = "127.0.0.1"
	endpoint, err := fakeremote.GenerateEndpoint()
	die(err)
	fr := fakeremote.NewFakeRemoteRuntime()
	die(fr.Start(endpoint))
	logger := klog.Background()
	rt, err := remote.NewRemoteRuntimeService(endpoint, 15*time.Second, noop.NewTracerProvider(), &logger)
	die(err)
	q := resource.MustParse(*mem)
	extended := v1.ResourceList{}
	for k, v := range kv(*ext) {
		extended[v1.ResourceName(k)] = resource.MustParse(v)
	}
	kubemark.NewHollowKubelet(f, c, client, hbClient,
		&machine{Fake: testing.Fake{NodeName: *name}, cpus: *cpus, mem: uint64(q.Value())},
		fr.ImageService, rt,
		manager{cm.NewStubContainerManagerWithDevicePluginResource(extended), resource.MustParse(*disk)}).Run(ctx)
}
