//! Is a built-in object well formed as far as we look, and may this field of it change?

use serde_json::Value;

use super::kinds::Kind;
use super::paths::{list, text};
use super::rules::Part;
use super::status::{Cause, Status};

/// What must be a list, a map or a number in the kinds whose controllers we have.
#[rustfmt::skip]
const TYPES: &[(&str, &[&str], char)] = &[
    ("pods", &["spec", "containers"], 'l'), ("pods", &["spec", "initContainers"], 'l'),
    ("pods", &["spec", "tolerations"], 'l'), ("pods", &["spec", "volumes"], 'l'),
    ("pods", &["spec", "topologySpreadConstraints"], 'l'), ("pods", &["spec", "nodeSelector"], 'm'),
    ("pods", &["spec", "affinity"], 'm'), ("pods", &["spec", "overhead"], 'm'),
    ("pods", &["spec", "nodeName"], 's'), ("pods", &["spec", "priorityClassName"], 's'),
    ("pods", &["spec", "priority"], 'i'), ("pods", &["spec", "terminationGracePeriodSeconds"], 'i'),
    ("pods", &["status", "phase"], 's'), ("pods", &["status", "conditions"], 'l'),
    ("nodes", &["spec", "taints"], 'l'), ("nodes", &["spec", "unschedulable"], 'b'),
    ("nodes", &["spec", "providerID"], 's'),
    ("nodes", &["status", "conditions"], 'l'), ("nodes", &["status", "capacity"], 'm'),
    ("nodes", &["status", "allocatable"], 'm'), ("nodes", &["status", "addresses"], 'l'),
    ("deployments.apps", &["spec", "replicas"], 'i'), ("deployments.apps", &["spec", "selector"], 'm'),
    ("deployments.apps", &["spec", "template"], 'm'), ("deployments.apps", &["spec", "strategy"], 'm'),
    ("replicasets.apps", &["spec", "replicas"], 'i'), ("replicasets.apps", &["spec", "selector"], 'm'),
    ("replicasets.apps", &["spec", "template"], 'm'),
    ("daemonsets.apps", &["spec", "selector"], 'm'), ("daemonsets.apps", &["spec", "template"], 'm'),
    ("statefulsets.apps", &["spec", "replicas"], 'i'),
    ("poddisruptionbudgets.policy", &["spec", "selector"], 'm'),
    ("secrets", &["data"], 'm'), ("secrets", &["stringData"], 'm'), ("secrets", &["type"], 's'),
    ("configmaps", &["data"], 'm'),
    ("leases.coordination.k8s.io", &["spec", "holderIdentity"], 's'),
    ("leases.coordination.k8s.io", &["spec", "leaseDurationSeconds"], 'i'),
];

pub(super) fn check(kind: &Kind, value: &Value) -> Result<(), Status> {
    let mut causes = Vec::new();
    if kind.custom.is_empty() {
        for part in ["spec", "status"] {
            if !matches!(value[part], Value::Null | Value::Object(_)) {
                return Err(undecodable(kind, part, "an object"));
            }
        }
        for (_, path, wanted) in TYPES.iter().filter(|(id, ..)| *id == kind.id) {
            let found = super::paths::at(value, path);
            if !found.is_null() && !fits(found, *wanted) {
                return Err(undecodable(kind, &path.join("."), name_of(*wanted)));
            }
        }
    }
    match kind.id.as_str() {
        "pods" => containers(&value["spec"], "spec", &mut causes),
        "deployments.apps" | "replicasets.apps" | "daemonsets.apps" | "statefulsets.apps" => {
            workload(&value["spec"], &mut causes);
        }
        _ => {}
    }
    if causes.is_empty() {
        return Ok(());
    }
    Err(Status::invalid(
        &kind.kind,
        text(&value["metadata"], "name"),
        causes,
    ))
}

/// Fields that may not change once they are set.
pub(super) fn may_change(
    kind: &Kind,
    part: Part,
    before: &Value,
    after: &Value,
) -> Result<(), Status> {
    if part != Part::Main {
        return Ok(());
    }
    let name = text(&before["metadata"], "name");
    let refuse = |field: &str, message: &str| {
        let cause = Cause::new(
            field,
            "FieldValueForbidden",
            format!("Forbidden: {message}"),
        );
        Err(Status::invalid(&kind.kind, name, vec![cause]))
    };
    match kind.id.as_str() {
        "pods" if fixed_part(before) != fixed_part(after) => refuse(
            "spec",
            "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
        ),
        "deployments.apps" | "replicasets.apps" | "daemonsets.apps"
            if before["spec"]["selector"] != after["spec"]["selector"] =>
        {
            let cause = Cause::new(
                "spec.selector",
                "FieldValueInvalid",
                "Invalid value: field is immutable",
            );
            Err(Status::invalid(&kind.kind, name, vec![cause]))
        }
        "nodes"
            if !text(&before["spec"], "providerID").is_empty()
                && before["spec"]["providerID"] != after["spec"]["providerID"] =>
        {
            refuse(
                "spec.providerID",
                "node updates may not change providerID except from \"\" to valid",
            )
        }
        "secrets" | "configmaps"
            if before["immutable"] == true && body_of(before) != body_of(after) =>
        {
            refuse("data", "field is immutable when `immutable` is set")
        }
        "secrets" if before["type"] != after["type"] => {
            let cause = Cause::new(
                "type",
                "FieldValueInvalid",
                "Invalid value: field is immutable",
            );
            Err(Status::invalid(&kind.kind, name, vec![cause]))
        }
        _ => Ok(()),
    }
}

fn containers(spec: &Value, at: &str, causes: &mut Vec<Cause>) {
    if list(&spec["containers"]).is_empty() {
        causes.push(Cause::new(
            format!("{at}.containers"),
            "FieldValueRequired",
            "Required value",
        ));
    }
    for group in ["containers", "initContainers"] {
        for (index, container) in list(&spec[group]).iter().enumerate() {
            if text(container, "name").is_empty() {
                let field = format!("{at}.{group}[{index}].name");
                causes.push(Cause::new(field, "FieldValueRequired", "Required value"));
            }
        }
    }
}

fn workload(spec: &Value, causes: &mut Vec<Cause>) {
    if spec["replicas"].as_i64().is_some_and(|count| count < 0) {
        let said = format!(
            "Invalid value: {}: must be greater than or equal to 0",
            spec["replicas"]
        );
        causes.push(Cause::new("spec.replicas", "FieldValueInvalid", said));
    }
    let Some(wanted) = super::selectors::of_object(&spec["selector"]) else {
        causes.push(Cause::new(
            "spec.selector",
            "FieldValueRequired",
            "Required value",
        ));
        return;
    };
    let labels = super::object::Meta::of(&spec["template"]).labels;
    if !super::selectors::all_hold(&wanted, &labels) {
        let said = "Invalid value: `selector` does not match template `labels`";
        causes.push(Cause::new(
            "spec.template.metadata.labels",
            "FieldValueInvalid",
            said,
        ));
    }
    containers(&spec["template"]["spec"], "spec.template.spec", causes);
}

fn fixed_part(pod: &Value) -> Value {
    let mut spec = pod["spec"].clone();
    for free in [
        "activeDeadlineSeconds",
        "tolerations",
        "terminationGracePeriodSeconds",
        "schedulingGates",
        "nodeSelector",
        "affinity",
        "ephemeralContainers",
    ] {
        super::paths::forget(&mut spec, &[free]);
    }
    for group in ["containers", "initContainers"] {
        for container in spec[group].as_array_mut().into_iter().flatten() {
            super::paths::forget(container, &["image"]);
            super::paths::forget(container, &["resources"]);
        }
    }
    spec
}

fn body_of(value: &Value) -> (&Value, &Value) {
    (&value["data"], &value["binaryData"])
}

fn undecodable(kind: &Kind, field: &str, wanted: &str) -> Status {
    Status::bad_request(format!(
        "{} in version \"{}\" cannot be handled as a {}: {field} must be {wanted}",
        kind.kind, kind.storage, kind.kind
    ))
}

fn fits(value: &Value, wanted: char) -> bool {
    match wanted {
        'l' => value.is_array(),
        'm' => value.is_object(),
        's' => value.is_string(),
        'b' => value.is_boolean(),
        _ => value.is_i64(),
    }
}

fn name_of(wanted: char) -> &'static str {
    match wanted {
        'l' => "a list",
        'm' => "an object",
        's' => "a string",
        'b' => "true or false",
        _ => "a whole number",
    }
}
