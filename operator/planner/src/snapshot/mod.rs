//! What is known at this moment, frozen and sorted?
//!
//! The only input of the planner. `freeze` sorts everything by key, so the order in which objects arrived cannot change a plan.

mod places;
mod pods;
mod pools;
mod topology;
mod volumes;
mod what_if;

pub use places::{Claim, Node};
pub use pods::{HostPort, Pod, PodId, Pods, Protocol, Shape, ShapeId};
pub use pools::{Daemon, Pool, PoolState};
pub use topology::{Namespace, PodTerm, Policy, Selector, Spread};
pub use volumes::{Volume, VolumeLimit, Volumes};
pub use what_if::{NodeSet, Prices, WhatIf};

use crate::catalog::Catalog;
use crate::identity::ClassRef;
use crate::labels::WellKnown;
use jiff::Timestamp;

#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    pub now: Timestamp,
    pub pods: Pods,
    pub nodes: Vec<Node>,
    /// Claims that are no node yet.
    pub claims: Vec<Claim>,
    pub pools: Vec<Pool>,
    pub catalogs: Vec<Catalog>,
    pub daemons: Vec<Daemon>,
    pub volumes: Volumes,
    /// Those that terms of pods select by label; a namespace that is not here has no labels.
    pub namespaces: Vec<Namespace>,
    pub options: Options,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    pub well_known: WellKnown,
    pub min_values: MinValuesPolicy,
    pub preferences: PreferencePolicy,
    /// `None` switches the guard off.
    pub guard: Option<Guard>,
    /// Instance types written on one claim, cheapest first.
    pub max_types: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MinValuesPolicy {
    Strict,
    BestEffort,
}

/// Are preferences tried as if they were required, and given up one by one, or not looked at?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreferencePolicy {
    Respect,
    Ignore,
}

/// The runaway guard: how many claims of a pool may be on their way at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    pub at_least: u32,
    pub percent: u32,
}

/// The position of a node, claim, pool in its sorted list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClaimId(pub u32);
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PoolId(pub u32);

impl Snapshot {
    /// Nothing known yet.
    pub fn empty(now: Timestamp) -> Self {
        Self {
            now,
            pods: Pods::default(),
            nodes: Vec::new(),
            claims: Vec::new(),
            pools: Vec::new(),
            catalogs: Vec::new(),
            daemons: Vec::new(),
            volumes: Volumes::default(),
            namespaces: Vec::new(),
            options: Options::default(),
        }
    }

    /// Sorts every list by its key. Must be called once after filling and before planning.
    #[must_use]
    pub fn freeze(mut self) -> Self {
        self.nodes.sort_by(|a, b| a.name.cmp(&b.name));
        self.claims.sort_by(|a, b| a.name.cmp(&b.name));
        // Weight first; upstream breaks ties by the name that comes last.
        self.pools
            .sort_by(|a, b| b.weight.cmp(&a.weight).then_with(|| b.name.cmp(&a.name)));
        self.catalogs.sort_by(|a, b| a.class().cmp(b.class()));
        self.daemons.sort_by(|a, b| a.name.cmp(&b.name));
        self.namespaces.sort();
        for namespace in &mut self.namespaces {
            namespace.labels.sort_unstable();
        }
        self.volumes.limits.sort();
        self
    }

    pub fn catalog_of(&self, class: &ClassRef) -> Option<&Catalog> {
        self.catalogs
            .iter()
            .find(|catalog| catalog.class() == class)
    }

    pub fn pool(&self, id: PoolId) -> &Pool {
        &self.pools[id.0 as usize]
    }

    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    pub fn claim(&self, id: ClaimId) -> &Claim {
        &self.claims[id.0 as usize]
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            well_known: WellKnown::default(),
            min_values: MinValuesPolicy::Strict,
            preferences: PreferencePolicy::Respect,
            guard: Some(Guard {
                at_least: 5,
                percent: 10,
            }),
            max_types: 600,
        }
    }
}

impl Guard {
    /// How many claims of a pool with this many nodes may be unregistered at once.
    pub fn allowed(self, nodes: u32) -> u32 {
        let share = u64::from(nodes) * u64::from(self.percent) / 100;
        u32::try_from(share).unwrap_or(u32::MAX).max(self.at_least)
    }
}
