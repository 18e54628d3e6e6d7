//! Which offerings of a catalog are still possible?

use super::OfferingId;
use fixedbitset::FixedBitSet;

/// A set of offerings of one catalog, one bit each.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Offerings(FixedBitSet);

impl Offerings {
    pub(super) fn with_room_for(offerings: usize) -> Self {
        Self(FixedBitSet::with_capacity(offerings))
    }

    pub fn insert(&mut self, id: OfferingId) {
        self.0.insert(id.0 as usize);
    }

    pub fn contains(&self, id: OfferingId) -> bool {
        self.0.contains(id.0 as usize)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_clear()
    }

    pub fn len(&self) -> usize {
        self.0.count_ones(..)
    }

    pub fn keep_only(&mut self, others: &Self) {
        self.0.intersect_with(&others.0);
    }

    pub fn has_any_of(&self, others: &Self) -> bool {
        !self.0.is_disjoint(&others.0)
    }

    pub fn retain(&mut self, keep: impl Fn(OfferingId) -> bool) {
        let dropped: Vec<usize> = self
            .ids()
            .filter(|id| !keep(*id))
            .map(|id| id.0 as usize)
            .collect();
        for at in dropped {
            self.0.set(at, false);
        }
    }

    /// In catalog order.
    pub fn ids(&self) -> impl Iterator<Item = OfferingId> {
        self.0.ones().map(|at| OfferingId(super::index(at)))
    }
}
