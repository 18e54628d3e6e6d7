//! Which domains do the other pods leave to this one: spreading, affinity, anti-affinity?

use std::collections::BTreeMap;

use super::census::{ByNode, Census};
use super::shape::{Shape, Spread, Term, Who};
use super::spot::{Spot, Spots};
use crate::kubernetes::label_rules::LabelRules;
use crate::kubernetes::taints::repelled_by;

/// Value of a topology label → how many pods.
pub(super) type Domains = BTreeMap<String, i64>;

/// Counted once per pod, asked for each node.
#[derive(Debug, Default)]
pub(super) struct Surroundings {
    spreads: Vec<Spreading>,
    near: Vec<(String, Domains)>,
    /// No such pod anywhere, but it is one itself: the first may go anywhere.
    first: bool,
    apart: Vec<(String, Domains)>,
    guarded: Vec<(String, Domains)>,
    rather: Vec<(i64, String, Domains)>,
}

#[derive(Debug)]
struct Spreading {
    topology: String,
    required: bool,
    max_skew: i64,
    /// It counts itself where it lands.
    own: i64,
    least: i64,
    domains: Domains,
}

impl Surroundings {
    pub(super) fn of(shape: &Shape, spots: &Spots, census: &mut Census) -> Self {
        let spreads = shape.spreads.iter();
        let spreads = spreads.map(|spread| spreading(spread, shape, (spots, &mut *census)));
        let spreads = spreads.collect();
        let all_near = together(&shape.near);
        let near: Vec<(String, Domains)> = all_near
            .iter()
            .map(|term| {
                (
                    term.topology.clone(),
                    domains(census.count(&term.who), spots, &term.topology),
                )
            })
            .collect();
        let nobody = all_near
            .iter()
            .all(|term| census.count(&term.who).is_empty());
        let first = nobody && all_near.iter().all(|term| census.means(&term.who, shape));
        let mut counted = |term: &Term| {
            (
                term.topology.clone(),
                domains(census.count(&term.who), spots, &term.topology),
            )
        };
        let apart = shape.apart.iter().map(&mut counted).collect();
        let rather = shape.rather.iter();
        let rather = rather.map(|(weight, term)| {
            let (topology, domains) = counted(term);
            (*weight, topology, domains)
        });
        let rather = rather.collect();
        let guards = census.guards_against(shape).into_iter();
        let guarded = guards
            .map(|(topology, nodes)| (topology.to_owned(), domains(nodes, spots, topology)))
            .collect();
        Self {
            spreads,
            near,
            first,
            apart,
            guarded,
            rather,
        }
    }

    /// Why the other pods forbid this node, if they do.
    pub(super) fn refuse(&self, spot: &Spot) -> Option<&'static str> {
        for spread in self.spreads.iter().filter(|spread| spread.required) {
            let Some(value) = spot.label(&spread.topology) else {
                return Some(
                    "node(s) didn't match pod topology spread constraints (missing required label)",
                );
            };
            let here = spread.domains.get(value).copied().unwrap_or(0);
            if here + spread.own - spread.least > spread.max_skew {
                return Some("node(s) didn't match pod topology spread constraints");
            }
        }
        let holds = |topology: &str, domains: &Domains| {
            let value = spot.label(topology);
            value.is_some_and(|value| domains.contains_key(value))
        };
        if self
            .guarded
            .iter()
            .any(|(topology, domains)| holds(topology, domains))
        {
            return Some("node(s) didn't satisfy existing pods anti-affinity rules");
        }
        if self
            .apart
            .iter()
            .any(|(topology, domains)| holds(topology, domains))
        {
            return Some("node(s) didn't match pod anti-affinity rules");
        }
        let beside = self.near.iter().all(|(topology, domains)| {
            holds(topology, domains) || self.first && spot.label(topology).is_some()
        });
        (!beside).then_some("node(s) didn't match pod affinity rules")
    }

    /// How crowded this node's domains are, by the spreads that only advise. Less is better.
    pub(super) fn crowd(&self, spot: &Spot) -> i64 {
        let soft = self.spreads.iter().filter(|spread| !spread.required);
        soft.map(|spread| match spot.label(&spread.topology) {
            Some(value) => spread.domains.get(value).copied().unwrap_or(0),
            None => i64::from(u16::MAX),
        })
        .sum()
    }

    /// How welcome the pods around make it here. More is better.
    pub(super) fn company(&self, spot: &Spot) -> i64 {
        let each = self.rather.iter().map(|(weight, topology, domains)| {
            let value = spot.label(topology);
            let count = value.and_then(|value| domains.get(value));
            weight * count.copied().unwrap_or(0)
        });
        each.sum()
    }
}

/// A pod counts for affinity only if it is meant by all terms at once.
fn together(terms: &[Term]) -> Vec<Term> {
    let Some(first) = terms.first() else {
        return Vec::new();
    };
    let same = terms.iter().all(|term| {
        term.who.namespaces == first.who.namespaces
            && term.who.namespace_rules == first.who.namespace_rules
    });
    if !same {
        return terms.to_vec();
    }
    let mut rules = LabelRules::default();
    for rule in terms.iter().flat_map(|term| term.who.rules.rules()) {
        rules.push(&rule.key, rule.test.clone());
    }
    let who = Who {
        rules,
        ..first.who.clone()
    };
    let each = terms.iter().map(|term| Term {
        topology: term.topology.clone(),
        who: who.clone(),
    });
    each.collect()
}

fn spreading(spread: &Spread, shape: &Shape, world: (&Spots, &mut Census)) -> Spreading {
    let (spots, census) = world;
    let own = i64::from(census.means(&spread.who, shape));
    let counts = census.count(&spread.who);
    let mut domains = Domains::new();
    for spot in spots
        .all()
        .iter()
        .filter(|spot| takes_part(spread, shape, spot))
    {
        if let Some(value) = spot.label(&spread.topology) {
            let here = counts.get(&spot.name).copied().unwrap_or(0);
            *domains.entry(value.to_owned()).or_default() += here;
        }
    }
    let known = i64::try_from(domains.len()).unwrap_or(i64::MAX);
    let least = if known < spread.min_domains {
        0
    } else {
        domains.values().copied().min().unwrap_or(0)
    };
    Spreading {
        topology: spread.topology.clone(),
        required: spread.required,
        max_skew: spread.max_skew,
        own,
        least,
        domains,
    }
}

/// Is this node among those that are compared?
fn takes_part(spread: &Spread, shape: &Shape, spot: &Spot) -> bool {
    let mut hard = shape
        .spreads
        .iter()
        .filter(|one| one.required == spread.required);
    let labelled = hard.all(|one| spot.label(&one.topology).is_some());
    let wanted = !spread.honor_affinity || shape.needs.met_by(&spot.name, &spot.labels);
    let open = !spread.honor_taints || repelled_by(&spot.taints, &shape.tolerations).is_none();
    labelled && wanted && open
}

fn domains(by_node: &ByNode, spots: &Spots, topology: &str) -> Domains {
    let mut domains = Domains::new();
    for (node, count) in by_node {
        let value = spots.get(node).and_then(|spot| spot.label(topology));
        if let Some(value) = value {
            *domains.entry(value.to_owned()).or_default() += count;
        }
    }
    domains
}
