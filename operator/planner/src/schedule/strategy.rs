//! Which of several ways to fill claims gives the better plan?
//!
//! Filling is greedy and no greed is always right, so a few are tried and the plan that refuses the fewest pods, and of those
//! the cheapest, is taken. A step budget that one try uses up is not spent on another.

use super::ground::Ground;
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

pub(super) fn best(ground: &Ground<'_>, view: &WhatIf<'_>, limits: Budget) -> Schedule {
    let mut best = Run::new(ground, view, limits, Strategy::Efficient).finished();
    let bought: usize = best.openings.iter().map(|opening| opening.pods.len()).sum();
    let settled = best.openings.len() < 2 && best.refusals.is_empty() && bought < 2;
    if settled || bought > MANY {
        return best;
    }
    for strategy in [Strategy::Largest, Strategy::Exact] {
        let left = Budget {
            steps: limits.steps.saturating_sub(best.steps),
            ..limits
        };
        if left.steps < best.steps {
            break;
        }
        let spent = best.steps;
        let other = Run::new(ground, view, left, strategy).finished();
        let steps = spent + other.steps;
        if worth(&other) < worth(&best) {
            best = other;
        }
        best.steps = steps;
    }
    best
}

/// Smaller is better: pods without a place, claims without a price, price, claims.
fn worth(schedule: &Schedule) -> (std::cmp::Reverse<usize>, usize, u64, usize) {
    let prices = schedule.openings.iter().map(|opening| opening.price);
    let unpriced = prices.clone().filter(Option::is_none).count();
    let price = prices
        .flatten()
        .fold(0_u64, |sum, price| sum.saturating_add(price.billionths()));
    (
        std::cmp::Reverse(schedule.placements.len()),
        unpriced,
        price,
        schedule.openings.len(),
    )
}
