//! Where does each pod go? A scheduler from Kubernetes' documented behaviour, deterministic, with an index of the world.
//!
//! [`shape`] what a pod asks for · [`spot`] what a node has · [`census`] who runs where · [`surroundings`] what the
//! other pods leave open · [`choose`] filters · [`score`] and the best of what passed.

pub mod amounts;
mod census;
mod choose;
mod index;
mod preempt;
pub mod quantity;
mod score;
mod shape;
mod spot;
mod surroundings;
mod volume_rules;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use self::choose::{Candidate, Choice, Refusals, Turn, choose};
use self::index::{Index, Rank};
use self::shape::Shape;
use super::controllers::conditions::{self, Condition};
use super::controllers::recorder::Recorder;
use super::controllers::volumes::SELECTED_NODE;
use super::pace::Pace;
use super::reading::{condition, open, text};
use super::rules::Deletion;
use super::store::Store;
use super::world::Actor;

/// With more pods than this waiting, their messages are not rewritten each time a count in them changes.
const CHATTY: usize = 1000;

pub struct Scheduler {
    index: Index,
    turn: Turn,
    recorder: Recorder,
    /// Something was placed that others may have waited for.
    again: bool,
}

impl Scheduler {
    pub fn new(pace: &Pace) -> Self {
        Self {
            index: Index::default(),
            turn: Turn::default(),
            recorder: Recorder::new("default-scheduler", pace.events),
            again: false,
        }
    }

    fn pass(&mut self, store: &mut Store, now: Timestamp) {
        let stirred = std::mem::take(&mut self.index.stirred) | std::mem::take(&mut self.again);
        let queue = self.index.queue.iter();
        let queue: Vec<(Rank, Arc<Shape>)> = queue
            .filter(|(_, waiting)| stirred || !waiting.tried)
            .map(|(rank, waiting)| (rank.clone(), Arc::clone(&waiting.shape)))
            .collect();
        let mut hopeless: BTreeMap<usize, (usize, Arc<Refusals>)> = BTreeMap::new();
        let mut placed = 0;
        let mut minding = false;
        for (rank, shape) in queue {
            let twin = Arc::as_ptr(&shape) as usize;
            let known = hopeless
                .get(&twin)
                .filter(|(at, _)| *at == placed || !shape.minds_others());
            if let Some((_, refusals)) = known {
                let refusals = Arc::clone(refusals);
                minding |= shape.minds_others();
                self.refuse(store, &rank, &refusals, now);
                continue;
            }
            let who = Candidate {
                key: &rank.key,
                shape: &shape,
            };
            let world = (&self.index.spots, &mut self.index.census);
            match choose(who, store, world, &mut self.turn) {
                Choice::Node { name, volumes } if volumes.unbound.is_empty() => {
                    placed += 1;
                    self.bind(store, &rank, (&shape, &name), now);
                }
                Choice::Node { name, volumes } => {
                    let claims = volumes.unbound.iter().map(|unbound| unbound.claim.as_str());
                    select_node(store, &shape.namespace, (claims.collect(), &name), now);
                    self.index.tried(&rank);
                }
                Choice::Nowhere(refusals) => {
                    minding |= shape.minds_others();
                    let made = self.make_room(store, who, &refusals, now);
                    let refusals = Arc::new(refusals);
                    if !made {
                        hopeless.insert(twin, (placed, Arc::clone(&refusals)));
                    }
                    self.refuse(store, &rank, &refusals, now);
                }
            }
        }
        self.again = placed > 0 && minding;
    }

    fn bind(&mut self, store: &mut Store, rank: &Rank, to: (&Arc<Shape>, &str), now: Timestamp) {
        let (shape, node) = to;
        let (namespace, name) = rank.place();
        let written = store.change("pods", (namespace, name), now, |pod| {
            open(pod, "spec")["nodeName"] = node.into();
            let scheduled = Condition {
                kind: "PodScheduled",
                status: "True",
                reason: "",
                message: "",
            };
            conditions::set(open(pod, "status"), scheduled, None, now);
            if let Some(status) = pod["status"].as_object_mut() {
                status.remove("nominatedNodeName");
            }
        });
        let Ok(written) = written else {
            self.index.forget(&rank.key);
            return;
        };
        self.index.place(&rank.key, node, shape);
        let said = format!("Successfully assigned {namespace}/{name} to {node}");
        self.recorder
            .normal(store, &written, ("Scheduled", &said), now);
    }

    fn refuse(&mut self, store: &mut Store, rank: &Rank, why: &Refusals, now: Timestamp) {
        let first = self.index.tried(rank);
        let (namespace, name) = rank.place();
        let known = store.get("pods", namespace, name);
        let said_before = known.is_some_and(|pod| {
            let value = pod.value();
            condition(&value, "PodScheduled")
                .is_some_and(|is| text(is, "reason") == "Unschedulable")
        });
        if said_before && !first && self.index.queue.len() > CHATTY {
            return;
        }
        let message = why.message();
        let mut news = false;
        let written = store.change("pods", (namespace, name), now, |pod| {
            let unschedulable = Condition {
                kind: "PodScheduled",
                status: "False",
                reason: "Unschedulable",
                message: &message,
            };
            let before = condition(pod, "PodScheduled").map(|is| is["message"].clone());
            news = before != Some(Value::from(message.as_str()));
            conditions::set(open(pod, "status"), unschedulable, None, now);
        });
        if let (Ok(pod), true) = (written, news) {
            self.recorder
                .warning(store, &pod, ("FailedScheduling", &message), now);
        }
    }

    /// Sends less important pods away and promises their room. True if some go.
    fn make_room(
        &mut self,
        store: &mut Store,
        who: Candidate<'_>,
        why: &Refusals,
        now: Timestamp,
    ) -> bool {
        if self.index.is_promised(who.key) {
            return false;
        }
        let (spots, census) = (&self.index.spots, &self.index.census);
        let Some(plan) = preempt::preempt(who, &why.curable, spots, census) else {
            return false;
        };
        for key in &plan.victims {
            let (namespace, name) = key.split_once('/').unwrap_or(("", key));
            let _ = store.delete("pods", (namespace, name), &Deletion::default(), now);
        }
        let (namespace, name) = who.key.split_once('/').unwrap_or(("", who.key));
        let _ = store.change("pods", (namespace, name), now, |pod| {
            open(pod, "status")["nominatedNodeName"] = plan.node.as_str().into();
        });
        self.index.promise(who.key, &plan.node, who.shape);
        true
    }
}

impl Actor for Scheduler {
    fn tick(&mut self, store: &mut Store, now: Timestamp) -> Option<Timestamp> {
        for key in self.index.read(store) {
            let (namespace, name) = key.split_once('/').unwrap_or(("", &key));
            let _ = store.change("pods", (namespace, name), now, |pod| {
                let gated = Condition {
                    kind: "PodScheduled",
                    status: "False",
                    reason: "SchedulingGated",
                    message: "Scheduling is blocked due to non-empty scheduling gates",
                };
                conditions::set(open(pod, "status"), gated, None, now);
            });
        }
        self.pass(store, now);
        None
    }
}

/// Tells the volume controller where to make the volumes; the pod is bound when they are there.
fn select_node(store: &mut Store, namespace: &str, to: (Vec<&str>, &str), now: Timestamp) {
    let (claims, node) = to;
    for claim in claims {
        let _ = store.change("persistentvolumeclaims", (namespace, claim), now, |claim| {
            open(open(claim, "metadata"), "annotations")[SELECTED_NODE] = node.into();
        });
    }
}
