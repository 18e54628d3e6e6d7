//! How does a pod count: as one that waits for a place, or where it is?
//!
//! The one way from pods to a snapshot, for live objects and for files.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use planner::snapshot::{Claim, Node, Pod, Pods, Shape};
use planner::taints::lasting;
use planner::{ResourceName, Resources, Taint, Why};
use rustc_hash::FxBuildHasher;

use super::PassedOver;
use super::meaning::{Meaning, Seen};
use crate::ingest::volume::{Mounted, Storage};

/// Nodes that fill up with the pods that are on them.
pub struct Rooms<'a> {
    nodes: &'a mut [Node],
    at: HashMap<Arc<str>, usize, FxBuildHasher>,
    storage: &'a Storage,
    on_paper: bool,
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
            on_paper: false,
            lost: 0,
        }
    }

    /// Nobody evicts the pods of a node that goes: they need another place at once. Else they are evicted first, and wait then.
    #[must_use]
    pub fn on_paper(self) -> Self {
        Self {
            on_paper: true,
            ..self
        }
    }

    /// What the snapshot keeps of all these pods. Their nodes have that much less room.
    pub fn settle<'s>(
        &mut self,
        all: impl IntoIterator<Item = &'s Seen>,
        passed_over: &PassedOver,
    ) -> Pods {
        let mut groups = Groups::default();
        for seen in all {
            let Some((mut pod, shape)) = self.place(seen) else {
                continue;
            };
            let times = passed_over.get(&pod.uid).copied();
            pod.passed_over = times.unwrap_or(0);
            groups.add(shape, pod);
        }
        let list = groups.list.into_iter();
        Pods::of_groups(list.map(|(shape, pods)| (shape.into_owned(), pods)))
    }

    /// Shapes are lent where many pods share one: only a pod with something of its own costs a copy.
    fn place<'s>(&mut self, seen: &'s Seen) -> Option<(Pod, Cow<'s, Shape>)> {
        let meaning = &seen.meaning;
        let pod = Pod::pending(seen.name.clone(), seen.uid.clone(), meaning.created);
        let shape = Cow::Borrowed(&*meaning.shape);
        let Some(name) = &meaning.node else {
            let shape = self.with_volumes(shape, &meaning.claims, false);
            return Some((pod, shape));
        };
        let Some(at) = self.at.get(name).copied() else {
            self.lost += 1;
            return None;
        };
        // Nobody knows how much room it takes, so nobody knows how much is left.
        if shape.unreadable.iter().any(is_unreadable) {
            self.nodes[at].allocatable = Resources::new();
        }
        let shape = self.with_volumes(shape, &meaning.claims, true);
        let node = &mut self.nodes[at];
        if node.leaving && self.on_paper && !meaning.daemon && !meaning.ending {
            return Some((pod, shape));
        }
        on_node(node, meaning, pod, shape)
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
    meaning: &Meaning,
    pod: Pod,
    mut shape: Cow<'s, Shape>,
) -> Option<(Pod, Cow<'s, Shape>)> {
    take_room(node, meaning.daemon, &shape);
    let mut bound = pod.on(node.name.clone());
    bound.pending = false;
    // What cannot be read about a pod that runs does not matter any more.
    if !shape.unreadable.is_empty() {
        shape.to_mut().unreadable.clear();
    }
    (!meaning.ending).then_some((bound, shape))
}

fn take_room(node: &mut Node, daemon: bool, shape: &Shape) {
    let takes: Resources = shape.requests.clone().with(ResourceName::Pods, 1);
    if daemon {
        node.daemons = node.daemons.plus(&takes);
    }
    node.used = node.used.plus(&takes);
    node.ports.extend(shape.ports.iter().copied());
}

/// Pods that are alike, so that a hundred thousand of them have a few hundred shapes at any time.
#[derive(Default)]
struct Groups<'s> {
    list: Vec<(Cow<'s, Shape>, Vec<Pod>)>,
    /// By where the shape that they share stands, and whether the pods wait.
    known: HashMap<(*const Shape, bool), usize, FxBuildHasher>,
}

impl<'s> Groups<'s> {
    /// A shape that is lent is shared; one with something of its own is a group of its own.
    fn add(&mut self, shape: Cow<'s, Shape>, pod: Pod) {
        let next = self.list.len();
        let at = match shape {
            Cow::Owned(_) => next,
            Cow::Borrowed(shared) => {
                let shared = std::ptr::from_ref(shared);
                *self.known.entry((shared, pod.pending)).or_insert(next)
            }
        };
        if at == next {
            self.list.push((shape, Vec::new()));
        }
        self.list[at].1.push(pod);
    }
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
