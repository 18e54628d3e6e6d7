// What does one run of Karpenter's scheduler buy?

package main

import (
	"context"
	"errors"
	"math"
	"sort"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	karpenter "sigs.k8s.io/karpenter/pkg/apis/v1"
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
	ClaimList    []claimFigures    `json:"claimList,omitempty"`
	Refusals     map[string]string `json:"refusals,omitempty"`
	solve        time.Duration
}

type claimFigures struct {
	Pool     string   `json:"pool"`
	Type     string   `json:"type"`
	Price    float64  `json:"price"`
	Pods     []string `json:"pods"`
	NumTypes int      `json:"types"`
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
			result.Refusals[pod.Namespace+"/"+pod.Name] = err.Error()
			continue
		}
		pods = append(pods, pod.DeepCopy())
	}
	chosen := []scheduling.Options{
		scheduling.NumConcurrentReconciles(asked.workers),
		scheduling.MinValuesPolicy(options.MinValuesPolicy(asked.minValues)),
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
	for _, node := range results.ExistingNodes {
		result.OnExisting += len(node.Pods)
	}
	result.Placed = result.OnExisting
	for _, claim := range results.NewNodeClaims {
		kind, price := cheapest(claim)
		result.Placed += len(claim.Pods)
		result.Claims++
		result.PricePerHour += price
		if listClaims {
			one := claimFigures{Pool: claim.NodePoolName, Type: kind, Price: price, NumTypes: len(claim.InstanceTypeOptions)}
			for _, pod := range claim.Pods {
				one.Pods = append(one.Pods, pod.Namespace+"/"+pod.Name)
			}
			sort.Strings(one.Pods)
			result.ClaimList = append(result.ClaimList, one)
		}
	}
	for pod, err := range results.PodErrors {
		result.Refusals[pod.Namespace+"/"+pod.Name] = err.Error()
	}
	result.Refused = result.Pods - result.Placed
	if !listClaims {
		result.Refusals = nil
	}
}

// The offering that Karpenter would ask for first.
func cheapest(claim *scheduling.NodeClaim) (string, float64) {
	name, least := "", math.MaxFloat64
	for _, kind := range claim.InstanceTypeOptions {
		for _, offering := range kind.Offerings {
			fits := claim.Requirements.IsCompatible(offering.Requirements, algebra.AllowUndefinedWellKnownLabels)
			if offering.Launchable() && fits && offering.Price < least {
				name, least = kind.Name, offering.Price
			}
		}
	}
	if name == "" {
		return "", 0
	}
	return name, least
}
