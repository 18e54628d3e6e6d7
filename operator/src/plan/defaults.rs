//! Which spreads does the cluster give to pods that ask for none?
//!
//! From kube-scheduler's own configuration file. Services and ReplicaSets, which say whom the scheduler counts, are not part of
//! the input, so the pods of one owner are told by the labels they share.

use std::fs;
use std::path::Path;

use k8s_openapi::api::core::v1::{Pod, TopologySpreadConstraint};
use kube::ResourceExt;
use planner::snapshot::{Selector, Spread};
use planner::{Operator, Requirement};
use serde::Deserialize;

use super::field::typed;
use super::read::parse;
use super::trouble::{Place, Trouble};
use crate::ingest;

/// Labels that tell the pods of one owner apart.
const OWN: [&str; 4] = [
    "statefulset.kubernetes.io/pod-name",
    "apps.kubernetes.io/pod-index",
    "batch.kubernetes.io/job-completion-index",
    "controller-revision-hash",
];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Configuration {
    kind: String,
    #[serde(default)]
    profiles: Vec<Profile>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Profile {
    #[serde(default)]
    plugin_config: Vec<Plugin>,
}

#[derive(Deserialize)]
struct Plugin {
    name: String,
    #[serde(default)]
    args: serde_json::Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    #[serde(default)]
    default_constraints: Vec<TopologySpreadConstraint>,
    #[serde(default)]
    defaulting_type: Option<String>,
}

/// The default constraints of the first profile that has some.
pub(super) fn read(path: Option<&Path>) -> Result<Vec<Spread>, Trouble> {
    let Some(path) = path else {
        return Ok(Vec::new());
    };
    let text = fs::read_to_string(path).map_err(|error| Trouble::file(path, error.to_string()))?;
    let place = Place {
        file: path.display().to_string(),
        document: 1,
        item: None,
    };
    let wrong =
        |field: &str, said: &dyn ToString| Trouble::new(place.clone(), field, said.to_string());
    let value = parse(&text).map_err(|said| wrong("", &said))?;
    let bytes = serde_json::to_vec(&value).map_err(|error| wrong("", &error))?;
    let file: Configuration = typed(&bytes).map_err(|(field, said)| wrong(&field, &said))?;
    if file.kind != "KubeSchedulerConfiguration" {
        return Err(wrong("kind", &"not a KubeSchedulerConfiguration"));
    }
    let plugins = file
        .profiles
        .iter()
        .flat_map(|profile| &profile.plugin_config);
    let Some(plugin) = plugins
        .into_iter()
        .find(|plugin| plugin.name == "PodTopologySpread")
    else {
        return Ok(Vec::new());
    };
    let bytes = serde_json::to_vec(&plugin.args).map_err(|error| wrong("", &error))?;
    let field = |inner: &str| format!("profiles.pluginConfig (PodTopologySpread).args.{inner}");
    let arguments: Arguments =
        typed(&bytes).map_err(|(inner, said)| wrong(&field(&inner), &said))?;
    match arguments.defaulting_type.as_deref() {
        Some("System") => Ok(system()),
        _ => arguments
            .default_constraints
            .iter()
            .map(|raw| {
                let read = ingest::topology::spread(raw);
                read.map_err(|why| {
                    wrong(
                        &field("defaultConstraints"),
                        &crate::explain::sentence(&why),
                    )
                })
            })
            .collect(),
    }
}

/// What kube-scheduler does when it is told to use its own.
fn system() -> Vec<Spread> {
    let soft = |key: &str, skew| Spread {
        hard: false,
        ..Spread::new(key, skew, None)
    };
    vec![
        soft("kubernetes.io/hostname", 3),
        soft("topology.kubernetes.io/zone", 5),
    ]
}

/// The constraints a pod gets that has none of its own; a pod without owner gets none.
pub(super) fn given(defaults: &[Spread], pod: &Pod) -> Vec<Spread> {
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
