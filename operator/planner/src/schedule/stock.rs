//! What can one pool sell?
//!
//! Worked out once per snapshot: the template's requirements, the offerings that meet them, and what each type has left
//! after its own overhead and the daemons that will land on it. What changes while claims are opened is in `till.rs`.

use super::columns::{Amounts, Columns, PLENTY};
use super::daemons::{self, Lander, Load};
use super::reserves::{ReserveId, Reserves};
use crate::catalog::{Catalog, OfferingId, Offerings, Ranking, TypeId};
use crate::labels::{self, WellKnown};
use crate::price::Price;
use crate::requirements::{Requirement, Requirements, Text, Undefined};
use crate::resources::ResourceName;
use crate::snapshot::{Pool, PoolId, PoolState, Snapshot, WhatIf};
use crate::why::Why;
use std::collections::BTreeSet;

pub(super) struct Stock<'a> {
    pub(super) id: PoolId,
    pub(super) pool: &'a Pool,
    pub(super) catalog: &'a Catalog,
    pub(super) ranking: Ranking,
    /// By offering.
    pub(super) prices: Vec<Option<Price>>,
    /// By offering.
    pub(super) reserves: Vec<Option<ReserveId>>,
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
    /// By column the most any type has.
    pub(super) most_capacity: Amounts,
    pub(super) limited: bool,
    /// Do daemons take host ports on any type?
    pub(super) daemon_ports: bool,
    zones: Vec<Text>,
}

impl<'a> Stock<'a> {
    pub(super) fn of(
        view: &WhatIf<'a>,
        id: PoolId,
        (columns, landers, reserves): (&Columns, &[Lander<'_>], &Reserves),
    ) -> Result<Self, Why> {
        let snapshot = view.base;
        let pool = snapshot.pool(id);
        let catalog_at = open_for_sale(snapshot, pool)?;
        let catalog = &snapshot.catalogs[catalog_at];
        let ranking = Ranking::with_prices(catalog, |offering| view.price(catalog_at, offering));
        let every = (0..catalog.offerings().len()).map(|at| OfferingId(super::index(at)));
        let mut stock = Self {
            id,
            pool,
            catalog,
            ranking,
            prices: every.map(|id| view.price(catalog_at, id)).collect(),
            reserves: (catalog.offerings().iter())
                .map(|offering| reserves.find(offering))
                .collect(),
            known: &snapshot.options.well_known,
            template: template(pool, catalog),
            visible: catalog.none(),
            buyable: catalog.none(),
            free: Vec::new(),
            load: Vec::new(),
            capacity: Vec::new(),
            most_capacity: Amounts::default(),
            limited: !pool.limits.is_empty(),
            daemon_ports: false,
            zones: zones_of(catalog),
        };
        stock.weigh(snapshot, columns, landers);
        stock.shelve(snapshot);
        Ok(stock)
    }

    /// All zones of the catalog, by name.
    pub(super) fn zones(&self) -> &[Text] {
        &self.zones
    }

    pub(super) fn type_of(&self, id: OfferingId) -> usize {
        self.catalog.type_of(id).0 as usize
    }

    pub(super) fn reserve_of(&self, id: OfferingId) -> Option<ReserveId> {
        self.reserves[id.0 as usize]
    }

    /// Works out for each type what the daemons take and what is left.
    fn weigh(&mut self, snapshot: &Snapshot, columns: &Columns, landers: &[Lander<'_>]) {
        let mut template = self.template.clone();
        // Daemons may select on these; a node gets them later.
        for label in [labels::REGISTERED, labels::INITIALIZED] {
            template.replace(Requirement::one_of(label, ["true"]));
        }
        for (at, kind) in self.catalog.types().iter().enumerate() {
            let id = TypeId(super::index(at));
            let lands = |way: &Requirements| {
                template
                    .compatible(way, Undefined::WellKnown(self.known))
                    .is_ok()
                    && way.iter().all(|asked| self.type_meets(id, asked))
            };
            let load = daemons::load(landers, &self.pool.taints, lands);
            let left = self.catalog.allocatable(id).minus(&load.requests);
            let overdrawn = left.iter().any(|(_, amount)| amount < 0);
            let mut free = columns.lower(&left);
            for (at, driver) in columns.drivers().iter().enumerate() {
                let most = snapshot.volumes.limit(&kind.name, driver);
                free[columns.first_driver() + at] = most.map_or(PLENTY, i64::from);
            }
            self.free.push((!overdrawn).then_some(free));
            self.daemon_ports |= !load.ports.is_empty();
            self.load.push(load);
            let capacity = columns.lower(&kind.capacity.clone().with(ResourceName::Nodes, 1));
            self.most_capacity.raise_to(&capacity);
            self.capacity.push(capacity);
        }
    }

    /// Works out which offerings meet the template, and which of them can be bought now.
    fn shelve(&mut self, snapshot: &Snapshot) {
        let mut visible = self.catalog.none();
        for at in 0..self.catalog.offerings().len() {
            visible.insert(OfferingId(super::index(at)));
        }
        for requirement in self.template.iter() {
            visible.keep_only(&self.find_meeting(requirement));
        }
        let mut buyable = visible.clone();
        buyable.keep_only(&self.catalog.available(snapshot.now));
        buyable.retain(|id| self.free[self.type_of(id)].is_some());
        self.visible = visible;
        self.buyable = buyable;
    }
}

fn zones_of(catalog: &Catalog) -> Vec<Text> {
    let zones: BTreeSet<&Text> = catalog
        .offerings()
        .iter()
        .map(|offering| &offering.zone)
        .collect();
    zones.into_iter().cloned().collect()
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
