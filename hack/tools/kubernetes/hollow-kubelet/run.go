// How does the kubelet run, and what is left when it ends? (Nothing.)
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"go.opentelemetry.io/otel/trace/noop"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientset "k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"
	_ "k8s.io/component-base/logs/json/register" // the kubelet's default configuration names this log format
	remote "k8s.io/cri-client/pkg"
	fakeremote "k8s.io/cri-client/pkg/fake"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kubelet/app/options"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubemark"
)

func run(ctx context.Context, n *node) error {
	ctx, stop := untilToldOrAlone(ctx)
	defer stop()
	removeScratch, err := prepareScratch(n)
	if err != nil {
		return err
	}
	defer removeScratch()

	config, err := join(ctx, n)
	if err != nil {
		return err
	}
	kubelet, client, err := newKubelet(n, config)
	if err != nil {
		return err
	}
	go kubelet.Run(ctx) // never returns
	go sayWhenRegistered(ctx, n, client)
	<-ctx.Done()
	return nil
}

// untilToldOrAlone ends on SIGTERM, SIGINT, or when the process that started us is gone: a node without its cluster
// would try to reach it for ever.
func untilToldOrAlone(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGINT)
	parent := os.Getppid()
	go func() {
		for range time.Tick(500 * time.Millisecond) {
			if os.Getppid() != parent {
				stop()
				return
			}
		}
	}()
	return ctx, stop
}

// prepareScratch makes the one directory that holds every file of the node.
func prepareScratch(n *node) (remove func(), err error) {
	if n.rootDir == "" {
		if n.rootDir, err = os.MkdirTemp("", "hollow-kubelet."); err != nil {
			return nil, err
		}
	}
	if n.rootDir, err = filepath.Abs(n.rootDir); err != nil {
		return nil, err
	}
	if n.kubeconfig == "" {
		n.kubeconfig = filepath.Join(n.rootDir, "kubeconfig")
	}
	if n.certDir == "" {
		n.certDir = filepath.Join(n.rootDir, "pki")
	}
	if err := os.MkdirAll(n.rootDir, 0o700); err != nil {
		return nil, fmt.Errorf("-root-dir: %w", err)
	}
	return func() {
		// The kubelet still writes while it ends, so one pass may not be enough.
		for range 20 {
			if os.RemoveAll(n.rootDir) == nil {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
	}, nil
}

func newKubelet(n *node, config *restclient.Config) (*kubemark.HollowKubelet, *clientset.Clientset, error) {
	client, err := clientset.NewForConfig(config)
	if err != nil {
		return nil, nil, err
	}
	heartbeat := *config
	heartbeat.Timeout, heartbeat.QPS = 10*time.Second, -1 // as the real kubelet: never throttled, never stuck
	heartbeatClient, err := clientset.NewForConfig(&heartbeat)
	if err != nil {
		return nil, nil, err
	}

	flags, kubeletConfig := kubemark.GetHollowKubeletConfig(&kubemark.HollowKubeletOptions{
		NodeName: n.name, KubeletPort: n.port, MaxPods: n.maxPods, NodeLabels: n.labels, RegisterWithTaints: n.taints,
	})
	if err := moveHome(n, flags, kubeletConfig); err != nil {
		return nil, nil, err
	}
	flags.CloudProvider, flags.NodeIP = n.cloudProvider, n.nodeIP
	kubeletConfig.ProviderID = n.providerID
	kubeletConfig.EnableServer, kubeletConfig.Address = n.port != 0, "127.0.0.1"
	// The real kubelet refuses such labels at its start; without the check it would try to register for ever.
	if err := options.ValidateKubeletFlags(flags); err != nil {
		return nil, nil, err
	}

	socket := "unix://" + filepath.Join(n.rootDir, "cri.sock")
	fake := fakeremote.NewFakeRemoteRuntime()
	if err := fake.Start(socket); err != nil {
		return nil, nil, fmt.Errorf("fake container runtime: %w", err)
	}
	logger := klog.Background()
	runtime, err := remote.NewRemoteRuntimeService(socket, 15*time.Second, noop.NewTracerProvider(), &logger)
	if err != nil {
		return nil, nil, fmt.Errorf("fake container runtime: %w", err)
	}
	kubelet := kubemark.NewHollowKubelet(flags, kubeletConfig, client, heartbeatClient,
		newMachine(n), fake.ImageService, runtime, newContainers(n))
	return kubelet, client, nil
}

// moveHome gives the kubelet folders inside ours: the stock configuration has just made some in /tmp, which nobody
// would ever remove.
func moveHome(n *node, flags *options.KubeletFlags, config *kubeletconfig.KubeletConfiguration) error {
	if err := os.RemoveAll(flags.RootDirectory); err != nil {
		return err
	}
	flags.RootDirectory = filepath.Join(n.rootDir, "k")
	config.StaticPodPath = filepath.Join(n.rootDir, "static-pods")
	config.PodLogsDir = filepath.Join(n.rootDir, "pod-logs")
	for _, dir := range []string{flags.RootDirectory, config.StaticPodPath, config.PodLogsDir} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	return nil
}

func sayWhenRegistered(ctx context.Context, n *node, client clientset.Interface) {
	for attempt := 1; ctx.Err() == nil; attempt++ {
		_, err := client.CoreV1().Nodes().Get(ctx, n.name, metav1.GetOptions{})
		if err == nil {
			fmt.Fprintf(os.Stderr, "hollow-kubelet: node %q is registered\n", n.name)
			return
		}
		if attempt%10 == 0 && ctx.Err() == nil {
			fmt.Fprintf(os.Stderr, "hollow-kubelet: node %q is still not registered, look for \"Unable to register node\" above (%v)\n", n.name, err)
		}
		time.Sleep(time.Second)
	}
}
