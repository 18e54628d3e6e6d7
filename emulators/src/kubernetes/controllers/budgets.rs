//! How many pods may a PodDisruptionBudget still lose at this moment?

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::conditions::{self, Condition};
use super::driver::Controller;
use super::pods;
use crate::kubernetes::label_rules::LabelRules;
use crate::kubernetes::object::Object;
use crate::kubernetes::reading::{after, count, instant, open, share};
use crate::kubernetes::store::{Store, key};

/// An eviction that was allowed but whose pod is still there counts for so long.
const PATIENCE: SignedDuration = SignedDuration::from_mins(2);

pub struct Budgets;

impl Controller for Budgets {
    fn kind(&self) -> &'static str {
        "poddisruptionbudgets.policy"
    }

    fn children(&self) -> &'static [&'static str] {
        &[
            "pods",
            "replicasets.apps",
            "deployments.apps",
            "statefulsets.apps",
        ]
    }

    fn concerned(&self, store: &Store, child: &Object) -> Vec<String> {
        let budgets = store.list(self.kind(), Some(child.namespace()));
        let workload = child.meta.phase.is_empty();
        let concerned = budgets.filter(|budget| {
            let value = budget.value();
            workload || rules(&value).hold(&child.meta.labels)
        });
        concerned
            .map(|budget| key(budget.namespace(), budget.name()))
            .collect()
    }

    fn reconcile(
        &mut self,
        store: &mut Store,
        object: &Arc<Object>,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let value = object.value();
        let rules = rules(&value);
        let all = store.list("pods", Some(object.namespace()));
        let matched: Vec<Arc<Object>> = all
            .filter(|pod| rules.hold(&pod.meta.labels) && !pods::over(pod))
            .cloned()
            .collect();
        let (disrupted, again) = still_disrupted(&value, &matched, now);
        let healthy = matched.iter().filter(|pod| {
            pods::ready(pod) && pods::active(pod) && disrupted.get(pod.name()).is_none()
        });
        let healthy = i64::try_from(healthy.count()).unwrap_or(0);
        let (expected, desired) = demand(store, &value, &matched);
        let allowed = if expected > 0 {
            (healthy - desired).max(0)
        } else {
            0
        };
        let at = (object.namespace(), object.name());
        let _ = store.change(self.kind(), at, now, |value| {
            let generation = value["metadata"]["generation"].clone();
            let status = open(value, "status");
            status["currentHealthy"] = healthy.into();
            status["desiredHealthy"] = desired.into();
            status["expectedPods"] = expected.into();
            status["disruptionsAllowed"] = allowed.into();
            status["observedGeneration"] = generation;
            if disrupted.as_object().is_some_and(|all| !all.is_empty()) {
                status["disruptedPods"] = disrupted;
            } else if let Some(status) = status.as_object_mut() {
                status.remove("disruptedPods");
            }
            let (state, reason) = if allowed > 0 {
                ("True", "SufficientPods")
            } else {
                ("False", "InsufficientPods")
            };
            let condition = Condition {
                kind: "DisruptionAllowed",
                status: state,
                reason,
                message: "",
            };
            conditions::set(status, condition, None, now);
            if let Some(all) = status["conditions"].as_array_mut() {
                for condition in all {
                    condition["message"] = condition["message"].as_str().unwrap_or("").into();
                }
            }
        });
        again
    }
}

/// An empty selector of a budget selects every pod of its namespace.
fn rules(value: &Value) -> LabelRules {
    LabelRules::of_selector(&value["spec"]["selector"])
}

/// Pods whose eviction was granted and that have not gone yet, and when to stop waiting for them.
fn still_disrupted(
    value: &Value,
    matched: &[Arc<Object>],
    now: Timestamp,
) -> (Value, Option<Timestamp>) {
    let mut still = json!({});
    let mut again: Option<Timestamp> = None;
    let noted = value["status"]["disruptedPods"].as_object();
    for (name, at) in noted.into_iter().flatten() {
        let pod = matched.iter().find(|pod| pod.name() == name);
        let until = instant(at).map(|at| after(at, PATIENCE));
        let waiting = pod.is_some_and(|pod| pod.meta.deleted_at.is_none());
        if let Some(until) = until.filter(|until| waiting && *until > now) {
            still[name] = at.clone();
            again = Some(again.map_or(until, |again| again.min(until)));
        }
    }
    (still, again)
}

/// (expected, desired): of a number of healthy pods the matched ones are expected, of anything else as many as their
/// controllers ask for.
fn demand(store: &Store, value: &Value, matched: &[Arc<Object>]) -> (i64, i64) {
    let spec = &value["spec"];
    if let Some(least) = spec["minAvailable"].as_i64() {
        return (i64::try_from(matched.len()).unwrap_or(0), least);
    }
    let expected = asked_for(store, matched);
    if let Some(most) = spec.get("maxUnavailable").filter(|most| !most.is_null()) {
        let most = share(most, expected, true).unwrap_or(0);
        return (expected, (expected - most).max(0));
    }
    let least = share(&spec["minAvailable"], expected, true);
    // neither is given: one pod may be missing at a time
    (expected, least.unwrap_or((expected - 1).max(0)))
}

fn asked_for(store: &Store, matched: &[Arc<Object>]) -> i64 {
    let mut seen: BTreeSet<String> = BTreeSet::new();
    let mut total = 0;
    for pod in matched {
        let Some(scale) = scale(store, pod) else {
            total += 1;
            continue;
        };
        if seen.insert(scale.meta.uid.clone()) {
            total += count(&scale.value()["spec"]["replicas"], 1);
        }
    }
    total
}

/// The topmost object that says how many such pods there should be.
fn scale(store: &Store, pod: &Object) -> Option<Arc<Object>> {
    let owner = pod.controller()?;
    let kind = match owner.kind.as_str() {
        "ReplicaSet" => "replicasets.apps",
        "StatefulSet" => "statefulsets.apps",
        "ReplicationController" => "replicationcontrollers",
        _ => return None,
    };
    let set = store.get(kind, pod.namespace(), &owner.name)?;
    let above = set.controller().filter(|above| above.kind == "Deployment");
    let above = above.and_then(|above| store.get("deployments.apps", pod.namespace(), &above.name));
    Some(Arc::clone(above.unwrap_or(set)))
}
