//! How are amounts compared fast? Each resource that anybody asks for or limits gets a column; amounts become rows of numbers.
//!
//! Volumes of a driver that some node or type limits are counted in a column of their own, behind the resources.

use crate::requirements::Text;
use crate::resources::{ResourceName, Resources};
use crate::snapshot::{Shape, Snapshot};
use smallvec::SmallVec;
use std::ops::{Deref, DerefMut};

/// One number per column. Copied all the time, so that is done at once and not number by number.
#[derive(Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Amounts(SmallVec<[i64; 6]>);

/// More than anybody asks for, with room to add to it.
pub(super) const PLENTY: i64 = i64::MAX / 4;

pub(super) struct Columns {
    names: Vec<ResourceName>,
    drivers: Vec<Text>,
}

impl Columns {
    /// The resources that can decide anything in this snapshot.
    pub(super) fn of(snapshot: &Snapshot) -> Self {
        let asked = snapshot
            .pods
            .shapes()
            .flat_map(|(_, shape)| shape.requests.iter());
        let limited = snapshot.pools.iter().flat_map(|pool| pool.limits.iter());
        let mut names: Vec<_> = Vec::new();
        for (name, _) in asked.chain(limited) {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        names.sort_unstable();
        Self {
            names,
            drivers: limited_drivers(snapshot),
        }
    }

    /// Volumes are not among the resources: their columns stay 0.
    pub(super) fn lower(&self, resources: &Resources) -> Amounts {
        let named = self.names.iter().map(|name| resources.get(name));
        named.chain(self.drivers.iter().map(|_| 0)).collect()
    }

    /// Back to named amounts; what is 0 is left out.
    pub(super) fn raise(&self, amounts: &[i64]) -> Resources {
        let named = self.names.iter().cloned().zip(amounts.iter().copied());
        named.filter(|(_, amount)| *amount != 0).collect()
    }

    /// The resources, without the drivers behind them.
    pub(super) fn names(&self) -> &[ResourceName] {
        &self.names
    }

    pub(super) fn drivers(&self) -> &[Text] {
        &self.drivers
    }

    pub(super) fn width(&self) -> usize {
        self.names.len() + self.drivers.len()
    }

    /// The column of a driver, if it is limited anywhere.
    pub(super) fn driver(&self, name: &str) -> Option<usize> {
        let at = self
            .drivers
            .binary_search_by(|known| known.as_ref().cmp(name));
        at.ok().map(|at| self.names.len() + at)
    }

    pub(super) fn first_driver(&self) -> usize {
        self.names.len()
    }
}

/// Drivers that pods use and of which somebody takes only so many.
fn limited_drivers(snapshot: &Snapshot) -> Vec<Text> {
    let used = |driver: &Text| {
        let uses = |shape: &Shape| {
            shape
                .volumes
                .iter()
                .any(|volume| volume.driver.as_ref() == Some(driver))
        };
        snapshot.pods.shapes().any(|(_, shape)| uses(shape))
    };
    let nodes = snapshot.nodes.iter().flat_map(|node| &node.volume_limits);
    let named = nodes
        .filter(|(_, most)| most.is_some())
        .map(|(driver, _)| driver);
    let types = snapshot.volumes.limits.iter().map(|limit| &limit.driver);
    let mut drivers: Vec<Text> = Vec::new();
    for driver in named.chain(types) {
        if !drivers.contains(driver) {
            drivers.push(driver.clone());
        }
    }
    drivers.retain(used);
    drivers.sort_unstable();
    drivers
}

impl Amounts {
    pub(super) fn nothing(width: usize) -> Self {
        Self(SmallVec::from_elem(0, width))
    }

    /// Per column the larger of the two.
    pub(super) fn raise_to(&mut self, others: &[i64]) {
        self.0.resize(others.len(), 0);
        for (most, other) in self.0.iter_mut().zip(others) {
            *most = (*most).max(*other);
        }
    }
}

impl Clone for Amounts {
    fn clone(&self) -> Self {
        Self(SmallVec::from_slice(&self.0))
    }
}

impl From<&[i64]> for Amounts {
    fn from(amounts: &[i64]) -> Self {
        Self(SmallVec::from_slice(amounts))
    }
}

impl FromIterator<i64> for Amounts {
    fn from_iter<I: IntoIterator<Item = i64>>(amounts: I) -> Self {
        Self(amounts.into_iter().collect())
    }
}

impl Deref for Amounts {
    type Target = [i64];

    fn deref(&self) -> &[i64] {
        &self.0
    }
}

impl DerefMut for Amounts {
    fn deref_mut(&mut self) -> &mut [i64] {
        &mut self.0
    }
}

/// How many times `asked` fits into `free`.
pub(super) fn copies(free: &[i64], asked: &[i64]) -> u32 {
    let most = free
        .iter()
        .zip(asked)
        .filter(|(_, asked)| **asked > 0)
        .map(|(free, asked)| free.div_euclid(*asked))
        .min();
    most.map_or(u32::MAX, |most| {
        u32::try_from(most.max(0)).unwrap_or(u32::MAX)
    })
}

/// How many times `asked` fits into what `free` leaves beside `taken`.
pub(super) fn copies_beside(free: &[i64], taken: &[i64], asked: &[i64]) -> u32 {
    let mut most = i64::from(u32::MAX);
    for ((free, taken), asked) in free.iter().zip(taken).zip(asked) {
        if *asked > 0 {
            most = most.min((free.saturating_sub(*taken)) / asked);
        }
    }
    u32::try_from(most.max(0)).unwrap_or(u32::MAX)
}

pub(super) fn fits(asked: &[i64], free: &[i64]) -> bool {
    asked
        .iter()
        .zip(free)
        .all(|(asked, free)| *asked <= 0 || asked <= free)
}

/// `from - times * asked`.
pub(super) fn take(from: &mut [i64], asked: &[i64], times: u32) {
    for (from, asked) in from.iter_mut().zip(asked) {
        *from = from.saturating_sub(asked.saturating_mul(i64::from(times)));
    }
}

/// `to + times * asked`.
pub(super) fn give(to: &mut [i64], asked: &[i64], times: u32) {
    for (to, asked) in to.iter_mut().zip(asked) {
        *to = to.saturating_add(asked.saturating_mul(i64::from(times)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scarcest_resource_decides_how_many_fit() {
        assert_eq!(copies(&[10, 4], &[3, 1]), 3);
        assert_eq!(copies(&[10, 4], &[0, 3]), 1);
        assert_eq!(copies(&[-1, 4], &[1, 1]), 0);
        assert_eq!(copies(&[-1], &[0]), u32::MAX);
    }

    #[test]
    fn what_is_taken_leaves_less() {
        assert_eq!(copies_beside(&[10, 10], &[4, 0], &[2, 1]), 3);
        assert_eq!(copies_beside(&[10], &[12], &[1]), 0);
        assert!(fits(&[2, 0], &[2, -5]) && !fits(&[3], &[2]));
    }
}
