//! What does a Deployment say about its rollout?

use jiff::Timestamp;
use serde_json::{Value, json};

use super::conditions::{self, Condition};
use super::deployments::{condition_of, deadline, is_current, sets};
use super::pods;
use super::rollout::bounds;
use crate::kubernetes::object::{Object, stamp};
use crate::kubernetes::reading::{after, count, instant, open};
use crate::kubernetes::store::Store;

const COUNTS: [&str; 4] = [
    "replicas",
    "updatedReplicas",
    "readyReplicas",
    "availableReplicas",
];

/// Stays until something moves again.
const LATE: &str = "ProgressDeadlineExceeded";

/// Writes the status. Returns when a rollout that stands still has stood for too long.
pub(super) fn report(
    store: &mut Store,
    object: &Object,
    value: &Value,
    now: Timestamp,
) -> Option<Timestamp> {
    let counted = counted(store, object, value);
    let name = object.name().to_owned();
    let mut again = None;
    let _ = store.change(
        "deployments.apps",
        (object.namespace(), &name),
        now,
        |value| {
            let spec = value["spec"].clone();
            let generation = value["metadata"]["generation"].clone();
            let status = open(value, "status");
            let moved = COUNTS
                .iter()
                .any(|member| status[member] != counted[member]);
            if let (Some(into), Some(from)) = (status.as_object_mut(), counted.as_object()) {
                into.extend(from.clone());
            }
            status["observedGeneration"] = generation;
            available(status, &spec, now);
            again = progressing(status, &spec, moved, now);
        },
    );
    again
}

fn counted(store: &Store, object: &Object, value: &Value) -> Value {
    let hash = pods::hash(&value["spec"]["template"]);
    let all = sets(store, object);
    let sum = |member: &str, current_only: bool| -> i64 {
        let sets = all
            .iter()
            .filter(|set| !current_only || is_current(set, &hash));
        sets.map(|set| count(&set.value()["status"][member], 0))
            .sum()
    };
    let wanted = count(&value["spec"]["replicas"], 1);
    let (have, available) = (sum("replicas", false), sum("availableReplicas", false));
    json!({
        "replicas": have, "updatedReplicas": sum("replicas", true),
        "readyReplicas": sum("readyReplicas", false), "availableReplicas": available,
        "unavailableReplicas": (wanted.max(have) - available).max(0),
    })
}

fn available(status: &mut Value, spec: &Value, now: Timestamp) {
    let wanted = count(&spec["replicas"], 1);
    let (_, unavailable) = bounds(&spec["strategy"]["rollingUpdate"], wanted);
    let enough = count(&status["availableReplicas"], 0) >= wanted - unavailable;
    let (state, reason, message) = if enough {
        (
            "True",
            "MinimumReplicasAvailable",
            "Deployment has minimum availability.",
        )
    } else {
        (
            "False",
            "MinimumReplicasUnavailable",
            "Deployment does not have minimum availability.",
        )
    };
    let condition = Condition {
        kind: "Available",
        status: state,
        reason,
        message,
    };
    put(status, condition, now);
}

fn progressing(status: &mut Value, spec: &Value, moved: bool, now: Timestamp) -> Option<Timestamp> {
    let wanted = count(&spec["replicas"], 1);
    let at_goal = |member: &str| count(&status[member], 0) == wanted;
    let complete =
        at_goal("replicas") && at_goal("updatedReplicas") && at_goal("availableReplicas");
    let before = condition_of(status, "Progressing").cloned();
    let since = before
        .as_ref()
        .filter(|_| !moved)
        .and_then(|before| instant(&before["lastUpdateTime"]))
        .unwrap_or(now);
    let limit = after(since, deadline(&json!({"spec": spec})));
    let said = before
        .as_ref()
        .is_some_and(|before| before["reason"] == LATE);
    let late = !complete && (limit <= now || said && !moved);
    let (state, reason, message) = match (complete, late) {
        (true, _) => (
            "True",
            "NewReplicaSetAvailable",
            "ReplicaSet has successfully progressed.",
        ),
        (_, true) => ("False", LATE, "ReplicaSet has timed out progressing."),
        _ => ("True", "ReplicaSetUpdated", "ReplicaSet is progressing."),
    };
    let condition = Condition {
        kind: "Progressing",
        status: state,
        reason,
        message,
    };
    put(status, condition, now);
    let same = before.is_some_and(|before| before["reason"] == reason && !moved);
    if let Some(condition) = condition_mut(status, "Progressing") {
        condition["lastUpdateTime"] = stamp(if same { since } else { now }).into();
    }
    (!complete && !late).then_some(limit)
}

/// With `lastUpdateTime`, which moves only when something else does.
fn put(status: &mut Value, condition: Condition<'_>, now: Timestamp) {
    let before = condition_of(status, condition.kind).cloned();
    conditions::set(status, condition, None, now);
    let Some(after) = condition_mut(status, condition.kind) else {
        return;
    };
    let same = before.filter(|before| {
        ["status", "reason", "message"]
            .iter()
            .all(|member| before[member] == after[member])
    });
    after["lastUpdateTime"] = same.map_or_else(
        || stamp(now).into(),
        |before| before["lastUpdateTime"].clone(),
    );
}

fn condition_mut<'a>(status: &'a mut Value, kind: &str) -> Option<&'a mut Value> {
    let all = status["conditions"].as_array_mut()?;
    all.iter_mut().find(|condition| condition["type"] == kind)
}
