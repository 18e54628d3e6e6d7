//! Why can nothing be bought from a pool, however small the pod?

use super::Desk;
use crate::catalog::{Availability, OfferingId, Offerings, TypeId};
use crate::requirements::Requirement;
use crate::why::Why;

impl Desk<'_, '_> {
    /// The pool's own requirements leave nothing, whoever asks.
    pub(super) fn sells_nothing(&self) -> Why {
        let stock = self.stock;
        let types = stock.catalog.types().len();
        let mut left = stock.catalog.none();
        for at in 0..stock.catalog.offerings().len() {
            left.insert(OfferingId(crate::schedule::index(at)));
        }
        let nothing = left.is_empty();
        let empties = |requirement: &&Requirement| {
            left.keep_only(&stock.find_meeting(requirement));
            left.is_empty()
        };
        let said = match stock.template.iter().filter(|_| !nothing).find(empties) {
            Some(requirement) => format!("none of {types} instance types has {requirement}"),
            None => "its catalog has no offerings".to_owned(),
        };
        Why::PoolNotReady {
            pool: stock.pool.name.clone(),
            said: said.into(),
        }
    }

    /// Daemons alone need more than any of these types has.
    pub(super) fn eaten_by_daemons(&self, matching: &Offerings) -> Option<Why> {
        let stock = self.stock;
        let kinds = self.types(matching);
        let eaten = |kind: &usize| stock.free[*kind].is_none();
        let largest = kinds.iter().copied().rfind(eaten)?;
        if !kinds.iter().all(eaten) {
            return None;
        }
        let left = stock
            .catalog
            .allocatable(TypeId(crate::schedule::index(largest)))
            .minus(&stock.load[largest].requests);
        let (resource, _) = left.iter().find(|(_, amount)| *amount < 0)?;
        let column = self.names.iter().position(|name| name == resource);
        let types = crate::schedule::index(kinds.len());
        Some(Why::NothingLargeEnough {
            pool: stock.pool.name.clone(),
            resource: resource.clone(),
            asked: column.map_or(0, |column| self.asked[column]),
            largest: 0,
            daemons: stock.load[largest].requests.get(resource),
            types,
            of: types,
        })
    }

    pub(super) fn nothing_available(&self, matching: &Offerings) -> Why {
        let catalog = self.stock.catalog;
        let pool = self.stock.pool.name.clone();
        let offerings = crate::schedule::index(matching.len());
        if matching.ids().all(|id| catalog.offering(id).is_used_up()) {
            return Why::ReservationUsedUp { pool, offerings };
        }
        let until = |id| match catalog.offering(id).availability {
            Availability::UnavailableUntil(until) => Some(until),
            Availability::Available | Availability::Unavailable => None,
        };
        let until = matching.ids().filter_map(until).min();
        Why::NothingAvailable {
            pool,
            offerings,
            until,
        }
    }
}
