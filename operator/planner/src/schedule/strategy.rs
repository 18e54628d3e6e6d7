//! Which of several ways to fill claims gives the better plan?
//!
//! Filling is greedy and no greed is always right, so a few are tried. The plan that refuses the fewest pods is taken; of
//! those the cheapest, unless one that is hardly dearer needs fewer claims. A step budget that one try uses up is not spent
//! on another.

use super::ground::Ground;
use super::lots::Lots;
use super::run::{Run, Worth};
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
    /// As far as any type allows, one pod at a time and the claim with the fewest pods first: as Karpenter does. Rooms that
    /// are there are filled in order.
    Even,
}

/// Claims cost more than their price: each boots, joins and carries its own daemons, and pods that may share a node leave
/// the scheduler less to get wrong. So much dearer, in hundredths, is as good as equal.
pub(super) const NEAR: u64 = 3;

/// Beyond so many pods on openings two plans are enough: packing differs less and less.
const MANY: usize = 2_000;
/// Beyond so many pods anywhere one is: thinking costs more than it could save.
const CROWD: usize = 30_000;
/// Filling evenly looks at every claim for every pod.
const LOOKS: usize = 400_000;

pub(super) fn best<'g>(ground: &'g Ground<'g>, view: &'g WhatIf<'g>, limits: Budget) -> Schedule {
    let first = Run::new(ground, view, limits, (Strategy::Efficient, Lots::default())).served();
    let cost = first.steps();
    let mut steps = cost;
    let mut runs = vec![first];
    for strategy in others(&runs[0]) {
        let left = Budget {
            steps: limits.steps.saturating_sub(steps),
            ..limits
        };
        if left.steps < cost {
            break;
        }
        // Lots are the same for all of them; each run finds what the others have cut.
        let lots = runs.last_mut().map(|run| std::mem::take(&mut run.lots));
        let lots = lots.unwrap_or_default();
        let other = Run::new(ground, view, left, (*strategy, lots)).served();
        steps += other.steps();
        runs.push(other);
    }
    let lots = runs.last_mut().map(|run| std::mem::take(&mut run.lots));
    let lots = lots.unwrap_or_default();
    let worths: Vec<_> = runs
        .iter()
        .map(|run| (run.strategy, run.worth(&lots)))
        .collect();
    let mut best = runs.swap_remove(chosen(&worths));
    best.lots = lots;
    let mut schedule = best.finish();
    schedule.steps = steps;
    schedule
}

/// What else is worth a try.
fn others(first: &Run<'_>) -> &'static [Strategy] {
    let bought: usize = first.opens.list.iter().map(|open| open.pods.len()).sum();
    let placed = first.schedule.placements.len();
    if placed > CROWD || !first.could_differ() {
        &[]
    } else if bought > MANY {
        &[Strategy::Exact]
    } else if bought * first.opens.list.len() > LOOKS {
        &[Strategy::Exact, Strategy::Largest]
    } else {
        &[Strategy::Exact, Strategy::Largest, Strategy::Even]
    }
}

/// The position of the plan to take. None is taken that is dearer than filling evenly.
fn chosen(worths: &[(Strategy, Worth)]) -> usize {
    let least = worths.iter().map(|(_, worth)| worth.without()).min();
    let fair = |worth: &Worth| Some(worth.without()) == least;
    let fair = worths.iter().enumerate().filter(|(_, one)| fair(&one.1));
    let price = |(_, (_, worth)): (usize, &(Strategy, Worth))| worth.price;
    let cheapest = fair.clone().map(price).min().unwrap_or(0);
    let even = |(_, (strategy, _)): &(usize, &(Strategy, Worth))| *strategy == Strategy::Even;
    let most = fair.clone().filter(even).map(price).min();
    let near = cheapest.saturating_add(cheapest / 100 * NEAR);
    let most = most.unwrap_or(u64::MAX).min(near);
    fair.filter(|(_, (_, worth))| worth.price <= most)
        .min_by_key(|(at, (_, worth))| (worth.claims, worth.price, *at))
        .map_or(0, |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worth(placed: usize, price: u64, claims: usize) -> Worth {
        Worth {
            placed,
            unpriced: 0,
            price,
            claims,
        }
    }

    #[test]
    fn who_places_more_pods_is_taken_whatever_it_costs() {
        let worths = [
            (Strategy::Efficient, worth(9, 1_000, 1)),
            (Strategy::Exact, worth(10, 9_000, 9)),
        ];
        assert_eq!(chosen(&worths), 1);
    }

    #[test]
    fn fewer_claims_are_worth_a_little_more_money() {
        let worths = [
            (Strategy::Efficient, worth(10, 1_000, 9)),
            (Strategy::Exact, worth(10, 1_030, 3)),
        ];
        assert_eq!(chosen(&worths), 1);
        let dear = [worths[0], (Strategy::Exact, worth(10, 1_031, 3))];
        assert_eq!(chosen(&dear), 0);
    }

    #[test]
    fn nothing_is_taken_that_is_dearer_than_filling_evenly() {
        let worths = [
            (Strategy::Efficient, worth(10, 1_000, 9)),
            (Strategy::Exact, worth(10, 1_020, 3)),
            (Strategy::Even, worth(10, 1_010, 5)),
        ];
        assert_eq!(chosen(&worths), 2);
    }
}
