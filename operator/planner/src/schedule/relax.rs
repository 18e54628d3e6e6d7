//! What does a pod ask for at first, and with what is it content if that cannot be had?
//!
//! Each attempt is tried on all places before the next one. Order, as upstream gives up: the terms of required node
//! affinity one by one, preferred pod affinity, preferred pod anti-affinity, preferred node affinity (each the heaviest
//! first), spreads that only prefer, `PreferNoSchedule` taints. At last the other terms again, with nothing preferred.

use super::volumes;
use crate::requirements::{Requirement, Requirements, Text};
use crate::snapshot::{PreferencePolicy, Shape};
use crate::taints::Preferred;
use crate::why::Why;
use std::rc::Rc;

/// One way to place a pod.
#[derive(Clone, Debug)]
pub(super) struct Attempt {
    /// Selector with each required term: the nodes that a spread compares.
    pub(super) terms: Rc<[Requirements]>,
    /// With the preference and one way for the volumes each; one of these must hold.
    pub(super) ways: Vec<Requirements>,
    pub(super) preferred: Preferred,
    /// The ways ask for a node that the pod would like but can do without.
    pub(super) wishes: bool,
    /// Positions in the shape's lists that still count.
    pub(super) near: Vec<usize>,
    pub(super) apart: Vec<usize>,
    pub(super) spreads: Vec<usize>,
}

/// What is given up so far.
#[derive(Clone)]
struct Given {
    term: usize,
    near: Vec<usize>,
    apart: Vec<usize>,
    node: Vec<usize>,
    spreads: Vec<usize>,
    soft: Vec<usize>,
    preferred: Preferred,
}

/// All attempts in order, or why the pod contradicts itself. `soft_taints`: somewhere a `PreferNoSchedule` taint exists.
pub(super) fn attempts(
    shape: &Shape,
    policy: PreferencePolicy,
    soft_taints: bool,
) -> Result<Vec<Attempt>, Why> {
    let strict: Rc<[Requirements]> = ways(shape)?.into();
    let volumes = volumes::alternatives(shape)?;
    let mut attempts = Vec::new();
    for given in steps(shape, strict.len(), policy, soft_taints) {
        let base = &strict[given.term];
        let wish = given.node.first().map(|at| &shape.preferred[*at].1);
        let Ok(wanted) = merged(base.iter().chain(wish.into_iter().flatten())) else {
            continue; // the preference contradicts what is required
        };
        let ways: Vec<Requirements> = volumes
            .iter()
            .filter_map(|volume| merged(wanted.iter().chain(volume.iter())).ok())
            .collect();
        if ways.is_empty() {
            continue;
        }
        attempts.push(Attempt {
            terms: strict.clone(),
            ways,
            preferred: given.preferred,
            wishes: !given.node.is_empty(),
            near: given.near,
            apart: given.apart,
            spreads: [given.spreads, given.soft].concat(),
        });
    }
    if attempts.is_empty() {
        return Err(volumes::elsewhere(shape));
    }
    Ok(attempts)
}

fn steps(shape: &Shape, terms: usize, policy: PreferencePolicy, soft_taints: bool) -> Vec<Given> {
    let mut given = everything(shape, policy);
    let mut all = vec![given.clone()];
    for term in 1..terms {
        given.term = term;
        all.push(given.clone());
    }
    let drops: [fn(&mut Given) -> &mut Vec<usize>; 4] = [
        |given| &mut given.near,
        |given| &mut given.apart,
        |given| &mut given.node,
        |given| &mut given.soft,
    ];
    for list in drops {
        while !list(&mut given).is_empty() {
            list(&mut given).remove(0);
            all.push(given.clone());
        }
    }
    if soft_taints {
        given.preferred = Preferred::Accept;
        all.push(given.clone());
    }
    if all.len() > terms {
        for term in 0..terms - 1 {
            given.term = term;
            all.push(given.clone());
        }
    }
    all
}

/// Nothing is given up yet.
fn everything(shape: &Shape, policy: PreferencePolicy) -> Given {
    let respect = policy == PreferencePolicy::Respect;
    let spreads = |hard: bool| -> Vec<usize> {
        let all = shape.spreads.iter().enumerate();
        all.filter(|(_, spread)| spread.hard == hard)
            .map(|(at, _)| at)
            .collect()
    };
    let weights = |list: Vec<i32>| {
        if respect {
            heaviest_first(&list)
        } else {
            Vec::new()
        }
    };
    let near = shape.preferred_near.iter().map(|(weight, _)| *weight);
    let apart = shape.preferred_apart.iter().map(|(weight, _)| *weight);
    let node = shape.preferred.iter().map(|(weight, _)| *weight);
    Given {
        term: 0,
        near: weights(near.collect()),
        apart: weights(apart.collect()),
        node: weights(node.collect()),
        spreads: spreads(true),
        soft: if respect { spreads(false) } else { Vec::new() },
        preferred: Preferred::Avoid,
    }
}

fn heaviest_first(weights: &[i32]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse(weights[*at]));
    order
}

/// The selector with each affinity term in turn; terms that cannot be met are left out unless none can.
pub(super) fn ways(shape: &Shape) -> Result<Vec<Requirements>, Why> {
    let mut ways = Vec::new();
    let mut contradiction = None;
    let no_term = [Vec::new()];
    let terms = if shape.terms.is_empty() {
        &no_term[..]
    } else {
        &shape.terms
    };
    for term in terms {
        match merged(shape.selector.iter().chain(term)) {
            Ok(way) => ways.push(way),
            Err(key) => contradiction = contradiction.or(Some(key)),
        }
    }
    match contradiction {
        Some(key) if ways.is_empty() => Err(Why::Contradiction { key }),
        _ => Ok(ways),
    }
}

/// All of them at once, or the label on which they exclude each other.
pub(super) fn merged<'a>(all: impl Iterator<Item = &'a Requirement>) -> Result<Requirements, Text> {
    let mut requirements = Requirements::new();
    for requirement in all {
        let key = requirement.key();
        if requirements
            .get(key)
            .is_some_and(|known| !known.agrees(requirement))
        {
            return Err(key.into());
        }
        requirements.add(requirement.clone());
        let emptied = requirements
            .get(key)
            .is_some_and(|both| both.listed().is_none() && both.any().is_none());
        if emptied {
            return Err(key.into());
        }
    }
    Ok(requirements)
}
