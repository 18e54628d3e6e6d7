//! What does an object from a file mean, where nobody has admitted it and no controller will judge it?
//!
//! The API server would have refused what is refused here, so each refusal names the field.

use std::fmt;

use crds::karpenter::{NodeClaim, NodePool};
use crds::validate::node_pool;
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1;
use planner::snapshot::{Claim, Node, Pool, PoolState, Shape};
use planner::{BadQuantity, BadResource, Effect, Requirements, Resources};
use serde::Deserialize;

/// A field that says something no API server would have let through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misread {
    pub field: String,
    pub said: String,
}

impl Misread {
    fn new(field: impl Into<String>, said: impl fmt::Display) -> Self {
        Self {
            field: field.into(),
            said: said.to_string(),
        }
    }
}

const CLASSES: [(&str, &str); 3] = [
    ("karpenter.k8s.openstack", "OpenStackNodeClass"),
    ("karpenter.k8s.cloudstack", "CloudStackNodeClass"),
    ("karpenter.ovhcloud.sh", "OVHNodeClass"),
];

pub fn is_class(group: &str, kind: &str) -> bool {
    CLASSES.contains(&(group, kind))
}

/// As much of a NodeClass as planning needs.
#[derive(Debug, Deserialize)]
pub struct Class {
    pub metadata: Named,
    #[serde(default)]
    status: Option<Status>,
}

#[derive(Debug, Deserialize)]
pub struct Named {
    pub name: String,
}

#[derive(Debug, Default, Deserialize)]
struct Status {
    #[serde(default)]
    conditions: Vec<Condition>,
}

#[derive(Debug, Deserialize)]
struct Condition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
    #[serde(default)]
    message: String,
}

impl Class {
    /// What it says if it is not ready. Without a condition nobody has judged it, and it is taken as ready.
    pub fn not_ready(&self) -> Option<String> {
        let conditions = self.status.iter().flat_map(|status| &status.conditions);
        let ready = conditions.into_iter().find(|one| one.kind == "Ready")?;
        (ready.status != "True").then(|| ready.message.clone())
    }
}

pub fn daemon_shape(set: &DaemonSet) -> Result<Shape, Misread> {
    super::pod::daemon_shape(set).ok_or_else(|| Misread::new("spec.template.spec", "missing"))
}

/// A node without its usage; `taints` are all it has.
pub fn node(node: &v1::Node) -> Result<Node, Misread> {
    let status = node.status.as_ref();
    let read = |field: &str, list| {
        super::resources(list)
            .and_then(not_negative)
            .map_err(|bad| Misread::new(format!("status.{field}.{}", bad.name), bad.cause))
    };
    let capacity = read("capacity", status.and_then(|all| all.capacity.as_ref()))?;
    let allocatable = read(
        "allocatable",
        status.and_then(|all| all.allocatable.as_ref()),
    )?;
    let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_ref());
    for (at, taint) in taints.into_iter().flatten().enumerate() {
        effect(&format!("spec.taints[{at}].effect"), &taint.effect)?;
    }
    Ok(Node {
        name: node.metadata.name.as_deref().unwrap_or_default().into(),
        labels: super::labels(
            node.metadata
                .labels
                .as_ref()
                .unwrap_or(&std::collections::BTreeMap::default()),
        ),
        taints: super::node::taints(node),
        capacity,
        allocatable,
        initialized: true,
        leaving: super::node::is_leaving(node),
        ..Node::default()
    })
}

/// A pool; nobody has judged it, so it is ready unless it says otherwise.
pub fn pool(raw: &NodePool) -> Result<Pool, Misread> {
    let template = &raw.spec.template.spec;
    let mut requirements = Requirements::new();
    for (at, one) in template.requirements.iter().enumerate() {
        let field = format!("spec.template.spec.requirements[{at}]");
        requirements.add(super::requirement(one).map_err(|bad| Misread::new(field, bad))?);
    }
    let taints = template.taints.iter().flatten();
    for (at, taint) in taints.enumerate() {
        effect(
            &format!("spec.template.spec.taints[{at}].effect"),
            taint.effect.as_str(),
        )?;
    }
    super::amounts(raw.spec.limits.as_ref())
        .and_then(not_negative)
        .map_err(|bad| Misread::new(format!("spec.limits.{}", bad.name), bad.cause))?;
    let weight = raw.spec.weight.unwrap_or(1);
    if !(1..=100).contains(&weight) {
        let said = format!("{weight} is not between 1 and 100");
        return Err(Misread::new("spec.weight", said));
    }
    let wanted = template.requirements.iter().map(|one| one.min_values);
    for (at, wanted) in wanted.enumerate() {
        if let Some(wanted) = wanted.filter(|wanted| !(1..=50).contains(wanted)) {
            let field = format!("spec.template.spec.requirements[{at}].minValues");
            return Err(Misread::new(
                field,
                format!("{wanted} is not between 1 and 50"),
            ));
        }
    }
    if let Some(found) = node_pool::findings(&raw.spec).into_iter().next() {
        return Err(Misread::new(
            found.field,
            format!("{}; {}", found.problem, found.fix),
        ));
    }
    let mut pool = super::pool::pool(raw);
    if matches!(pool.state, PoolState::NotReady { .. })
        && raw.metadata.deletion_timestamp.is_none()
        && !super::pool::says_not_ready(raw)
    {
        pool.state = PoolState::Ready;
    }
    Ok(pool)
}

/// A claim, as if it were no node yet.
pub fn claim(raw: &NodeClaim) -> Result<Claim, Misread> {
    for (at, one) in raw.spec.requirements.iter().enumerate() {
        let field = format!("spec.requirements[{at}]");
        super::requirement(one).map_err(|bad| Misread::new(field, bad))?;
    }
    let status = raw.status.as_ref();
    for (field, list) in [
        (
            "status.capacity",
            status.and_then(|all| all.capacity.as_ref()),
        ),
        (
            "status.allocatable",
            status.and_then(|all| all.allocatable.as_ref()),
        ),
    ] {
        super::amounts(list)
            .and_then(not_negative)
            .map_err(|bad| Misread::new(format!("{field}.{}", bad.name), bad.cause))?;
    }
    Ok(super::claim::in_flight(raw))
}

fn effect(field: &str, text: &str) -> Result<Effect, Misread> {
    super::effect(text).ok_or_else(|| {
        let said = format!("{text:?} is no effect; use NoSchedule, PreferNoSchedule or NoExecute");
        Misread::new(field, said)
    })
}

pub fn not_negative(list: Resources) -> Result<Resources, BadResource> {
    let below = list.iter().find(|(_, amount)| *amount < 0);
    match below.map(|(name, amount)| (name.to_string(), name.quantity(amount).to_string())) {
        None => Ok(list),
        Some((name, text)) => Err(BadResource {
            name,
            cause: BadQuantity {
                text,
                what: "it is below zero",
            },
        }),
    }
}
