// Which objects do the files hold?

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	karpenter "sigs.k8s.io/karpenter/pkg/apis/v1"
)

type objects struct {
	pods           []*corev1.Pod
	nodes          []*corev1.Node
	pools          []*karpenter.NodePool
	claims         []*karpenter.NodeClaim
	daemonSets     []*appsv1.DaemonSet
	volumeClaims   []*corev1.PersistentVolumeClaim
	volumes        []*corev1.PersistentVolume
	storageClasses []*storagev1.StorageClass
	csiNodes       []*storagev1.CSINode
	namespaces     []*corev1.Namespace
}

func read(files []string) (*objects, error) {
	all := &objects{}
	for _, path := range files {
		file, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		err = all.stream(bufio.NewReaderSize(file, 1<<20))
		_ = file.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return all, nil
}

func (all *objects) stream(from io.Reader) error {
	decoder := yaml.NewYAMLOrJSONDecoder(from, 1<<20)
	for document := 1; ; document++ {
		var raw json.RawMessage
		if err := decoder.Decode(&raw); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("document %d: %w", document, err)
		}
		if err := all.add(raw); err != nil {
			return fmt.Errorf("document %d: %w", document, err)
		}
	}
}

func (all *objects) add(raw json.RawMessage) error {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	var what struct {
		Kind  string            `json:"kind"`
		Items []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(raw, &what); err != nil {
		return err
	}
	if strings.HasSuffix(what.Kind, "List") {
		for _, item := range what.Items {
			if err := all.add(item); err != nil {
				return err
			}
		}
		return nil
	}
	switch what.Kind {
	case "Pod":
		return add(raw, &all.pods)
	case "Node":
		return add(raw, &all.nodes)
	case "NodePool":
		return add(raw, &all.pools)
	case "NodeClaim":
		return add(raw, &all.claims)
	case "DaemonSet":
		return add(raw, &all.daemonSets)
	case "PersistentVolumeClaim":
		return add(raw, &all.volumeClaims)
	case "PersistentVolume":
		return add(raw, &all.volumes)
	case "StorageClass":
		return add(raw, &all.storageClasses)
	case "CSINode":
		return add(raw, &all.csiNodes)
	case "Namespace":
		return add(raw, &all.namespaces)
	}
	return nil
}

func add[T any](raw json.RawMessage, to *[]*T) error {
	var one T
	if err := json.Unmarshal(raw, &one); err != nil {
		return err
	}
	*to = append(*to, &one)
	return nil
}

// The same world with fewer pending pods.
func (all *objects) first(pending int) *objects {
	fewer := *all
	fewer.pods = nil
	for _, pod := range all.pods {
		if pod.Spec.NodeName == "" {
			if pending == 0 {
				continue
			}
			pending--
		}
		fewer.pods = append(fewer.pods, pod)
	}
	return &fewer
}

// A pod without uid is known by its name: the scheduler keeps what it learnt about pods by uid.
func uid(pod *corev1.Pod) types.UID {
	if pod.UID != "" {
		return pod.UID
	}
	return types.UID(pod.Namespace + "/" + pod.Name)
}
