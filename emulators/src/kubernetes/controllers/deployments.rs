//! How does a Deployment get its pods from the old template to the new one?

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::driver::Controller;
use super::pods;
use super::recorder::Recorder;
use super::rollout::{self, Rollout, Set};
use crate::kubernetes::object::Object;
use crate::kubernetes::reading::{count, list, open, text};
use crate::kubernetes::rules::Deletion;
use crate::kubernetes::store::Store;

const REVISION: &str = "deployment.kubernetes.io/revision";
const HASH: &str = "pod-template-hash";

pub struct Deployments {
    pub recorder: Recorder,
}

impl Controller for Deployments {
    fn kind(&self) -> &'static str {
        "deployments.apps"
    }

    fn children(&self) -> &'static [&'static str] {
        &["replicasets.apps", "pods"]
    }

    /// Its ReplicaSets, and pods only while it recreates: then it waits for the last old one to go.
    fn concerned(&self, store: &Store, child: &Object) -> Vec<String> {
        use crate::kubernetes::store::key;
        let Some(owner) = child.controller() else {
            return Vec::new();
        };
        let name = match owner.kind.as_str() {
            "Deployment" => Some(owner.name.clone()),
            "ReplicaSet" if child.meta.deleted_at.is_some() || pods::over(child) => {
                let set = store.get("replicasets.apps", child.namespace(), &owner.name);
                set.and_then(|set| Some(set.controller()?.name.clone()))
            }
            _ => None,
        };
        name.map(|name| key(child.namespace(), &name))
            .into_iter()
            .collect()
    }

    fn reconcile(
        &mut self,
        store: &mut Store,
        object: &Arc<Object>,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let value = object.value();
        if object.meta.deleted_at.is_none() {
            self.roll(store, object, &value, now);
        }
        super::deployment_status::report(store, object, &value, now)
    }
}

/// Its ReplicaSets, the oldest first.
pub fn sets(store: &Store, owner: &Object) -> Vec<Arc<Object>> {
    let dependants = store.owned_by(&owner.meta.uid);
    let mut sets: Vec<Arc<Object>> = dependants
        .filter(|(kind, _)| *kind == "replicasets.apps")
        .map(|(_, set)| Arc::clone(set))
        .collect();
    sets.sort_by_cached_key(|set| (revision(&set.value()), set.name().to_owned()));
    sets
}

pub fn is_current(set: &Object, template_hash: &str) -> bool {
    set.label(HASH) == Some(template_hash)
}

pub fn revision(value: &Value) -> i64 {
    let annotation = value["metadata"]["annotations"][REVISION].as_str();
    annotation.and_then(|text| text.parse().ok()).unwrap_or(0)
}

impl Deployments {
    fn roll(&self, store: &mut Store, object: &Object, value: &Value, now: Timestamp) {
        let hash = pods::hash(&value["spec"]["template"]);
        let paused = value["spec"]["paused"] == true;
        let mut all = sets(store, object);
        if !paused && !all.iter().any(|set| is_current(set, &hash)) {
            let set = new_set(object, value, &hash);
            if let Err(why) = store.create("replicasets.apps", set, now) {
                let said = format!("Failed to create new replica set: {}", why.message);
                self.recorder
                    .warning(store, object, ("ReplicaSetCreateError", &said), now);
                return;
            }
            all = sets(store, object);
        }
        if !paused {
            number(store, object, &all, (&hash, now));
        }
        let rollout = Rollout::of(value);
        let seen: Vec<Set> = all.iter().map(|set| seen(store, set, &hash)).collect();
        for (name, replicas) in rollout::sizes(&rollout, &seen) {
            self.resize(store, object, (&name, replicas), now);
        }
        forget_history(store, value, &all, (&hash, now));
    }

    fn resize(&self, store: &mut Store, object: &Object, to: (&str, i64), now: Timestamp) {
        let (name, replicas) = to;
        let mut before = 0;
        let changed = store.change("replicasets.apps", (object.namespace(), name), now, |set| {
            before = count(&set["spec"]["replicas"], 1);
            open(set, "spec")["replicas"] = replicas.into();
        });
        if changed.is_ok() && before != replicas {
            let way = if replicas > before { "up" } else { "down" };
            let said = format!("Scaled {way} replica set {name} from {before} to {replicas}");
            self.recorder
                .normal(store, object, ("ScalingReplicaSet", &said), now);
        }
    }
}

fn new_set(object: &Object, value: &Value, hash: &str) -> Value {
    let mut template = value["spec"]["template"].clone();
    open(open(&mut template, "metadata"), "labels")[HASH] = hash.into();
    let mut selector = value["spec"]["selector"].clone();
    open(&mut selector, "matchLabels")[HASH] = hash.into();
    let mut spec = json!({"replicas": 0, "selector": selector, "template": template});
    if let Some(seconds) = value["spec"].get("minReadySeconds") {
        spec["minReadySeconds"] = seconds.clone();
    }
    json!({
        "metadata": {
            "namespace": object.namespace(), "name": format!("{}-{hash}", object.name()),
            "labels": template["metadata"]["labels"], "ownerReferences": [pods::owned_by(object)],
        },
        "spec": spec,
    })
}

/// The set in use has the highest revision; the Deployment repeats it.
fn number(store: &mut Store, object: &Object, all: &[Arc<Object>], at: (&str, Timestamp)) {
    let (hash, now) = at;
    let Some(current) = all.iter().find(|set| is_current(set, hash)) else {
        return;
    };
    let others = all.iter().filter(|set| !is_current(set, hash));
    let highest = others.map(|set| revision(&set.value())).max().unwrap_or(0);
    let own = revision(&current.value());
    let wanted = if own > highest { own } else { highest + 1 };
    let write = |value: &mut Value| {
        open(open(value, "metadata"), "annotations")[REVISION] = wanted.to_string().into();
    };
    let namespace = object.namespace();
    let _ = store.change("replicasets.apps", (namespace, current.name()), now, write);
    let _ = store.change("deployments.apps", (namespace, object.name()), now, write);
}

fn seen(store: &Store, set: &Arc<Object>, hash: &str) -> Set {
    let value = set.value();
    let left = pods::of(store, set).iter().any(|pod| !pods::over(pod));
    Set {
        name: set.name().to_owned(),
        current: is_current(set, hash),
        wanted: count(&value["spec"]["replicas"], 1),
        available: count(&value["status"]["availableReplicas"], 0),
        has_pods: left,
    }
}

/// Old sets without pods go when there are more than the history keeps.
fn forget_history(store: &mut Store, value: &Value, all: &[Arc<Object>], at: (&str, Timestamp)) {
    let (hash, now) = at;
    let keep = count(&value["spec"]["revisionHistoryLimit"], 10);
    let keep = usize::try_from(keep).unwrap_or_default();
    let empty: Vec<&Arc<Object>> = all
        .iter()
        .filter(|set| !is_current(set, hash))
        .filter(|set| {
            let value = set.value();
            let none = count(&value["spec"]["replicas"], 1) == 0;
            none && count(&value["status"]["replicas"], 0) == 0 && set.meta.deleted_at.is_none()
        })
        .collect();
    for set in empty.iter().take(empty.len().saturating_sub(keep)) {
        let at = (set.namespace(), set.name());
        let _ = store.delete("replicasets.apps", at, &Deletion::default(), now);
    }
}

impl Rollout {
    fn of(value: &Value) -> Self {
        let replicas = count(&value["spec"]["replicas"], 1);
        let strategy = &value["spec"]["strategy"];
        let (surge, unavailable) = rollout::bounds(&strategy["rollingUpdate"], replicas);
        Self {
            replicas,
            surge,
            unavailable,
            recreate: text(strategy, "type") == "Recreate",
            paused: value["spec"]["paused"] == true,
        }
    }
}

/// How long it may make no progress before it says so.
pub fn deadline(value: &Value) -> SignedDuration {
    SignedDuration::from_secs(count(&value["spec"]["progressDeadlineSeconds"], 600))
}

/// What the last report said about progress: when, and with which counts.
pub fn condition_of<'a>(status: &'a Value, kind: &str) -> Option<&'a Value> {
    let mut all = list(&status["conditions"]).iter();
    all.find(|condition| text(condition, "type") == kind)
}
