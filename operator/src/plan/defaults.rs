//! Which spreads does kube-scheduler's configuration file give to pods that ask for none?

use std::fs;
use std::path::Path;

use k8s_openapi::api::core::v1::TopologySpreadConstraint;
use planner::snapshot::Spread;
use serde::Deserialize;

use super::field::typed;
use super::read::parse;
use super::trouble::{Place, Trouble};
use crate::ingest;

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
pub fn read(path: Option<&Path>) -> Result<Vec<Spread>, Trouble> {
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
