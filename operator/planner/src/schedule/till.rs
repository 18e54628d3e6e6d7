//! How much of a pool's limits is left, and how many nodes has each zone, while claims are being opened?

use super::columns::{Amounts, Columns};
use super::existing;
use super::stock::Stock;
use crate::labels;
use crate::resources::{ResourceName, Resources};
use crate::snapshot::{NodeId, Pool, WhatIf};
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
    pub(super) fn of(view: &WhatIf<'_>, stock: &Stock<'_>, columns: &Columns) -> Self {
        let counted = Count::of(view, stock.pool);
        let guard = view.base.options.guard;
        let mut left = limits_left(stock.pool, &counted.used, columns);
        left.resize(columns.width(), i64::MAX);
        Self {
            left,
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
        let within = capacity.iter().zip(&self.left).zip(held).all(fits);
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
        capacity.iter().zip(&self.left).all(fits)
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

/// What the pool already has.
#[derive(Default)]
struct Count {
    nodes: u32,
    unregistered: u32,
    used: Resources,
    crowd: BTreeMap<Arc<str>, u32>,
}

impl Count {
    fn of(view: &WhatIf<'_>, pool: &Pool) -> Self {
        let mut count = Self::default();
        let limited = !pool.limits.is_empty();
        let one = Resources::new().with(ResourceName::Nodes, 1);
        for (at, node) in view.base.nodes.iter().enumerate() {
            let gone = node.leaving || view.without.contains(NodeId(super::index(at)));
            if gone || node.pool.as_ref() != Some(&pool.name) {
                continue;
            }
            count.nodes += 1;
            if limited {
                count.used = count.used.plus(&node.capacity).plus(&one);
            }
            count.in_zone(node.label(labels::ZONE));
        }
        for claim in view
            .base
            .claims
            .iter()
            .filter(|claim| claim.pool == pool.name && !claim.leaving)
        {
            count.unregistered += 1;
            let capacity = match (&claim.told, existing::bought_as(claim, view.base)) {
                (Some((capacity, _)), _) => capacity.clone(),
                (None, Some((catalog, id))) => catalog.instance_type(id).capacity.clone(),
                (None, None) => claim.requests.clone(),
            };
            count.used = count.used.plus(&capacity).plus(&one);
            count.in_zone(claim.offering.as_ref().map(|(_, zone, _)| zone.as_ref()));
        }
        count
    }

    fn in_zone(&mut self, zone: Option<&str>) {
        let Some(zone) = zone else { return };
        match self.crowd.get_mut(zone) {
            Some(crowd) => *crowd += 1,
            None => drop(self.crowd.insert(zone.into(), 1)),
        }
    }
}

fn limits_left(pool: &Pool, used: &Resources, columns: &Columns) -> Amounts {
    let left = |name: &ResourceName| {
        if pool.limits.contains(name) {
            pool.limits.get(name).saturating_sub(used.get(name))
        } else {
            i64::MAX
        }
    };
    columns.names().iter().map(left).collect()
}
