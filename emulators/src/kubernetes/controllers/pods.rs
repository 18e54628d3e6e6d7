//! What is a pod to its controller: does it count, is it ready, which one goes first, and how is a new one made?

use std::cmp::Reverse;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::kubernetes::object::Object;
use crate::kubernetes::reading::{after, list, text};
use crate::kubernetes::store::Store;

/// Neither over nor about to be.
pub fn active(pod: &Object) -> bool {
    pod.meta.deleted_at.is_none() && !over(pod)
}

pub fn over(pod: &Object) -> bool {
    matches!(pod.meta.phase.as_str(), "Succeeded" | "Failed")
}

pub fn ready(pod: &Object) -> bool {
    pod.meta.ready_since.is_some() && !over(pod)
}

/// Ready for long enough.
pub fn available(pod: &Object, min_ready: SignedDuration, now: Timestamp) -> bool {
    available_at(pod, min_ready).is_some_and(|at| at <= now)
}

pub fn available_at(pod: &Object, min_ready: SignedDuration) -> Option<Timestamp> {
    let since = pod.meta.ready_since.filter(|_| !over(pod))?;
    Some(after(since, min_ready))
}

/// All pods a controller has, in order of name.
pub fn of(store: &Store, owner: &Object) -> Vec<Arc<Object>> {
    let dependants = store.owned_by(&owner.meta.uid);
    let pods = dependants.filter(|(kind, pod)| {
        *kind == "pods"
            && pod
                .controller()
                .is_some_and(|own| own.uid == owner.meta.uid)
    });
    pods.map(|(_, pod)| Arc::clone(pod)).collect()
}

/// Those that are missed least stand first: unbound, pending, not ready, cheap to delete, young.
pub fn least_missed_first(pods: &mut [Arc<Object>]) {
    pods.sort_by_cached_key(|pod| {
        let bound = !pod.meta.node.is_empty();
        let running = pod.meta.phase == "Running";
        let value = pod.value();
        let cost = &value["metadata"]["annotations"]["controller.kubernetes.io/pod-deletion-cost"];
        let cost: i64 = cost
            .as_str()
            .and_then(|cost| cost.parse().ok())
            .unwrap_or(0);
        let created = text(&value["metadata"], "creationTimestamp").to_owned();
        let order = (bound, running, ready(pod), cost);
        (order, Reverse(created), pod.name().to_owned())
    });
}

/// A pod as the template describes it, owned by `owner`. The caller names it.
pub fn from_template(template: &Value, owner: &Object) -> Value {
    let mut pod = json!({"metadata": {"namespace": owner.namespace(), "labels": {}}, "spec": {}});
    if template["spec"].is_object() {
        pod["spec"] = template["spec"].clone();
    }
    for member in ["labels", "annotations"] {
        if template["metadata"][member].is_object() {
            pod["metadata"][member] = template["metadata"][member].clone();
        }
    }
    pod["metadata"]["ownerReferences"] = json!([owned_by(owner)]);
    pod
}

/// The reference of a dependant to the one that controls it.
pub fn owned_by(owner: &Object) -> Value {
    let value = owner.value();
    json!({
        "apiVersion": value["apiVersion"], "kind": value["kind"], "name": owner.name(),
        "uid": owner.meta.uid, "controller": true, "blockOwnerDeletion": true,
    })
}

/// A short name for a template: the same for the same content.
pub fn hash(template: &Value) -> String {
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let mut canonical = String::new();
    write_sorted(template, &mut canonical);
    let mut bits = canonical
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
    let mut name = String::new();
    for _ in 0..9 {
        let at = usize::try_from(bits % LETTERS.len() as u64).unwrap_or_default();
        name.push(char::from(LETTERS[at]));
        bits /= LETTERS.len() as u64;
    }
    name
}

/// The same text whatever the order of members was.
fn write_sorted(value: &Value, to: &mut String) {
    match value {
        Value::Object(members) => {
            let mut sorted: Vec<_> = members.iter().collect();
            sorted.sort_by_key(|(name, _)| *name);
            to.push('{');
            for (name, value) in sorted {
                to.push_str(name);
                to.push(':');
                write_sorted(value, to);
                to.push(',');
            }
            to.push('}');
        }
        Value::Array(_) => {
            to.push('[');
            for value in list(value) {
                write_sorted(value, to);
                to.push(',');
            }
            to.push(']');
        }
        plain => to.push_str(&plain.to_string()),
    }
}
