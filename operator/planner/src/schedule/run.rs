//! How does one run go from the first shape to the finished schedule?

use super::ask::{Ask, Wanted};
use super::counters::CounterId;
use super::domains::{NONE, OPEN};
use super::fresh::Meant;
use super::ground::Ground;
use super::lots::{LotId, Lots};
use super::opens::Opens;
use super::queue::{self, Queued};
use super::relax::{self, Attempt};
use super::rules::Books;
use super::strategy::Strategy;
use super::till::Till;
use super::{Budget, Schedule, Spot, explain, finish, volumes};
use crate::requirements::Text;
use crate::snapshot::{HostPort, NodeId, PodId, ShapeId, WhatIf};
use crate::why::Why;
use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

pub(super) struct Run<'g> {
    pub(super) ground: &'g Ground<'g>,
    pub(super) view: &'g WhatIf<'g>,
    pub(super) strategy: Strategy,
    pub(super) books: Books,
    pub(super) lots: Lots,
    pub(super) opens: Opens,
    /// By stock.
    pub(super) tills: Vec<Option<Till>>,
    /// One row per room.
    pub(super) free: Vec<i64>,
    pub(super) closed: Vec<bool>,
    /// What rooms got in this run beside amounts.
    pub(super) taken: IndexMap<usize, Taken, FxBuildHasher>,
    passes: IndexMap<(CounterId, LotId), bool, FxBuildHasher>,
    /// For the shape that is being served: the type a new claim of a lot is meant to become.
    pub(super) meant: IndexMap<(LotId, u32), Meant, FxBuildHasher>,
    /// Counters that somebody in this run looks at.
    live: Vec<bool>,
    left: u64,
    budget: u64,
    /// Bytes that may still be used for claims.
    memory: u64,
    pub(super) schedule: Schedule,
}

/// Ports and shared volumes that came with pods of this run.
#[derive(Clone, Default)]
pub(super) struct Taken {
    pub(super) ports: Vec<HostPort>,
    pub(super) attached: Vec<Text>,
}

/// What became of a queued shape.
enum Served {
    All,
    /// These have no place; it may help to ask again when others are placed.
    Again(Vec<PodId>),
    /// These have no place and never will.
    Never(Vec<Why>),
    OutOfSteps,
}

impl<'g> Run<'g> {
    pub(super) fn new(
        ground: &'g Ground<'g>,
        view: &'g WhatIf<'g>,
        limits: Budget,
        strategy: Strategy,
    ) -> Self {
        let till = |stock: &Result<super::stock::Stock<'_>, Why>| {
            let stock = stock.as_ref().ok()?;
            Some(Till::of(view, stock, &ground.columns))
        };
        let mut run = Self {
            ground,
            view,
            strategy,
            books: Books::opened(&ground.counters.base),
            lots: Lots::default(),
            opens: Opens::with_width(ground.columns.width()),
            tills: ground.stocks.iter().map(till).collect(),
            free: ground.rooms.free.clone(),
            closed: ground.rooms.list.iter().map(|room| room.closed).collect(),
            taken: IndexMap::default(),
            passes: IndexMap::default(),
            meant: IndexMap::default(),
            live: Vec::new(),
            left: limits.steps,
            budget: limits.steps,
            memory: limits.memory,
            schedule: Schedule::default(),
        };
        run.think_away();
        run
    }

    pub(super) fn finished(mut self) -> Schedule {
        let mut line = queue::line_up(self.view);
        self.live = self.looked_at(&line);
        loop {
            let before = self.schedule.placements.len();
            let mut again = Vec::new();
            for queued in line {
                match self.serve(&queued) {
                    Served::All => {}
                    Served::Again(pods) => again.push(Queued { pods, ..queued }),
                    Served::Never(whys) => self.schedule.refusals.push((queued.shape, whys)),
                    Served::OutOfSteps => self.schedule.unserved.push(queued.shape),
                }
            }
            let progress = self.schedule.placements.len() > before;
            if again.is_empty() || !progress {
                line = again;
                break;
            }
            line = again;
        }
        for queued in line {
            let whys = self.explain(queued.shape);
            self.schedule.refusals.push((queued.shape, whys));
        }
        self.finish()
    }

    fn finish(mut self) -> Schedule {
        self.schedule.openings = finish::openings(&mut self);
        let mut schedule = self.schedule;
        schedule.placements.sort_unstable();
        schedule.refusals.sort();
        schedule.unserved.sort_unstable();
        schedule.unserved.dedup();
        schedule.steps = self.budget - self.left;
        schedule
    }

    /// Gives the pods of one shape their places, as far as there are any.
    fn serve(&mut self, queued: &Queued) -> Served {
        let ground = self.ground;
        let shape = ground.snapshot.pods.shape(queued.shape);
        let hopeless = queue::hopeless(shape);
        if !hopeless.is_empty() {
            return Served::Never(hopeless);
        }
        let preferences = ground.snapshot.options.preferences;
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
        if others_matter {
            return Served::Again(waiting.to_vec());
        }
        Served::Never(explain::refusal(self, &wanted, &attempts))
    }

    fn explain(&mut self, shape: ShapeId) -> Vec<Why> {
        let ground = self.ground;
        let pods = &ground.snapshot.pods;
        let preferences = ground.snapshot.options.preferences;
        let attempts = relax::attempts(pods.shape(shape), preferences, ground.soft_taints);
        let wanted = self.wanted(shape);
        match attempts {
            Ok(attempts) => explain::refusal(self, &wanted, &attempts),
            Err(why) => vec![why],
        }
    }

    fn wanted(&self, id: ShapeId) -> Wanted<'g> {
        let ground = self.ground;
        let shape = ground.snapshot.pods.shape(id);
        let traits = &ground.traits[id.0 as usize];
        let (amounts, shared) = volumes::asked(shape, &ground.columns);
        let counted = traits.counted.iter().chain(&traits.owned).copied();
        Wanted {
            shape,
            traits,
            amounts,
            shared,
            counted: counted
                .filter(|counter| self.live[*counter as usize])
                .collect(),
        }
    }

    /// Places as many as possible under one attempt and returns the rest.
    fn place<'p>(
        &mut self,
        wanted: &Wanted<'_>,
        attempt: &Attempt,
        pods: &'p [PodId],
    ) -> &'p [PodId] {
        if !self.step(self.ground.rooms.len() / 8) {
            return pods;
        }
        let mut ask = Ask::of(self.ground, wanted, attempt, &self.books);
        let together = ask.hosts.iter().any(|rule| rule.begins(&self.books));
        let mut waiting = pods;
        if together && pods.len() > 1 {
            ask.need = count(pods);
            waiting = self.place_all(&ask, waiting);
            ask.need = 1;
        }
        self.place_all(&ask, waiting)
    }

    fn place_all<'p>(&mut self, ask: &Ask<'_>, pods: &'p [PodId]) -> &'p [PodId] {
        self.meant.clear();
        let mut waiting = pods;
        let mut buckets = self.buckets(ask, waiting.len());
        let mut choices = None;
        loop {
            waiting = self.fill(ask, &mut buckets, waiting);
            if waiting.is_empty() || !self.step(1) {
                return waiting;
            }
            let choices = choices.get_or_insert_with(|| self.choices(ask));
            let placed = self.buy(ask, choices, waiting);
            if placed == 0 {
                return waiting;
            }
            waiting = &waiting[placed..];
        }
    }

    pub(super) fn settle(&mut self, spot: Spot, pods: &[PodId]) {
        let placed = pods.iter().map(|pod| (*pod, spot));
        self.schedule.placements.extend(placed);
    }

    /// Counts pods of a shape in a room.
    pub(super) fn count_in_room(&mut self, counted: &[CounterId], room: usize, pods: u32) {
        for counter in counted {
            let slot = self
                .ground
                .counters
                .slot(*counter, &self.ground.rooms, room);
            if slot != NONE {
                self.books.add(*counter, slot, pods);
            }
        }
    }

    /// Counts pods of a shape in a claim of this run.
    pub(super) fn count_in_open(&mut self, counted: &[CounterId], at: usize, pods: u32) {
        let ground = self.ground;
        let lot = self.opens.list[at].lot;
        for counter in counted {
            let slot = match ground.counters.list[*counter as usize].key {
                Some(key) => self.lots.list[lot as usize].domains[key],
                None => super::index(ground.rooms.len() + at),
            };
            if slot < OPEN && self.looks_at(*counter, lot) {
                self.books.add(*counter, slot, pods);
            }
        }
    }

    fn looks_at(&mut self, counter: CounterId, lot: LotId) -> bool {
        let ground = self.ground;
        if !ground.counters.has_filter(counter) {
            return true;
        }
        let lots = &self.lots;
        *self.passes.entry((counter, lot)).or_insert_with(|| {
            let lot = &lots.list[lot as usize];
            let taints = ground.stocks[lot.stock]
                .as_ref()
                .map_or(&[][..], |stock| &stock.pool.taints);
            ground.counters.passes(counter, &lot.requirements, taints)
        })
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

    /// Nodes that are thought away take nobody, and their pods count nowhere; nor do pods that are placed anew.
    fn think_away(&mut self) {
        let ground = self.ground;
        let mut gone: Vec<(usize, PodId)> = Vec::new();
        for node in self.view.without.ids() {
            let Some((room, pods)) = ground.rooms.of_node(node) else {
                continue;
            };
            self.closed[room] = true;
            gone.extend(pods.iter().map(|pod| (room, *pod)));
        }
        for pod in self.view.extra {
            let name = ground.snapshot.pods.pod(*pod).node.as_ref();
            let nodes = &ground.snapshot.nodes;
            let at = name.and_then(|name| nodes.binary_search_by(|node| node.name.cmp(name)).ok());
            let room = at.and_then(|at| ground.rooms.of_node(NodeId(super::index(at))));
            gone.extend(room.map(|(room, _)| (room, *pod)));
        }
        gone.sort_unstable();
        gone.dedup();
        for (room, pod) in gone {
            let pod = ground.snapshot.pods.pod(pod);
            let traits = &ground.traits[pod.shape().0 as usize];
            for counter in traits.counted.iter().chain(&traits.owned) {
                let slot = ground.counters.slot(*counter, &ground.rooms, room);
                if slot != NONE && !pod.pending {
                    self.books.remove(*counter, slot);
                }
            }
        }
    }

    /// Counters of those who are to be placed, and of anti-affinity that is already somewhere.
    fn looked_at(&self, line: &[Queued]) -> Vec<bool> {
        let counters = &self.ground.counters.list;
        let mut live: Vec<bool> = (0..counters.len())
            .map(|at| counters[at].owners && self.books.total(super::index(at)) > 0)
            .collect();
        for queued in line {
            let traits = &self.ground.traits[queued.shape.0 as usize];
            let own = [
                &traits.spreads,
                &traits.near,
                &traits.apart,
                &traits.preferred_near,
                &traits.preferred_apart,
                &traits.owned,
            ];
            for counter in own.into_iter().flatten() {
                live[*counter as usize] = true;
            }
        }
        live
    }
}

pub(super) fn count(pods: &[PodId]) -> u32 {
    u32::try_from(pods.len()).unwrap_or(u32::MAX)
}
