//! Does every node that a DaemonSet wants have exactly one of its pods?

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::driver::Controller;
use super::pods;
use super::recorder::Recorder;
use crate::kubernetes::node_affinity::{NodeNeeds, target};
use crate::kubernetes::object::Object;
use crate::kubernetes::reading::{count, list, open, seconds, share, text};
use crate::kubernetes::rules::Deletion;
use crate::kubernetes::store::{Store, key};
use crate::kubernetes::taints::{self, Taint, Toleration};

const REVISION: &str = "controller-revision-hash";

/// What every daemon's pod tolerates: (key, effect).
const TOLERATED: [(&str, &str); 6] = [
    (taints::NOT_READY, "NoExecute"),
    (taints::UNREACHABLE, "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    (taints::UNSCHEDULABLE, "NoSchedule"),
];

pub struct DaemonSets {
    pub recorder: Recorder,
    /// Read again only when a node changed: there may be thousands.
    spots: BTreeMap<String, Spot>,
}

/// A node as daemons see it.
struct Spot {
    revision: u64,
    labels: Vec<(String, String)>,
    taints: Vec<Taint>,
}

impl Controller for DaemonSets {
    fn kind(&self) -> &'static str {
        "daemonsets.apps"
    }

    fn children(&self) -> &'static [&'static str] {
        &["pods", "nodes"]
    }

    /// A node concerns every DaemonSet.
    fn concerned(&self, store: &Store, child: &Object) -> Vec<String> {
        if child.namespace().is_empty() {
            let all = store.list(self.kind(), None);
            return all.map(|set| key(set.namespace(), set.name())).collect();
        }
        let owner = child.controller().filter(|owner| owner.kind == "DaemonSet");
        owner
            .map(|owner| key(child.namespace(), &owner.name))
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
        self.look_at_nodes(store);
        let sample = sample(object, &value, "");
        let needs = NodeNeeds::of_pod(&value["spec"]["template"]);
        let tolerations = Toleration::of_pod(&sample);
        let (mut wanted, mut allowed) = (Vec::new(), Vec::new());
        for (name, spot) in &self.spots {
            let fits = needs.met_by(name, &spot.labels);
            let expelled = spot.taints.iter().any(|taint| {
                taint.effect == "NoExecute" && !taints::tolerated(taint, &tolerations)
            });
            if fits && taints::repelled_by(&spot.taints, &tolerations).is_none() {
                wanted.push(name.clone());
            }
            if fits && !expelled {
                allowed.push(name.clone());
            }
        }
        if object.meta.deleted_at.is_none() {
            let goal = Goal {
                wanted: &wanted,
                allowed: &allowed,
            };
            self.place(store, (object, &value), &goal, now);
            update(store, (object, &value), wanted.len(), now);
        }
        report(store, (object, &value), &wanted, now)
    }
}

/// Sorted names: nodes that should get a pod, and nodes where one may stay.
struct Goal<'a> {
    wanted: &'a [String],
    allowed: &'a [String],
}

impl DaemonSets {
    pub fn new(recorder: Recorder) -> Self {
        Self {
            recorder,
            spots: BTreeMap::new(),
        }
    }

    fn look_at_nodes(&mut self, store: &Store) {
        self.spots
            .retain(|name, _| store.get("nodes", "", name).is_some());
        for node in store.list("nodes", None) {
            let known = self.spots.get(node.name());
            if known.is_some_and(|spot| spot.revision == node.meta.revision) {
                continue;
            }
            let spot = Spot {
                revision: node.meta.revision,
                labels: node.meta.labels.clone(),
                taints: Taint::of_node(&node.value()),
            };
            self.spots.insert(node.name().to_owned(), spot);
        }
    }

    fn place(&self, store: &mut Store, set: (&Object, &Value), goal: &Goal<'_>, now: Timestamp) {
        let (object, value) = set;
        let mut have = by_node(store, object);
        let absent = have
            .iter()
            .filter(|(node, _)| goal.allowed.binary_search(node).is_err());
        let mut gone: Vec<Arc<Object>> = absent.flat_map(|(_, pods)| pods.clone()).collect();
        for (node, mut pods) in std::mem::take(&mut have) {
            gone.extend(pods.iter().filter(|pod| pods::over(pod)).cloned());
            pods.retain(|pod| pods::active(pod));
            // the oldest stays
            pods.sort_by_cached_key(|pod| {
                text(&pod.value()["metadata"], "creationTimestamp").to_owned()
            });
            gone.extend(pods.iter().skip(1).cloned());
            have.insert(node, pods);
        }
        for pod in gone.iter().filter(|pod| pod.meta.deleted_at.is_none()) {
            let at = (pod.namespace(), pod.name());
            let _ = store.delete("pods", at, &Deletion::default(), now);
        }
        for node in goal.wanted {
            if have.contains_key(node) {
                continue; // one that is ending must be gone before the next
            }
            let pod = sample(object, value, node);
            if let Ok(pod) = store.create("pods", pod, now) {
                let said = format!("Created pod: {}", pod.name());
                self.recorder
                    .normal(store, object, ("SuccessfulCreate", &said), now);
            }
        }
    }
}

/// Rolling update: pods of an older template go, as many as may be missing.
fn update(store: &mut Store, set: (&Object, &Value), wanted: usize, now: Timestamp) {
    let (object, value) = set;
    let strategy = &value["spec"]["updateStrategy"];
    if text(strategy, "type") == "OnDelete" {
        return;
    }
    let hash = pods::hash(&value["spec"]["template"]);
    let all: Vec<Arc<Object>> = pods::of(store, object);
    let total = i64::try_from(wanted).unwrap_or(0);
    let most = share(&strategy["rollingUpdate"]["maxUnavailable"], total, true).unwrap_or(1);
    let ready = all
        .iter()
        .filter(|pod| pods::ready(pod) && pods::active(pod))
        .count();
    let missing = total - i64::try_from(ready).unwrap_or(0);
    let mut may_go = (most.max(1) - missing).max(0);
    for pod in all.iter().filter(|pod| pods::active(pod)) {
        if pod.label(REVISION) == Some(hash.as_str()) {
            continue;
        }
        // one that does not serve anyway costs nothing
        if pods::ready(pod) {
            if may_go == 0 {
                continue;
            }
            may_go -= 1;
        }
        let at = (pod.namespace(), pod.name());
        let _ = store.delete("pods", at, &Deletion::default(), now);
    }
}

/// The pod for one node; without a node, what the scheduler would judge.
fn sample(object: &Object, value: &Value, node: &str) -> Value {
    let template = &value["spec"]["template"];
    let mut pod = pods::from_template(template, object);
    pod["metadata"]["generateName"] = format!("{}-", object.name()).into();
    pod["metadata"]["labels"][REVISION] = pods::hash(template).into();
    let mut tolerations = list(&pod["spec"]["tolerations"]).to_vec();
    let network = ("node.kubernetes.io/network-unavailable", "NoSchedule");
    let network = (pod["spec"]["hostNetwork"] == true).then_some(network);
    for (key, effect) in TOLERATED.into_iter().chain(network) {
        tolerations.push(json!({"key": key, "operator": "Exists", "effect": effect}));
    }
    pod["spec"]["tolerations"] = tolerations.into();
    if !node.is_empty() {
        aim(&mut pod, node);
    }
    pod
}

/// Every required term also names the node; without terms one does.
fn aim(pod: &mut Value, node: &str) {
    let field = json!({"key": "metadata.name", "operator": "In", "values": [node]});
    let affinity = open(open(open(pod, "spec"), "affinity"), "nodeAffinity");
    let required = open(affinity, "requiredDuringSchedulingIgnoredDuringExecution");
    let terms = list(&required["nodeSelectorTerms"]);
    let mut terms: Vec<Value> = if terms.is_empty() {
        vec![json!({})]
    } else {
        terms.to_vec()
    };
    terms.retain(Value::is_object);
    for term in &mut terms {
        term["matchFields"] = json!([field]);
    }
    *required = json!({"nodeSelectorTerms": terms});
}

/// Its pods by the node they are on or made for.
fn by_node(store: &Store, object: &Object) -> BTreeMap<String, Vec<Arc<Object>>> {
    let mut by_node: BTreeMap<String, Vec<Arc<Object>>> = BTreeMap::new();
    for pod in pods::of(store, object) {
        let node = if pod.meta.node.is_empty() {
            target(&pod.value()).unwrap_or_default().to_owned()
        } else {
            pod.meta.node.clone()
        };
        by_node.entry(node).or_default().push(pod);
    }
    by_node
}

fn report(
    store: &mut Store,
    set: (&Object, &Value),
    wanted: &[String],
    now: Timestamp,
) -> Option<Timestamp> {
    let (object, value) = set;
    let min_ready = seconds(&value["spec"]["minReadySeconds"]).unwrap_or(SignedDuration::ZERO);
    let hash = pods::hash(&value["spec"]["template"]);
    let (mut scheduled, mut astray, mut ready, mut available, mut updated) = (0, 0, 0, 0, 0);
    let mut next: Option<Timestamp> = None;
    for (node, pods) in by_node(store, object) {
        let Some(pod) = pods.iter().find(|pod| pods::active(pod)) else {
            continue;
        };
        if wanted.binary_search(&node).is_err() {
            astray += 1;
            continue;
        }
        scheduled += 1;
        ready += i64::from(pods::ready(pod));
        available += i64::from(pods::available(pod, min_ready, now));
        updated += i64::from(pod.label(REVISION) == Some(hash.as_str()));
        let at = pods::available_at(pod, min_ready).filter(|at| *at > now);
        next = [next, at].into_iter().flatten().min();
    }
    let total = i64::try_from(wanted.len()).unwrap_or(0);
    let status = json!({
        "desiredNumberScheduled": total, "currentNumberScheduled": scheduled, "numberMisscheduled": astray,
        "numberReady": ready, "numberAvailable": available, "numberUnavailable": total - available,
        "updatedNumberScheduled": updated, "observedGeneration": count(&value["metadata"]["generation"], 1),
    });
    let at = (object.namespace(), object.name());
    let _ = store.change("daemonsets.apps", at, now, |value| value["status"] = status);
    next
}
