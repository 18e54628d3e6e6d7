//! What does an object of Kubernetes mean to the planner?
//!
//! A file per kind. What cannot be read becomes a reason, never a crash and never a default that looks like an answer.

pub mod budget;
pub mod claim;
pub mod defaults;
pub mod file;
pub mod node;
pub mod pod;
pub mod pool;
pub mod topology;
pub mod volume;

use std::collections::BTreeMap;
use std::sync::Arc;

use crds::shared::quantity::ResourceList;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use planner::requirements::BadRequirement;
use planner::{BadResource, Effect, Operator, Requirement, Resources, Taint};

pub type Labels = Vec<(Arc<str>, Arc<str>)>;

pub fn labels(map: &BTreeMap<String, String>) -> Labels {
    map.iter()
        .map(|(key, value)| (key.as_str().into(), value.as_str().into()))
        .collect()
}

/// A resource list of Kubernetes' own kinds.
pub fn resources(list: Option<&BTreeMap<String, Quantity>>) -> Result<Resources, BadResource> {
    let pairs = list.into_iter().flatten();
    Resources::parse(pairs.map(|(name, quantity)| (name.as_str(), quantity.0.as_str())))
}

/// A resource list of Karpenter's kinds.
pub fn amounts(list: Option<&ResourceList>) -> Result<Resources, BadResource> {
    let texts: Vec<(String, String)> = list
        .into_iter()
        .flatten()
        .map(|(name, quantity)| (name.clone(), quantity.text().into_owned()))
        .collect();
    Resources::parse(
        texts
            .iter()
            .map(|(name, text)| (name.as_str(), text.as_str())),
    )
}

/// As Kubernetes writes it.
pub fn written(resources: &Resources) -> BTreeMap<String, String> {
    resources
        .iter()
        .map(|(name, amount)| (name.to_string(), name.quantity(amount).to_string()))
        .collect()
}

pub fn effect(text: &str) -> Option<Effect> {
    match text {
        "NoSchedule" => Some(Effect::NoSchedule),
        "PreferNoSchedule" => Some(Effect::PreferNoSchedule),
        "NoExecute" => Some(Effect::NoExecute),
        _ => None,
    }
}

pub fn crd_taints(list: Option<&Vec<crds::karpenter::template::Taint>>) -> Vec<Taint> {
    let taint = |taint: &crds::karpenter::template::Taint| {
        let effect = effect(taint.effect.as_str())?;
        Some(Taint::new(
            &taint.key,
            taint.value.as_deref().unwrap_or(""),
            effect,
        ))
    };
    list.into_iter().flatten().filter_map(taint).collect()
}

pub fn requirement(
    raw: &crds::shared::requirement::Requirement,
) -> Result<Requirement, BadRequirement> {
    let values: Vec<&str> = raw.values.iter().flatten().map(String::as_str).collect();
    let operator: Operator =
        raw.operator
            .as_str()
            .parse()
            .map_err(|()| BadRequirement::UnknownOperator {
                key: raw.key.clone(),
                operator: raw.operator.as_str().to_owned(),
            })?;
    let least = raw.min_values.and_then(|least| u32::try_from(least).ok());
    Ok(Requirement::new(&raw.key, operator, &values)?.with_min_values(least))
}
