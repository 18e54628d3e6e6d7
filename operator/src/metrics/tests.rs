//! Is everything counted under the names of the specification, and nothing beside the table?

use std::collections::BTreeSet;

use serde_json::json;

use super::table::Kind;
use super::*;

/// Names of upstream's list (lifecycle.md, 6.4) that this program has.
const UPSTREAM: &str = "
build_info cloudprovider_duration_seconds cloudprovider_errors_total nodeclaims_created_total nodeclaims_terminated_total
nodeclaims_disrupted_total nodeclaims_termination_duration_seconds nodes_created_total nodes_terminated_total
nodes_drained_total nodes_termination_duration_seconds nodes_lifetime_duration_seconds nodes_allocatable
nodes_total_pod_requests nodes_total_daemon_requests nodes_system_overhead cluster_utilization_percent nodepools_limit
nodepools_usage pods_startup_duration_seconds pods_bound_duration_seconds pods_provisioning_bound_duration_seconds
pods_provisioning_startup_duration_seconds pods_scheduling_decision_duration_seconds pods_eviction_requests_total
pods_drained_total cluster_state_node_count cluster_state_synced scheduler_scheduling_duration_seconds
scheduler_queue_depth scheduler_unschedulable_pods_count voluntary_disruption_decisions_total
voluntary_disruption_eligible_nodes";

fn claim() -> NodeClaim {
    serde_json::from_value(json!({
        "apiVersion": "karpenter.sh/v1", "kind": "NodeClaim",
        "metadata": {
            "name": "c", "deletionTimestamp": "1970-01-01T00:00:00Z",
            "labels": { labels::POOL: "general", labels::ZONE: "z1", labels::CAPACITY_TYPE: "on-demand" },
        },
        "spec": { "requirements": [], "nodeClassRef": { "group": "g", "kind": "k", "name": "n" } },
    }))
    .unwrap()
}

/// A help line per metric, also for those that have counted nothing yet.
fn scraped(text: &str) -> BTreeSet<(String, String)> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    let pairs = lines.filter_map(|line| line.split_once(' '));
    pairs
        .map(|(name, kind)| (name.to_owned(), kind.to_owned()))
        .collect()
}

#[test]
fn a_scrape_shows_exactly_the_table() {
    let metrics = Metrics::default();
    let _counts = Counts::new(&metrics);
    let row = |row: &table::Row| match row.kind {
        Kind::Counter => (row.name.trim_end_matches("_total").to_owned(), "counter"),
        Kind::Gauge => (row.name.to_owned(), "gauge"),
        Kind::Histogram => (row.name.to_owned(), "histogram"),
    };
    let table = TABLE.iter().map(row);
    let table: BTreeSet<_> = table.map(|(name, kind)| (name, kind.to_owned())).collect();
    assert_eq!(scraped(&metrics.text()), table);
    assert!(!metrics.text().contains("HELP karpenter_build_info .\n"));
}

#[test]
fn every_name_is_upstreams() {
    let upstream: BTreeSet<_> = UPSTREAM
        .split_whitespace()
        .map(|name| format!("karpenter_{name}"))
        .collect();
    let ours: BTreeSet<_> = NAMES.iter().map(ToString::to_string).collect();
    assert_eq!(ours, upstream);
}

#[test]
fn every_metric_says_what_it_means() {
    assert!(TABLE.iter().all(|row| row.help.len() > 10));
}

#[test]
fn what_happened_to_a_claim_is_counted_with_its_place() {
    let metrics = Metrics::default();
    let counts = Counts::new(&metrics);
    counts.created("provisioned", "general", false);
    counts.disrupted(&claim(), "empty");
    counts.terminated(&claim(), Timestamp::from_second(3).unwrap());
    let text = metrics.text();
    for line in [
        "karpenter_nodeclaims_created_total{reason=\"provisioned\",nodepool=\"general\",min_values_relaxed=\"false\"} 1\n",
        "karpenter_nodeclaims_disrupted_total{reason=\"empty\",nodepool=\"general\",capacity_type=\"on-demand\"} 1\n",
        "karpenter_nodeclaims_terminated_total{nodepool=\"general\",capacity_type=\"on-demand\",zone=\"z1\"} 1\n",
        "karpenter_nodeclaims_termination_duration_seconds_sum{nodepool=\"general\"} 3.0\n",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
}
