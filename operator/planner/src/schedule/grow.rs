//! How many pods of a shape can a claim take that is not created yet, and which type carries it then?

use super::ask::Ask;
use super::columns::{Amounts, copies_beside, fits, give};
use super::fill::conflict;
use super::lots::{Lot, LotId, Rung};
use super::min_values;
use super::opens::{Open, Room};
use super::reserves::ReserveId;
use super::run::Run;
use super::stock::Stock;
use super::strategy::Strategy;
use super::till::Till;
use crate::snapshot::{HostPort, MinValuesPolicy, PodId};

/// What a claim becomes when it takes `count` more pods.
#[derive(Clone, Copy)]
pub(super) struct Growth {
    pub(super) lot: LotId,
    pub(super) count: u32,
    pub(super) relaxed: bool,
}

/// What a claim carries, for the question which type can.
#[derive(Clone, Copy)]
pub(super) struct Cargo<'c> {
    pub(super) total: &'c [i64],
    pub(super) ports: &'c [HostPort],
    /// What the claim holds of the pool's limits already.
    pub(super) held: &'c [i64],
    /// The reservation the claim holds an instance of.
    pub(super) reserve: Option<ReserveId>,
}

impl Run<'_> {
    /// How the claim grows when it takes as many of these pods as such room allows, at most `most`.
    pub(super) fn growth(
        &self,
        ask: &Ask<'_>,
        (at, lot): (usize, LotId),
        room: Room,
        most: u32,
    ) -> Option<Growth> {
        let open = &self.opens.list[at];
        let most = most.min(self.host_cap(ask, self.ground.rooms.len() + at));
        let most = if ask.wanted.shape.ports.is_empty() {
            most
        } else {
            most.min(1)
        };
        if most == 0 || !self.ports_fit(ask, at) || (lot != open.lot && self.has_unseen(ask, at)) {
            return None;
        }
        let ports = self.ports_with(ask, at);
        let total = once(ask, open);
        let cargo = Cargo {
            total: &total,
            ports: &ports,
            held: &open.held,
            reserve: open.reserve,
        };
        let from = if lot == open.lot {
            self.first_rung(at)
        } else {
            0
        };
        let first = self.carrier((lot, from), &plus(&total, ask, 1), cargo)?;
        let rung = self.lots.list[lot as usize].ladder[first];
        let stays = self.lots.list[open.lot as usize].ladder[open.rung].rank == rung.rank;
        let count = match room {
            Room::Spare if !stays => return None,
            Room::Spare => self.copies(lot, rung, &total, ask),
            Room::Target => {
                let far = copies_beside(&open.target, &total, &ask.wanted.amounts).min(most);
                let carried = plus(&total, ask, far);
                match self.carrier((lot, first), &carried, cargo) {
                    Some(_) if far > 0 => far,
                    _ => self.copies(lot, rung, &total, ask),
                }
            }
            Room::Any | Room::Heavier => self.farthest(lot, cargo, ask),
        };
        let growth = Growth {
            lot,
            count: count.min(most),
            relaxed: open.relaxed,
        };
        if growth.count < ask.need {
            return None;
        }
        self.with_choice(growth, cargo, ask)
    }

    /// Lets the claim take pods; how many it took.
    pub(super) fn apply(
        &mut self,
        ask: &Ask<'_>,
        at: usize,
        growth: Growth,
        pods: &[PodId],
    ) -> usize {
        let open = &mut self.opens.list[at];
        let before = open.lot;
        let moved = before != growth.lot;
        open.total = plus(&once(ask, open), ask, growth.count);
        for (claim, _) in &ask.wanted.shared {
            if !open.attached.contains(claim) {
                open.attached.push(claim.clone());
            }
        }
        open.lot = growth.lot;
        open.relaxed |= growth.relaxed;
        if moved {
            open.rung = 0;
        }
        open.ports.extend(&ask.wanted.shape.ports);
        let placed = &pods[..growth.count as usize];
        open.pods.extend_from_slice(placed);
        self.settle_open(at);
        if moved {
            self.recount(at, before);
        }
        match self.opens.list[at].shapes.last_mut() {
            Some((known, count)) if *known == ask.wanted.id => *count += growth.count,
            _ => self.opens.list[at]
                .shapes
                .push((ask.wanted.id, growth.count)),
        }
        self.count_in_open(&ask.wanted.counted, at, growth.count);
        self.settle(super::Spot::Opening(super::index(at)), placed);
        placed.len()
    }

    /// Finds the cheapest type that carries the claim now, and what that means for limits and room.
    pub(super) fn settle_open(&mut self, at: usize) {
        let open = &self.opens.list[at];
        let lot = &self.lots.list[open.lot as usize];
        let cargo = Cargo {
            total: &open.total,
            ports: &open.ports,
            held: &open.held,
            reserve: open.reserve,
        };
        let Ok(stock) = &self.ground.stocks[lot.stock] else {
            return;
        };
        let from = self.first_rung(at);
        let rung = self.carrier((open.lot, from), cargo.total, cargo);
        let rung = rung.unwrap_or(from);
        let reserve = lot.ladder[rung].reserve;
        let free = stock.free[lot.ladder[rung].kind].as_deref();
        let any = most_free(stock, lot);
        if stock.limited {
            let held = match self.strategy {
                Strategy::Even if open.held.iter().all(|held| *held == 0) => {
                    let carries = |rung: &&Rung| self.carries(lot, **rung, cargo.total, cargo);
                    most_capacity(stock, lot.ladder.iter().filter(carries))
                }
                Strategy::Even => {
                    let mut held = open.held.clone();
                    held.raise_to(&stock.capacity[lot.ladder[rung].kind]);
                    held
                }
                _ => first_takes(stock, lot, rung, cargo),
            };
            if let Some(till) = &mut self.tills[lot.stock] {
                till.hold(&open.held, &held);
            }
            self.opens.list[at].held = held;
        }
        self.opens.list[at].rung = rung;
        self.opens.update(at, free.unwrap_or_default(), any);
        self.hold(at, reserve);
    }

    /// What carries a claim carried all of it before, so no earlier rung does; unless what was in the way, a limit or a
    /// reservation, has been given back since.
    fn first_rung(&self, at: usize) -> usize {
        let open = &self.opens.list[at];
        let till = self.tills[self.lots.list[open.lot as usize].stock].as_ref();
        let given_back = !self.reserves.is_empty() || till.is_none_or(Till::is_tight);
        if given_back { 0 } else { open.rung }
    }

    /// The first rung of a lot, from one on, whose type carries this much.
    fn carrier(
        &self,
        (lot, from): (LotId, usize),
        total: &[i64],
        cargo: Cargo<'_>,
    ) -> Option<usize> {
        let lot = &self.lots.list[lot as usize];
        let rungs = lot.ladder[from..].iter();
        let found = rungs
            .enumerate()
            .find(|(_, rung)| self.carries(lot, **rung, total, cargo))?;
        Some(from + found.0)
    }

    pub(super) fn carries(&self, lot: &Lot, rung: Rung, total: &[i64], cargo: Cargo<'_>) -> bool {
        let Ok(stock) = &self.ground.stocks[lot.stock] else {
            return false;
        };
        stock.carries(rung.kind, total, cargo.ports)
            && self.has_left(rung.reserve, cargo.reserve)
            && (!stock.limited
                || self.tills[lot.stock]
                    .as_ref()
                    .is_some_and(|till| till.within_limits(&stock.capacity[rung.kind], cargo.held)))
    }

    /// How many pods a type carries beside what the claim has.
    pub(super) fn copies(&self, lot: LotId, rung: Rung, total: &[i64], ask: &Ask<'_>) -> u32 {
        let stock = self.lots.list[lot as usize].stock;
        let free = self.ground.stocks[stock].as_ref().ok();
        let free = free.and_then(|stock| stock.free[rung.kind].as_ref());
        free.map_or(0, |free| copies_beside(free, total, &ask.wanted.amounts))
    }

    /// How many pods the roomiest type carries.
    fn farthest(&self, lot: LotId, cargo: Cargo<'_>, ask: &Ask<'_>) -> u32 {
        let list = &self.lots.list[lot as usize];
        let one = plus(cargo.total, ask, 1);
        let carrying = list
            .ladder
            .iter()
            .filter(|rung| self.carries(list, **rung, &one, cargo));
        let copies = carrying.map(|rung| self.copies(lot, *rung, cargo.total, ask));
        copies.max().unwrap_or(0)
    }

    /// Lowers the count while too little choice is left; on a new claim minValues may be lowered instead.
    pub(super) fn with_choice(
        &self,
        growth: Growth,
        cargo: Cargo<'_>,
        ask: &Ask<'_>,
    ) -> Option<Growth> {
        if growth.count == 0 {
            return None;
        }
        let lot = &self.lots.list[growth.lot as usize];
        if !lot.has_min_values {
            return Some(growth);
        }
        let enough = |count: u32| {
            let total = plus(cargo.total, ask, count);
            min_values::unmet(self, lot, &total, cargo).is_empty()
        };
        if enough(growth.count) {
            return Some(growth);
        }
        // More pods leave fewer types, so the largest count with enough choice can be searched by halves.
        let (mut fine, mut bad) = (0, growth.count);
        while bad - fine > 1 {
            let middle = fine + (bad - fine) / 2;
            if enough(middle) {
                fine = middle;
            } else {
                bad = middle;
            }
        }
        (fine >= ask.need.max(1)).then_some(Growth {
            count: fine,
            ..growth
        })
    }

    pub(super) fn best_effort(&self) -> bool {
        self.ground.snapshot.options.min_values == MinValuesPolicy::BestEffort
    }

    fn ports_with(&self, ask: &Ask<'_>, at: usize) -> Vec<HostPort> {
        let mut ports = self.opens.list[at].ports.clone();
        ports.extend(&ask.wanted.shape.ports);
        ports
    }
}

impl Stock<'_> {
    /// Does the type have room for this beside its daemons?
    pub(super) fn carries(&self, kind: usize, total: &[i64], ports: &[HostPort]) -> bool {
        let fit = self.free[kind]
            .as_ref()
            .is_some_and(|free| fits(total, free));
        fit && !(self.daemon_ports && conflict(ports, &self.load[kind].ports))
    }
}

/// Per column the most any type of the lot has.
pub(super) fn most_free<'l>(stock: &Stock<'_>, lot: &'l Lot) -> &'l [i64] {
    lot.most_free.get_or_init(|| {
        let mut most = Amounts::default();
        for free in (lot.ladder.iter()).filter_map(|rung| stock.free[rung.kind].as_ref()) {
            most.raise_to(free);
        }
        most
    })
}

/// Per column the most that the offering bought first can take; ties are not decided yet, so all of them count.
fn first_takes(stock: &Stock<'_>, lot: &Lot, rung: usize, cargo: Cargo<'_>) -> Amounts {
    let rank = lot.ladder[rung].rank;
    let mut most: Amounts = stock.capacity[lot.ladder[rung].kind].clone();
    let ties = lot.ladder[rung..]
        .iter()
        .take_while(|other| other.rank == rank);
    for other in ties.filter(|other| stock.carries(other.kind, cargo.total, cargo.ports)) {
        most.raise_to(&stock.capacity[other.kind]);
    }
    most
}

/// Per column the most that any of these types takes: as Karpenter holds it, and as who fills claims evenly must.
fn most_capacity<'r>(stock: &Stock<'_>, rungs: impl Iterator<Item = &'r Rung>) -> Amounts {
    let mut most = Amounts::default();
    for rung in rungs {
        most.raise_to(&stock.capacity[rung.kind]);
    }
    most
}

/// What the claim carries, with the shared volumes the pods bring along.
fn once(ask: &Ask<'_>, open: &Open) -> Amounts {
    let mut total = open.total.clone();
    for (claim, column) in &ask.wanted.shared {
        if !open.attached.contains(claim) {
            total[*column] += 1;
        }
    }
    total
}

/// The total with so many more pods.
pub(super) fn plus(total: &[i64], ask: &Ask<'_>, count: u32) -> Amounts {
    let mut total: Amounts = total.into();
    give(&mut total, &ask.wanted.amounts, count);
    total
}
