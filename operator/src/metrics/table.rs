//! Which metrics are there, what do they mean, and what are they called?
//!
//! One row each; nothing is counted that has no row. Names, labels and meanings are upstream's, so that dashboards keep working.

/// One metric, as a scraper sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    pub name: &'static str,
    pub kind: Kind,
    pub labels: &'static [&'static str],
    pub help: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Counter,
    Gauge,
    Histogram,
}

use Kind::{Counter, Gauge, Histogram};

const NODE: &[&str] = &[
    "node_name",
    "nodepool",
    "instance_type",
    "zone",
    "region",
    "arch",
    "os",
    "capacity_type",
    "managed",
    "resource_type",
];

pub const TABLE: &[Row] = &[
    row(
        "karpenter_build_info",
        Gauge,
        &["version", "goarch", "commit"],
        "1, with what this program was built from",
    ),
    row(
        "karpenter_cloudprovider_duration_seconds",
        Histogram,
        &["method", "provider"],
        "How long calls of a cloud took",
    ),
    row(
        "karpenter_cloudprovider_errors_total",
        Counter,
        &["method", "provider", "error"],
        "Calls of a cloud that failed, by what that means",
    ),
    row(
        "karpenter_nodeclaims_created_total",
        Counter,
        &["reason", "nodepool", "min_values_relaxed"],
        "Claims created",
    ),
    row(
        "karpenter_nodeclaims_terminated_total",
        Counter,
        &["nodepool", "capacity_type", "zone"],
        "Claims that are gone",
    ),
    row(
        "karpenter_nodeclaims_disrupted_total",
        Counter,
        &["reason", "nodepool", "capacity_type"],
        "Claims deleted by us, by reason",
    ),
    row(
        "karpenter_nodeclaims_termination_duration_seconds",
        Histogram,
        &["nodepool"],
        "From the deletion of a claim until it was gone",
    ),
    row(
        "karpenter_nodes_created_total",
        Counter,
        &["nodepool", "zone"],
        "Nodes that registered",
    ),
    row(
        "karpenter_nodes_terminated_total",
        Counter,
        &["nodepool", "zone"],
        "Nodes that are gone",
    ),
    row(
        "karpenter_nodes_drained_total",
        Counter,
        &["nodepool"],
        "Nodes that were drained",
    ),
    row(
        "karpenter_nodes_termination_duration_seconds",
        Histogram,
        &["nodepool"],
        "From the deletion of a node until it was gone",
    ),
    row(
        "karpenter_nodes_lifetime_duration_seconds",
        Histogram,
        &["nodepool"],
        "Age of nodes when they were gone",
    ),
    row(
        "karpenter_nodes_allocatable",
        Gauge,
        NODE,
        "What a node gives to pods",
    ),
    row(
        "karpenter_nodes_total_pod_requests",
        Gauge,
        NODE,
        "What pods other than daemons ask of a node",
    ),
    row(
        "karpenter_nodes_total_daemon_requests",
        Gauge,
        NODE,
        "What daemons ask of a node",
    ),
    row(
        "karpenter_nodes_system_overhead",
        Gauge,
        NODE,
        "What a node keeps for itself: capacity less allocatable",
    ),
    row(
        "karpenter_cluster_utilization_percent",
        Gauge,
        &["resource_type"],
        "Requests of all pods in percent of what all nodes give",
    ),
    row(
        "karpenter_nodepools_limit",
        Gauge,
        &["resource_type", "nodepool"],
        "Limits of a pool",
    ),
    row(
        "karpenter_nodepools_usage",
        Gauge,
        &["resource_type", "nodepool"],
        "Capacity of a pool's nodes",
    ),
    row(
        "karpenter_pods_startup_duration_seconds",
        Histogram,
        &[],
        "From the creation of a pod until it was ready",
    ),
    row(
        "karpenter_pods_bound_duration_seconds",
        Histogram,
        &[],
        "From the creation of a pod until it had a node",
    ),
    row(
        "karpenter_pods_provisioning_bound_duration_seconds",
        Histogram,
        &[],
        "From our decision for a pod until it had a node",
    ),
    row(
        "karpenter_pods_provisioning_startup_duration_seconds",
        Histogram,
        &[],
        "From our decision for a pod until it was ready",
    ),
    row(
        "karpenter_pods_scheduling_decision_duration_seconds",
        Histogram,
        &[],
        "From the first sight of a waiting pod until our decision for it",
    ),
    row(
        "karpenter_pods_eviction_requests_total",
        Counter,
        &["code"],
        "Eviction requests, by answer",
    ),
    row(
        "karpenter_pods_drained_total",
        Counter,
        &["reason"],
        "Pods that were asked to leave their node and agreed",
    ),
    row(
        "karpenter_cluster_state_node_count",
        Gauge,
        &[],
        "Nodes and claims on their way, as far as we know",
    ),
    row(
        "karpenter_cluster_state_synced",
        Gauge,
        &[],
        "1 while we have seen everything we wrote",
    ),
    row(
        "karpenter_scheduler_scheduling_duration_seconds",
        Histogram,
        &["controller"],
        "How long a plan took",
    ),
    row(
        "karpenter_scheduler_queue_depth",
        Gauge,
        &["controller"],
        "Pods that the last plan was made for",
    ),
    row(
        "karpenter_scheduler_unschedulable_pods_count",
        Gauge,
        &["controller"],
        "Pods that the last plan had no place for",
    ),
    row(
        "karpenter_voluntary_disruption_decisions_total",
        Counter,
        &["decision", "reason", "consolidation_type"],
        "Decisions to disrupt nodes",
    ),
    row(
        "karpenter_voluntary_disruption_eligible_nodes",
        Gauge,
        &["reason"],
        "Nodes that may be disrupted now",
    ),
];

const fn row(
    name: &'static str,
    kind: Kind,
    labels: &'static [&'static str],
    help: &'static str,
) -> Row {
    Row {
        name,
        kind,
        labels,
        help,
    }
}

/// The help text of a name; empty for one without a row, which a test forbids.
pub(super) fn help(name: &str) -> &'static str {
    let row = TABLE.iter().find(|row| row.name == name);
    row.map_or("", |row| row.help)
}
