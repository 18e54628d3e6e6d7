//! How much is left of each reservation while claims are opened?
//!
//! A reservation is paid for whether it is used or not, so it is used first. A claim that is bought from one holds one
//! instance of it and can become nothing else; whoever comes when nothing is left buys elsewhere at once.

use super::run::Run;
use crate::catalog::{CapacityType, Catalog, Offering};
use crate::requirements::Text;
use crate::snapshot::{Claim, Snapshot};
use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

/// The position of a reservation among all that any catalog names.
pub(super) type ReserveId = u32;

pub(super) struct Reserves {
    left: IndexMap<Text, u32, FxBuildHasher>,
}

impl Reserves {
    /// Several catalogs may show one reservation; the least of what they say is believed.
    pub(super) fn of(snapshot: &Snapshot) -> Self {
        let mut left: IndexMap<Text, u32, FxBuildHasher> = IndexMap::default();
        let offerings = snapshot.catalogs.iter().flat_map(Catalog::offerings);
        for reservation in offerings.filter_map(|one| one.reservation.as_ref()) {
            let known = left
                .entry(reservation.name.clone())
                .or_insert(reservation.left);
            *known = (*known).min(reservation.left);
        }
        // What is on its way and not launched yet is not in what the cloud said.
        let unlaunched = |claim: &&Claim| claim.told.is_none() && !claim.leaving;
        for claim in snapshot.claims.iter().filter(unlaunched) {
            let bought = bought_as(claim, snapshot).and_then(|one| one.reservation.as_ref());
            if let Some(left) = bought.and_then(|one| left.get_mut(&one.name)) {
                *left = left.saturating_sub(1);
            }
        }
        Self { left }
    }

    pub(super) fn find(&self, offering: &Offering) -> Option<ReserveId> {
        let reservation = offering.reservation.as_ref()?;
        self.left.get_index_of(&reservation.name).map(super::index)
    }

    /// By reservation.
    pub(super) fn left(&self) -> Vec<u32> {
        self.left.values().copied().collect()
    }
}

impl Run<'_> {
    /// Can a claim take from the reservation, besides one that holds an instance of it already?
    pub(super) fn has_left(&self, wanted: Option<ReserveId>, held: Option<ReserveId>) -> bool {
        wanted.is_none_or(|at| wanted == held || self.reserves[at as usize] > 0)
    }

    /// The claim takes from this reservation now, and no longer from the one before.
    pub(super) fn hold(&mut self, at: usize, reserve: Option<ReserveId>) {
        let before = std::mem::replace(&mut self.opens.list[at].reserve, reserve);
        if before == reserve {
            return;
        }
        if let Some(before) = before {
            self.reserves[before as usize] += 1;
        }
        if let Some(now) = reserve {
            self.reserves[now as usize] = self.reserves[now as usize].saturating_sub(1);
        }
    }
}

fn bought_as<'s>(claim: &Claim, snapshot: &'s Snapshot) -> Option<&'s Offering> {
    let (kind, zone, capacity_type) = claim.offering.as_ref()?;
    if *capacity_type != CapacityType::Reserved {
        return None;
    }
    let pool = snapshot.pools.iter().find(|pool| pool.name == claim.pool)?;
    let catalog = snapshot.catalog_of(&pool.class)?;
    let id = catalog.find_offering(kind, zone, *capacity_type)?;
    Some(catalog.offering(id))
}
