//! What is a node to the scheduler?

use std::collections::{BTreeMap, BTreeSet};

use super::amounts::Amounts;
use super::shape::{Port, Shape};
use crate::kubernetes::object::{Object, label};
use crate::kubernetes::taints::{Taint, UNSCHEDULABLE};

#[derive(Debug, Clone)]
pub(super) struct Spot {
    pub(super) name: String,
    pub(super) labels: Vec<(String, String)>,
    pub(super) taints: Vec<Taint>,
    pub(super) allocatable: Amounts,
    pub(super) used: Amounts,
    pub(super) ports: Vec<Port>,
    /// Keys of the pods on it.
    pub(super) pods: BTreeSet<String>,
    /// Pods for which others were made to leave: key → (priority, what they need).
    pub(super) promised: BTreeMap<String, (i64, Amounts)>,
}

impl Spot {
    pub(super) fn of(node: &Object) -> Self {
        let value = node.value();
        let mut taints = Taint::of_node(&value);
        // cordoned a moment ago: the taint follows
        let cordon = Taint::new(UNSCHEDULABLE, "", "NoSchedule");
        if value["spec"]["unschedulable"] == true && !taints.contains(&cordon) {
            taints.push(cordon);
        }
        Self {
            name: node.name().to_owned(),
            labels: node.meta.labels.clone(),
            taints,
            allocatable: Amounts::of_list(&value["status"]["allocatable"]),
            used: Amounts::default(),
            ports: Vec::new(),
            pods: BTreeSet::new(),
            promised: BTreeMap::new(),
        }
    }

    /// Takes over what the node says of itself. True if that is something new.
    pub(super) fn update(&mut self, node: &Object) -> bool {
        let fresh = Self::of(node);
        let same = fresh.labels == self.labels
            && fresh.taints == self.taints
            && fresh.allocatable == self.allocatable;
        self.labels = fresh.labels;
        self.taints = fresh.taints;
        self.allocatable = fresh.allocatable;
        !same
    }

    pub(super) fn label(&self, key: &str) -> Option<&str> {
        label(&self.labels, key)
    }

    pub(super) fn put(&mut self, key: &str, shape: &Shape) {
        if self.pods.insert(key.to_owned()) {
            self.used.add(&shape.amounts);
            self.ports.extend(shape.ports.iter().cloned());
        }
    }

    pub(super) fn take(&mut self, key: &str, shape: &Shape) {
        if self.pods.remove(key) {
            self.used.subtract(&shape.amounts);
            for port in &shape.ports {
                if let Some(at) = self.ports.iter().position(|have| have == port) {
                    self.ports.remove(at);
                }
            }
        }
    }

    /// What this pod would be short of. Promises to pods that are at least as important count.
    pub(super) fn short_of<'a>(&self, key: &str, shape: &'a Shape) -> Vec<&'a str> {
        let mut used = std::borrow::Cow::Borrowed(&self.used);
        for (who, (rank, amounts)) in &self.promised {
            if who != key && *rank >= shape.priority {
                used.to_mut().add(amounts);
            }
        }
        let mut short = shape.amounts.short_of(&self.allocatable, &used);
        if used.pods >= self.allocatable.pods {
            short.push("pods");
        }
        short
    }
}

/// All nodes, sorted by name.
#[derive(Debug, Default)]
pub(super) struct Spots(Vec<Spot>);

impl Spots {
    pub(super) fn all(&self) -> &[Spot] {
        &self.0
    }

    pub(super) fn get(&self, name: &str) -> Option<&Spot> {
        let at = self.0.binary_search_by(|spot| spot.name.as_str().cmp(name));
        at.ok().map(|at| &self.0[at])
    }

    pub(super) fn get_mut(&mut self, name: &str) -> Option<&mut Spot> {
        let at = self.0.binary_search_by(|spot| spot.name.as_str().cmp(name));
        at.ok().map(|at| &mut self.0[at])
    }

    pub(super) fn insert(&mut self, spot: Spot) {
        match self.0.binary_search_by(|have| have.name.cmp(&spot.name)) {
            Ok(at) => self.0[at] = spot,
            Err(at) => self.0.insert(at, spot),
        }
    }

    pub(super) fn remove(&mut self, name: &str) {
        self.0.retain(|spot| spot.name != name);
    }
}
