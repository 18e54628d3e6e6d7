// What does one run of Karpenter's scheduler buy?

package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sort"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	karpenter "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/events"
	"sigs.k8s.io/karpenter/pkg/operator/injection"
	"sigs.k8s.io/karpenter/pkg/operator/options"
	algebra "sigs.k8s.io/karpenter/pkg/scheduling"
)

type figures struct {
	Pods         int               `json:"pods"`
	Placed       int               `json:"placed"`
	OnExisting   int               `json:"onExisting"`
	Claims       int               `json:"claims"`
	Refused      int               `json:"refused"`
	PricePerHour float64           `json:"pricePerHour"`
	Unfinished   bool              `json:"unfinished,omitempty"`
	SetupMs      float64           `json:"setupMs"`
	SolveMs      []float64         `json:"solveMs"`
	PeakRssKiB   int               `json:"peakRssKiB"`
	Plan         *plan             `json:"plan,omitempty"`
	Refusals     map[string]string `json:"-"`
	solve        time.Duration
}

// The parts of `joiner plan -o json` that a plan is checked by.
type plan struct {
	Placements []placement `json:"placements"`
	Claims     []claim     `json:"claims"`
	Refusals   []refusal   `json:"refusals"`
}

type placement struct {
	Pod  string `json:"pod"`
	Node string `json:"node"`
}

type claim struct {
	Name     string   `json:"name"`
	Pool     string   `json:"pool"`
	Pods     []string `json:"pods"`
	Cheapest bought   `json:"cheapest"`
	NumTypes int      `json:"types"`
}

type bought struct {
	Type         string  `json:"instanceType"`
	Zone         string  `json:"zone"`
	CapacityType string  `json:"capacityType"`
	Price        float64 `json:"price"`
}

type refusal struct {
	Pod string   `json:"pod"`
	Why []string `json:"why"`
}

func schedule(all *objects, sells *catalog, asked settings) (*figures, error) {
	started := time.Now()
	ctx := options.ToContext(injection.WithControllerName(context.Background(), "provisioner"), &options.Options{
		CPURequests:       1000,
		IgnoreDRARequests: true,
		PreferencePolicy:  options.PreferencePolicy(asked.preference),
		MinValuesPolicy:   options.MinValuesPolicy(asked.minValues),
		FeatureGates:      options.FeatureGates{ReservedCapacity: true},
	})
	prepare(all)
	w := newWorld(all)
	cluster := state.NewCluster(&clock.RealClock{}, w, sells)
	if err := fill(ctx, cluster, all); err != nil {
		return nil, err
	}
	recorder := events.NewRecorder(&record.FakeRecorder{})
	provisioner := provisioning.NewProvisioner(w, recorder, sells, cluster, &clock.RealClock{}, nil, nil)
	leaving := sets.New[string]()
	nodes := cluster.DeepCopyNodes()
	for _, node := range nodes.Deleting() {
		leaving.Insert(node.Name())
	}
	result := &figures{Refusals: map[string]string{}}
	moving := sets.New[types.UID]()
	var pods []*corev1.Pod
	for _, pod := range all.pods {
		if !toPlace(pod, leaving) {
			continue
		}
		result.Pods++
		if pod.Spec.NodeName != "" {
			moving.Insert(pod.UID)
		} else if err := provisioner.Validate(ctx, pod); err != nil {
			result.Refusals[key(pod)] = err.Error()
			continue
		}
		pods = append(pods, pod.DeepCopy())
	}
	chosen := []scheduling.Options{
		scheduling.NumConcurrentReconciles(asked.workers),
		scheduling.MinValuesPolicy(options.MinValuesPolicy(asked.minValues)),
		// As its provisioner does: who could have what is reserved waits for it.
		scheduling.DisableReservedCapacityFallback,
	}
	if asked.preference == "Ignore" {
		chosen = append(chosen, scheduling.IgnorePreferences)
	}
	scheduler, err := provisioner.NewScheduler(ctx, pods, nodes.Active(), moving, chosen...)
	if errors.Is(err, provisioning.ErrNodePoolsNotFound) {
		result.Refused = result.Pods
		return result, nil
	}
	if err != nil {
		return nil, err
	}
	if asked.limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, asked.limit)
		defer cancel()
	}
	result.SetupMs = time.Since(started).Seconds() * 1000
	begun := time.Now()
	results, err := scheduler.Solve(ctx, pods)
	result.solve = time.Since(begun)
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return nil, err
	}
	result.Unfinished = err != nil
	result.count(results.TruncateInstanceTypes(ctx, scheduling.MaxInstanceTypes), asked.listClaims)
	return result, nil
}

// A pod nobody has placed, or one whose node goes away.
func toPlace(pod *corev1.Pod, leaving sets.Set[string]) bool {
	if pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return false
	}
	for _, owner := range pod.OwnerReferences {
		if owner.Controller != nil && *owner.Controller && (owner.Kind == "DaemonSet" || owner.Kind == "Node") {
			return false
		}
	}
	return pod.Spec.NodeName == "" || leaving.Has(pod.Spec.NodeName)
}

// Fills in what `joiner plan` takes for granted and Karpenter reads from labels and conditions.
func prepare(all *objects) {
	for _, pod := range all.pods {
		pod.UID = uid(pod)
		if pod.Namespace == "" {
			pod.Namespace = "default"
		}
	}
	for _, pool := range all.pools {
		pool.Spec.Template.Spec.NodeClassRef = &karpenter.NodeClassReference{Group: "karpenter.sh", Kind: "NodeClaim", Name: "any"}
		if ready := pool.StatusConditions().Get("Ready"); ready == nil || !ready.IsFalse() {
			pool.StatusConditions().SetTrue(karpenter.ConditionTypeValidationSucceeded)
			pool.StatusConditions().SetTrue(karpenter.ConditionTypeNodeClassReady)
		}
	}
	claimOf := map[string]*karpenter.NodeClaim{}
	for _, claim := range all.claims {
		claimOf[claim.Status.NodeName] = claim
	}
	for _, node := range all.nodes {
		if node.Labels == nil {
			node.Labels = map[string]string{}
		}
		if node.Spec.ProviderID == "" {
			node.Spec.ProviderID = "plan://" + node.Name
		}
		if claim := claimOf[node.Name]; claim != nil {
			claim.Status.ProviderID = node.Spec.ProviderID
			for key, kind := range map[string]string{
				karpenter.NodeRegisteredLabelKey:  karpenter.ConditionTypeRegistered,
				karpenter.NodeInitializedLabelKey: karpenter.ConditionTypeInitialized,
			} {
				delete(node.Labels, key)
				if claim.StatusConditions().Get(kind).IsTrue() {
					node.Labels[key] = "true"
				}
			}
		}
	}
}

func fill(ctx context.Context, cluster *state.Cluster, all *objects) error {
	for _, claim := range all.claims {
		cluster.UpdateNodeClaim(claim)
	}
	for _, node := range all.nodes {
		if err := cluster.UpdateNode(ctx, node.DeepCopy()); err != nil {
			return err
		}
		for _, taint := range node.Spec.Taints {
			if taint.Key == karpenter.DisruptedTaintKey {
				cluster.MarkForDeletion(node.Spec.ProviderID)
			}
		}
	}
	for _, pod := range all.pods {
		if pod.Spec.NodeName != "" {
			// A pod on a node that is not in the input counts nowhere, as with `joiner plan`.
			_ = cluster.UpdatePod(ctx, pod)
		}
	}
	for _, daemons := range all.daemonSets {
		if err := cluster.UpdateDaemonSet(ctx, daemons); err != nil {
			return err
		}
	}
	return nil
}

func (result *figures) count(results scheduling.Results, listClaims bool) {
	told := &plan{}
	for _, node := range results.ExistingNodes {
		result.OnExisting += len(node.Pods)
		for _, pod := range node.Pods {
			told.Placements = append(told.Placements, placement{Pod: key(pod), Node: node.Name()})
		}
	}
	result.Placed = result.OnExisting
	for at, opened := range results.NewNodeClaims {
		first := cheapest(opened)
		result.Placed += len(opened.Pods)
		result.Claims++
		result.PricePerHour += first.Price
		one := claim{Name: fmt.Sprintf("%s-%d", opened.NodePoolName, at), Pool: opened.NodePoolName, Cheapest: first, NumTypes: len(opened.InstanceTypeOptions)}
		for _, pod := range opened.Pods {
			one.Pods = append(one.Pods, key(pod))
		}
		sort.Strings(one.Pods)
		told.Claims = append(told.Claims, one)
	}
	for pod, err := range results.PodErrors {
		result.Refusals[key(pod)] = err.Error()
	}
	result.Refused = result.Pods - result.Placed
	if listClaims {
		for pod, why := range result.Refusals {
			told.Refusals = append(told.Refusals, refusal{Pod: pod, Why: []string{why}})
		}
		sort.Slice(told.Refusals, func(a, b int) bool { return told.Refusals[a].Pod < told.Refusals[b].Pod })
		result.Plan = told
	}
}

func key(pod *corev1.Pod) string { return pod.Namespace + "/" + pod.Name }

// The offering that Karpenter would ask for first.
func cheapest(claim *scheduling.NodeClaim) bought {
	least := bought{Price: math.MaxFloat64}
	// Only who holds a reservation takes from it; the label says so.
	holds := claim.Requirements.Has(cloudprovider.ReservationIDLabel)
	for _, kind := range claim.InstanceTypeOptions {
		for _, offering := range kind.Offerings {
			fits := claim.Requirements.IsCompatible(offering.Requirements, algebra.AllowUndefinedWellKnownLabels)
			reserved := offering.CapacityType() == karpenter.CapacityTypeReserved
			if offering.Launchable() && fits && reserved == holds && offering.Price < least.Price {
				least = bought{Type: kind.Name, Zone: offering.Zone(), CapacityType: offering.CapacityType(), Price: offering.Price}
			}
		}
	}
	if least.Type == "" {
		return bought{}
	}
	return least
}
