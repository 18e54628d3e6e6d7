// How does Karpenter read the objects? Through a client that answers from memory, with indices instead of a server.

package main

import (
	"context"
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpenter "sigs.k8s.io/karpenter/pkg/apis/v1"
)

type world struct {
	client.Client // every call that is not answered below would be a mistake, and panics
	objects       *objects
	byKey         map[reflect.Type]map[client.ObjectKey]client.Object
	onNode        map[string][]corev1.Pod
	inNamespace   map[string][]corev1.Pod
}

func newWorld(all *objects) *world {
	w := &world{
		objects:     all,
		byKey:       map[reflect.Type]map[client.ObjectKey]client.Object{},
		onNode:      map[string][]corev1.Pod{},
		inNamespace: map[string][]corev1.Pod{},
	}
	keep(w, all.nodes)
	keep(w, all.pools)
	keep(w, all.claims)
	keep(w, all.volumeClaims)
	keep(w, all.volumes)
	keep(w, all.storageClasses)
	keep(w, all.csiNodes)
	for _, pod := range all.pods {
		if pod.Spec.NodeName != "" {
			w.onNode[pod.Spec.NodeName] = append(w.onNode[pod.Spec.NodeName], *pod)
			w.inNamespace[pod.Namespace] = append(w.inNamespace[pod.Namespace], *pod)
		}
	}
	return w
}

func keep[T client.Object](w *world, all []T) {
	for _, one := range all {
		kind := reflect.TypeOf(one)
		if w.byKey[kind] == nil {
			w.byKey[kind] = map[client.ObjectKey]client.Object{}
		}
		w.byKey[kind][client.ObjectKeyFromObject(one)] = one
	}
}

func (w *world) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	of := w.byKey[reflect.TypeOf(into)]
	found, there := of[key]
	if !there {
		// Karpenter asks for cluster-wide objects with a namespace now and then.
		found, there = of[client.ObjectKey{Name: key.Name}]
	}
	if !there {
		return apierrors.NewNotFound(schema.GroupResource{Resource: reflect.TypeOf(into).Elem().Name()}, key.Name)
	}
	reflect.ValueOf(into).Elem().Set(reflect.ValueOf(found).Elem())
	return nil
}

func (w *world) List(_ context.Context, into client.ObjectList, options ...client.ListOption) error {
	asked := client.ListOptions{}
	asked.ApplyOptions(options)
	switch list := into.(type) {
	case *corev1.PodList:
		list.Items = w.pods(&asked)
	case *corev1.NamespaceList:
		for _, one := range w.objects.namespaces {
			if selected(&asked, one.Labels) {
				list.Items = append(list.Items, *one)
			}
		}
	case *karpenter.NodePoolList:
		for _, one := range w.objects.pools {
			list.Items = append(list.Items, *one.DeepCopy())
		}
	case *karpenter.NodeClaimList:
		for _, one := range w.objects.claims {
			list.Items = append(list.Items, *one.DeepCopy())
		}
	case *appsv1.DaemonSetList:
		for _, one := range w.objects.daemonSets {
			list.Items = append(list.Items, *one.DeepCopy())
		}
	case *corev1.NodeList:
		for _, one := range w.objects.nodes {
			list.Items = append(list.Items, *one.DeepCopy())
		}
	}
	return nil
}

func (w *world) pods(asked *client.ListOptions) []corev1.Pod {
	if asked.FieldSelector != nil {
		if node, exact := asked.FieldSelector.RequiresExactMatch("spec.nodeName"); exact {
			return w.onNode[node]
		}
	}
	var found []corev1.Pod
	for namespace, pods := range w.inNamespace {
		if asked.Namespace != "" && asked.Namespace != namespace {
			continue
		}
		for _, pod := range pods {
			if selected(asked, pod.Labels) {
				found = append(found, pod)
			}
		}
	}
	return found
}

func selected(asked *client.ListOptions, has map[string]string) bool {
	return asked.LabelSelector == nil || asked.LabelSelector.Matches(labels.Set(has))
}
