//! What of a snapshot can be worked out before anybody is placed?
//!
//! Built once; thousands of what-ifs are then answered from it.

use super::columns::Columns;
use super::counters::{Counters, Traits};
use super::daemons;
use super::domains::Domains;
use super::existing::Rooms;
use super::fill::{self, Quarter};
use super::lots::{Goods, Lots};
use super::reserves::Reserves;
use super::run::Run;
use super::stock::Stock;
use super::strategy;
use super::till::{self, Count};
use super::{Budget, Schedule};
use crate::snapshot::{PodId, PoolId, PoolState, Prices, Snapshot, WhatIf};
use crate::taints::Effect;
use crate::why::Why;

pub struct Ground<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) columns: Columns,
    /// By pool weight; a pool that cannot sell keeps its reason.
    pub(super) stocks: Vec<Result<Stock<'a>, Why>>,
    pub(super) reserves: Reserves,
    pub(super) rooms: Rooms,
    pub(super) domains: Domains,
    pub(super) counters: Counters,
    /// By shape.
    pub(super) traits: Vec<Traits>,
    /// Pods of the snapshot that wait, in its order.
    pub(super) pending: Vec<PodId>,
    /// By stock: what the pool has.
    pub(super) counts: Vec<Count>,
    /// Rooms by all their domains.
    pub(super) quarters: Vec<Quarter>,
    /// Somewhere a `PreferNoSchedule` taint exists.
    pub(super) soft_taints: bool,
}

impl<'a> Ground<'a> {
    /// At the snapshot's own prices, or at others.
    pub fn of(snapshot: &'a Snapshot, prices: Option<&'a Prices>) -> Self {
        let view = WhatIf {
            prices,
            ..WhatIf::nothing_changes(snapshot)
        };
        let columns = Columns::of(snapshot);
        let landers = daemons::landers(snapshot);
        let rooms = Rooms::of(snapshot, &columns, &landers);
        let selling = snapshot
            .pools
            .iter()
            .enumerate()
            .filter(|(_, pool)| pool.state != PoolState::Fixed);
        let reserves = Reserves::of(snapshot);
        let seen = (&columns, &landers[..], &reserves);
        let stocks: Vec<_> = selling
            .map(|(at, _)| Stock::of(&view, PoolId(super::index(at)), seen))
            .collect();
        let domains = Domains::of(snapshot, &stocks, &rooms);
        let (counters, traits) = Counters::of(snapshot, &domains, &rooms);
        let mut taints = snapshot.pools.iter().flat_map(|pool| &pool.taints);
        let soft_pool = taints.any(|taint| taint.effect == Effect::PreferNoSchedule);
        let waits = snapshot.pods.members().filter(|(_, pod)| pod.pending);
        Self {
            pending: waits.map(|(id, _)| id).collect(),
            counts: till::counts(snapshot, &stocks),
            quarters: fill::quarters(&rooms, &counters, &domains),
            snapshot,
            columns,
            stocks,
            soft_taints: soft_pool || rooms.have_soft_taints(),
            reserves,
            rooms,
            domains,
            counters,
            traits,
        }
    }

    /// Plans the pending pods of a view of this snapshot. Prices are those the ground was laid with.
    pub fn solve(&self, view: &WhatIf<'_>, limits: Budget) -> Schedule {
        strategy::best(self, view, limits)
    }

    /// The first plan that comes to mind, for questions asked by the thousand: one strategy, no comparison.
    pub fn sketch(&self, view: &WhatIf<'_>, limits: Budget) -> Schedule {
        let first = (strategy::Strategy::Efficient, Lots::default());
        Run::new(self, view, limits, first).served().finish()
    }

    pub(super) fn goods(&self) -> Goods<'_, 'a> {
        Goods {
            stocks: &self.stocks,
            domains: &self.domains,
        }
    }
}
