//! How many replicas, through the door that all scalable kinds share?

use serde_json::{Value, json};

use super::ask::Ask;
use super::paths::{at, json_path, set, text};
use super::status::Status;

/// The `autoscaling/v1` Scale of an object.
pub(super) fn of(ask: &Ask, value: &Value) -> Value {
    let meta = &value["metadata"];
    let paths = ask
        .kind
        .custom
        .get(&ask.version)
        .map(|custom| &custom.scale);
    let member = |name: &str, usual: &[&str]| match paths {
        Some(paths) if text(paths, name).is_empty() => Value::Null,
        Some(paths) => json_path(value, text(paths, name))
            .cloned()
            .unwrap_or_default(),
        None => at(value, usual).clone(),
    };
    let wanted = member("specReplicasPath", &["spec", "replicas"]);
    let have = member("statusReplicasPath", &["status", "replicas"]);
    let selector = match paths {
        Some(_) => member("labelSelectorPath", &[]),
        None => Value::String(selector(&value["spec"]["selector"])),
    };
    let mut scale = json!({
        "apiVersion": "autoscaling/v1", "kind": "Scale",
        "metadata": {
            "name": meta["name"], "namespace": meta["namespace"], "uid": meta["uid"],
            "resourceVersion": meta["resourceVersion"], "creationTimestamp": meta["creationTimestamp"],
        },
        "spec": {"replicas": wanted.as_i64().unwrap_or(0)},
        "status": {"replicas": have.as_i64().unwrap_or(0)},
    });
    if selector.is_string() {
        scale["status"]["selector"] = selector;
    }
    scale
}

/// Writes the wish of a Scale into its object.
pub(super) fn write(ask: &Ask, scale: &Value, into: &mut Value) -> Result<(), Status> {
    let wanted = &scale["spec"]["replicas"];
    let count = if wanted.is_null() {
        Some(0)
    } else {
        wanted.as_i64()
    };
    let Some(count) = count.filter(|count| (0..=i64::from(i32::MAX)).contains(count)) else {
        let cause = super::status::Cause::new(
            "spec.replicas",
            "FieldValueInvalid",
            format!("Invalid value: {wanted}: must be greater than or equal to 0"),
        );
        return Err(Status::invalid("Scale", &ask.name, vec![cause]));
    };
    let custom = ask.kind.custom.get(&ask.version);
    let path = custom.map_or(".spec.replicas", |custom| {
        text(&custom.scale, "specReplicasPath")
    });
    let steps: Vec<&str> = path.split('.').filter(|step| !step.is_empty()).collect();
    set(into, &steps, count.into());
    if let Some(version) = scale["metadata"]["resourceVersion"].as_str()
        && !version.is_empty()
    {
        set(into, &["metadata", "resourceVersion"], version.into());
    }
    Ok(())
}

fn selector(value: &Value) -> String {
    // replication controllers have plain maps, the others LabelSelectors
    let labels = if value["matchLabels"].is_object() {
        &value["matchLabels"]
    } else {
        value
    };
    let pairs = labels.as_object().into_iter().flatten();
    let pairs = pairs.filter_map(|(key, value)| Some(format!("{key}={}", value.as_str()?)));
    pairs.collect::<Vec<_>>().join(",")
}
