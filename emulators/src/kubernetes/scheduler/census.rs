//! How many pods of a kind run on which node?
//!
//! Every question is counted once and then kept up to date, so that spreading and affinity do not count all pods of
//! the cluster for each pod.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::shape::{Shape, Term, Who};

/// A pod that has a node.
#[derive(Debug, Clone)]
pub(super) struct Placed {
    pub(super) node: String,
    pub(super) shape: Arc<Shape>,
    /// Marked for deletion.
    pub(super) ending: bool,
}

/// Node name → how many.
pub(super) type ByNode = BTreeMap<String, i64>;

#[derive(Debug, Default)]
pub(super) struct Census {
    pub(super) placed: BTreeMap<String, Placed>,
    /// Labels of namespaces.
    namespaces: BTreeMap<String, Vec<(String, String)>>,
    answers: BTreeMap<Who, ByNode>,
    /// Required anti-affinity of placed pods, which others must respect.
    guards: BTreeMap<Term, ByNode>,
}

/// More questions than this are forgotten: old revisions leave theirs behind.
const QUESTIONS: usize = 2000;

impl Who {
    pub(super) fn means(
        &self,
        shape: &Shape,
        namespaces: &BTreeMap<String, Vec<(String, String)>>,
    ) -> bool {
        let named = self.namespaces.contains(&shape.namespace);
        let by_label = || {
            let rules = self.namespace_rules.as_ref();
            let labels = namespaces.get(&shape.namespace);
            let labels = labels.map(Vec::as_slice).unwrap_or_default();
            rules.is_some_and(|rules| rules.hold(labels))
        };
        (named || by_label()) && self.rules.hold(&shape.labels)
    }
}

impl Census {
    pub(super) fn set_namespaces(&mut self, namespaces: BTreeMap<String, Vec<(String, String)>>) {
        if namespaces != self.namespaces {
            self.namespaces = namespaces;
            self.answers.clear();
        }
    }

    pub(super) fn means(&self, who: &Who, shape: &Shape) -> bool {
        who.means(shape, &self.namespaces)
    }

    /// Counts of those meant by `who`. Counted now if it was never asked before.
    pub(super) fn count(&mut self, who: &Who) -> &ByNode {
        if self.answers.len() > QUESTIONS {
            self.answers.clear();
        }
        if !self.answers.contains_key(who) {
            let mut by_node = ByNode::new();
            for placed in self.placed.values() {
                if counts(who, placed, &self.namespaces) {
                    *by_node.entry(placed.node.clone()).or_default() += 1;
                }
            }
            self.answers.insert(who.clone(), by_node);
        }
        &self.answers[who]
    }

    /// Terms by which placed pods keep this one away, with the nodes those pods are on.
    pub(super) fn guards_against(&self, shape: &Shape) -> Vec<(&str, &ByNode)> {
        let guards = self.guards.iter();
        let against = guards.filter(|(term, _)| term.who.means(shape, &self.namespaces));
        against
            .map(|(term, nodes)| (term.topology.as_str(), nodes))
            .collect()
    }

    pub(super) fn insert(&mut self, key: &str, placed: Placed) {
        self.remove(key);
        self.note(&placed, 1);
        self.placed.insert(key.to_owned(), placed);
    }

    pub(super) fn remove(&mut self, key: &str) -> Option<Placed> {
        let placed = self.placed.remove(key)?;
        self.note(&placed, -1);
        Some(placed)
    }

    fn note(&mut self, placed: &Placed, by: i64) {
        for (who, by_node) in &mut self.answers {
            if counts(who, placed, &self.namespaces) {
                bump(by_node, &placed.node, by);
            }
        }
        for term in &placed.shape.apart {
            if !self.guards.contains_key(term) {
                self.guards.insert(term.clone(), ByNode::new());
            }
            if let Some(by_node) = self.guards.get_mut(term) {
                bump(by_node, &placed.node, by);
                if by_node.is_empty() {
                    self.guards.remove(term);
                }
            }
        }
    }
}

fn counts(
    who: &Who,
    placed: &Placed,
    namespaces: &BTreeMap<String, Vec<(String, String)>>,
) -> bool {
    (who.ending || !placed.ending) && who.means(&placed.shape, namespaces)
}

fn bump(by_node: &mut ByNode, node: &str, by: i64) {
    let count = by_node.entry(node.to_owned()).or_default();
    *count += by;
    if *count <= 0 {
        by_node.remove(node);
    }
}
