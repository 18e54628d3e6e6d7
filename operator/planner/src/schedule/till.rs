//! How much of a pool's limits is left, and how many nodes has each zone, while claims are being opened?

use super::columns::{Amounts, Columns};
use super::existing;
use super::stock::Stock;
use crate::labels;
use crate::resources::{ResourceName, Resources};
use crate::snapshot::{Claim, Node, Pool, Snapshot, WhatIf};
use crate::why::Why;
use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Clone)]
pub(super) struct Till {
    /// What is left of the pool's limits, by column; `i64::MAX` where nothing is limited.
    pub(super) left: Amounts,
    /// Nodes and claims of the pool by zone.
    pub(super) crowd: BTreeMap<Arc<str>, u32>,
    pub(super) unregistered: u32,
    /// How many claims may be unregistered at once.
    pub(super) allowed: u32,
    pub(super) opened: u32,
    /// A limit was in the way of something in this run.
    tight: Cell<bool>,
}

impl Till {
    /// `counted` is what the pool has in the snapshot; nodes that are thought away do not count.
    pub(super) fn of(
        view: &WhatIf<'_>,
        stock: &Stock<'_>,
        counted: &Count,
        columns: &Columns,
    ) -> Self {
        let mut counted = counted.clone();
        for id in view.without.ids() {
            counted.forget(stock.pool, &view.base.nodes[id.0 as usize]);
        }
        let guard = view.base.options.guard;
        Self {
            left: limits_left(stock.pool, &counted.used, columns),
            crowd: counted.crowd,
            unregistered: counted.unregistered,
            allowed: guard.map_or(u32::MAX, |guard| guard.allowed(counted.nodes)),
            opened: 0,
            tight: Cell::new(false),
        }
    }

    /// Are as many claims on their way as the runaway guard allows?
    pub(super) fn guarded(&self) -> bool {
        self.unregistered.saturating_add(self.opened) >= self.allowed
    }

    /// Would this capacity stay within what the limits leave, besides what the claim holds already?
    pub(super) fn within_limits(&self, capacity: &[i64], held: &[i64]) -> bool {
        let fits = |((capacity, left), held): ((&i64, &i64), &i64)| {
            *left == i64::MAX || *capacity <= left.saturating_add(*held)
        };
        let within = capacity.iter().zip(self.left.iter()).zip(held).all(fits);
        if !within {
            self.tight.set(true);
        }
        within
    }

    /// Was a limit in the way of anything yet?
    pub(super) fn is_tight(&self) -> bool {
        self.tight.get()
    }

    /// Would even so much stay within what the limits leave? Then they are in nobody's way.
    pub(super) fn is_plenty(&self, capacity: &[i64]) -> bool {
        let fits = |(capacity, left): (&i64, &i64)| capacity <= left;
        capacity.iter().zip(self.left.iter()).all(fits)
    }

    /// A claim that held one amount now holds another.
    pub(super) fn hold(&mut self, before: &[i64], now: &[i64]) {
        for (at, left) in self.left.iter_mut().enumerate() {
            // What is not limited stays unlimited.
            if *left != i64::MAX {
                *left = left.saturating_add(before[at]).saturating_sub(now[at]);
            }
        }
    }

    /// How many more claims that hold so much can be opened before the guard says no or a limit bars any type.
    pub(super) fn times(&self, capacity: &[i64], held: &[i64]) -> usize {
        let on_their_way = self.unregistered.saturating_add(self.opened);
        let mut times = self.allowed.saturating_sub(on_their_way) as usize;
        for ((left, capacity), held) in self.left.iter().zip(capacity).zip(held) {
            let spare = left.saturating_sub(*capacity);
            if spare < 0 {
                return 0;
            }
            if *left != i64::MAX && *held > 0 {
                times = times.min(usize::try_from(spare / held + 1).unwrap_or(usize::MAX));
            }
        }
        times
    }

    /// One more claim that holds this.
    pub(super) fn open_again(&mut self, held: &[i64]) {
        self.opened += 1;
        for (left, held) in self.left.iter_mut().zip(held) {
            if *left != i64::MAX {
                *left = left.saturating_sub(*held);
            }
        }
    }

    pub(super) fn crowd_in(&self, zone: &str) -> u32 {
        self.crowd.get(zone).copied().unwrap_or(0)
    }

    pub(super) fn enter(&mut self, zone: &Arc<str>) {
        match self.crowd.get_mut(zone) {
            Some(crowd) => *crowd += 1,
            None => drop(self.crowd.insert(zone.clone(), 1)),
        }
    }
}

/// What a pool already has.
#[derive(Clone, Default)]
pub(super) struct Count {
    nodes: u32,
    unregistered: u32,
    used: Resources,
    crowd: BTreeMap<Arc<str>, u32>,
}

/// What each pool has, by stock: nodes and claims are looked at once for all of them.
pub(super) fn counts(snapshot: &Snapshot, stocks: &[Result<Stock<'_>, Why>]) -> Vec<Count> {
    let mut counts = vec![Count::default(); stocks.len()];
    let pools = stocks.iter().enumerate();
    let pools: IndexMap<&str, (usize, &Pool), FxBuildHasher> = pools
        .filter_map(|(at, stock)| Some((at, stock.as_ref().ok()?.pool)))
        .map(|(at, pool)| (pool.name.as_ref(), (at, pool)))
        .collect();
    for node in snapshot.nodes.iter().filter(|node| !node.leaving) {
        let known = node.pool.as_ref().and_then(|name| pools.get(name.as_ref()));
        if let Some((at, pool)) = known {
            counts[*at].add(pool, node);
        }
    }
    for claim in snapshot.claims.iter().filter(|claim| !claim.leaving) {
        if let Some((at, _)) = pools.get(claim.pool.as_ref()) {
            counts[*at].add_claim(claim, snapshot);
        }
    }
    counts
}

impl Count {
    fn add(&mut self, pool: &Pool, node: &Node) {
        self.nodes += 1;
        if !pool.limits.is_empty() {
            self.used = self.used.plus(&node.capacity).plus(&one_node());
        }
        self.in_zone(node.label(labels::ZONE));
    }

    /// The node is thought away.
    fn forget(&mut self, pool: &Pool, node: &Node) {
        if node.leaving || node.pool.as_ref() != Some(&pool.name) {
            return;
        }
        self.nodes = self.nodes.saturating_sub(1);
        if !pool.limits.is_empty() {
            self.used = self.used.minus(&node.capacity).minus(&one_node());
        }
        let zone = node.label(labels::ZONE);
        if let Some(crowd) = zone.and_then(|zone| self.crowd.get_mut(zone)) {
            *crowd = crowd.saturating_sub(1);
        }
    }

    fn add_claim(&mut self, claim: &Claim, snapshot: &Snapshot) {
        self.unregistered += 1;
        let capacity = match (&claim.told, existing::bought_as(claim, snapshot)) {
            (Some((capacity, _)), _) => capacity.clone(),
            (None, Some((catalog, id))) => catalog.instance_type(id).capacity.clone(),
            (None, None) => claim.requests.clone(),
        };
        self.used = self.used.plus(&capacity).plus(&one_node());
        self.in_zone(claim.offering.as_ref().map(|(_, zone, _)| zone.as_ref()));
    }

    fn in_zone(&mut self, zone: Option<&str>) {
        let Some(zone) = zone else { return };
        match self.crowd.get_mut(zone) {
            Some(crowd) => *crowd += 1,
            None => drop(self.crowd.insert(zone.into(), 1)),
        }
    }
}

fn one_node() -> Resources {
    Resources::new().with(ResourceName::Nodes, 1)
}

fn limits_left(pool: &Pool, used: &Resources, columns: &Columns) -> Amounts {
    let left = |name: &ResourceName| {
        if pool.limits.contains(name) {
            pool.limits.get(name).saturating_sub(used.get(name))
        } else {
            i64::MAX
        }
    };
    let volumes = columns.drivers().iter().map(|_| i64::MAX);
    columns.names().iter().map(left).chain(volumes).collect()
}
