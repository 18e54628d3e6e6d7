//! What does a kubelet write about a pod as it starts, runs and ends?

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::kubernetes::controllers::conditions::{self, Condition};
use crate::kubernetes::object::stamp;
use crate::kubernetes::reading::{condition, list, open, text};

/// Annotations by which a pod tells this kubelet how to treat it: `run-seconds`, `exit-code`, `stop-seconds`.
const PREFIX: &str = "kubelet.emulated/";

/// A wish in seconds.
pub(super) fn wish(pod: &Value, name: &str) -> Option<SignedDuration> {
    let text = pod["metadata"]["annotations"][format!("{PREFIX}{name}")].as_str()?;
    text.parse().ok().map(SignedDuration::from_secs)
}

/// Those that end before the others start.
pub(super) fn init_containers(pod: &Value) -> i32 {
    let all = list(&pod["spec"]["initContainers"]).iter();
    let ending = all.filter(|one| text(one, "restartPolicy") != "Always");
    i32::try_from(ending.count()).unwrap_or(i32::MAX)
}

/// How long it runs by itself; `None`: until somebody ends it.
pub(super) fn ends_after(pod: &Value, usual: SignedDuration) -> Option<SignedDuration> {
    match text(&pod["spec"], "restartPolicy") {
        "Never" | "OnFailure" => {
            let own = wish(pod, "run-seconds").or_else(|| job(pod).then_some(usual));
            own.map(|own| own.max(SignedDuration::from_millis(1)))
        }
        _ => None,
    }
}

fn job(pod: &Value) -> bool {
    let owners = list(&pod["metadata"]["ownerReferences"]).iter();
    owners.clone().any(|owner| text(owner, "kind") == "Job")
}

pub(super) fn initializing(pod: &mut Value, _: &str, now: Timestamp) {
    let spec = pod["spec"].clone();
    let status = open(pod, "status");
    begin(status, now);
    status["initContainerStatuses"] = states(&spec["initContainers"], false, &running_since(now));
    let waiting = json!({"waiting": {"reason": "PodInitializing"}});
    status["containerStatuses"] = states(&spec["containers"], false, &waiting);
    let incomplete = Condition {
        kind: "Initialized",
        status: "False",
        reason: "ContainersNotInitialized",
        message: "",
    };
    conditions::set(status, incomplete, None, now);
    not_ready(status, "ContainersNotReady", now);
}

pub(super) fn running(pod: &mut Value, address: &str, now: Timestamp) {
    let spec = pod["spec"].clone();
    let gates = list(&spec["readinessGates"]).iter();
    let passed = gates.clone().all(|gate| {
        let have = condition(pod, text(gate, "conditionType"));
        have.is_some_and(|have| text(have, "status") == "True")
    });
    let status = open(pod, "status");
    begin(status, now);
    status["phase"] = "Running".into();
    status["podIP"] = address.into();
    status["podIPs"] = json!([{"ip": address}]);
    if !list(&spec["initContainers"]).is_empty() {
        status["initContainerStatuses"] = init_states(&spec["initContainers"], now);
    }
    status["containerStatuses"] = states(&spec["containers"], true, &running_since(now));
    for kind in [
        "PodReadyToStartContainers",
        "Initialized",
        "ContainersReady",
    ] {
        conditions::set(status, fine(kind), None, now);
    }
    if passed {
        conditions::set(status, fine("Ready"), None, now);
    } else {
        not_ready(status, "ReadinessGatesNotReady", now);
    }
}

/// Its containers are over: Succeeded or Failed, as they say.
pub(super) fn ended(pod: &mut Value, _: &str, now: Timestamp) {
    let code = pod["metadata"]["annotations"][format!("{PREFIX}exit-code")].as_str();
    let code: i64 = code.and_then(|code| code.parse().ok()).unwrap_or(0);
    let spec = pod["spec"].clone();
    let status = open(pod, "status");
    let (phase, reason) = if code == 0 {
        ("Succeeded", "Completed")
    } else {
        ("Failed", "Error")
    };
    status["phase"] = phase.into();
    let state =
        json!({"terminated": {"exitCode": code, "reason": reason, "finishedAt": stamp(now)}});
    status["containerStatuses"] = states(&spec["containers"], false, &state);
    not_ready(status, "PodCompleted", now);
}

fn begin(status: &mut Value, now: Timestamp) {
    if !status["startTime"].is_string() {
        status["startTime"] = stamp(now).into();
    }
    if !status["qosClass"].is_string() {
        status["qosClass"] = "Burstable".into();
    }
    conditions::set(status, fine("PodScheduled"), None, now);
}

fn fine(kind: &str) -> Condition<'_> {
    Condition {
        kind,
        status: "True",
        reason: "",
        message: "",
    }
}

fn not_ready(status: &mut Value, reason: &str, now: Timestamp) {
    for kind in ["Ready", "ContainersReady"] {
        let condition = Condition {
            kind,
            status: "False",
            reason,
            message: "",
        };
        conditions::set(status, condition, None, now);
    }
}

fn running_since(now: Timestamp) -> Value {
    json!({"running": {"startedAt": stamp(now)}})
}

fn states(containers: &Value, ready: bool, state: &Value) -> Value {
    let each = list(containers).iter().map(|container| {
        json!({
            "name": container["name"], "image": container["image"], "imageID": "", "restartCount": 0,
            "containerID": format!("emulated://{}", text(container, "name")),
            "ready": ready, "started": ready, "state": state,
        })
    });
    each.collect()
}

/// Sidecars run on, the others are done.
fn init_states(containers: &Value, now: Timestamp) -> Value {
    let each = list(containers).iter().flat_map(|container| {
        let sidecar = text(container, "restartPolicy") == "Always";
        let done =
            json!({"terminated": {"exitCode": 0, "reason": "Completed", "finishedAt": stamp(now)}});
        let state = if sidecar { running_since(now) } else { done };
        list(&states(&json!([container]), true, &state)).to_vec()
    });
    each.collect()
}
