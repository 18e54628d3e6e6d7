//! Which of several ways to fill claims gives the better plan?
//!
//! Filling is greedy and no greed is always right, so a few are tried and the plan that refuses the fewest pods, and of those
//! the cheapest, is taken. A step budget that one try uses up is not spent on another.

use super::ground::Ground;
use super::lots::Lots;
use super::run::Run;
use super::{Budget, Schedule};
use crate::snapshot::WhatIf;

/// How far a claim grows before another one is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strategy {
    /// Up to the type that carries such pods at the lowest price each.
    Efficient,
    /// As far as any type allows.
    Largest,
    /// Up to the type that carries the pods at hand at the lowest price each.
    Exact,
}

/// Beyond so many pods on openings one plan is enough: packing hardly differs any more.
const MANY: usize = 30_000;

pub(super) fn best<'g>(ground: &'g Ground<'g>, view: &'g WhatIf<'g>, limits: Budget) -> Schedule {
    let mut best = Run::new(ground, view, limits, (Strategy::Efficient, Lots::default())).served();
    let bought: usize = best.opens.list.iter().map(|open| open.pods.len()).sum();
    let mut steps = best.steps();
    let others = if bought > MANY || !best.could_differ() {
        &[][..]
    } else {
        &[Strategy::Exact, Strategy::Largest]
    };
    for strategy in others {
        let left = Budget {
            steps: limits.steps.saturating_sub(steps),
            ..limits
        };
        if left.steps < best.steps() {
            break;
        }
        let lots = std::mem::take(&mut best.lots);
        let mut other = Run::new(ground, view, left, (*strategy, lots)).served();
        steps += other.steps();
        if other.worth() < best.worth_with(&other.lots) {
            best = other;
        } else {
            best.lots = std::mem::take(&mut other.lots);
        }
    }
    let mut schedule = best.finish();
    schedule.steps = steps;
    schedule
}
