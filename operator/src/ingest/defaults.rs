//! Which of the cluster's default spreads does a pod get?
//!
//! Services and ReplicaSets say whom kube-scheduler counts for them; here the pods of one owner are told by the labels they
//! share, so that a plan needs neither.

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use planner::snapshot::{Selector, Spread};
use planner::{Operator, Requirement};

/// Labels that tell the pods of one owner apart.
const OWN: [&str; 4] = [
    "statefulset.kubernetes.io/pod-name",
    "apps.kubernetes.io/pod-index",
    "batch.kubernetes.io/job-completion-index",
    "controller-revision-hash",
];

/// The constraints a pod gets that has none of its own; a pod without owner gets none.
pub fn given(defaults: &[Spread], pod: &Pod) -> Vec<Spread> {
    let owned = pod
        .owner_references()
        .iter()
        .any(|owner| owner.controller == Some(true));
    let shared = pod
        .labels()
        .iter()
        .filter(|(key, _)| !OWN.contains(&key.as_str()));
    let shared: Vec<Requirement> = shared
        .filter_map(|(key, value)| Requirement::label(key, Operator::In, &[value]).ok())
        .collect();
    if !owned || shared.is_empty() {
        return Vec::new();
    }
    let selector = Selector::new(shared);
    defaults
        .iter()
        .map(|spread| spread.for_pods(selector.clone()))
        .collect()
}
