//! How long does freezing a large cluster take, when nothing is known yet and when nearly all of it is? Figures are printed, never asserted.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod};
use operator::mirror::{Mirror, Store};
use operator::snapshot::{Besides, PassedOver, Readings, fill};
use planner::Snapshot;
use serde_json::{Value, from_value, json};

const NODES: usize = 5_000;
const WAITING: usize = 1_000;
const SHAPES: usize = 200;
const CHANGED: usize = 100;
/// Each figure is the median of as many.
const ROUNDS: usize = 11;

fn main() {
    let pods = std::env::args().nth(1).map(|arg| arg.parse().unwrap());
    let pods: usize = pods.unwrap_or(100_000);
    let mut all: Vec<Arc<Pod>> = (0..pods + WAITING)
        .map(|at| Arc::new(pod(at, at < pods)))
        .collect();
    let nodes: Vec<Arc<Node>> = (0..NODES).map(|at| Arc::new(node(at))).collect();
    let places = Mirror {
        nodes: Store::of("Node", nodes),
        ..Mirror::empty()
    };
    let mirror = |pods: &[Arc<Pod>]| Mirror {
        pods: Store::of("Pod", pods.to_vec()),
        ..places.clone()
    };
    println!("{pods} pods on {NODES} nodes, {WAITING} waiting, {SHAPES} shapes");

    let mut readings = Readings::default();
    let still = mirror(&all);
    let first = median(|| {
        readings = Readings::default();
        freeze(&still, &mut readings)
    });
    println!("the first time:      {first:>8.1?}");
    let unchanged = median(|| freeze(&still, &mut readings));
    println!("nothing has changed: {unchanged:>8.1?}");
    let changed = median(|| {
        for pod in all
            .iter_mut()
            .step_by((pods / CHANGED).max(1))
            .take(CHANGED)
        {
            *pod = Arc::new((**pod).clone());
        }
        freeze(&mirror(&all), &mut readings)
    });
    println!("{CHANGED} pods changed:    {changed:>8.1?}");
}

fn median(mut round: impl FnMut() -> Duration) -> Duration {
    let mut took: Vec<Duration> = (0..ROUNDS).map(|_| round()).collect();
    took.sort_unstable();
    took[ROUNDS / 2]
}

fn freeze(mirror: &Mirror, readings: &mut Readings) -> Duration {
    let besides = Besides {
        passed_over: &PassedOver::new(),
        spreads: &[],
    };
    let empty = Snapshot::empty(Timestamp::UNIX_EPOCH);
    let started = Instant::now();
    let frozen = fill(empty, mirror, &besides, readings);
    let took = started.elapsed();
    assert!(frozen.pods.len() > WAITING);
    took
}

fn node(at: usize) -> Node {
    let room =
        json!({ "cpu": "64", "memory": "256Gi", "ephemeral-storage": "100Gi", "pods": "110" });
    let labels = json!({ "kubernetes.io/hostname": format!("node-{at}"), "kubernetes.io/arch": "amd64",
        "topology.kubernetes.io/zone": format!("zone-{}", at % 3) });
    read(
        json!({ "metadata": { "name": format!("node-{at}"), "labels": labels },
        "status": { "capacity": room, "allocatable": room } }),
    )
}

/// As an API server tells a pod of a Deployment, with what admission adds to it.
fn pod(at: usize, runs: bool) -> Pod {
    let shape = at % SHAPES;
    let app = format!("app-{shape}");
    let image = json!({ "name": "main", "image": "registry.example/app:1", "ports": [{ "containerPort": 8080 }],
        "env": [{ "name": "A", "value": "1" }, { "name": "B", "value": "2" }],
        "resources": { "requests": { "cpu": format!("{}m", 100 + shape), "memory": "128Mi" }, "limits": { "memory": "256Mi" } },
        "volumeMounts": [{ "name": "token", "mountPath": "/var/run/secrets" }] });
    let evicted_after = |key: &str| json!({ "key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300 });
    let mut spec = json!({
        "containers": [image],
        "nodeSelector": { "kubernetes.io/arch": "amd64" },
        "tolerations": [evicted_after("node.kubernetes.io/not-ready"), evicted_after("node.kubernetes.io/unreachable")],
        "volumes": [{ "name": "token", "projected": { "sources": [] } }] });
    if shape.is_multiple_of(4) {
        spec["topologySpreadConstraints"] = json!([{ "maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone",
            "whenUnsatisfiable": "DoNotSchedule", "labelSelector": { "matchLabels": { "app": app } } }]);
    }
    let status = if runs {
        spec["nodeName"] = json!(format!("node-{}", at % NODES));
        json!({ "phase": "Running", "conditions": [{ "type": "Ready", "status": "True" }] })
    } else {
        let waits = json!({ "type": "PodScheduled", "status": "False", "reason": "Unschedulable" });
        json!({ "phase": "Pending", "conditions": [waits] })
    };
    let owner = json!({ "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": app, "uid": app, "controller": true });
    let metadata = json!({ "name": format!("{app}-{at:06}"), "namespace": format!("team-{}", shape % 20),
        "uid": format!("00000000-0000-0000-0000-{at:012}"), "creationTimestamp": "2026-01-01T00:00:00Z",
        "labels": { "app": app, "pod-template-hash": "5d4f8c7b9" }, "ownerReferences": [owner] });
    read(json!({ "metadata": metadata, "spec": spec, "status": status }))
}

fn read<T: serde::de::DeserializeOwned>(object: Value) -> T {
    from_value(object).unwrap()
}
