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

/// Everything has happened once.
fn after_activity() -> Metrics {
    let metrics = Metrics::default();
    let counts = Counts::new(&metrics);
    let now = Timestamp::UNIX_EPOCH;
    let node: Node = serde_json::from_value(json!({ "metadata": {
        "name": "n", "creationTimestamp": "1970-01-01T00:00:00Z", "deletionTimestamp": "1970-01-01T00:00:00Z",
    } }))
    .unwrap();
    let reason = || "empty".to_owned();
    let by_reason = ByReason { reason: reason() };
    let decision = Decision {
        decision: "delete",
        reason: reason(),
        consolidation_type: "empty",
    };
    let code = Code {
        code: "200".to_owned(),
    };
    counts.created("provisioned", "general", false);
    counts.disrupted(&claim(), "empty");
    counts.terminated(&claim(), now);
    counts.registered(&claim());
    counts.node_gone(&node, now);
    counts
        .nodes_drained
        .get_or_create(&of_pool("general"))
        .inc();
    counts.evictions.get_or_create(&code).inc();
    counts.pods_drained.get_or_create(&by_reason).inc();
    counts.planning.get_or_create(&PROVISIONER).observe(0.1);
    counts.queue_depth.get_or_create(&PROVISIONER).set(1);
    counts.unschedulable.get_or_create(&PROVISIONER).set(1);
    counts.decisions.get_or_create(&decision).inc();
    counts.eligible.get_or_create(&by_reason).set(1);
    calls::count_something(&counts.calls);
    levels::show_something(&counts.levels);
    metrics
}

/// Name and labels of every series; of a histogram its count.
fn scraped(text: &str) -> BTreeSet<(String, Vec<String>)> {
    let lines = text
        .lines()
        .filter(|line| !line.starts_with('#') && !line.contains("_bucket{le="));
    let series = lines
        .filter_map(|line| line.rsplit_once(' '))
        .map(|(series, _)| {
            let (name, labels) = series.split_once('{').unwrap_or((series, ""));
            let labels = labels.trim_end_matches('}').split(',');
            let labels = labels.filter_map(|label| label.split_once('='));
            let labels = labels.map(|(key, _)| key.to_owned()).collect();
            (name.to_owned(), labels)
        });
    series.filter(|(name, _)| !name.ends_with("_sum")).collect()
}

#[test]
fn a_scrape_after_activity_shows_exactly_the_table() {
    let row = |row: &table::Row| {
        let name = match row.kind {
            Kind::Counter | Kind::Gauge => row.name.to_owned(),
            Kind::Histogram => format!("{}_count", row.name),
        };
        let labels = row.labels.iter().map(ToString::to_string).collect();
        (name, labels)
    };
    let table: BTreeSet<_> = TABLE.iter().map(row).collect();
    assert_eq!(scraped(&after_activity().text()), table);
}

#[test]
fn every_name_is_upstreams() {
    let upstream: BTreeSet<_> = UPSTREAM
        .split_whitespace()
        .map(|name| format!("karpenter_{name}"))
        .collect();
    let ours: BTreeSet<_> = TABLE.iter().map(|row| row.name.to_owned()).collect();
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
