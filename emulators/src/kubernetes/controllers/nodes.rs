//! Is a node still there? If its kubelet is silent, the node becomes Unknown and repels pods.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::conditions::{self, Condition};
use super::driver::Alarms;
use super::feed::{Feed, News};
use super::pods;
use crate::kubernetes::object::stamp;
use crate::kubernetes::reading::{after, condition, list, open, text};
use crate::kubernetes::store::{Event, Store};
use crate::kubernetes::taints::{NOT_READY, UNREACHABLE, UNSCHEDULABLE};
use crate::kubernetes::world::Actor;

const LEASES: &str = "leases.coordination.k8s.io";

pub struct Nodes {
    silence: SignedDuration,
    feed: Feed,
    leases: Feed,
    /// When each node was last heard of.
    heard: BTreeMap<String, Timestamp>,
    alarms: Alarms<String>,
}

impl Nodes {
    pub fn new(silence: SignedDuration) -> Self {
        Self {
            silence,
            feed: Feed::new("nodes"),
            leases: Feed::new(LEASES),
            heard: BTreeMap::new(),
            alarms: Alarms::default(),
        }
    }

    fn hear_leases(&mut self, store: &Store, now: Timestamp) {
        let names: Vec<String> = match self.leases.read(store) {
            News::All => store
                .list(LEASES, Some("kube-node-lease"))
                .map(|lease| lease.name().to_owned())
                .collect(),
            News::Since(changes) => changes
                .iter()
                .filter(|change| change.event != Event::Deleted)
                .filter(|change| change.object.namespace() == "kube-node-lease")
                .map(|change| change.object.name().to_owned())
                .collect(),
        };
        for name in names {
            self.hear(&name, now);
        }
    }

    /// One alarm per node is enough: it is set again when it rings too early.
    fn hear(&mut self, name: &str, now: Timestamp) {
        if self.heard.insert(name.to_owned(), now).is_none() {
            self.alarms.set(after(now, self.silence), name.to_owned());
        }
    }

    fn look_at_nodes(&mut self, store: &mut Store, now: Timestamp) {
        let names: Vec<String> = match self.feed.read(store) {
            News::All => store
                .list("nodes", None)
                .map(|node| node.name().to_owned())
                .collect(),
            News::Since(changes) => {
                let names = changes.iter().map(|change| change.object.name().to_owned());
                names.collect()
            }
        };
        for name in names {
            let Some(node) = store.get("nodes", "", &name).cloned() else {
                self.heard.remove(&name);
                continue;
            };
            if !self.heard.contains_key(&name) {
                self.hear(&name, now);
            }
            let value = node.value();
            if wanted_taints(&value, now) != value["spec"]["taints"] {
                let _ = store.change("nodes", ("", &name), now, |value| {
                    set_taints(value, now);
                });
            }
        }
    }

    fn silent(&mut self, store: &mut Store, now: Timestamp) {
        for name in self.alarms.ring(now) {
            let Some(heard) = self.heard.get(&name) else {
                continue;
            };
            let until = after(*heard, self.silence);
            if until > now {
                self.alarms.set(until, name);
                continue;
            }
            // heard of again, the alarm is set anew
            self.heard.remove(&name);
            lose(store, &name, now);
        }
    }
}

impl Actor for Nodes {
    fn tick(&mut self, store: &mut Store, now: Timestamp) -> Option<Timestamp> {
        self.hear_leases(store, now);
        self.silent(store, now);
        self.look_at_nodes(store, now);
        self.alarms.next()
    }
}

/// Nobody knows what runs there: not Ready any more, neither the node nor its pods.
fn lose(store: &mut Store, name: &str, now: Timestamp) {
    let known = store.get("nodes", "", name).map(|node| node.value());
    let Some(value) = known else {
        return;
    };
    let unknown =
        condition(&value, "Ready").is_some_and(|ready| text(ready, "status") == "Unknown");
    if unknown {
        return;
    }
    let _ = store.change("nodes", ("", name), now, |value| {
        for kind in ["MemoryPressure", "DiskPressure", "PIDPressure", "Ready"] {
            let condition = Condition {
                kind,
                status: "Unknown",
                reason: "NodeStatusUnknown",
                message: "Kubelet stopped posting node status.",
            };
            conditions::set(open(value, "status"), condition, None, now);
        }
        set_taints(value, now);
    });
    let affected: Vec<String> = store
        .pods_on(name)
        .filter(|pod| pods::ready(pod))
        .map(|pod| crate::kubernetes::store::key(pod.namespace(), pod.name()))
        .collect();
    for key in affected {
        let (namespace, name) = key.split_once('/').unwrap_or(("", &key));
        let _ = store.change("pods", (namespace, name), now, |pod| {
            let condition = Condition {
                kind: "Ready",
                status: "False",
                reason: "NodeNotReady",
                message: "",
            };
            conditions::set(open(pod, "status"), condition, None, now);
        });
    }
}

fn set_taints(node: &mut Value, now: Timestamp) {
    let taints = wanted_taints(node, now);
    if taints.is_null() {
        if let Some(spec) = node["spec"].as_object_mut() {
            spec.remove("taints");
        }
    } else {
        open(node, "spec")["taints"] = taints;
    }
}

/// Its taints, with those that follow from its conditions and from being cordoned as they should be.
fn wanted_taints(node: &Value, now: Timestamp) -> Value {
    let before = list(&node["spec"]["taints"]);
    let ready = condition(node, "Ready").map(|ready| text(ready, "status"));
    let trouble = match ready {
        Some("False") => Some(NOT_READY),
        Some("Unknown") => Some(UNREACHABLE),
        _ => None,
    };
    let mut wanted: Vec<(&str, &str)> = Vec::new();
    if let Some(key) = trouble {
        wanted.extend([(key, "NoSchedule"), (key, "NoExecute")]);
    }
    if node["spec"]["unschedulable"] == true {
        wanted.push((UNSCHEDULABLE, "NoSchedule"));
    }
    let ours = [NOT_READY, UNREACHABLE, UNSCHEDULABLE];
    let is = |taint: &Value, key: &str, effect: &str| {
        text(taint, "key") == key && text(taint, "effect") == effect
    };
    let mut taints: Vec<Value> = before
        .iter()
        .filter(|taint| {
            !ours.contains(&text(taint, "key"))
                || wanted.iter().any(|(key, effect)| is(taint, key, effect))
        })
        .cloned()
        .collect();
    for (key, effect) in wanted {
        if !taints.iter().any(|taint| is(taint, key, effect)) {
            taints.push(json!({"key": key, "effect": effect, "timeAdded": stamp(now)}));
        }
    }
    if taints.is_empty() {
        Value::Null
    } else {
        taints.into()
    }
}
