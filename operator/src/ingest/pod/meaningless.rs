//! What does a pod that waits ask for that no node can ever be or have?
//!
//! An empty term of node affinity matches nothing, and the API server lets it through: a node bought for such a pod would
//! stay empty. A port that is none is only met in files, which nobody has checked.

use k8s_openapi::api::core::v1::{NodeSelectorTerm, PodSpec};
use planner::Why;

use super::unreadable;

pub(super) fn whys(spec: &PodSpec) -> Vec<Why> {
    if spec.node_name.as_ref().is_some_and(|name| !name.is_empty()) {
        return Vec::new(); // it runs, whatever it asked for
    }
    empty_terms(spec).into_iter().chain(ports(spec)).collect()
}

fn empty_terms(spec: &PodSpec) -> Option<Why> {
    let node_affinity = spec.affinity.as_ref()?.node_affinity.as_ref()?;
    let required = node_affinity
        .required_during_scheduling_ignored_during_execution
        .as_ref()?;
    let said = "all are empty, and an empty term matches no node";
    let all_empty = required.node_selector_terms.iter().all(is_empty);
    all_empty.then(|| unreadable("nodeSelectorTerms of nodeAffinity", &said))
}

fn is_empty(term: &NodeSelectorTerm) -> bool {
    let expressions = term.match_expressions.as_ref().is_none_or(Vec::is_empty);
    expressions && term.match_fields.as_ref().is_none_or(Vec::is_empty)
}

fn ports(spec: &PodSpec) -> impl Iterator<Item = Why> {
    let init = spec.init_containers.iter().flatten();
    let containers = spec.containers.iter().chain(init);
    containers.flat_map(|container| {
        let ports = container.ports.iter().flatten();
        let ports = ports.filter_map(|port| port.host_port);
        let bad = ports.filter(|port| !(0..=65535).contains(port));
        bad.map(|port| {
            let said = format!("{port} is not between 1 and 65535");
            unreadable(&format!("hostPort of container {}", container.name), &said)
        })
    })
}
