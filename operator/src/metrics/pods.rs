//! How long does a pod wait: for our decision, for its node, until it is ready?

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use prometheus_client::metrics::histogram::Histogram;
use runtime::metrics::Metrics;

use super::{long_waits, table};
use crate::ingest;

/// Filled by the pod watch and by whoever plans.
#[derive(Clone)]
pub struct PodTimes {
    waiting: Arc<Mutex<BTreeMap<String, Waiting>>>,
    startup: Histogram,
    bound: Histogram,
    provisioned: Histogram,
    provisioned_startup: Histogram,
    decision: Histogram,
}

/// One pod that we know to wait, or to have waited and not to be ready yet.
#[derive(Clone, Copy)]
struct Waiting {
    seen: Timestamp,
    decided: Option<Timestamp>,
}

impl PodTimes {
    pub fn new(metrics: &Metrics) -> Self {
        let make = |name: &str| metrics.histogram(name, table::help(name), long_waits);
        Self {
            waiting: Arc::default(),
            startup: make("karpenter_pods_startup_duration_seconds"),
            bound: make("karpenter_pods_bound_duration_seconds"),
            provisioned: make("karpenter_pods_provisioning_bound_duration_seconds"),
            provisioned_startup: make("karpenter_pods_provisioning_startup_duration_seconds"),
            decision: make("karpenter_pods_scheduling_decision_duration_seconds"),
        }
    }

    /// A pod has changed. What was so before we looked is not measured: when it happened is not known exactly.
    pub fn changed(&self, old: Option<&Pod>, new: Option<&Pod>, now: Timestamp) {
        let Some(uid) = new.or(old).and_then(ResourceExt::uid) else {
            return;
        };
        let mut all = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(new) = new else {
            all.remove(&uid);
            return;
        };
        if ingest::pod::is_pending(new) {
            let fresh = Waiting {
                seen: now,
                decided: None,
            };
            all.entry(uid.clone()).or_insert(fresh);
        }
        let Some(old) = old else { return };
        let created = ingest::pod::created(new);
        let decided = all.get(&uid).and_then(|waiting| waiting.decided);
        if became(old, new, |pod| ingest::pod::node_of(pod).is_some()) {
            observe(&self.bound, Some(created), since(new, "PodScheduled", now));
            observe(&self.provisioned, decided, now);
        }
        if became(old, new, is_ready) {
            observe(&self.startup, Some(created), since(new, "Ready", now));
            observe(&self.provisioned_startup, decided, now);
            all.remove(&uid);
        }
    }

    /// A plan has a place for the pod.
    pub fn decided(&self, uid: &str, now: Timestamp) {
        let mut all = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(waiting) = all.get_mut(uid) else {
            return;
        };
        if waiting.decided.is_none() {
            waiting.decided = Some(now);
            observe(&self.decision, Some(waiting.seen), now);
        }
    }
}

fn became(old: &Pod, new: &Pod, is: impl Fn(&Pod) -> bool) -> bool {
    !is(old) && is(new)
}

fn is_ready(pod: &Pod) -> bool {
    condition(pod, "Ready").is_some_and(|(status, _)| status == "True")
}

fn condition<'a>(pod: &'a Pod, kind: &str) -> Option<(&'a str, Option<Timestamp>)> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    let found = conditions.iter().find(|one| one.type_ == kind)?;
    let since = found.last_transition_time.as_ref().map(|time| time.0);
    Some((&found.status, since))
}

fn since(pod: &Pod, kind: &str, now: Timestamp) -> Timestamp {
    condition(pod, kind)
        .and_then(|(_, since)| since)
        .unwrap_or(now)
}

fn observe(into: &Histogram, from: Option<Timestamp>, to: Timestamp) {
    if let Some(from) = from {
        into.observe(to.duration_since(from).as_secs_f64().max(0.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pod(node: Option<&str>, ready: bool) -> Pod {
        let scheduled = if node.is_some() {
            json!({ "type": "PodScheduled", "status": "True", "lastTransitionTime": "1970-01-01T00:00:07Z" })
        } else {
            json!({ "type": "PodScheduled", "status": "False", "reason": "Unschedulable" })
        };
        let ready = json!({ "type": "Ready", "status": if ready { "True" } else { "False" }, "lastTransitionTime": "1970-01-01T00:00:09Z" });
        serde_json::from_value(json!({
            "metadata": { "name": "web", "namespace": "default", "uid": "u", "creationTimestamp": "1970-01-01T00:00:01Z" },
            "spec": { "nodeName": node, "containers": [] },
            "status": { "phase": "Pending", "conditions": [scheduled, ready] },
        }))
        .unwrap()
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    #[test]
    fn a_pod_is_measured_from_its_creation_and_from_our_decision() {
        let metrics = Metrics::default();
        let times = PodTimes::new(&metrics);
        times.changed(None, Some(&pod(None, false)), at(2));
        times.decided("u", at(3));
        times.decided("u", at(4));
        let bound = pod(Some("n"), false);
        times.changed(Some(&pod(None, false)), Some(&bound), at(8));
        times.changed(Some(&bound), Some(&pod(Some("n"), true)), at(10));
        let text = metrics.text();
        for (name, seconds) in [
            ("scheduling_decision", 1.0),
            ("bound", 6.0),
            ("provisioning_bound", 5.0),
            ("startup", 8.0),
            ("provisioning_startup", 7.0),
        ] {
            let line = format!("karpenter_pods_{name}_duration_seconds_sum {seconds:.1}\n");
            assert!(text.contains(&line), "{line} in {text}");
        }
    }

    #[test]
    fn a_pod_that_was_ready_when_we_came_is_not_measured() {
        let metrics = Metrics::default();
        let times = PodTimes::new(&metrics);
        times.changed(None, Some(&pod(Some("n"), true)), at(100));
        assert!(
            metrics
                .text()
                .contains("karpenter_pods_startup_duration_seconds_count 0\n")
        );
    }
}
