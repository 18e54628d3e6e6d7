//! Which offering is bought first?
//!
//! What is reserved comes first: it is paid for. Then known prices before unknown ones, cheaper before dearer; unknown ones
//! by vCPU, memory and name. Offerings whose prices tie share a rank: within a rank the zone with the fewest nodes of the
//! pool wins, then the name.

use super::{CapacityType, Catalog, OfferingId, index};
use crate::price::Price;
use crate::resources::ResourceName;

/// The buying order of one catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranking {
    /// By offering: equal numbers are a tie.
    rank: Vec<u32>,
}

impl Ranking {
    pub fn of(catalog: &Catalog) -> Self {
        Self::with_prices(catalog, |id| catalog.offering(id).price)
    }

    /// The order under other prices.
    pub fn with_prices(catalog: &Catalog, price: impl Fn(OfferingId) -> Option<Price>) -> Self {
        let key = |at: usize| {
            let id = OfferingId(index(at));
            let capacity = &catalog.instance_type(catalog.type_of(id)).capacity;
            let reserved = catalog.offering(id).capacity_type == CapacityType::Reserved;
            match price(id) {
                Some(price) => (!reserved, false, price.billionths(), 0, 0),
                None => (
                    !reserved,
                    true,
                    0,
                    capacity.get(&ResourceName::Cpu),
                    capacity.get(&ResourceName::Memory),
                ),
            }
        };
        let mut sorted: Vec<_> = (0..catalog.offerings().len())
            .map(|at| (key(at), at))
            .collect();
        sorted.sort_unstable();
        let mut rank = vec![0; sorted.len()];
        let mut last = None;
        let mut next = 0_u32;
        for (key, at) in sorted {
            if last.is_some_and(|last| last != key) {
                next += 1;
            }
            last = Some(key);
            rank[at] = next;
        }
        Self { rank }
    }

    /// Equal for offerings whose prices tie.
    pub fn rank(&self, id: OfferingId) -> u32 {
        self.rank[id.0 as usize]
    }

    /// The given offerings in buying order. `crowd` tells how many nodes of the pool a zone already has.
    pub fn sorted(
        &self,
        catalog: &Catalog,
        ids: impl IntoIterator<Item = OfferingId>,
        crowd: impl Fn(&str) -> u32,
    ) -> Vec<OfferingId> {
        let mut sorted: Vec<_> = ids
            .into_iter()
            .map(|id| ((self.rank(id), crowd(&catalog.offering(id).zone), id), id))
            .collect();
        // Positions are sorted by type name, zone and capacity type, so the last key breaks ties by name.
        sorted.sort_unstable();
        sorted.into_iter().map(|(_, id)| id).collect()
    }
}
