//! What does a pod ask for at first, and with what is it content if that cannot be had?
//!
//! Each attempt is tried on all places before the next one. Today: the terms of required node affinity one by one, then the
//! same with `PreferNoSchedule` taints accepted. The full scheduler adds preferences here, in upstream's order.

use crate::requirements::{Requirement, Requirements, Text};
use crate::snapshot::Shape;
use crate::taints::Preferred;
use crate::why::Why;

/// One way to place a pod.
#[derive(Clone, Debug)]
pub(super) struct Attempt {
    pub(super) requirements: Requirements,
    pub(super) preferred: Preferred,
}

/// All attempts in order, or why the pod contradicts itself. `soft_taints`: somewhere a `PreferNoSchedule` taint exists.
pub(super) fn attempts(shape: &Shape, soft_taints: bool) -> Result<Vec<Attempt>, Why> {
    let ways = ways(shape)?;
    let mut attempts = Vec::with_capacity(ways.len());
    for preferred in [Preferred::Avoid, Preferred::Accept] {
        if preferred == Preferred::Accept && !soft_taints {
            break;
        }
        attempts.extend(ways.iter().map(|way| Attempt {
            requirements: way.clone(),
            preferred,
        }));
    }
    Ok(attempts)
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
fn merged<'a>(all: impl Iterator<Item = &'a Requirement>) -> Result<Requirements, Text> {
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
