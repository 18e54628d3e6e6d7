//! What room is a claim going to give?

use crds::karpenter::NodeClaim;
use crds::shared::conditions::{Condition, ConditionStatus};
use kube::ResourceExt;
use planner::lifecycle::ledger::AttemptState;
use planner::snapshot::Claim;
use planner::{ClassRef, ClusterId, Identity, Requirement, Requirements, labels};

use crate::ledger;

pub const GROUP: &str = "karpenter.k8s.openstack";
pub const KIND: &str = "OpenStackNodeClass";

/// Is its class one of ours? Nothing else of another Karpenter is ever written.
pub fn is_ours(claim: &NodeClaim) -> bool {
    let class = &claim.spec.node_class_ref;
    class.group == GROUP && class.kind == KIND
}

pub fn class(claim: &NodeClaim) -> ClassRef {
    let class = &claim.spec.node_class_ref;
    ClassRef::new(
        class.group.as_str(),
        class.kind.as_str(),
        class.name.as_str(),
    )
}

pub fn identity(claim: &NodeClaim, cluster: &ClusterId) -> Option<Identity> {
    Some(Identity {
        cluster: cluster.clone(),
        claim: claim.uid()?.into(),
    })
}

pub fn condition<'a>(claim: &'a NodeClaim, kind: &str) -> Option<&'a Condition> {
    let conditions = claim.status.as_ref()?.conditions.as_ref()?;
    conditions.iter().find(|condition| condition.type_ == kind)
}

pub fn holds(claim: &NodeClaim, kind: &str) -> bool {
    condition(claim, kind).is_some_and(|condition| condition.status == ConditionStatus::True)
}

/// The instance's id from status, if any.
pub fn instance(claim: &NodeClaim) -> Option<&str> {
    let id = claim.status.as_ref()?.provider_id.as_deref()?;
    super::node::instance_of(id)
}

/// Is the instance gone for good, as the ledger says?
pub fn proven_gone(claim: &NodeClaim) -> bool {
    let Ok(Some(ledger)) = ledger::read(claim) else {
        return false;
    };
    let last = ledger.attempts.last();
    last.is_some_and(|attempt| attempt.state == AttemptState::Gone)
}

/// A claim that is no node yet, for planning.
pub fn in_flight(claim: &NodeClaim) -> Claim {
    let requirements: Requirements = claim
        .spec
        .requirements
        .iter()
        .filter_map(|raw| super::requirement(raw).ok())
        .collect();
    let first = ledger::offerings(claim)
        .ok()
        .and_then(|all| all.into_iter().next());
    let status = claim.status.as_ref();
    let told = status.and_then(|status| {
        let capacity = super::amounts(Some(status.capacity.as_ref()?)).ok()?;
        let allocatable = super::amounts(Some(status.allocatable.as_ref()?)).ok()?;
        Some((capacity, allocatable))
    });
    let requests = claim
        .spec
        .resources
        .as_ref()
        .and_then(|all| all.requests.as_ref());
    let mut labels = super::labels(claim.labels());
    if let Some(first) = &first {
        for (key, value) in [
            (labels::INSTANCE_TYPE, first.instance_type.as_ref()),
            (labels::ZONE, first.zone.as_ref()),
            (labels::CAPACITY_TYPE, first.capacity_type.as_str()),
        ] {
            if !labels.iter().any(|(there, _)| there.as_ref() == key) {
                labels.push((key.into(), value.into()));
            }
        }
    }
    Claim {
        name: claim.name_any().into(),
        pool: claim
            .labels()
            .get(labels::POOL)
            .map_or("", String::as_str)
            .into(),
        labels,
        requirements: narrowed(requirements, first.as_ref()),
        taints: super::crd_taints(claim.spec.taints.as_ref()),
        requests: super::amounts(requests).unwrap_or_default(),
        offering: first.map(|first| (first.instance_type, first.zone, first.capacity_type)),
        told,
        leaving: claim.metadata.deletion_timestamp.is_some() || proven_gone(claim),
    }
}

/// Only the first offering is ever tried, so that is where the node will be.
fn narrowed(
    mut all: Requirements,
    first: Option<&planner::lifecycle::ledger::OfferingName>,
) -> Requirements {
    if let Some(first) = first {
        all.replace(Requirement::one_of(
            labels::INSTANCE_TYPE,
            [first.instance_type.as_ref()],
        ));
        all.replace(Requirement::one_of(labels::ZONE, [first.zone.as_ref()]));
        all.replace(Requirement::one_of(
            labels::CAPACITY_TYPE,
            [first.capacity_type.as_str()],
        ));
    }
    all
}
