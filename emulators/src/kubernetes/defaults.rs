//! What does the server fill in that the writer left out, as far as anybody relies on it?

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::kinds::Kind;
use super::paths::{default, forget, list, set, slot, text};

/// Fields of a new object.
pub fn on_create(kind: &Kind, value: &mut Value) {
    fill(kind, value);
    match kind.id.as_str() {
        "namespaces" => {
            set(value, &["spec", "finalizers"], json!(["kubernetes"]));
            set(value, &["status"], json!({"phase": "Active"}));
        }
        "pods" => {
            let class = quality(&value["spec"]);
            set(
                value,
                &["status"],
                json!({"phase": "Pending", "qosClass": class}),
            );
            tolerate(value);
        }
        "persistentvolumeclaims" | "persistentvolumes" => {
            set(value, &["status"], json!({"phase": "Pending"}));
        }
        _ => {}
    }
}

/// Fields of a changed object: what the writer left out comes back.
pub fn on_update(kind: &Kind, before: &Value, value: &mut Value) {
    if kind.id == "services" && value["spec"]["clusterIP"].is_null() {
        set(
            value,
            &["spec", "clusterIP"],
            before["spec"]["clusterIP"].clone(),
        );
    }
    if kind.id == "namespaces" && value["spec"]["finalizers"].is_null() {
        set(
            value,
            &["spec", "finalizers"],
            before["spec"]["finalizers"].clone(),
        );
    }
    fill(kind, value);
}

fn fill(kind: &Kind, value: &mut Value) {
    match kind.id.as_str() {
        "namespaces" => {
            let name = value["metadata"]["name"].clone();
            let label = "kubernetes.io/metadata.name";
            set(value, &["metadata", "labels", label], name);
        }
        "pods" => pod_spec(slot(value, &["spec"])),
        "secrets" => secret(value),
        "services" => service(value),
        id => {
            for (_, path, usual) in PLAIN.iter().filter(|(of, ..)| *of == id) {
                default(value, path, usual.value());
            }
        }
    }
    if matches!(kind.group.as_str(), "apps" | "batch") && value["spec"]["template"].is_object() {
        pod_spec(slot(value, &["spec", "template", "spec"]));
    }
    if kind.id == "deployments.apps" && value["spec"]["strategy"]["type"] == "RollingUpdate" {
        for bound in ["maxSurge", "maxUnavailable"] {
            default(value, &["spec", "strategy", "rollingUpdate", bound], "25%");
        }
    }
}

#[derive(Clone, Copy)]
enum Usual {
    Word(&'static str),
    Count(i64),
}

impl Usual {
    fn value(self) -> Value {
        match self {
            Self::Word(word) => word.into(),
            Self::Count(count) => count.into(),
        }
    }
}

#[rustfmt::skip]
const PLAIN: &[(&str, &[&str], Usual)] = &[
    ("deployments.apps", &["spec", "replicas"], Usual::Count(1)),
    ("deployments.apps", &["spec", "revisionHistoryLimit"], Usual::Count(10)),
    ("deployments.apps", &["spec", "progressDeadlineSeconds"], Usual::Count(600)),
    ("deployments.apps", &["spec", "strategy", "type"], Usual::Word("RollingUpdate")),
    ("replicasets.apps", &["spec", "replicas"], Usual::Count(1)),
    ("statefulsets.apps", &["spec", "replicas"], Usual::Count(1)),
    ("statefulsets.apps", &["spec", "podManagementPolicy"], Usual::Word("OrderedReady")),
    ("statefulsets.apps", &["spec", "updateStrategy", "type"], Usual::Word("RollingUpdate")),
    ("daemonsets.apps", &["spec", "revisionHistoryLimit"], Usual::Count(10)),
    ("daemonsets.apps", &["spec", "updateStrategy", "type"], Usual::Word("RollingUpdate")),
    ("jobs.batch", &["spec", "parallelism"], Usual::Count(1)),
    ("jobs.batch", &["spec", "completions"], Usual::Count(1)),
    ("jobs.batch", &["spec", "backoffLimit"], Usual::Count(6)),
    ("storageclasses.storage.k8s.io", &["reclaimPolicy"], Usual::Word("Delete")),
    ("storageclasses.storage.k8s.io", &["volumeBindingMode"], Usual::Word("Immediate")),
    ("persistentvolumeclaims", &["spec", "volumeMode"], Usual::Word("Filesystem")),
    ("persistentvolumes", &["spec", "volumeMode"], Usual::Word("Filesystem")),
    ("persistentvolumes", &["spec", "persistentVolumeReclaimPolicy"], Usual::Word("Retain")),
    ("priorityclasses.scheduling.k8s.io", &["preemptionPolicy"], Usual::Word("PreemptLowerPriority")),
];

fn pod_spec(spec: &mut Value) {
    if !spec.is_object() {
        return;
    }
    default(spec, &["restartPolicy"], "Always");
    default(spec, &["dnsPolicy"], "ClusterFirst");
    default(spec, &["terminationGracePeriodSeconds"], 30);
    default(spec, &["schedulerName"], "default-scheduler");
    default(spec, &["securityContext"], json!({}));
    for group in ["containers", "initContainers"] {
        for container in spec[group]
            .as_array_mut()
            .into_iter()
            .flatten()
            .filter(|item| item.is_object())
        {
            default(
                container,
                &["terminationMessagePath"],
                "/dev/termination-log",
            );
            default(container, &["terminationMessagePolicy"], "File");
            default(container, &["imagePullPolicy"], "IfNotPresent");
            default(container, &["resources"], json!({}));
            requests(container);
            for port in container["ports"]
                .as_array_mut()
                .into_iter()
                .flatten()
                .filter(|port| port.is_object())
            {
                default(port, &["protocol"], "TCP");
            }
        }
    }
}

/// What is limited and not requested is requested.
fn requests(container: &mut Value) {
    let limits = container["resources"]["limits"].as_object().cloned();
    for (name, amount) in limits.into_iter().flatten() {
        default(container, &["resources", "requests", &name], amount);
    }
}

/// Five minutes on a node that does not answer, unless the pod says otherwise.
fn tolerate(pod: &mut Value) {
    default(pod, &["spec", "serviceAccountName"], "default");
    default(pod, &["spec", "enableServiceLinks"], true);
    default(pod, &["spec", "preemptionPolicy"], "PreemptLowerPriority");
    let mut tolerations = list(&pod["spec"]["tolerations"]).to_vec();
    for key in [
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
    ] {
        let said = tolerations.iter().any(|have| {
            let effect = text(have, "effect");
            let about = text(have, "key");
            (about == key || about.is_empty() && have["operator"] == "Exists")
                && (effect.is_empty() || effect == "NoExecute")
        });
        if !said {
            tolerations.push(json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}));
        }
    }
    set(pod, &["spec", "tolerations"], tolerations.into());
}

fn quality(spec: &Value) -> &'static str {
    let containers = || {
        list(&spec["containers"])
            .iter()
            .chain(list(&spec["initContainers"]))
    };
    let asked = |container: &Value, member: &str| {
        let asked = container["resources"][member].as_object();
        asked.is_some_and(|asked| asked.contains_key("cpu") || asked.contains_key("memory"))
    };
    if !containers().any(|container| asked(container, "requests") || asked(container, "limits")) {
        return "BestEffort";
    }
    let exact = containers().all(|container| {
        let (limits, requests) = (
            &container["resources"]["limits"],
            &container["resources"]["requests"],
        );
        ["cpu", "memory"]
            .iter()
            .all(|name| limits[*name].is_string() && limits[*name] == requests[*name])
    });
    if exact { "Guaranteed" } else { "Burstable" }
}

fn secret(value: &mut Value) {
    default(value, &["type"], "Opaque");
    let plain = value["stringData"].as_object().cloned();
    for (name, text) in plain.into_iter().flatten() {
        let encoded = STANDARD.encode(text.as_str().unwrap_or_default());
        set(value, &["data", &name], encoded.into());
    }
    forget(value, &["stringData"]);
}

fn service(value: &mut Value) {
    default(value, &["spec", "type"], "ClusterIP");
    default(value, &["spec", "sessionAffinity"], "None");
    if value["spec"]["type"] != "ExternalName" && value["spec"]["clusterIP"].is_null() {
        // by its name: the same service has the same address in every run
        let name = text(&value["metadata"], "namespace")
            .bytes()
            .chain(text(&value["metadata"], "name").bytes());
        let hash = name.fold(5381_u32, |hash, byte| {
            hash.wrapping_mul(33) ^ u32::from(byte)
        });
        let address = format!(
            "10.{}.{}.{}",
            97 + hash % 7,
            (hash >> 8) & 255,
            1 + (hash >> 16) % 254
        );
        set(value, &["spec", "clusterIP"], address.into());
    }
    for port in value["spec"]["ports"]
        .as_array_mut()
        .into_iter()
        .flatten()
        .filter(|port| port.is_object())
    {
        default(port, &["protocol"], "TCP");
        let number = port["port"].clone();
        default(port, &["targetPort"], number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kubernetes::kinds::Kinds;

    fn filled(id: &str, mut value: Value) -> Value {
        let kinds = Kinds::built_in();
        on_create(kinds.get(id).unwrap(), &mut value);
        value
    }

    #[test]
    fn a_pod_gets_its_defaults_and_its_class() {
        let pod = filled(
            "pods",
            json!({"spec": {"containers": [{"name": "c", "resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}]}}),
        );
        assert_eq!(pod["spec"]["restartPolicy"], "Always");
        assert_eq!(
            pod["spec"]["containers"][0]["resources"]["requests"],
            json!({"cpu": "1", "memory": "1Gi"})
        );
        assert_eq!(
            pod["status"],
            json!({"phase": "Pending", "qosClass": "Guaranteed"})
        );
        assert_eq!(list(&pod["spec"]["tolerations"]).len(), 2);
    }

    #[test]
    fn a_secret_written_in_plain_text_is_stored_encoded() {
        let secret = filled(
            "secrets",
            json!({"stringData": {"a": "b"}, "data": {"c": "ZA=="}}),
        );
        assert_eq!(
            secret,
            json!({"type": "Opaque", "data": {"a": "Yg==", "c": "ZA=="}})
        );
    }

    #[test]
    fn odd_shapes_do_no_harm() {
        for id in [
            "pods",
            "deployments.apps",
            "services",
            "secrets",
            "namespaces",
            "jobs.batch",
        ] {
            for odd in [
                json!({"spec": 5, "data": []}),
                json!({"spec": {"containers": [1], "ports": ["x"], "template": 1}}),
            ] {
                filled(id, odd);
            }
        }
    }
}
