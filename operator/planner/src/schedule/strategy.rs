//! Which of several ways to fill claims gives the better plan?
//!
//! Filling is greedy and no greed is always right, so a few are tried. The plan that refuses the fewest pods is taken; of
//! those the cheapest, unless one that is hardly dearer needs fewer claims. A step budget that one try uses up is not spent
//! on another.

use super::ground::Ground;
use super::lots::Lots;
use super::run::{Run, Worth};
use super::{Budget, Schedule};
use crate::snapshot::{PreferencePolicy, ShapeId, WhatIf};

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

/// How a run goes about it.
#[derive(Clone, Copy)]
struct Way {
    strategy: Strategy,
    /// Who has to give up a wish waits until everybody who has not is served.
    patient: bool,
    preferences: PreferencePolicy,
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
    let mut tries = Tries {
        ground,
        view,
        limits,
        runs: Vec::new(),
    };
    let mut ways = vec![Way {
        strategy: Strategy::Efficient,
        patient: false,
        preferences: ground.snapshot.options.preferences,
    }];
    tries.add(ways[0]);
    ways.extend(others(&tries.runs[0], ways[0]));
    for way in &ways[1..] {
        tries.add(*way);
    }
    let kept = tries.runs.len();
    tries.add_other_order(&ways);
    // Nobody loses a place because somebody else would like another one.
    if ways.len() > 1 && tries.runs.iter().all(Run::leaves_out_for_a_preference) {
        for way in ways {
            tries.add(Way {
                preferences: PreferencePolicy::Ignore,
                ..way
            });
        }
    }
    tries.finish(kept)
}

/// Runs of the same question, one after the other.
struct Tries<'g> {
    ground: &'g Ground<'g>,
    view: &'g WhatIf<'g>,
    limits: Budget,
    runs: Vec<Run<'g>>,
}

impl Tries<'_> {
    fn add(&mut self, way: Way) {
        self.add_with(way, &[]);
    }

    /// Who came too late in the best of them may get a place by being served first.
    fn add_other_order(&mut self, ways: &[Way]) {
        let lots = self.lots();
        let worth = |run: &Run<'_>| (run.strategy, run.worth(&lots));
        let worths: Vec<_> = self.runs.iter().map(worth).collect();
        let best = chosen(&worths);
        let (placed, ahead) = (worths[best].1.placed, self.runs[best].too_late.clone());
        if let Some(last) = self.runs.last_mut() {
            last.lots = lots;
        }
        let some = placed > 0 && placed <= MANY && !ahead.is_empty();
        if let Some(way) = ways.get(best).filter(|_| some) {
            self.add_with(*way, &ahead);
        }
    }

    /// One more, if as many steps are left as the first one took.
    fn add_with(&mut self, way: Way, ahead: &[ShapeId]) {
        let left = Budget {
            steps: self.limits.steps.saturating_sub(self.steps()),
            ..self.limits
        };
        if self
            .runs
            .first()
            .is_some_and(|first| left.steps < first.steps())
        {
            return;
        }
        // Lots are the same for all of them; each run finds what the others have cut.
        let lots = self.lots();
        let mut run = Run::new(self.ground, self.view, left, (way.strategy, lots));
        run.preferences = way.preferences;
        run.patient = way.patient;
        run.ahead = ahead.to_vec();
        self.runs.push(run.served());
    }

    fn lots(&mut self) -> Lots {
        let last = self.runs.last_mut();
        last.map(|run| std::mem::take(&mut run.lots))
            .unwrap_or_default()
    }

    fn steps(&self) -> u64 {
        self.runs.iter().map(Run::steps).sum()
    }

    /// The best of the first so many runs; one of the others only if it places more.
    fn finish(mut self, kept: usize) -> Schedule {
        let (steps, lots) = (self.steps(), self.lots());
        let worth = |run: &Run<'_>| (run.strategy, run.worth(&lots));
        let worths: Vec<_> = self.runs.iter().map(worth).collect();
        let (first, others) = worths.split_at(kept);
        let mut at = chosen(first);
        if !others.is_empty() {
            let other = chosen(others);
            if others[other].1.without() < first[at].1.without() {
                at = kept + other;
            }
        }
        let mut best = self.runs.swap_remove(at);
        best.lots = lots;
        let mut schedule = best.finish();
        schedule.steps = steps;
        schedule
    }
}

/// What else is worth a try.
fn others(first: &Run<'_>, way: Way) -> Vec<Way> {
    let bought: usize = first.opens.list.iter().map(|open| open.pods.len()).sum();
    let placed = first.schedule.placements.len();
    let strategies: &[Strategy] = if placed > CROWD || !first.could_differ() {
        &[]
    } else if bought > MANY {
        &[Strategy::Exact]
    } else if bought * first.opens.list.len() > LOOKS {
        &[Strategy::Exact, Strategy::Largest]
    } else {
        &[Strategy::Exact, Strategy::Largest, Strategy::Even]
    };
    let other = |strategy: &Strategy| Way {
        strategy: *strategy,
        ..way
    };
    let mut ways: Vec<Way> = strategies.iter().map(other).collect();
    if let Some(even) = ways.last().copied()
        && even.strategy == Strategy::Even
        && first.has_wishes()
    {
        ways.push(Way {
            patient: true,
            ..even
        });
    }
    ways
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
