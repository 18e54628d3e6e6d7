//! What does a pod ask for?

mod meaningless;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{
    Container, NodeSelectorRequirement, Pod, PodSpec, ResourceRequirements,
};
use kube::ResourceExt;
use planner::drain::{DoNotDisrupt, Owner, PodBudget, PodOnNode, Standing};
use planner::labels::WellKnown;
use planner::requests::{PodRequests, effective};
use planner::requirements::check_term;
use planner::snapshot::{HostPort, Protocol, Shape};
use planner::taints::{DISRUPTED, TolerationOperator};
use planner::{
    BadResource, Constraint, Effect, Operator, Requirement, Resources, Taint, Toleration, Why,
};

/// Waits for a place that no node gives it.
pub fn is_pending(pod: &Pod) -> bool {
    let unbound = node_of(pod).is_none() && !is_ending(pod);
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
    unbound && waits && !preempting && phase(pod) == "Pending" && !is_nobodys_to_place(pod)
}

/// Uses its node.
pub fn is_active(pod: &Pod) -> bool {
    !matches!(phase(pod), "Succeeded" | "Failed")
}

pub fn node_of(pod: &Pod) -> Option<String> {
    let name = pod.spec.as_ref()?.node_name.clone()?;
    (!name.is_empty()).then_some(name)
}

/// Its end has been asked for.
pub fn is_ending(pod: &Pod) -> bool {
    pod.metadata.deletion_timestamp.is_some()
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
        asked_for(container.resources.as_ref())
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
    let pod_level = asked_for(spec.resources.as_ref());
    Ok(effective(&PodRequests {
        containers: containers?,
        init: init?,
        pod_level: pod_level.map_err(|bad| unreadable("spec.resources.requests", &bad))?,
        overhead: list("spec.overhead", spec.overhead.as_ref())?,
    }))
}

/// A limit without a request is one, too: the API server writes that down for pods, and for templates nobody does.
fn asked_for(raw: Option<&ResourceRequirements>) -> Result<Resources, BadResource> {
    let read = |list| super::resources(list).and_then(super::file::not_negative);
    let mut requests = read(raw.and_then(|all| all.requests.as_ref()))?;
    let limits = read(raw.and_then(|all| all.limits.as_ref()))?;
    for (name, amount) in limits.iter() {
        if !requests.contains(name) {
            requests.set(name.clone(), amount);
        }
    }
    Ok(requests)
}

pub(super) fn unreadable(field: &str, said: &impl ToString) -> Why {
    Why::Unreadable {
        field: field.into(),
        said: said.to_string().into(),
    }
}

/// Everything about a pod but its volumes; none if it has no spec.
pub fn shape(pod: &Pod, known: &WellKnown) -> Option<Shape> {
    let namespace = pod.metadata.namespace.as_deref().unwrap_or("default");
    let checked = Terms::Checked(known);
    let shape = among_others(pod.spec.as_ref()?, pod.labels(), namespace, checked);
    Some(shape)
}

/// Which labels may be asked for?
#[derive(Clone, Copy)]
pub(super) enum Terms<'k> {
    /// Only those a pod may choose its node by.
    Checked(&'k WellKnown),
    /// Any: preferences can be given up, and daemons find their nodes by themselves.
    AsWritten,
}

/// The pods of a DaemonSet; none if its template has no spec.
pub fn daemon_shape(set: &DaemonSet) -> Option<Shape> {
    let template = &set.spec.template;
    let labels = template
        .metadata
        .as_ref()
        .and_then(|meta| meta.labels.clone());
    let namespace = set.metadata.namespace.as_deref().unwrap_or("default");
    let spec = template.spec.as_ref()?;
    Some(among_others(
        spec,
        &labels.unwrap_or_default(),
        namespace,
        Terms::AsWritten,
    ))
}

/// What a pod asks of its node and of its neighbours; its volumes are known to `volume::Storage`.
fn among_others(
    spec: &PodSpec,
    labels: &BTreeMap<String, String>,
    namespace: &str,
    terms: Terms<'_>,
) -> Shape {
    let mut shape = alone(spec, terms);
    shape.namespace = namespace.into();
    shape.labels = super::labels(labels);
    super::topology::constrain(spec, &mut shape);
    devices(spec, &mut shape);
    shape
}

/// What a pod asks of its node.
fn alone(spec: &PodSpec, terms: Terms<'_>) -> Shape {
    let mut shape = Shape::default();
    match requests(spec) {
        Ok(requests) => shape.requests = requests,
        Err(why) => shape.unreadable.push(why),
    }
    for (key, value) in spec.node_selector.iter().flatten() {
        match terms.check(key, Operator::In, &[value]) {
            Ok(()) => shape
                .selector
                .push(Requirement::one_of(key, [value.as_str()])),
            Err(why) => shape.unreadable.push(why),
        }
    }
    affinity(spec, terms, &mut shape);
    if matches!(terms, Terms::Checked(_)) {
        shape.unreadable.extend(meaningless::whys(spec));
    }
    shape.tolerations = tolerations(spec);
    shape.ports = ports(spec);
    shape
}

fn affinity(spec: &PodSpec, terms: Terms<'_>, shape: &mut Shape) {
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
            match expressed(expression, terms) {
                Ok(requirement) => asked.push(requirement),
                Err(why) => shape.unreadable.push(why),
            }
        }
        // An empty term matches nothing; of a pod with only such terms `meaningless` speaks.
        if !asked.is_empty() {
            shape.terms.push(asked);
        }
    }
}

pub(super) fn expressed(
    raw: &NodeSelectorRequirement,
    terms: Terms<'_>,
) -> Result<Requirement, Why> {
    let values: Vec<&str> = raw.values.iter().flatten().map(String::as_str).collect();
    let operator: Operator = raw
        .operator
        .parse()
        .map_err(|()| unreadable(&format!("operator of {}", raw.key), &raw.operator))?;
    terms.check(&raw.key, operator, &values)?;
    Requirement::new(&raw.key, operator, &values).map_err(|bad| unreadable(&raw.key, &bad))
}

impl Terms<'_> {
    fn check(self, key: &str, operator: Operator, values: &[&str]) -> Result<(), Why> {
        match self {
            Self::Checked(known) => check_term(key, operator, values, known).map_err(Why::BadTerm),
            Self::AsWritten => Ok(()),
        }
    }
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

/// Of containers that run as long as the pod does, as kube-scheduler counts them.
pub fn ports(spec: &PodSpec) -> Vec<HostPort> {
    let init = spec.init_containers.iter().flatten();
    let sidecars = init.filter(|container| container.restart_policy.as_deref() == Some("Always"));
    let ports = spec
        .containers
        .iter()
        .chain(sidecars)
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
fn devices(spec: &PodSpec, shape: &mut Shape) {
    let of_pod = spec.resource_claims.iter().flatten();
    let containers = spec
        .containers
        .iter()
        .chain(spec.init_containers.iter().flatten());
    let resources = containers.filter_map(|container| container.resources.as_ref());
    let of_containers = resources.flat_map(|all| all.claims.iter().flatten());
    let names = of_pod
        .map(|claim| &claim.name)
        .chain(of_containers.map(|claim| &claim.name));
    for name in names {
        let claim = (Constraint::ResourceClaim, name.as_str().into());
        if !shape.beyond.contains(&claim) {
            shape.beyond.push(claim);
        }
    }
}

/// Daemons that need devices are not counted: no node comes with what they wait for.
pub fn needs_devices(shape: &Shape) -> bool {
    let claim = |(constraint, _): &(Constraint, _)| *constraint == Constraint::ResourceClaim;
    shape.beyond.iter().any(claim)
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
mod tests;
