//! Is what a server returned what was written, apart from defaults that the schema announces?

use anyhow::{Context, Result};
use crds::generate;
use serde_json::Value;

/// Every served version of a kind, as `group/version`.
pub(crate) fn versions(api_version: &str, kind: &str) -> Vec<String> {
    let group = group(api_version);
    let crds = generate::all()
        .into_iter()
        .filter(|crd| crd.spec.group == group && crd.spec.names.kind == kind);
    crds.flat_map(|crd| crd.spec.versions)
        .map(|version| format!("{group}/{}", version.name))
        .collect()
}

/// Paths in spec, status, labels and annotations where `read` differs from `written` without being a schema default.
pub(crate) fn unexplained(written: &Value, read: &Value) -> Result<Vec<String>> {
    let schema = schema(written)?;
    let mut strange = Vec::new();
    compare(
        "spec",
        &written["spec"],
        &read["spec"],
        &schema["properties"]["spec"],
        &mut strange,
    );
    for field in ["labels", "annotations"] {
        if written["metadata"][field] != read["metadata"][field] {
            strange.push(format!(
                "metadata.{field}: {} became {}",
                written["metadata"][field], read["metadata"][field]
            ));
        }
    }
    Ok(strange)
}

fn compare(path: &str, written: &Value, read: &Value, schema: &Value, strange: &mut Vec<String>) {
    match (written, read) {
        (Value::Object(before), Value::Object(after)) => {
            for (name, value) in after {
                let below = child(schema, name);
                let path = format!("{path}.{name}");
                match before.get(name) {
                    Some(old) => compare(&path, old, value, below, strange),
                    None if is_default(value, below) => {}
                    None => strange.push(format!("{path}: appeared as {value}")),
                }
            }
            let lost = before.keys().filter(|name| !after.contains_key(*name));
            strange.extend(lost.map(|name| format!("{path}.{name}: lost")));
        }
        (Value::Array(before), Value::Array(after)) if before.len() == after.len() => {
            for (index, (old, new)) in before.iter().zip(after).enumerate() {
                compare(
                    &format!("{path}[{index}]"),
                    old,
                    new,
                    &schema["items"],
                    strange,
                );
            }
        }
        _ if written == read => {}
        _ => strange.push(format!("{path}: {written} became {read}")),
    }
}

/// A default may itself hold an object whose own fields have defaults.
fn is_default(value: &Value, schema: &Value) -> bool {
    let mut strange = Vec::new();
    match schema.get("default") {
        Some(default) => compare("", default, value, schema, &mut strange),
        None => return false,
    }
    strange.is_empty()
}

fn child<'a>(schema: &'a Value, name: &str) -> &'a Value {
    let properties = &schema["properties"][name];
    if properties.is_null() {
        &schema["additionalProperties"]
    } else {
        properties
    }
}

fn schema(object: &Value) -> Result<Value> {
    let (api_version, kind) = (
        object["apiVersion"].as_str().unwrap_or_default(),
        object["kind"].as_str().unwrap_or_default(),
    );
    let crds = generate::all()
        .into_iter()
        .filter(|crd| crd.spec.group == group(api_version) && crd.spec.names.kind == kind);
    let mut served = crds.flat_map(|crd| crd.spec.versions);
    let wanted = api_version.rsplit('/').next();
    let version = served.find(|version| Some(version.name.as_str()) == wanted);
    let version = version.with_context(|| format!("no CRD for {kind} in {api_version}"))?;
    Ok(serde_json::to_value(version.schema)?["openAPIV3Schema"].take())
}

fn group(api_version: &str) -> &str {
    api_version.split('/').next().unwrap_or_default()
}
