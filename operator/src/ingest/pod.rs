//! What does a pod ask for?

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Container, NodeSelectorRequirement, Pod, PodSpec};
use kube::ResourceExt;
use planner::drain::{DoNotDisrupt, Owner, PodBudget, PodOnNode, Standing};
use planner::labels::WellKnown;
use planner::requests::{PodRequests, effective};
use planner::requirements::check_term;
use planner::snapshot::{HostPort, Protocol, Shape};
use planner::taints::{DISRUPTED, TolerationOperator};
use planner::{Constraint, Effect, Operator, Requirement, Resources, Taint, Toleration, Why};

/// Waits for a place that no node gives it.
pub fn is_pending(pod: &Pod) -> bool {
    let unbound = node_of(pod).is_none() && pod.metadata.deletion_timestamp.is_none();
    let status = pod.status.as_ref();
    let waits = status
        .and_then(|status| status.conditions.as_ref())
        .into_iter()
        .flatten()
        .any(|condition| {
            condition.type_ == "PodScheduled"
                && condition.status == "False"
                && condition.reason.as_deref() == Some("Unschedulable")
        });
    let preempting = status.is_some_and(|status| status.nominated_node_name.is_some());
    unbound && waits && !preempting && phase(pod) == "Pending" && owner(pod) != Owner::DaemonSet
}

/// Uses its node.
pub fn is_active(pod: &Pod) -> bool {
    !matches!(phase(pod), "Succeeded" | "Failed")
}

pub fn node_of(pod: &Pod) -> Option<String> {
    let name = pod.spec.as_ref()?.node_name.clone()?;
    (!name.is_empty()).then_some(name)
}

fn phase(pod: &Pod) -> &str {
    let status = pod.status.as_ref();
    status
        .and_then(|status| status.phase.as_deref())
        .unwrap_or("")
}

pub fn owner(pod: &Pod) -> Owner {
    if pod
        .annotations()
        .contains_key("kubernetes.io/config.mirror")
    {
        return Owner::Node;
    }
    let controller = pod
        .owner_references()
        .iter()
        .find(|owner| owner.controller == Some(true));
    match controller.map(|owner| owner.kind.as_str()) {
        Some("DaemonSet") => Owner::DaemonSet,
        Some("StatefulSet") => Owner::StatefulSet,
        Some("Node") => Owner::Node,
        _ => Owner::Workload,
    }
}

/// Lands on its node by itself (a DaemonSet's pod, a mirror pod): never ours to place.
pub fn is_nobodys_to_place(pod: &Pod) -> bool {
    matches!(owner(pod), Owner::DaemonSet | Owner::Node)
}

pub fn created(pod: &Pod) -> Timestamp {
    let created = pod.metadata.creation_timestamp.as_ref();
    created.map_or(Timestamp::UNIX_EPOCH, |time| time.0)
}

/// What the pod takes of its node, as the scheduler counts it.
pub fn requests(spec: &PodSpec) -> Result<Resources, Why> {
    let of = |container: &Container| {
        let requests = container
            .resources
            .as_ref()
            .and_then(|all| all.requests.as_ref());
        super::resources(requests)
            .and_then(super::file::not_negative)
            .map_err(|bad| unreadable(&format!("requests of container {}", container.name), &bad))
    };
    let containers: Result<Vec<_>, Why> = spec.containers.iter().map(of).collect();
    let init: Result<Vec<_>, Why> = spec
        .init_containers
        .iter()
        .flatten()
        .map(|container| {
            let sidecar = container.restart_policy.as_deref() == Some("Always");
            Ok((of(container)?, sidecar))
        })
        .collect();
    let list = |field: &str, list: Option<&BTreeMap<_, _>>| {
        super::resources(list)
            .and_then(super::file::not_negative)
            .map_err(|bad| unreadable(field, &bad))
    };
    let pod_level = spec
        .resources
        .as_ref()
        .and_then(|all| all.requests.as_ref());
    Ok(effective(&PodRequests {
        containers: containers?,
        init: init?,
        pod_level: list("spec.resources.requests", pod_level)?,
        overhead: list("spec.overhead", spec.overhead.as_ref())?,
    }))
}

pub(super) fn unreadable(field: &str, said: &impl ToString) -> Why {
    Why::Unreadable {
        field: field.into(),
        said: said.to_string().into(),
    }
}

/// Everything about a pod that matters to where it can go, where nothing is known of other pods and of storage: what concerns
/// them is named as beyond the planner.
pub fn shape(spec: &PodSpec, known: &WellKnown) -> Shape {
    let mut shape = alone(spec, known);
    beyond(spec, &mut shape);
    shape
}

/// Everything about a pod but its volumes, which `volume::Storage` knows.
pub fn among_others(
    spec: &PodSpec,
    labels: &BTreeMap<String, String>,
    namespace: &str,
    known: &WellKnown,
) -> Shape {
    let mut shape = alone(spec, known);
    shape.namespace = namespace.into();
    shape.labels = super::labels(labels);
    super::topology::constrain(spec, known, &mut shape);
    devices(spec, &mut shape);
    shape
}

/// What a pod asks of its node.
fn alone(spec: &PodSpec, known: &WellKnown) -> Shape {
    let mut shape = Shape::default();
    match requests(spec) {
        Ok(requests) => shape.requests = requests,
        Err(why) => shape.unreadable.push(why),
    }
    for (key, value) in spec.node_selector.iter().flatten() {
        match check_term(key, Operator::In, &[value], known) {
            Ok(()) => shape
                .selector
                .push(Requirement::one_of(key, [value.as_str()])),
            Err(bad) => shape.unreadable.push(Why::BadTerm(bad)),
        }
    }
    affinity(spec, known, &mut shape);
    shape.tolerations = tolerations(spec);
    shape.ports = ports(spec);
    shape
}

fn affinity(spec: &PodSpec, known: &WellKnown, shape: &mut Shape) {
    let Some(affinity) = &spec.affinity else {
        return;
    };
    let required = affinity.node_affinity.as_ref().and_then(|node| {
        node.required_during_scheduling_ignored_during_execution
            .as_ref()
    });
    for term in required
        .into_iter()
        .flat_map(|selector| &selector.node_selector_terms)
    {
        if term
            .match_fields
            .as_ref()
            .is_some_and(|fields| !fields.is_empty())
        {
            shape
                .beyond
                .push((Constraint::MatchFields, "nodeAffinity".into()));
        }
        let mut asked = Vec::new();
        for expression in term.match_expressions.iter().flatten() {
            match expressed(expression, known) {
                Ok(requirement) => asked.push(requirement),
                Err(why) => shape.unreadable.push(why),
            }
        }
        // An empty term matches nothing; a list of only such terms is refused by the API server.
        if !asked.is_empty() {
            shape.terms.push(asked);
        }
    }
}

/// Pod affinities, for who knows nothing of other pods.
fn others(spec: &PodSpec, shape: &mut Shape) {
    let Some(affinity) = &spec.affinity else {
        return;
    };
    let hard = |terms: Option<&Vec<_>>| terms.is_some_and(|terms| !terms.is_empty());
    let near = affinity.pod_affinity.as_ref();
    if hard(near.and_then(|near| {
        near.required_during_scheduling_ignored_during_execution
            .as_ref()
    })) {
        shape
            .beyond
            .push((Constraint::PodAffinity, "podAffinity".into()));
    }
    let apart = affinity.pod_anti_affinity.as_ref();
    if hard(apart.and_then(|apart| {
        apart
            .required_during_scheduling_ignored_during_execution
            .as_ref()
    })) {
        shape
            .beyond
            .push((Constraint::PodAntiAffinity, "podAntiAffinity".into()));
    }
}

pub(super) fn expressed(
    raw: &NodeSelectorRequirement,
    known: &WellKnown,
) -> Result<Requirement, Why> {
    let values: Vec<&str> = raw.values.iter().flatten().map(String::as_str).collect();
    let operator: Operator = raw
        .operator
        .parse()
        .map_err(|()| unreadable(&format!("operator of {}", raw.key), &raw.operator))?;
    check_term(&raw.key, operator, &values, known).map_err(Why::BadTerm)?;
    Requirement::new(&raw.key, operator, &values).map_err(|bad| unreadable(&raw.key, &bad))
}

pub fn tolerations(spec: &PodSpec) -> Vec<Toleration> {
    let one = |raw: &k8s_openapi::api::core::v1::Toleration| {
        let operator = match raw.operator.as_deref() {
            None | Some("" | "Equal") => TolerationOperator::Equal,
            Some("Exists") => TolerationOperator::Exists,
            Some("Lt") => TolerationOperator::Lt,
            Some("Gt") => TolerationOperator::Gt,
            Some(_) => return None, // tolerates nothing we know
        };
        let effect = match raw.effect.as_deref() {
            None | Some("") => None,
            Some(text) => Some(super::effect(text)?),
        };
        Some(Toleration {
            key: raw.key.as_deref().unwrap_or("").into(),
            operator,
            value: raw.value.as_deref().unwrap_or("").into(),
            effect,
        })
    };
    spec.tolerations.iter().flatten().filter_map(one).collect()
}

pub fn ports(spec: &PodSpec) -> Vec<HostPort> {
    let ports = spec
        .containers
        .iter()
        .flat_map(|container| container.ports.iter().flatten());
    let one = |port: &k8s_openapi::api::core::v1::ContainerPort| {
        let number = u16::try_from(port.host_port?)
            .ok()
            .filter(|port| *port > 0)?;
        Some(HostPort {
            ip: port
                .host_ip
                .as_ref()
                .and_then(|ip| ip.parse::<IpAddr>().ok()),
            port: number,
            protocol: match port.protocol.as_deref() {
                Some("UDP") => Protocol::Udp,
                Some("SCTP") => Protocol::Sctp,
                _ => Protocol::Tcp,
            },
        })
    };
    ports.filter_map(one).collect()
}

/// Hard constraints this planner does not know yet.
fn beyond(spec: &PodSpec, shape: &mut Shape) {
    others(spec, shape);
    for spread in spec.topology_spread_constraints.iter().flatten() {
        if spread.when_unsatisfiable == "DoNotSchedule" {
            shape.beyond.push((
                Constraint::TopologySpread,
                spread.topology_key.as_str().into(),
            ));
        }
    }
    for volume in spec.volumes.iter().flatten() {
        if volume.persistent_volume_claim.is_some() || volume.ephemeral.is_some() {
            shape
                .beyond
                .push((Constraint::Volume, volume.name.as_str().into()));
        }
    }
    devices(spec, shape);
}

fn devices(spec: &PodSpec, shape: &mut Shape) {
    for claim in spec.resource_claims.iter().flatten() {
        shape
            .beyond
            .push((Constraint::ResourceClaim, claim.name.as_str().into()));
    }
}

/// A pod as draining sees it.
pub fn on_node(pod: &Pod, budgets: Vec<PodBudget>) -> PodOnNode {
    let spec = pod.spec.as_ref();
    let status = pod.status.as_ref();
    let disrupted = Taint::new(DISRUPTED, "", Effect::NoSchedule);
    let ready = status
        .and_then(|status| status.conditions.as_ref())
        .into_iter()
        .flatten()
        .any(|condition| condition.type_ == "Ready" && condition.status == "True");
    let critical = spec.and_then(|spec| spec.priority_class_name.as_deref());
    let protection = pod.annotations().get("karpenter.sh/do-not-disrupt");
    PodOnNode {
        name: Arc::from(crate::mirror::key(pod)),
        uid: Arc::from(pod.uid().unwrap_or_default()),
        critical: matches!(
            critical,
            Some("system-cluster-critical" | "system-node-critical")
        ),
        owner: owner(pod),
        standing: match (is_active(pod), ready) {
            (false, _) => Standing::Finished,
            (true, true) => Standing::Ready,
            (true, false) => Standing::NotReady,
        },
        deleted_by: pod.metadata.deletion_timestamp.as_ref().map(|time| time.0),
        grace: spec
            .and_then(|spec| spec.termination_grace_period_seconds)
            .map(SignedDuration::from_secs),
        tolerates_disruption: spec.is_some_and(|spec| {
            tolerations(spec)
                .iter()
                .any(|one| one.tolerates(&disrupted))
        }),
        do_not_disrupt: protection
            .and_then(|text| DoNotDisrupt::parse(text))
            .unwrap_or_default(),
        started: status
            .and_then(|status| status.start_time.as_ref())
            .map(|time| time.0),
        budgets,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn pod(spec: &Value) -> Pod {
        serde_json::from_value(json!({
            "metadata": { "name": "p", "namespace": "d", "uid": "u" },
            "spec": spec,
            "status": { "phase": "Pending", "conditions": [{ "type": "PodScheduled", "status": "False", "reason": "Unschedulable" }] },
        }))
        .unwrap()
    }

    fn read(spec: &Value) -> Shape {
        shape(pod(spec).spec.as_ref().unwrap(), &WellKnown::default())
    }

    #[test]
    fn a_pod_the_scheduler_gave_up_on_is_pending_and_a_gated_or_daemon_pod_is_not() {
        let mut waits = pod(&json!({ "containers": [] }));
        assert!(is_pending(&waits));
        let conditions = waits.status.as_mut().unwrap().conditions.as_mut().unwrap();
        conditions[0].reason = Some("SchedulingGated".into());
        assert!(!is_pending(&waits));
        let bound = pod(&json!({ "containers": [], "nodeName": "n" }));
        assert!(!is_pending(&bound));
    }

    #[test]
    fn requests_of_containers_add_up_and_bad_ones_become_a_reason() {
        let shape = read(&json!({ "containers": [
            { "name": "a", "resources": { "requests": { "cpu": "500m" } } },
            { "name": "b", "resources": { "requests": { "cpu": "1" } } } ] }));
        assert_eq!(shape.requests.get(&planner::ResourceName::Cpu), 1500);
        let shape = read(
            &json!({ "containers": [{ "name": "a", "resources": { "requests": { "cpu": "lots" } } }] }),
        );
        assert_eq!(shape.unreadable[0].code(), "Unreadable");
    }

    #[test]
    fn hard_constraints_nobody_can_honour_yet_are_named_and_soft_ones_are_not() {
        let shape = read(&json!({ "containers": [],
            "topologySpreadConstraints": [
                { "maxSkew": 1, "topologyKey": "hard", "whenUnsatisfiable": "DoNotSchedule" },
                { "maxSkew": 1, "topologyKey": "soft", "whenUnsatisfiable": "ScheduleAnyway" } ],
            "volumes": [{ "name": "v", "persistentVolumeClaim": { "claimName": "x" } }] }));
        let named: Vec<_> = shape
            .beyond
            .iter()
            .map(|(_, name)| name.to_string())
            .collect();
        assert_eq!(named, ["hard", "v"]);
    }
}
