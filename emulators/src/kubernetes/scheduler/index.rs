//! What does the scheduler remember of the world, and which changes let it try again?

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::census::{Census, Placed};
use super::shape::Shape;
use super::spot::{Spot, Spots};
use crate::kubernetes::controllers::feed::{Feed, News};
use crate::kubernetes::controllers::pods::over;
use crate::kubernetes::object::Object;
use crate::kubernetes::reading::{condition, list, text};
use crate::kubernetes::store::{Store, key};
use serde_json::Value;

/// The order of the queue: important ones first, then old ones.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    priority: Reverse<i64>,
    created: String,
    pub(super) key: String,
}

#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) shape: Arc<Shape>,
    pub(super) tried: bool,
}

#[derive(Debug)]
pub(super) struct Index {
    pub(super) spots: Spots,
    pub(super) census: Census,
    pub(super) queue: BTreeMap<Rank, Waiting>,
    ranks: BTreeMap<String, Rank>,
    shapes: BTreeSet<Arc<Shape>>,
    /// Pods for which room was made, and where.
    promises: BTreeMap<String, String>,
    /// Something changed that may help a pod that could not be placed.
    pub(super) stirred: bool,
    nodes: Feed,
    pods: Feed,
    namespaces: Feed,
    volumes: Vec<Feed>,
}

impl Rank {
    pub(super) fn place(&self) -> (&str, &str) {
        self.key.split_once('/').unwrap_or(("", &self.key))
    }
}

impl Default for Index {
    fn default() -> Self {
        let volumes = [
            "persistentvolumeclaims",
            "persistentvolumes",
            "storageclasses.storage.k8s.io",
            "csinodes.storage.k8s.io",
        ];
        Self {
            spots: Spots::default(),
            census: Census::default(),
            queue: BTreeMap::new(),
            ranks: BTreeMap::new(),
            shapes: BTreeSet::new(),
            promises: BTreeMap::new(),
            stirred: false,
            nodes: Feed::new("nodes"),
            pods: Feed::new("pods"),
            namespaces: Feed::new("namespaces"),
            volumes: volumes.iter().map(|kind| Feed::new(kind)).collect(),
        }
    }
}

impl Index {
    /// Takes in what changed. Returns keys of pods behind gates that do not say so yet.
    pub(super) fn read(&mut self, store: &Store) -> Vec<String> {
        self.read_namespaces(store);
        for feed in &mut self.volumes {
            let news = feed.read(store);
            self.stirred |= !matches!(news, News::Since(changes) if changes.is_empty());
        }
        self.read_nodes(store);
        let mut gated = Vec::new();
        match self.pods.read(store) {
            News::All => {
                for key in self.census.placed.keys().cloned().collect::<Vec<_>>() {
                    self.unplace(&key);
                }
                self.queue.clear();
                self.ranks.clear();
                for key in self.promises.keys().cloned().collect::<Vec<_>>() {
                    self.unqueue(&key);
                }
                for pod in store.list("pods", None) {
                    gated.extend(self.take_in(store, pod));
                }
                self.stirred = true;
            }
            News::Since(changes) => {
                let keys: BTreeSet<String> = changes
                    .iter()
                    .map(|change| key(change.object.namespace(), change.object.name()))
                    .collect();
                for key in keys {
                    match store.by_key("pods", &key).cloned() {
                        Some(pod) => gated.extend(self.take_in(store, &pod)),
                        None => self.forget(&key),
                    }
                }
            }
        }
        gated
    }

    fn read_namespaces(&mut self, store: &Store) {
        let news = self.namespaces.read(store);
        if matches!(news, News::Since(changes) if changes.is_empty()) {
            return;
        }
        let all = store.list("namespaces", None);
        let labels = all.map(|home| (home.name().to_owned(), home.meta.labels.clone()));
        self.census.set_namespaces(labels.collect());
        self.stirred = true;
    }

    fn read_nodes(&mut self, store: &Store) {
        let names: BTreeSet<String> = match self.nodes.read(store) {
            News::All => {
                let known = self.spots.all().iter().map(|spot| spot.name.clone());
                let all = store.list("nodes", None).map(|node| node.name().to_owned());
                known.chain(all).collect()
            }
            News::Since(changes) => {
                let names = changes.iter().map(|change| change.object.name().to_owned());
                names.collect()
            }
        };
        for name in names {
            match (store.get("nodes", "", &name), self.spots.get_mut(&name)) {
                (Some(node), Some(spot)) => self.stirred |= spot.update(node),
                (Some(node), None) => self.add_spot(Spot::of(node), store),
                (None, _) => {
                    self.spots.remove(&name);
                    self.promises.retain(|_, node| *node != name);
                    self.stirred = true;
                }
            }
        }
    }

    /// Pods may have been bound to the name before the node was seen.
    fn add_spot(&mut self, mut spot: Spot, store: &Store) {
        let name = spot.name.clone();
        for pod in store.pods_on(&name) {
            let key = key(pod.namespace(), pod.name());
            if let Some(placed) = self.census.placed.get(&key) {
                spot.put(&key, &placed.shape);
            }
        }
        self.spots.insert(spot);
        self.stirred = true;
    }

    fn take_in(&mut self, store: &Store, pod: &Object) -> Option<String> {
        let key = key(pod.namespace(), pod.name());
        if over(pod) {
            self.forget(&key);
            return None;
        }
        let known = self.census.placed.get(&key);
        if let Some(known) = known
            && known.node == pod.meta.node
            && known.ending == pod.meta.deleted_at.is_some()
            && known.shape.labels == pod.meta.labels
        {
            return None;
        }
        if pod.meta.node.is_empty() {
            return self.enqueue(store, pod, key);
        }
        let value = pod.value();
        let shape = self.shape(store, &value);
        let moved = known_as_other(self.census.placed.get(&key), pod);
        self.unqueue(&key);
        self.unplace(&key);
        let placed = Placed {
            node: pod.meta.node.clone(),
            shape,
            ending: pod.meta.deleted_at.is_some(),
        };
        if let Some(spot) = self.spots.get_mut(&placed.node) {
            spot.put(&key, &placed.shape);
        }
        self.census.insert(&key, placed);
        self.stirred |= moved;
        None
    }

    fn enqueue(&mut self, store: &Store, pod: &Object, key: String) -> Option<String> {
        let value = pod.value();
        let scheduler = text(&value["spec"], "schedulerName");
        let ours = matches!(scheduler, "" | "default-scheduler");
        if !ours || pod.meta.deleted_at.is_some() {
            self.unqueue(&key);
            return None;
        }
        if !list(&value["spec"]["schedulingGates"]).is_empty() {
            self.unqueue(&key);
            let said = condition(&value, "PodScheduled");
            let said = said.is_some_and(|is| text(is, "reason") == "SchedulingGated");
            return (!said).then_some(key);
        }
        let shape = self.shape(store, &value);
        let rank = Rank {
            priority: Reverse(shape.priority),
            created: text(&value["metadata"], "creationTimestamp").to_owned(),
            key: key.clone(),
        };
        let known = self.queue.get(&rank);
        if known.is_some_and(|waiting| Arc::ptr_eq(&waiting.shape, &shape)) {
            return None;
        }
        self.unqueue(&key);
        self.ranks.insert(key, rank.clone());
        self.queue.insert(
            rank,
            Waiting {
                shape,
                tried: false,
            },
        );
        None
    }

    /// The pod has a node now, by our own hand.
    pub(super) fn place(&mut self, key: &str, node: &str, shape: &Arc<Shape>) {
        self.unqueue(key);
        if let Some(spot) = self.spots.get_mut(node) {
            spot.put(key, shape);
        }
        let placed = Placed {
            node: node.to_owned(),
            shape: Arc::clone(shape),
            ending: false,
        };
        self.census.insert(key, placed);
    }

    /// Neither waiting nor anywhere.
    pub(super) fn forget(&mut self, key: &str) {
        self.unqueue(key);
        self.stirred |= self.unplace(key);
    }

    /// It was tried. True for the first time.
    pub(super) fn tried(&mut self, rank: &Rank) -> bool {
        let waiting = self.queue.get_mut(rank);
        waiting.is_some_and(|waiting| !std::mem::replace(&mut waiting.tried, true))
    }

    pub(super) fn is_promised(&self, key: &str) -> bool {
        self.promises.contains_key(key)
    }

    pub(super) fn promise(&mut self, key: &str, node: &str, shape: &Shape) {
        if let Some(spot) = self.spots.get_mut(node) {
            let what = (shape.priority, shape.amounts.clone());
            spot.promised.insert(key.to_owned(), what);
            self.promises.insert(key.to_owned(), node.to_owned());
        }
    }

    fn unqueue(&mut self, key: &str) {
        if let Some(rank) = self.ranks.remove(key) {
            self.queue.remove(&rank);
        }
        if let Some(node) = self.promises.remove(key)
            && let Some(spot) = self.spots.get_mut(&node)
        {
            spot.promised.remove(key);
        }
    }

    fn unplace(&mut self, key: &str) -> bool {
        let Some(placed) = self.census.remove(key) else {
            return false;
        };
        if let Some(spot) = self.spots.get_mut(&placed.node) {
            spot.take(key, &placed.shape);
        }
        true
    }

    /// One value for all pods that ask for the same.
    fn shape(&mut self, store: &Store, pod: &Value) -> Arc<Shape> {
        let class = text(&pod["spec"], "priorityClassName");
        let class = || store.get("priorityclasses.scheduling.k8s.io", "", class);
        let priority = pod["spec"]["priority"].as_i64();
        let priority = priority.or_else(|| class()?.value()["value"].as_i64());
        let shape = Shape::of(pod, priority.unwrap_or(0));
        if let Some(known) = self.shapes.get(&shape) {
            return Arc::clone(known);
        }
        if self.shapes.len() > 4 * self.census.placed.len() + 1000 {
            self.shapes.retain(|shape| Arc::strong_count(shape) > 1);
        }
        let shape = Arc::new(shape);
        self.shapes.insert(Arc::clone(&shape));
        shape
    }
}

/// Bound by somebody else, ending now, or with other labels: others may have waited for that.
fn known_as_other(known: Option<&Placed>, pod: &Object) -> bool {
    known.is_none_or(|known| known.node != pod.meta.node || known.shape.labels != pod.meta.labels)
        || pod.meta.deleted_at.is_some()
}
