//! What would the snapshot look like without some nodes, with some more pods to place, or at other prices?
//!
//! An overlay that copies nothing: consolidation asks thousands of these.

use super::{NodeId, PodId, Snapshot};
use crate::catalog::OfferingId;
use crate::price::Price;
use fixedbitset::FixedBitSet;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeSet(FixedBitSet);

/// Other prices: per catalog of the snapshot, per offering.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prices(pub Vec<Vec<Option<Price>>>);

#[derive(Clone, Debug)]
pub struct WhatIf<'a> {
    pub base: &'a Snapshot,
    /// Nodes that are thought away.
    pub without: NodeSet,
    /// Bound pods that are to be placed anew.
    pub extra: &'a [PodId],
    pub prices: Option<&'a Prices>,
}

impl<'a> WhatIf<'a> {
    /// The snapshot as it is.
    pub fn nothing_changes(base: &'a Snapshot) -> Self {
        Self {
            base,
            without: NodeSet::default(),
            extra: &[],
            prices: None,
        }
    }

    pub fn without_nodes(
        base: &'a Snapshot,
        nodes: impl IntoIterator<Item = NodeId>,
        extra: &'a [PodId],
    ) -> Self {
        Self {
            base,
            without: nodes.into_iter().collect(),
            extra,
            prices: None,
        }
    }

    /// The price of an offering in this view.
    pub fn price(&self, catalog: usize, id: OfferingId) -> Option<Price> {
        match self.prices.and_then(|prices| prices.0.get(catalog)) {
            Some(prices) => prices.get(id.0 as usize).copied().flatten(),
            None => self
                .base
                .catalogs
                .get(catalog)
                .and_then(|catalog| catalog.offering(id).price),
        }
    }
}

impl NodeSet {
    pub fn contains(&self, id: NodeId) -> bool {
        self.0.contains(id.0 as usize)
    }

    pub fn ids(&self) -> impl Iterator<Item = NodeId> {
        self.0
            .ones()
            .map(|at| NodeId(u32::try_from(at).unwrap_or(u32::MAX)))
    }
}

impl FromIterator<NodeId> for NodeSet {
    fn from_iter<I: IntoIterator<Item = NodeId>>(nodes: I) -> Self {
        Self(nodes.into_iter().map(|id| id.0 as usize).collect())
    }
}
