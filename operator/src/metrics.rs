//! What is counted, under upstream's names?

pub mod calls;
pub mod levels;
pub mod pods;
pub mod table;

use crds::karpenter::NodeClaim;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use planner::labels;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::histogram::Histogram;
use runtime::metrics::{Counters, Gauges, Histograms, Labels, Metrics};

pub use calls::Calls;
pub use levels::Levels;
pub use pods::PodTimes;
pub use table::TABLE;

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct OfPool {
    pub nodepool: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct Because {
    pub reason: String,
    pub nodepool: String,
    pub capacity_type: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct Bought {
    pub reason: String,
    pub nodepool: String,
    pub min_values_relaxed: String,
}

/// Where a claim was.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct ClaimPlace {
    pub nodepool: String,
    pub capacity_type: String,
    pub zone: String,
}

/// Where a node was.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct NodePlace {
    pub nodepool: String,
    pub zone: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct Code {
    pub code: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct ByReason {
    pub reason: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct ByController {
    pub controller: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct Decision {
    pub decision: &'static str,
    pub reason: String,
    pub consolidation_type: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Build {
    version: &'static str,
    goarch: &'static str,
    commit: &'static str,
}

pub const PROVISIONER: ByController = ByController {
    controller: "provisioner",
};

#[derive(Clone)]
pub struct Counts {
    pub claims_created: Counters<Bought>,
    pub claims_terminated: Counters<ClaimPlace>,
    pub claims_disrupted: Counters<Because>,
    claims_termination: Histograms<OfPool>,
    pub nodes_created: Counters<NodePlace>,
    pub nodes_terminated: Counters<NodePlace>,
    pub nodes_drained: Counters<OfPool>,
    nodes_termination: Histograms<OfPool>,
    nodes_lifetime: Histograms<OfPool>,
    pub evictions: Counters<Code>,
    pub pods_drained: Counters<ByReason>,
    pub planning: Histograms<ByController>,
    pub queue_depth: Gauges<ByController>,
    pub unschedulable: Gauges<ByController>,
    pub decisions: Counters<Decision>,
    pub eligible: Gauges<ByReason>,
    pub pods: PodTimes,
    pub calls: Calls,
    pub levels: Levels,
}

impl Counts {
    pub fn new(metrics: &Metrics) -> Self {
        let build = gauges(metrics, "karpenter_build_info");
        build
            .get_or_create(&Build {
                version: env!("CARGO_PKG_VERSION"),
                goarch: std::env::consts::ARCH,
                commit: option_env!("JOINER_COMMIT").unwrap_or("unknown"),
            })
            .set(1);
        let minutes = |name| histograms(metrics, name, minutes);
        Self {
            claims_created: counters(metrics, "karpenter_nodeclaims_created_total"),
            claims_terminated: counters(metrics, "karpenter_nodeclaims_terminated_total"),
            claims_disrupted: counters(metrics, "karpenter_nodeclaims_disrupted_total"),
            claims_termination: minutes("karpenter_nodeclaims_termination_duration_seconds"),
            nodes_created: counters(metrics, "karpenter_nodes_created_total"),
            nodes_terminated: counters(metrics, "karpenter_nodes_terminated_total"),
            nodes_drained: counters(metrics, "karpenter_nodes_drained_total"),
            nodes_termination: minutes("karpenter_nodes_termination_duration_seconds"),
            nodes_lifetime: histograms(metrics, "karpenter_nodes_lifetime_duration_seconds", ages),
            evictions: counters(metrics, "karpenter_pods_eviction_requests_total"),
            pods_drained: counters(metrics, "karpenter_pods_drained_total"),
            planning: histograms(
                metrics,
                "karpenter_scheduler_scheduling_duration_seconds",
                long_waits,
            ),
            queue_depth: gauges(metrics, "karpenter_scheduler_queue_depth"),
            unschedulable: gauges(metrics, "karpenter_scheduler_unschedulable_pods_count"),
            decisions: counters(metrics, "karpenter_voluntary_disruption_decisions_total"),
            eligible: gauges(metrics, "karpenter_voluntary_disruption_eligible_nodes"),
            pods: PodTimes::new(metrics),
            calls: Calls::new(metrics),
            levels: Levels::new(metrics),
        }
    }

    pub fn created(&self, reason: &str, pool: &str, min_values_relaxed: bool) {
        let labels = Bought {
            reason: reason.to_owned(),
            nodepool: pool.to_owned(),
            min_values_relaxed: min_values_relaxed.to_string(),
        };
        self.claims_created.get_or_create(&labels).inc();
    }

    /// We delete the claim, for this reason.
    pub fn disrupted(&self, claim: &NodeClaim, reason: &str) {
        let labels = Because {
            capacity_type: label(claim, labels::CAPACITY_TYPE),
            ..because(reason, &label(claim, labels::POOL))
        };
        self.claims_disrupted.get_or_create(&labels).inc();
    }

    /// The claim is gone.
    pub fn terminated(&self, claim: &NodeClaim, now: Timestamp) {
        let pool = label(claim, labels::POOL);
        let place = ClaimPlace {
            nodepool: pool.clone(),
            capacity_type: label(claim, labels::CAPACITY_TYPE),
            zone: label(claim, labels::ZONE),
        };
        self.claims_terminated.get_or_create(&place).inc();
        let deleted = claim.metadata.deletion_timestamp.as_ref();
        took(&self.claims_termination, &pool, deleted.map(|at| at.0), now);
    }

    pub fn registered(&self, claim: &NodeClaim) {
        self.nodes_created.get_or_create(&place(claim)).inc();
    }

    /// The node is gone.
    pub fn node_gone(&self, node: &Node, now: Timestamp) {
        self.nodes_terminated.get_or_create(&place(node)).inc();
        let pool = label(node, labels::POOL);
        let meta = &node.metadata;
        let deleted = meta.deletion_timestamp.as_ref().map(|at| at.0);
        let created = meta.creation_timestamp.as_ref().map(|at| at.0);
        took(&self.nodes_termination, &pool, deleted, now);
        took(&self.nodes_lifetime, &pool, created, now);
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
        capacity_type: String::new(),
    }
}

fn place(object: &impl ResourceExt) -> NodePlace {
    NodePlace {
        nodepool: label(object, labels::POOL),
        zone: label(object, labels::ZONE),
    }
}

fn label(object: &impl ResourceExt, key: &str) -> String {
    object.labels().get(key).cloned().unwrap_or_default()
}

fn took(into: &Histograms<OfPool>, pool: &str, from: Option<Timestamp>, now: Timestamp) {
    if let Some(from) = from {
        let seconds = now.duration_since(from).as_secs_f64().max(0.0);
        into.get_or_create(&of_pool(pool)).observe(seconds);
    }
}

fn counters<L: Labels>(metrics: &Metrics, name: &str) -> Counters<L> {
    let bare = name.strip_suffix("_total").unwrap_or(name);
    metrics.counters(bare, table::help(name))
}

fn gauges<L: Labels>(metrics: &Metrics, name: &str) -> Gauges<L> {
    metrics.gauges(name, table::help(name))
}

fn histograms<L: Labels>(metrics: &Metrics, name: &str, make: fn() -> Histogram) -> Histograms<L> {
    metrics.histograms(name, table::help(name), make)
}

/// From milliseconds to ten minutes.
fn long_waits() -> Histogram {
    Histogram::new([
        0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0,
        180.0, 300.0, 450.0, 600.0,
    ])
}

/// From a second to half an hour, doubled.
fn minutes() -> Histogram {
    Histogram::new((0..12).map(|power| f64::from(1 << power)))
}

/// From a quarter of an hour to thirty days.
fn ages() -> Histogram {
    let hours = [
        0.25, 0.5, 0.75, 1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 16.0, 20.0,
    ];
    let days = [1.0, 2.0, 3.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0];
    let days = days.map(|days| days * 86_400.0);
    Histogram::new(hours.map(|hours| hours * 3600.0).into_iter().chain(days))
}

#[cfg(test)]
mod tests;
