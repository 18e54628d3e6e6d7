//! How are amounts compared fast? Each resource that anybody asks for or limits gets a column; amounts become rows of numbers.

use crate::resources::{ResourceName, Resources};
use crate::snapshot::Snapshot;
use smallvec::SmallVec;

/// One number per column.
pub(super) type Amounts = SmallVec<[i64; 4]>;

pub(super) struct Columns(Vec<ResourceName>);

impl Columns {
    /// The resources that can decide anything in this snapshot.
    pub(super) fn of(snapshot: &Snapshot) -> Self {
        let asked = snapshot
            .pods
            .shapes()
            .flat_map(|(_, shape)| shape.requests.iter());
        let limited = snapshot.pools.iter().flat_map(|pool| pool.limits.iter());
        let mut names: Vec<_> = asked.chain(limited).map(|(name, _)| name.clone()).collect();
        names.sort_unstable();
        names.dedup();
        Self(names)
    }

    pub(super) fn lower(&self, resources: &Resources) -> Amounts {
        self.0.iter().map(|name| resources.get(name)).collect()
    }

    /// Back to named amounts; what is 0 is left out.
    pub(super) fn raise(&self, amounts: &[i64]) -> Resources {
        let named = self.0.iter().cloned().zip(amounts.iter().copied());
        named.filter(|(_, amount)| *amount != 0).collect()
    }

    pub(super) fn names(&self) -> &[ResourceName] {
        &self.0
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
}
