//! What can one pool sell right now?
//!
//! Worked out once per run: the template's requirements, the offerings that meet them, and what each type has left after
//! its own overhead and the daemons that will land on it.

use super::columns::{Amounts, Columns};
use super::daemons::{self, Lander, Load};
use super::existing;
use crate::catalog::{Catalog, OfferingId, Offerings, Ranking, TypeId};
use crate::labels::{self, WellKnown};
use crate::requirements::{Requirement, Requirements, Undefined};
use crate::resources::{ResourceName, Resources};
use crate::snapshot::{Pool, PoolId, PoolState, Snapshot, WhatIf};
use crate::why::Why;
use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;
use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) struct Stock<'a> {
    pub(super) id: PoolId,
    pub(super) pool: &'a Pool,
    pub(super) catalog: &'a Catalog,
    pub(super) catalog_at: usize,
    pub(super) ranking: Ranking,
    pub(super) known: &'a WellKnown,
    pub(super) template: Requirements,
    /// Offerings that meet the template, whether available or not.
    pub(super) visible: Offerings,
    /// Those of them that can be bought now.
    pub(super) buyable: Offerings,
    /// By type: what pods can have, `None` if the type cannot even carry its daemons.
    pub(super) free: Vec<Option<Amounts>>,
    /// By type.
    pub(super) load: Vec<Load>,
    /// By type, with `nodes` as one each.
    pub(super) capacity: Vec<Amounts>,
    /// What is left of the pool's limits, by column; `i64::MAX` where nothing is limited.
    pub(super) left: Amounts,
    /// Nodes and claims of the pool by zone.
    pub(super) crowd: BTreeMap<Arc<str>, u32>,
    pub(super) unregistered: u32,
    /// How many claims may be unregistered at once.
    pub(super) allowed: u32,
    pub(super) opened: u32,
    /// Requirement → offerings that meet it.
    pub(super) met: IndexMap<Requirement, Offerings, FxBuildHasher>,
}

impl<'a> Stock<'a> {
    pub(super) fn of(
        view: &WhatIf<'a>,
        id: PoolId,
        columns: &Columns,
        landers: &[Lander<'_>],
    ) -> Result<Self, Why> {
        let snapshot = view.base;
        let pool = snapshot.pool(id);
        let catalog_at = open_for_sale(snapshot, pool)?;
        let catalog = &snapshot.catalogs[catalog_at];
        let ranking = Ranking::with_prices(catalog, |offering| view.price(catalog_at, offering));
        let counted = Count::of(view, pool);
        let guard = snapshot
            .options
            .guard
            .map_or(u32::MAX, |guard| guard.allowed(counted.nodes));
        let mut stock = Self {
            id,
            pool,
            catalog,
            catalog_at,
            ranking,
            known: &snapshot.options.well_known,
            template: template(pool, catalog),
            visible: catalog.none(),
            buyable: catalog.none(),
            free: Vec::new(),
            load: Vec::new(),
            capacity: Vec::new(),
            left: limits_left(pool, &counted.used, columns),
            crowd: counted.crowd,
            unregistered: counted.unregistered,
            allowed: guard,
            opened: 0,
            met: IndexMap::default(),
        };
        stock.weigh(columns, landers);
        stock.shelve(snapshot);
        Ok(stock)
    }

    pub(super) fn type_of(&self, id: OfferingId) -> usize {
        self.catalog.type_of(id).0 as usize
    }

    /// Works out for each type what the daemons take and what is left.
    fn weigh(&mut self, columns: &Columns, landers: &[Lander<'_>]) {
        let mut template = self.template.clone();
        // Daemons may select on these; a node gets them later.
        for label in [labels::REGISTERED, labels::INITIALIZED] {
            template.replace(Requirement::one_of(label, ["true"]));
        }
        for (at, kind) in self.catalog.types().iter().enumerate() {
            let id = TypeId(u32::try_from(at).unwrap_or(u32::MAX));
            let lands = |way: &Requirements| {
                template
                    .compatible(way, Undefined::WellKnown(self.known))
                    .is_ok()
                    && way.iter().all(|asked| self.type_meets(id, asked))
            };
            let load = daemons::load(landers, &self.pool.taints, lands);
            let left = self.catalog.allocatable(id).minus(&load.requests);
            let overdrawn = left.iter().any(|(_, amount)| amount < 0);
            self.free.push((!overdrawn).then(|| columns.lower(&left)));
            self.load.push(load);
            self.capacity
                .push(columns.lower(&kind.capacity.clone().with(ResourceName::Nodes, 1)));
        }
    }

    /// Works out which offerings meet the template, and which of them can be bought now.
    fn shelve(&mut self, snapshot: &Snapshot) {
        let mut visible = self.catalog.none();
        for at in 0..self.catalog.offerings().len() {
            visible.insert(OfferingId(u32::try_from(at).unwrap_or(u32::MAX)));
        }
        for requirement in self.template.clone().iter() {
            visible.keep_only(self.meeting(requirement));
        }
        let mut buyable = visible.clone();
        buyable.keep_only(&self.catalog.available(snapshot.now));
        buyable.retain(|id| self.free[self.type_of(id)].is_some());
        self.visible = visible;
        self.buyable = buyable;
    }
}

/// The position of the pool's catalog, or why the pool sells nothing.
fn open_for_sale(snapshot: &Snapshot, pool: &Pool) -> Result<usize, Why> {
    let name = || pool.name.clone();
    match &pool.state {
        PoolState::Ready | PoolState::Fixed => {}
        PoolState::NotReady { said } => {
            return Err(Why::PoolNotReady {
                pool: name(),
                said: said.clone(),
            });
        }
        PoolState::Paused => return Err(Why::PoolPaused { pool: name() }),
    }
    let found = snapshot
        .catalogs
        .iter()
        .position(|catalog| catalog.class() == &pool.class);
    found
        .filter(|at| !snapshot.catalogs[*at].types().is_empty())
        .ok_or_else(|| Why::NoCatalog {
            pool: name(),
            class: pool.class.to_string().into(),
        })
}

/// What every claim of the pool asks for. Pools may name types by an alias.
fn template(pool: &Pool, catalog: &Catalog) -> Requirements {
    let mut template = pool.requirements.clone();
    if let Some(kinds) = template.get(labels::INSTANCE_TYPE) {
        template.replace(kinds.renamed(|name| {
            catalog
                .find_type(name)
                .map(|id| catalog.instance_type(id).name.clone())
        }));
    }
    let labels = pool
        .labels
        .iter()
        .map(|(key, value)| (key.as_ref(), value.as_ref()));
    template.add_all(&Requirements::from_labels(labels));
    template.add(Requirement::one_of(labels::POOL, [pool.name.as_ref()]));
    template.add(Requirement::one_of(
        &pool.class_label(),
        [pool.class.name.as_ref()],
    ));
    template
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
        let one = Resources::new().with(ResourceName::Nodes, 1);
        for (at, node) in view.base.nodes.iter().enumerate() {
            let gone = node.leaving
                || view.without.contains(crate::snapshot::NodeId(
                    u32::try_from(at).unwrap_or(u32::MAX),
                ));
            if node.pool.as_ref() != Some(&pool.name) || gone {
                continue;
            }
            count.nodes += 1;
            count.used = count.used.plus(&node.capacity).plus(&one);
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
        if let Some(zone) = zone {
            *self.crowd.entry(zone.into()).or_default() += 1;
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
