//! Which node does a pod get, and if none, why not?

use std::collections::BTreeMap;

use super::census::Census;
use super::shape::Shape;
use super::spot::{Spot, Spots};
use super::surroundings::Surroundings;
use super::volume_rules::VolumeRules;
use crate::kubernetes::store::Store;
use crate::kubernetes::taints::{UNSCHEDULABLE, repelled_by, tolerated};

/// Where the search starts in a large cluster, so that all nodes get their turn.
#[derive(Debug, Default)]
pub(super) struct Turn(usize);

#[derive(Debug, Default)]
pub(super) struct Refusals {
    nodes: usize,
    /// Reason → how many nodes.
    reasons: BTreeMap<String, usize>,
    /// Nodes on which fewer pods would help.
    pub(super) curable: Vec<String>,
    /// Instead of reasons by node.
    whole: Option<String>,
}

#[derive(Debug)]
pub(super) enum Choice {
    Node { name: String, volumes: VolumeRules },
    Nowhere(Refusals),
}

struct Refusal {
    reasons: Vec<String>,
    curable: bool,
}

/// Who is to be placed.
#[derive(Clone, Copy)]
pub(super) struct Candidate<'a> {
    pub(super) key: &'a str,
    pub(super) shape: &'a Shape,
}

pub(super) fn choose(
    who: Candidate<'_>,
    store: &Store,
    world: (&Spots, &mut Census),
    turn: &mut Turn,
) -> Choice {
    let (spots, census) = world;
    let total = spots.all().len();
    let volumes = match VolumeRules::of(store, &who.shape.namespace, &who.shape.claims) {
        Ok(volumes) => volumes,
        Err(why) => {
            return Choice::Nowhere(Refusals {
                nodes: total,
                whole: Some(why),
                ..Refusals::default()
            });
        }
    };
    let around = Surroundings::of(who.shape, spots, census);
    let mut refusals = Refusals {
        nodes: total,
        ..Refusals::default()
    };
    let enough = enough(total);
    let mut open: Vec<&Spot> = Vec::new();
    let mut looked = 0;
    for spot in candidates(who.shape, spots, turn.0) {
        looked += 1;
        match check(who, spot, &around, (store, &volumes)) {
            None => open.push(spot),
            Some(refusal) => refusals.add(&spot.name, refusal),
        }
        if open.len() >= enough {
            break;
        }
    }
    if total > 0 && looked < total {
        turn.0 = (turn.0 + looked) % total;
    }
    let best = super::score::best(who.shape, &open, &around);
    if let Some(spot) = best {
        let name = spot.name.clone();
        return Choice::Node { name, volumes };
    }
    refusals.rest(looked);
    Choice::Nowhere(refusals)
}

/// All of a small cluster; of a large one a share that shrinks with its size, as the documentation has it.
fn enough(nodes: usize) -> usize {
    if nodes <= 100 {
        return nodes.max(1);
    }
    let percent = 50_usize.saturating_sub(nodes / 125).max(5);
    (nodes * percent / 100).max(100)
}

/// From `start` on, all around; only the named ones if the pod names nodes.
fn candidates<'a>(
    shape: &Shape,
    spots: &'a Spots,
    start: usize,
) -> Box<dyn Iterator<Item = &'a Spot> + 'a> {
    if let Some(names) = shape.needs.only_names() {
        let named: Vec<&Spot> = names.iter().filter_map(|name| spots.get(name)).collect();
        return Box::new(named.into_iter());
    }
    let all = spots.all();
    let start = start.min(all.len());
    Box::new(all[start..].iter().chain(&all[..start]))
}

fn check(
    who: Candidate<'_>,
    spot: &Spot,
    around: &Surroundings,
    volumes: (&Store, &VolumeRules),
) -> Option<Refusal> {
    let for_good = |reason: String| Refusal {
        reasons: vec![reason],
        curable: false,
    };
    let shape = who.shape;
    if let Some(taint) = repelled_by(&spot.taints, &shape.tolerations) {
        let cordoned = spot
            .taints
            .iter()
            .any(|taint| taint.key == UNSCHEDULABLE && !tolerated(taint, &shape.tolerations));
        return Some(for_good(if cordoned {
            "node(s) were unschedulable".to_owned()
        } else {
            format!(
                "node(s) had untolerated taint {{{}: {}}}",
                taint.key, taint.value
            )
        }));
    }
    if !shape.needs.met_by(&spot.name, &spot.labels) {
        return Some(for_good(
            "node(s) didn't match Pod's node affinity/selector".to_owned(),
        ));
    }
    let (store, volumes) = volumes;
    let taken = shape
        .ports
        .iter()
        .any(|port| spot.ports.iter().any(|have| have.conflicts(port)));
    let mut reasons = Vec::new();
    if taken {
        reasons.push("node(s) didn't have free ports for the requested pod ports".to_owned());
    }
    for short in spot.short_of(who.key, shape) {
        reasons.push(match short {
            "pods" => "Too many pods".to_owned(),
            name => format!("Insufficient {name}"),
        });
    }
    if !reasons.is_empty() {
        return Some(Refusal {
            reasons,
            curable: true,
        });
    }
    if let Some(why) = volumes.refuse(store, spot) {
        return Some(for_good(why.to_owned()));
    }
    around.refuse(spot).map(|why| for_good(why.to_owned()))
}

impl Refusals {
    fn add(&mut self, node: &str, refusal: Refusal) {
        if refusal.curable {
            self.curable.push(node.to_owned());
        }
        for reason in refusal.reasons {
            *self.reasons.entry(reason).or_default() += 1;
        }
    }

    /// Nodes that were not even looked at because the pod names others.
    fn rest(&mut self, looked: usize) {
        let rest = self.nodes.saturating_sub(looked);
        if rest > 0 {
            let reason = "node(s) didn't match Pod's node affinity/selector".to_owned();
            *self.reasons.entry(reason).or_default() += rest;
        }
    }

    /// In the words `kubectl describe pod` shows.
    pub(super) fn message(&self) -> String {
        let nodes = self.nodes;
        if nodes == 0 {
            return "no nodes available to schedule pods".to_owned();
        }
        let helpless = "Preemption is not helpful for scheduling";
        if let Some(whole) = &self.whole {
            return format!(
                "0/{nodes} nodes are available: {whole}. preemption: 0/{nodes} nodes are available: {nodes} {helpless}."
            );
        }
        let listed = |all: &mut Vec<String>| {
            all.sort();
            all.join(", ")
        };
        let reasons = self.reasons.iter();
        let mut reasons = reasons
            .map(|(reason, count)| format!("{count} {reason}"))
            .collect();
        let curable = self.curable.len();
        let mut after = Vec::new();
        if curable > 0 {
            after.push(format!(
                "{curable} No preemption victims found for incoming pod"
            ));
        }
        if nodes > curable {
            after.push(format!("{} {helpless}", nodes - curable));
        }
        format!(
            "0/{nodes} nodes are available: {}. preemption: 0/{nodes} nodes are available: {}.",
            listed(&mut reasons),
            listed(&mut after)
        )
    }
}
