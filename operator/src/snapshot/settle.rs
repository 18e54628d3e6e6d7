//! How does a pod count: as one that waits for a place, or where it is?
//!
//! The one way from pods to a snapshot, for live objects and for files.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use planner::snapshot::{Claim, Node, Pod, Shape};
use planner::taints::lasting;
use planner::{ResourceName, Resources, Taint, Why};

use crate::ingest::volume::{Mounted, Storage};

/// A pod that uses room or asks for it.
pub struct Seen {
    pub pod: Pod,
    /// Without one it waits.
    pub node: Option<Arc<str>>,
    pub claims: Vec<Mounted>,
    /// Lands on nodes by itself.
    pub daemon: bool,
    /// On its way out: takes room where it is, and counts for nobody's spread.
    pub ending: bool,
    /// Needs another place if its node goes.
    pub moves: bool,
}

/// Nodes that fill up with the pods that are on them.
pub struct Rooms<'a> {
    nodes: &'a mut [Node],
    at: HashMap<Arc<str>, usize>,
    storage: &'a Storage,
    lost: usize,
}

impl<'a> Rooms<'a> {
    pub fn new(nodes: &'a mut [Node], storage: &'a Storage) -> Self {
        let places = nodes.iter().enumerate();
        let at = places.map(|(at, node)| (node.name.clone(), at)).collect();
        Self {
            nodes,
            at,
            storage,
            lost: 0,
        }
    }

    /// What the snapshot keeps of this pod. Its node, if it has one, has that much less room.
    ///
    /// Shapes are lent where many pods share one: only a pod with something of its own costs a copy.
    pub fn settle<'s>(
        &mut self,
        seen: Seen,
        shape: Cow<'s, Shape>,
    ) -> Option<(Pod, Cow<'s, Shape>)> {
        let Some(name) = &seen.node else {
            let shape = self.with_volumes(shape, &seen.claims, false);
            return Some((seen.pod, shape));
        };
        let Some(at) = self.at.get(name).copied() else {
            self.lost += 1;
            return None;
        };
        // Nobody knows how much room it takes, so nobody knows how much is left.
        if shape.unreadable.iter().any(is_unreadable) {
            self.nodes[at].allocatable = Resources::new();
        }
        let shape = self.with_volumes(shape, &seen.claims, true);
        on_node(&mut self.nodes[at], seen, shape)
    }

    /// Pods on nodes that are not here.
    pub fn lost(&self) -> usize {
        self.lost
    }

    fn with_volumes<'s>(
        &self,
        mut shape: Cow<'s, Shape>,
        mounted: &[Mounted],
        runs: bool,
    ) -> Cow<'s, Shape> {
        for one in mounted {
            match self.storage.volume(&one.claim) {
                Ok(mut volume) => {
                    // Wherever the pod goes next, it gets a new one there.
                    if runs && one.ephemeral {
                        volume.alternatives.clear();
                    }
                    shape.to_mut().volumes.push(volume);
                }
                Err(why) => shape.to_mut().unreadable.push(why),
            }
        }
        shape
    }
}

/// As opposed to a term that can be read and makes no sense.
pub fn is_unreadable(why: &Why) -> bool {
    matches!(why, Why::Unreadable { .. })
}

fn on_node<'s>(
    node: &mut Node,
    seen: Seen,
    mut shape: Cow<'s, Shape>,
) -> Option<(Pod, Cow<'s, Shape>)> {
    if node.leaving && seen.moves {
        return Some((seen.pod, shape));
    }
    take_room(node, seen.daemon, &shape);
    let mut bound = seen.pod.on(node.name.clone());
    bound.pending = false;
    // What cannot be read about a pod that runs does not matter any more.
    if !shape.unreadable.is_empty() {
        shape.to_mut().unreadable.clear();
    }
    (!seen.ending).then_some((bound, shape))
}

fn take_room(node: &mut Node, daemon: bool, shape: &Shape) {
    let takes: Resources = shape.requests.clone().with(ResourceName::Pods, 1);
    if daemon {
        node.daemons = node.daemons.plus(&takes);
    }
    node.used = node.used.plus(&takes);
    node.ports.extend(shape.ports.iter().copied());
}

/// What a claim says about its node.
pub fn join(node: &mut Node, claim: &Claim, startup: &[Taint], initialized: bool) {
    node.initialized = initialized;
    node.leaving |= claim.leaving;
    node.taints = lasting(&node.taints, startup, initialized);
    if !initialized && let Some((capacity, allocatable)) = &claim.told {
        // Devices register late: until then the cloud's word counts.
        node.capacity = filled(&node.capacity, capacity);
        node.allocatable = filled(&node.allocatable, allocatable);
    }
}

/// What is there, and what was told of the rest.
fn filled(there: &Resources, told: &Resources) -> Resources {
    let mut all = there.clone();
    for (name, amount) in told.iter().filter(|(name, _)| there.get(name) == 0) {
        all.set(name.clone(), amount);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use planner::Effect;
    use rstest::rstest;

    fn amounts(list: &[(&str, &str)]) -> Resources {
        Resources::parse(list.iter().copied()).unwrap()
    }

    fn claim(told: &[(&str, &str)]) -> Claim {
        Claim {
            told: Some((amounts(told), amounts(told))),
            ..Claim::default()
        }
    }

    #[test]
    fn until_a_node_is_initialized_the_cloud_tells_what_the_kubelet_does_not() {
        let gpu = "example.com/gpu";
        let there = amounts(&[("cpu", "4"), ("memory", "7Gi"), (gpu, "0")]);
        let told = claim(&[("cpu", "4"), ("memory", "8Gi"), (gpu, "2"), ("pods", "110")]);
        let joined = |initialized| {
            let mut node = Node {
                capacity: there.clone(),
                allocatable: there.clone(),
                ..Node::default()
            };
            join(&mut node, &told, &[], initialized);
            assert_eq!(node.capacity, node.allocatable);
            node.allocatable.to_string()
        };
        assert_eq!(joined(false), "cpu=4 memory=7Gi pods=110 example.com/gpu=2");
        assert_eq!(joined(true), "cpu=4 memory=7Gi example.com/gpu=0");
    }

    #[rstest]
    #[case("team", Effect::NoSchedule, true, true)]
    #[case("cni", Effect::NoSchedule, false, true)]
    #[case("node.kubernetes.io/not-ready", Effect::NoExecute, false, true)]
    #[case("node.kubernetes.io/not-ready", Effect::NoSchedule, false, true)]
    fn what_a_node_starts_with_keeps_pods_away_only_once_it_is_initialized(
        #[case] key: &str,
        #[case] effect: Effect,
        #[case] before: bool,
        #[case] after: bool,
    ) {
        let startup = [Taint::new("cni", "", Effect::NoSchedule)];
        for (initialized, counts) in [(false, before), (true, after)] {
            let mut node = Node {
                taints: vec![Taint::new(key, "", effect)],
                ..Node::default()
            };
            join(&mut node, &claim(&[]), &startup, initialized);
            assert_eq!(!node.taints.is_empty(), counts, "{key}");
        }
    }
}
