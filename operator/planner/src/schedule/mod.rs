//! Which pod goes where, what has to be bought for the rest, and why does somebody get nothing?
//!
//! `solve` serves one shape after the other: rooms that exist, rooms on their way, claims opened in this run, new claims by
//! pool weight. The answer leaves no choice to whoever executes it.
//!
//! `ground` is what can be worked out before anybody is placed, `run` one pass over the shapes; `place` serves one of them
//! with `fill` (rooms) and `buy` (claims), and with `deal` and `twins` where many pods get the same answer. `strategy`
//! compares several runs.

mod ask;
mod buy;
mod choices;
mod columns;
mod count;
mod counters;
mod daemons;
mod deal;
mod domains;
mod existing;
mod explain;
mod fill;
mod finish;
mod fresh;
mod ground;
mod grow;
mod lots;
mod meant;
mod min_values;
mod narrow;
mod opens;
mod place;
mod queue;
mod relax;
mod reserves;
mod rows;
mod rules;
mod run;
mod scope;
mod standing;
mod stock;
mod strategy;
mod text;
mod till;
mod twins;
mod volumes;

#[cfg(test)]
mod tests;

pub use ground::Ground;

use crate::catalog::{Catalog, OfferingId};
use crate::price::Price;
use crate::requirements::Requirements;
use crate::resources::Resources;
use crate::snapshot::{ClaimId, NodeId, PodId, Pods, PoolId, ShapeId, WhatIf};
use crate::why::Why;
use std::sync::Arc;

/// Offerings that the durable record of a launch names.
pub const LEDGER_OFFERINGS: usize = 20;

/// What to do with the pending pods.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// Sorted by pod.
    pub placements: Vec<(PodId, Spot)>,
    pub openings: Vec<Opening>,
    /// Why the pods of a shape that have no placement get none. Sorted, each fact once.
    pub refusals: Vec<(ShapeId, Vec<Why>)>,
    /// Shapes the step budget did not reach: they go first next time. Sorted.
    pub unserved: Vec<ShapeId>,
    /// Steps that were needed.
    pub steps: u64,
}

/// Where a pod goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Spot {
    Node(NodeId),
    /// A claim in flight.
    Claim(ClaimId),
    /// Position in `Schedule::openings`.
    Opening(u32),
}

/// Keys and values, sorted.
pub type Labels = Arc<[(Arc<str>, Arc<str>)]>;

/// A claim to create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    pub pool: PoolId,
    /// `<pool>-<n>`: a handle inside this plan, not the claim's name.
    pub handle: Arc<str>,
    /// In buying order; only the first is tried.
    pub offerings: Arc<[OfferingId]>,
    /// For the claim's spec; claims that can become the same things share them.
    pub requirements: Arc<Requirements>,
    pub labels: Labels,
    /// Pods and the daemons that will land there.
    pub requests: Resources,
    pub pods: Vec<PodId>,
    /// Of the first offering; `None` if unknown.
    pub price: Option<Price>,
    /// Whether minValues had to be lowered.
    pub min_values_relaxed: bool,
}

/// How long to think, in steps. The operator turns time into steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    pub steps: u64,
    /// Bytes for the claims of a plan, roughly.
    pub memory: u64,
}

impl Budget {
    pub const UNLIMITED: Self = Self::steps(u64::MAX);

    pub const fn steps(steps: u64) -> Self {
        Self {
            steps,
            memory: u64::MAX,
        }
    }
}

/// Plans the pending pods of a view. The same view gives the same schedule.
pub fn solve(view: &WhatIf<'_>, limits: Budget) -> Schedule {
    Ground::of(view.base, view.prices).solve(view, limits)
}

/// Lists hold millions, never billions.
fn index(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

impl Opening {
    /// The first offerings as the annotation `joiner.dev/offerings` lists them.
    pub fn ledger_offerings(&self, catalog: &Catalog) -> Vec<String> {
        self.offerings
            .iter()
            .take(LEDGER_OFFERINGS)
            .map(|id| catalog.offering(*id).to_string())
            .collect()
    }
}

impl Schedule {
    pub fn spot_of(&self, pod: PodId) -> Option<Spot> {
        self.placements
            .binary_search_by_key(&pod, |(pod, _)| *pod)
            .ok()
            .map(|at| self.placements[at].1)
    }

    /// The pods of refused shapes that got no place, each with its reasons.
    pub fn refused<'a>(&'a self, pods: &'a Pods) -> impl Iterator<Item = (PodId, &'a [Why])> {
        pods.members()
            .filter(|(id, pod)| pod.pending && self.spot_of(*id).is_none())
            .filter_map(|(id, pod)| {
                let at = self
                    .refusals
                    .binary_search_by_key(&pod.shape(), |(shape, _)| *shape)
                    .ok()?;
                Some((id, self.refusals[at].1.as_slice()))
            })
    }
}
