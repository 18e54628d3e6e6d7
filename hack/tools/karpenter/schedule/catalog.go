// What can be bought, in Karpenter's terms?

package main

import (
	"context"
	"fmt"
	"os"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	karpenter "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/scheduling"
	"sigs.k8s.io/yaml"
)

type catalogFile struct {
	WellKnownLabels []string            `json:"wellKnownLabels"`
	InstanceTypes   []typeEntry         `json:"instanceTypes"`
	Pools           map[string][]string `json:"pools"`
}

type typeEntry struct {
	Name         string                           `json:"name"`
	Requirements []corev1.NodeSelectorRequirement `json:"requirements"`
	Capacity     corev1.ResourceList              `json:"capacity"`
	Overhead     corev1.ResourceList              `json:"overhead"`
	Offerings    []offeringEntry                  `json:"offerings"`
}

type offeringEntry struct {
	Requirements        []corev1.NodeSelectorRequirement `json:"requirements"`
	Price               *float64                         `json:"price"`
	Available           *bool                            `json:"available"`
	ReservationCapacity int                              `json:"reservationCapacity"`
}

// A cloud that only knows what it sells.
type catalog struct {
	cloudprovider.CloudProvider
	types []*cloudprovider.InstanceType
	pools map[string]sets.Set[string]
}

func readCatalog(path string) (*catalog, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var file catalogFile
	if err := yaml.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	cloudprovider.ReservationIDLabel = "joiner.dev/reservation"
	karpenter.WellKnownLabels.Insert(file.WellKnownLabels...)
	karpenter.WellKnownLabels.Insert(cloudprovider.ReservationIDLabel)
	all := &catalog{pools: map[string]sets.Set[string]{}}
	for _, entry := range file.InstanceTypes {
		all.types = append(all.types, entry.instanceType())
	}
	for pool, types := range file.Pools {
		all.pools[pool] = sets.New(types...)
	}
	return all, nil
}

func (entry typeEntry) instanceType() *cloudprovider.InstanceType {
	requirements := scheduling.NewNodeSelectorRequirements(entry.Requirements...)
	zones, capacityTypes := sets.New[string](), sets.New[string]()
	var offerings cloudprovider.Offerings
	for at, raw := range entry.Offerings {
		offering := raw.offering(fmt.Sprintf("%s-%d", entry.Name, at))
		offerings = append(offerings, offering)
		if offering.Available {
			zones.Insert(offering.Requirements.Get(corev1.LabelTopologyZone).Values()...)
			capacityTypes.Insert(offering.Requirements.Get(karpenter.CapacityTypeLabelKey).Values()...)
		}
	}
	requirements.Add(
		scheduling.NewRequirement(corev1.LabelInstanceTypeStable, corev1.NodeSelectorOpIn, entry.Name),
		scheduling.NewRequirement(corev1.LabelTopologyZone, corev1.NodeSelectorOpIn, sets.List(zones)...),
		scheduling.NewRequirement(karpenter.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, sets.List(capacityTypes)...),
	)
	for key := range karpenter.WellKnownLabels {
		if !requirements.Has(key) && key != karpenter.NodePoolLabelKey && key != cloudprovider.ReservationIDLabel {
			requirements.Add(scheduling.NewRequirement(key, corev1.NodeSelectorOpDoesNotExist))
		}
	}
	return &cloudprovider.InstanceType{
		Name:         entry.Name,
		Requirements: requirements,
		Offerings:    offerings,
		Capacity:     entry.Capacity,
		Overhead:     &cloudprovider.InstanceTypeOverhead{KubeReserved: entry.Overhead},
	}
}

func (raw offeringEntry) offering(id string) *cloudprovider.Offering {
	offering := &cloudprovider.Offering{
		Requirements:        scheduling.NewNodeSelectorRequirements(raw.Requirements...),
		Available:           raw.Available == nil || *raw.Available,
		ReservationCapacity: raw.ReservationCapacity,
	}
	if raw.Price != nil {
		offering.Price = *raw.Price
	}
	if offering.CapacityType() == karpenter.CapacityTypeReserved {
		offering.Requirements.Add(scheduling.NewRequirement(cloudprovider.ReservationIDLabel, corev1.NodeSelectorOpIn, id))
	}
	return offering
}

func (all *catalog) GetInstanceTypes(_ context.Context, pool *karpenter.NodePool) ([]*cloudprovider.InstanceType, error) {
	seen, narrowed := all.pools[pool.Name]
	var types []*cloudprovider.InstanceType
	for _, one := range all.types {
		if !narrowed || seen.Has(one.Name) {
			types = append(types, one)
		}
	}
	return types, nil
}

func (all *catalog) Name() string { return "plan" }

func (all *catalog) RepairPolicies() []cloudprovider.RepairPolicy { return nil }

// Pools are pointed at this kind when they are read: which class they name does not matter here.
func (all *catalog) GetSupportedNodeClasses() []status.Object {
	return []status.Object{&karpenter.NodeClaim{}}
}
