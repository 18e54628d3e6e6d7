//! Which type is a new claim meant to become?
//!
//! It may grow so far before another one is opened. By strategy that is the type that carries such pods at the lowest price
//! each, or the largest one; what the claim is bought as in the end is the cheapest type that carries what it was given.

use super::ask::Ask;
use super::columns::copies_beside;
use super::grow::{Cargo, plus};
use super::lots::{LotId, Rung};
use super::run::Run;
use super::stock::Stock;
use super::strategy::{NEAR, Strategy};
use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

/// The type a claim is opened for.
#[derive(Clone, Copy)]
pub(super) struct Meant {
    pub(super) rung: usize,
    pub(super) cost: u64,
    pub(super) carries: u32,
}

/// Answers for the shape that is being served: one claim per pod asks often.
#[derive(Default)]
pub(super) struct Intentions {
    /// By stock.
    copies: Vec<Option<Copies>>,
    /// By lot and the most pods a claim could take.
    known: IndexMap<(LotId, u32), Meant, FxBuildHasher>,
}

/// How many of the pods a new claim carries.
struct Copies {
    /// By type; `None` if it cannot even carry its daemons.
    by_kind: Vec<Option<u32>>,
    most: u32,
}

impl Intentions {
    pub(super) fn clear(&mut self) {
        self.copies.clear();
        self.known.clear();
    }

    /// The most such pods that any type carries that was asked about.
    pub(super) fn most_copies(&self) -> u32 {
        let known = self.copies.iter().flatten().map(|copies| copies.most);
        known.max().unwrap_or(u32::MAX)
    }

    fn copies(&mut self, at: usize, of: impl FnOnce() -> Copies) -> &Copies {
        if at >= self.copies.len() {
            self.copies.resize_with(at + 1, || None);
        }
        self.copies[at].get_or_insert_with(of)
    }
}

impl Copies {
    fn of(stock: &Stock<'_>, total: &[i64], asked: &[i64]) -> Self {
        let copies = |free: &super::columns::Amounts| copies_beside(free, total, asked);
        let by_kind: Vec<Option<u32>> = (stock.free.iter())
            .map(|free| free.as_ref().map(copies))
            .collect();
        Self {
            most: by_kind.iter().flatten().copied().max().unwrap_or(0),
            by_kind,
        }
    }
}

impl Run<'_> {
    /// The type that a claim of the lot is meant to become, by strategy. The same question has the same answer as long as
    /// the limits leave that type.
    pub(super) fn meant(
        &mut self,
        ask: &Ask<'_>,
        lot: LotId,
        cargo: Cargo<'_>,
        (cap, most): (u32, u32),
    ) -> Option<Meant> {
        let list = &self.lots.list[lot as usize];
        let stock = self.ground.stocks[list.stock].as_ref().ok()?;
        let copies = self.intentions.copies(list.stock, || {
            Copies::of(stock, cargo.total, &ask.wanted.amounts)
        });
        let bound = match self.strategy {
            Strategy::Exact => cap.min(most),
            Strategy::Even => cap.min(ask.need),
            Strategy::Efficient | Strategy::Largest => cap,
        };
        let bound = bound.min(copies.most);
        let one = plus(cargo.total, ask, 1);
        let known = self.intentions.known.get(&(lot, bound)).copied();
        if let Some(known) = known
            && self.carries(list, list.ladder[known.rung], &one, cargo)
        {
            return Some(known);
        }
        let found = self.weighed(ask, lot, cargo, bound)?;
        self.intentions.known.insert((lot, bound), found);
        Some(found)
    }

    fn weighed(&self, ask: &Ask<'_>, lot: LotId, cargo: Cargo<'_>, bound: u32) -> Option<Meant> {
        let list = &self.lots.list[lot as usize];
        let copies = self.intentions.copies[list.stock].as_ref()?;
        let one = plus(cargo.total, ask, 1);
        let candidate = |(rung, known): (usize, &Rung)| {
            let carries = copies.by_kind[known.kind]?.min(bound);
            (carries >= ask.need && carries > 0).then_some(Meant {
                rung,
                cost: known.cost,
                carries,
            })
        };
        let may = |meant: Meant| self.carries(list, list.ladder[meant.rung], &one, cargo);
        let candidates = || list.ladder.iter().enumerate().filter_map(candidate);
        let mut best: Option<Meant> = None;
        for meant in candidates() {
            let better = best.is_none_or(|best| self.prefers(meant, best));
            if better && may(meant) {
                best = Some(meant);
            }
        }
        let cheapest = best?;
        if !matches!(self.strategy, Strategy::Efficient | Strategy::Exact) {
            return best;
        }
        // A roomier type that is hardly dearer for each pod saves claims.
        let mut roomy = cheapest;
        for meant in candidates() {
            let roomier = meant.carries > roomy.carries && meant.near(cheapest);
            if roomier && may(meant) {
                roomy = meant;
            }
        }
        Some(roomy)
    }

    fn prefers(&self, one: Meant, other: Meant) -> bool {
        match self.strategy {
            Strategy::Largest => one.carries > other.carries,
            Strategy::Even => one.cost < other.cost,
            Strategy::Efficient | Strategy::Exact => {
                let (a, b) = one.against(other);
                a < b || (a == b && one.carries > other.carries)
            }
        }
    }
}

impl Meant {
    /// What each costs per pod, in a measure that both share.
    fn against(self, other: Self) -> (u128, u128) {
        (
            per_pod(self.cost, other.carries),
            per_pod(other.cost, self.carries),
        )
    }

    /// Hardly dearer for each pod than the other.
    fn near(self, other: Self) -> bool {
        let (a, b) = self.against(other);
        a.saturating_mul(100) <= b.saturating_mul(u128::from(100 + NEAR))
    }
}

/// Compares cost per pod without dividing: multiply with what the other carries.
pub(super) fn per_pod(cost: u64, others: u32) -> u128 {
    u128::from(cost) * u128::from(others)
}
