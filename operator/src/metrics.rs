//! What is counted, under upstream's names?

use prometheus_client::encoding::EncodeLabelSet;
use runtime::metrics::{Counters, Metrics};

/// Names as a scraper sees them.
pub const NAMES: &[&str] = &[
    "karpenter_nodeclaims_created_total",
    "karpenter_nodeclaims_terminated_total",
    "karpenter_nodeclaims_disrupted_total",
    "karpenter_nodes_created_total",
    "karpenter_nodes_terminated_total",
    "karpenter_nodes_drained_total",
    "karpenter_pods_eviction_requests_total",
];

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct OfPool {
    pub nodepool: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct Because {
    pub reason: String,
    pub nodepool: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct Code {
    pub code: String,
}

#[derive(Clone)]
pub struct Counts {
    pub claims_created: Counters<Because>,
    pub claims_terminated: Counters<OfPool>,
    pub claims_disrupted: Counters<Because>,
    pub nodes_created: Counters<OfPool>,
    pub nodes_terminated: Counters<OfPool>,
    pub nodes_drained: Counters<OfPool>,
    pub evictions: Counters<Code>,
}

impl Counts {
    pub fn new(metrics: &Metrics) -> Self {
        Self {
            claims_created: metrics.counters("karpenter_nodeclaims_created", "Claims created"),
            claims_terminated: metrics
                .counters("karpenter_nodeclaims_terminated", "Claims that are gone"),
            claims_disrupted: metrics.counters(
                "karpenter_nodeclaims_disrupted",
                "Claims deleted by us, by reason",
            ),
            nodes_created: metrics.counters("karpenter_nodes_created", "Nodes that registered"),
            nodes_terminated: metrics.counters("karpenter_nodes_terminated", "Nodes that are gone"),
            nodes_drained: metrics.counters("karpenter_nodes_drained", "Nodes that were drained"),
            evictions: metrics.counters(
                "karpenter_pods_eviction_requests",
                "Eviction requests, by answer",
            ),
        }
    }
}

pub fn of_pool(pool: &str) -> OfPool {
    OfPool {
        nodepool: pool.to_owned(),
    }
}

pub fn because(reason: &str, pool: &str) -> Because {
    Because {
        reason: reason.to_owned(),
        nodepool: pool.to_owned(),
    }
}
