//! Does a ReplicaSet have as many pods as it asks for?

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::driver::Controller;
use super::pods;
use super::recorder::Recorder;
use crate::kubernetes::object::Object;
use crate::kubernetes::reading::{count, pairs, seconds};
use crate::kubernetes::rules::Deletion;
use crate::kubernetes::store::Store;

pub struct ReplicaSets {
    pub recorder: Recorder,
}

impl Controller for ReplicaSets {
    fn kind(&self) -> &'static str {
        "replicasets.apps"
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
            self.resize(store, object, &value, now);
        }
        report(store, object, &value, now)
    }
}

impl ReplicaSets {
    fn resize(&self, store: &mut Store, object: &Object, value: &Value, now: Timestamp) {
        let wanted = usize::try_from(count(&value["spec"]["replicas"], 1)).unwrap_or_default();
        let mut have = pods::of(store, object);
        have.retain(|pod| pods::active(pod));
        for _ in have.len()..wanted {
            let mut pod = pods::from_template(&value["spec"]["template"], object);
            pod["metadata"]["generateName"] = format!("{}-", object.name()).into();
            match store.create("pods", pod, now) {
                Ok(pod) => {
                    let said = format!("Created pod: {}", pod.name());
                    self.recorder
                        .normal(store, object, ("SuccessfulCreate", &said), now);
                }
                Err(why) => {
                    let said = format!("Error creating: {}", why.message);
                    self.recorder
                        .warning(store, object, ("FailedCreate", &said), now);
                    break;
                }
            }
        }
        if have.len() > wanted {
            pods::least_missed_first(&mut have);
            for pod in &have[..have.len() - wanted] {
                let at = (pod.namespace(), pod.name());
                let _ = store.delete("pods", at, &Deletion::default(), now);
                let said = format!("Deleted pod: {}", pod.name());
                self.recorder
                    .normal(store, object, ("SuccessfulDelete", &said), now);
            }
        }
    }
}

/// Counts, and says when the next pod will have been ready for long enough.
fn report(store: &mut Store, object: &Object, value: &Value, now: Timestamp) -> Option<Timestamp> {
    let min_ready = seconds(&value["spec"]["minReadySeconds"]).unwrap_or(SignedDuration::ZERO);
    let mut have = pods::of(store, object);
    have.retain(|pod| pods::active(pod));
    let labels = pairs(&value["spec"]["template"]["metadata"]["labels"]);
    let labelled = have.iter().filter(|pod| {
        let own = &pod.meta.labels;
        labels.iter().all(|label| own.binary_search(label).is_ok())
    });
    let ready = have.iter().filter(|pod| pods::ready(pod)).count();
    let available = have
        .iter()
        .filter(|pod| pods::available(pod, min_ready, now));
    let status = json!({
        "replicas": have.len(), "fullyLabeledReplicas": labelled.count(), "readyReplicas": ready,
        "availableReplicas": available.count(), "observedGeneration": object.meta.generation,
    });
    let next = have
        .iter()
        .filter_map(|pod| pods::available_at(pod, min_ready))
        .filter(|at| *at > now)
        .min();
    let _ = store.change(
        "replicasets.apps",
        (object.namespace(), object.name()),
        now,
        |value| value["status"] = status,
    );
    next
}
