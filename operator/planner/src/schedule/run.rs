//! How does one run go from the first shape to the finished schedule?

use super::ask::Wanted;
use super::counters::CounterId;
use super::ground::Ground;
use super::lots::{LotId, Lots};
use super::meant::Intentions;
use super::opens::Opens;
use super::queue::{self, Queued};
use super::relax::{self, Attempt};
use super::rows::Rows;
use super::rules::Books;
use super::strategy::Strategy;
use super::till::{Count, Till};
use super::{Budget, Schedule, explain, finish, volumes};
use crate::requirements::Text;
use crate::snapshot::{HostPort, PodId, PreferencePolicy, Shape, ShapeId, WhatIf};
use crate::why::Why;
use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;
use std::cmp::Reverse;

pub(super) struct Run<'g> {
    pub(super) ground: &'g Ground<'g>,
    pub(super) view: &'g WhatIf<'g>,
    pub(super) strategy: Strategy,
    pub(super) preferences: PreferencePolicy,
    /// Who has to give up a wish waits until everybody who has not is served.
    pub(super) patient: bool,
    /// These are served before all others.
    pub(super) ahead: Vec<ShapeId>,
    /// Of these some pods got no place, and it may matter who was served before them.
    pub(super) too_late: Vec<ShapeId>,
    /// Takes no shortcut where many pods could be placed at once: who doubts the shortcuts compares.
    pub(super) one_by_one: bool,
    pub(super) books: Books<'g>,
    pub(super) lots: Lots,
    pub(super) opens: Opens,
    /// By stock.
    pub(super) tills: Vec<Option<Till>>,
    /// What is left of each reservation.
    pub(super) reserves: Vec<u32>,
    /// One row per room.
    pub(super) free: Rows,
    pub(super) closed: Vec<bool>,
    /// What rooms got in this run beside amounts.
    pub(super) taken: IndexMap<usize, Taken, FxBuildHasher>,
    pub(super) passes: IndexMap<(CounterId, LotId), bool, FxBuildHasher>,
    pub(super) intentions: Intentions,
    /// Counters that somebody in this run looks at.
    live: Vec<bool>,
    /// Spreads compare the domains that have nodes, and no claim is opened any more.
    pub(super) standing: bool,
    pub(super) left: u64,
    budget: u64,
    /// Bytes that may still be used for claims.
    pub(super) memory: u64,
    pub(super) schedule: Schedule,
    /// Shapes of which some pods got no place.
    refused: Vec<ShapeId>,
}

/// Ports and shared volumes that came with pods of this run.
#[derive(Clone, Default)]
pub(super) struct Taken {
    pub(super) ports: Vec<HostPort>,
    pub(super) attached: Vec<Text>,
}

/// What a run achieved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Worth {
    pub(super) placed: usize,
    pub(super) unpriced: usize,
    pub(super) price: u64,
    pub(super) claims: usize,
}

impl Worth {
    /// Smaller is better, before any price: pods without a place, claims without a price.
    pub(super) fn without(self) -> (Reverse<usize>, usize) {
        (Reverse(self.placed), self.unpriced)
    }
}

/// What became of a queued shape.
enum Served {
    All,
    /// These have no place; it may help to ask again when others are placed.
    Again(Vec<PodId>),
    /// Some have no place, and whoever else is placed will not change that.
    Refused,
    /// They have no place and never will.
    Never(Vec<Why>),
    OutOfSteps,
}

impl<'g> Run<'g> {
    pub(super) fn new(
        ground: &'g Ground<'g>,
        view: &'g WhatIf<'g>,
        limits: Budget,
        (strategy, lots): (Strategy, Lots),
    ) -> Self {
        let till = |(stock, count): (&Result<super::stock::Stock<'_>, Why>, &Count)| {
            let stock = stock.as_ref().ok()?;
            Some(Till::of(view, stock, count, &ground.columns))
        };
        let mut run = Self {
            ground,
            view,
            strategy,
            preferences: ground.snapshot.options.preferences,
            patient: false,
            ahead: Vec::new(),
            too_late: Vec::new(),
            one_by_one: false,
            books: Books::opened(
                &ground.counters.base,
                &ground.counters.totals,
                &ground.counters.seen,
            ),
            lots,
            opens: Opens::with_width(ground.columns.width()),
            tills: ground.stocks.iter().zip(&ground.counts).map(till).collect(),
            reserves: ground.reserves.left(),
            free: ground.rooms.free.clone(),
            closed: ground.rooms.list.iter().map(|room| room.closed).collect(),
            taken: IndexMap::default(),
            passes: IndexMap::default(),
            intentions: Intentions::default(),
            live: Vec::new(),
            standing: false,
            left: limits.steps,
            budget: limits.steps,
            memory: limits.memory,
            schedule: Schedule::default(),
            refused: Vec::new(),
        };
        run.think_away();
        run
    }

    /// Serves everybody; `finish` makes the schedule of it.
    pub(super) fn served(mut self) -> Self {
        let mut line = queue::line_up(&self.ground.pending, self.view);
        line.sort_by_key(|queued| !self.ahead.contains(&queued.shape));
        self.live = self.looked_at(&line);
        if self.patient {
            self.serve_by_wish(&mut line);
        }
        line = self.serve_in_turn(line);
        if self.may_look_again(&line) {
            self.standing = true;
            line = self.serve_in_turn(line);
        }
        self.too_late = line.iter().map(|queued| queued.shape).collect();
        self.refused.extend(&self.too_late);
        self
    }

    /// Serves one after the other, and who got nothing again, as long as that helps somebody.
    fn serve_in_turn(&mut self, mut line: Vec<Queued>) -> Vec<Queued> {
        loop {
            let before = self.schedule.placements.len();
            let mut again = Vec::new();
            for queued in line {
                match self.serve(&queued) {
                    Served::All => {}
                    Served::Again(pods) => again.push(Queued { pods, ..queued }),
                    Served::Refused => self.refused.push(queued.shape),
                    Served::Never(whys) => self.schedule.refusals.push((queued.shape, whys)),
                    Served::OutOfSteps => self.schedule.unserved.push(queued.shape),
                }
            }
            let progress = self.schedule.placements.len() > before;
            line = again;
            if line.is_empty() || !progress {
                return line;
            }
        }
    }

    pub(super) fn finish(mut self) -> Schedule {
        self.standing = false;
        for shape in std::mem::take(&mut self.refused) {
            let whys = self.explain(shape);
            self.schedule.refusals.push((shape, whys));
        }
        self.schedule.steps = self.steps();
        self.schedule.openings = finish::openings(&mut self);
        let mut schedule = self.schedule;
        // Mostly in order already: stable sorting takes the runs as they are.
        schedule.placements.sort();
        schedule.refusals.sort();
        schedule.unserved.sort_unstable();
        schedule.unserved.dedup();
        schedule
    }

    /// Steps that were needed.
    pub(super) fn steps(&self) -> u64 {
        self.budget - self.left
    }

    /// Could another way to fill rooms and claims give a better plan?
    pub(super) fn could_differ(&self) -> bool {
        let crowded_out = !self.refused.is_empty() && !self.schedule.placements.is_empty();
        crowded_out || !self.opens.list.is_empty()
    }

    /// Is somebody without a place, while others may have taken more than they need?
    pub(super) fn leaves_out_for_a_preference(&self) -> bool {
        self.preferences == PreferencePolicy::Respect
            && !self.refused.is_empty()
            && self.waiting().any(Shape::prefers)
    }

    /// Could somebody have to give something up?
    pub(super) fn has_wishes(&self) -> bool {
        let chooses = |shape: &Shape| shape.terms.len() > 1 || shape.prefers();
        self.ground.soft_taints || self.waiting().any(chooses)
    }

    fn waiting(&self) -> impl Iterator<Item = &Shape> {
        let pods = &self.ground.snapshot.pods;
        let waiting = self.ground.pending.iter().chain(self.view.extra);
        waiting.map(|id| pods.shape_of(*id))
    }

    /// What it achieved, read with the lots its claims are in.
    pub(super) fn worth(&self, lots: &Lots) -> Worth {
        let (mut unpriced, mut price) = (0, 0_u64);
        for open in &self.opens.list {
            let rung = lots.list[open.lot as usize].ladder[open.rung];
            if rung.priced {
                price = price.saturating_add(rung.cost);
            } else {
                unpriced += 1;
            }
        }
        Worth {
            placed: self.schedule.placements.len(),
            claims: self.opens.list.len(),
            unpriced,
            price,
        }
    }

    /// Everybody's first wish, then everybody's second, and so on.
    fn serve_by_wish(&mut self, line: &mut Vec<Queued>) {
        let (ground, preferences) = (self.ground, self.preferences);
        let attempts = |queued: &Queued| {
            let shape = ground.snapshot.pods.shape(queued.shape);
            let hopeless = !queue::hopeless(shape).is_empty();
            let attempts = relax::attempts(shape, preferences, ground.soft_taints);
            attempts.ok().filter(|_| !hopeless).unwrap_or_default()
        };
        let attempts: Vec<Vec<Attempt>> = line.iter().map(attempts).collect();
        let wishes = attempts.iter().map(Vec::len).max().unwrap_or(0);
        for wish in 0..wishes {
            for (queued, attempts) in line.iter_mut().zip(&attempts) {
                let Some(attempt) = attempts.get(wish).filter(|_| !queued.pods.is_empty()) else {
                    continue;
                };
                let wanted = self.wanted(queued.shape);
                let without = self.place(&wanted, attempt, &queued.pods).len();
                queued.pods.drain(..queued.pods.len() - without);
            }
        }
        line.retain(|queued| !queued.pods.is_empty());
    }

    /// Gives the pods of one shape their places, as far as there are any.
    fn serve(&mut self, queued: &Queued) -> Served {
        let ground = self.ground;
        let shape = ground.snapshot.pods.shape(queued.shape);
        let hopeless = queue::hopeless(shape);
        if !hopeless.is_empty() {
            return Served::Never(hopeless);
        }
        let preferences = self.preferences;
        let attempts = match relax::attempts(shape, preferences, ground.soft_taints) {
            Ok(attempts) => attempts,
            Err(why) => return Served::Never(vec![why]),
        };
        let wanted = self.wanted(queued.shape);
        let mut waiting = queued.pods.as_slice();
        for attempt in &attempts {
            waiting = self.place(&wanted, attempt, waiting);
            if waiting.is_empty() {
                return Served::All;
            }
            if self.left == 0 || self.memory == 0 {
                return Served::OutOfSteps;
            }
        }
        let traits = wanted.traits;
        let others_matter = !(traits.spreads.is_empty()
            && traits.near.is_empty()
            && traits.apart.is_empty()
            && traits.unwanted.is_empty());
        let limits_matter = self.tills.iter().flatten().any(Till::is_tight);
        if others_matter || limits_matter {
            return Served::Again(waiting.to_vec());
        }
        Served::Refused
    }

    fn explain(&self, shape: ShapeId) -> Vec<Why> {
        let ground = self.ground;
        let pods = &ground.snapshot.pods;
        let preferences = self.preferences;
        let attempts = relax::attempts(pods.shape(shape), preferences, ground.soft_taints);
        let wanted = self.wanted(shape);
        match attempts {
            Ok(attempts) => explain::refusal(self, &wanted, &attempts),
            Err(why) => vec![why],
        }
    }

    pub(super) fn wanted(&self, id: ShapeId) -> Wanted<'g> {
        let ground = self.ground;
        let shape = ground.snapshot.pods.shape(id);
        let traits = &ground.traits[id.0 as usize];
        let (amounts, shared) = volumes::asked(shape, &ground.columns);
        let counted = traits.counted.iter().chain(&traits.owned).copied();
        Wanted {
            id,
            shape,
            traits,
            amounts,
            shared,
            counted: counted
                .filter(|counter| self.live[*counter as usize])
                .collect(),
        }
    }

    /// Spends steps; false when there are none left.
    pub(super) fn step(&mut self, steps: usize) -> bool {
        let steps = (steps as u64).max(1);
        let enough = self.left >= steps;
        self.left = self.left.saturating_sub(steps);
        enough
    }

    /// Spends memory; false when there is none left.
    pub(super) fn remember(&mut self, bytes: usize) -> bool {
        let bytes = bytes as u64;
        let enough = self.memory >= bytes;
        self.memory = self.memory.saturating_sub(bytes);
        enough
    }
}
