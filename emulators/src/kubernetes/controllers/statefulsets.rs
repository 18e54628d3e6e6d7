//! Does a StatefulSet have its pods with their names and volumes, one after the other?

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::driver::Controller;
use super::pods;
use crate::kubernetes::object::Object;
use crate::kubernetes::reading::{count, list, seconds, text};
use crate::kubernetes::rules::Deletion;
use crate::kubernetes::store::Store;

const REVISION: &str = "controller-revision-hash";

pub struct StatefulSets;

impl Controller for StatefulSets {
    fn kind(&self) -> &'static str {
        "statefulsets.apps"
    }

    fn children(&self) -> &'static [&'static str] {
        &["pods"]
    }

    fn reconcile(
        &mut self,
        store: &mut Store,
        object: &Arc<Object>,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let value = object.value();
        if object.meta.deleted_at.is_none() {
            let hash = pods::hash(&value["spec"]["template"]);
            let in_order = text(&value["spec"], "podManagementPolicy") != "Parallel";
            let settled = grow(store, (object, &value), (&hash, in_order), now);
            if settled && shrink(store, object, &value, now) {
                update(store, (object, &value), &hash, now);
            }
        }
        report(store, object, &value, now)
    }
}

fn ordinals(value: &Value) -> std::ops::Range<i64> {
    let start = count(&value["spec"]["ordinals"]["start"], 0);
    start..start + count(&value["spec"]["replicas"], 1).max(0)
}

/// Creates what is missing. True if every pod is there and, where order matters, ready.
fn grow(store: &mut Store, set: (&Object, &Value), how: (&str, bool), now: Timestamp) -> bool {
    let (object, value) = set;
    let (hash, in_order) = how;
    let mut settled = true;
    for ordinal in ordinals(value) {
        let name = format!("{}-{ordinal}", object.name());
        let have = store.get("pods", object.namespace(), &name).cloned();
        match have {
            Some(pod) if pods::over(&pod) && pod.meta.deleted_at.is_none() => {
                let at = (object.namespace(), pod.name());
                let _ = store.delete("pods", at, &Deletion::default(), now);
                settled = false;
            }
            Some(pod) => settled &= pods::ready(&pod) && pods::active(&pod),
            None => {
                claim_volumes(store, object, value, (ordinal, now));
                let _ = store.create("pods", member(object, value, (ordinal, hash)), now);
                settled = false;
            }
        }
        if in_order && !settled {
            break;
        }
    }
    settled
}

fn member(object: &Object, value: &Value, which: (i64, &str)) -> Value {
    let (ordinal, hash) = which;
    let name = format!("{}-{ordinal}", object.name());
    let mut pod = pods::from_template(&value["spec"]["template"], object);
    pod["metadata"]["name"] = name.clone().into();
    let labels = &mut pod["metadata"]["labels"];
    labels["statefulset.kubernetes.io/pod-name"] = name.clone().into();
    labels["apps.kubernetes.io/pod-index"] = ordinal.to_string().into();
    labels[REVISION] = format!("{}-{hash}", object.name()).into();
    pod["spec"]["hostname"] = name.clone().into();
    let mut volumes = list(&pod["spec"]["volumes"]).to_vec();
    for template in list(&value["spec"]["volumeClaimTemplates"]) {
        let volume = text(&template["metadata"], "name");
        volumes.retain(|have| have["name"] != volume);
        let claim = format!("{volume}-{name}");
        volumes.push(json!({"name": volume, "persistentVolumeClaim": {"claimName": claim}}));
    }
    if !volumes.is_empty() {
        pod["spec"]["volumes"] = volumes.into();
    }
    pod
}

fn claim_volumes(store: &mut Store, object: &Object, value: &Value, at: (i64, Timestamp)) {
    let (ordinal, now) = at;
    for template in list(&value["spec"]["volumeClaimTemplates"]) {
        let volume = text(&template["metadata"], "name");
        let name = format!("{volume}-{}-{ordinal}", object.name());
        let claim = json!({
            "metadata": {
                "namespace": object.namespace(), "name": name,
                "labels": value["spec"]["selector"]["matchLabels"],
            },
            "spec": template["spec"],
        });
        // the volume of an earlier pod of that name is taken over
        let _ = store.create("persistentvolumeclaims", claim, now);
    }
}

/// Takes the highest away first, one at a time where order matters. True if none is too many.
fn shrink(store: &mut Store, object: &Object, value: &Value, now: Timestamp) -> bool {
    let wanted = ordinals(value);
    let mut extra: Vec<(i64, Arc<Object>)> = pods::of(store, object)
        .into_iter()
        .filter_map(|pod| {
            let ordinal = pod.name().rsplit_once('-')?.1.parse::<i64>().ok()?;
            (!wanted.contains(&ordinal)).then_some((ordinal, pod))
        })
        .collect();
    extra.sort_by_key(|(ordinal, _)| std::cmp::Reverse(*ordinal));
    let in_order = text(&value["spec"], "podManagementPolicy") != "Parallel";
    let at_once = if in_order { 1 } else { extra.len() };
    for (_, pod) in extra.iter().take(at_once) {
        if pod.meta.deleted_at.is_none() {
            let at = (pod.namespace(), pod.name());
            let _ = store.delete("pods", at, &Deletion::default(), now);
        }
    }
    extra.is_empty()
}

/// Rolling update: the highest outdated pod goes, down to the partition.
fn update(store: &mut Store, set: (&Object, &Value), hash: &str, now: Timestamp) {
    let (object, value) = set;
    let strategy = &value["spec"]["updateStrategy"];
    if text(strategy, "type") == "OnDelete" {
        return;
    }
    let partition = count(&strategy["rollingUpdate"]["partition"], 0);
    let revision = format!("{}-{hash}", object.name());
    for ordinal in ordinals(value)
        .rev()
        .take_while(|ordinal| *ordinal >= partition)
    {
        let name = format!("{}-{ordinal}", object.name());
        let pod = store.get("pods", object.namespace(), &name);
        if pod.is_some_and(|pod| pod.label(REVISION) != Some(revision.as_str())) {
            let _ = store.delete(
                "pods",
                (object.namespace(), &name),
                &Deletion::default(),
                now,
            );
            return;
        }
    }
}

fn report(store: &mut Store, object: &Object, value: &Value, now: Timestamp) -> Option<Timestamp> {
    let min_ready = seconds(&value["spec"]["minReadySeconds"]).unwrap_or(SignedDuration::ZERO);
    let revision = format!(
        "{}-{}",
        object.name(),
        pods::hash(&value["spec"]["template"])
    );
    let have = pods::of(store, object);
    let living: Vec<&Arc<Object>> = have.iter().filter(|pod| !pods::over(pod)).collect();
    let number = |test: &dyn Fn(&Object) -> bool| living.iter().filter(|pod| test(pod)).count();
    let updated = number(&|pod| pod.label(REVISION) == Some(revision.as_str()));
    let before = text(&value["status"], "currentRevision").to_owned();
    let done = updated == living.len() || before.is_empty();
    let status = json!({
        "replicas": living.len(), "readyReplicas": number(&pods::ready),
        "availableReplicas": number(&|pod| pods::available(pod, min_ready, now)),
        "updatedReplicas": updated,
        "currentReplicas": if done { updated } else { living.len() - updated },
        "currentRevision": if done { revision.clone() } else { before },
        "updateRevision": revision, "collisionCount": 0,
        "observedGeneration": object.meta.generation,
    });
    let at = (object.namespace(), object.name());
    let _ = store.change("statefulsets.apps", at, now, |value| {
        value["status"] = status;
    });
    let next = living
        .iter()
        .filter_map(|pod| pods::available_at(pod, min_ready));
    next.filter(|at| *at > now).min()
}
