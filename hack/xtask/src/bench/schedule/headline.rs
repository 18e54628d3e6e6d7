//! What does a large cluster look like on a bad day?
//!
//! Thousands of nodes that are half full, daemons on all of them, and pods of two hundred workloads that wait: some spread,
//! some with volumes, some near or apart from each other.

use serde_json::{Value, json};

use super::dice::Dice;
use super::names::Names;
use super::workload::{self, Workload};

const ZONE: &str = "topology.kubernetes.io/zone";
const HOSTNAME: &str = "kubernetes.io/hostname";
const DRIVER: &str = "csi.example.com";

pub fn headline(pods: usize, shapes: usize, nodes: usize, seed: u64) -> Workload {
    let names = Names::of(seed);
    let mut dice = Dice::new(seed);
    let mut objects = vec![workload::pool("default"), storage_class(&names)];
    objects.extend((0..3).map(daemon_set));
    for at in 0..nodes {
        objects.extend(node(&names, at));
    }
    let kinds: Vec<(Value, Value)> = (0..shapes).map(|at| kind(&names, at, &mut dice)).collect();
    for at in 0..pods {
        let which = at % shapes.max(1);
        let (more, requests) = &kinds[which];
        let labels = json!({ &names.app: format!("w-{which}") });
        if which % 20 == 3 {
            objects.push(volume_claim(at));
            let mut more = more.clone();
            more["volumes"] = json!([{ "name": "disk", "persistentVolumeClaim": { "claimName": format!("disk-{at:06}") } }]);
            objects.push(workload::pod(at, &labels, &more, requests));
        } else {
            objects.push(workload::pod(at, &labels, more, requests));
        }
    }
    Workload {
        name: format!("{pods} pods of {shapes} shapes on {nodes} nodes"),
        catalog: workload::catalog(&names, 400),
        objects,
        ignore_preferences: false,
    }
}

/// What the pods of one workload have in common: constraints and requests.
fn kind(names: &Names, at: usize, dice: &mut Dice) -> (Value, Value) {
    let own = json!({ "matchLabels": { &names.app: format!("w-{at}") } });
    let spread = |key: &str, skew: u32| {
        json!({ "topologySpreadConstraints": [{ "maxSkew": skew, "topologyKey": key,
            "whenUnsatisfiable": "DoNotSchedule", "labelSelector": &own }] })
    };
    let pods = |which: &str, key: &str| {
        json!({ "affinity": { which: { "requiredDuringSchedulingIgnoredDuringExecution": [
            { "topologyKey": key, "labelSelector": &own }] } } })
    };
    let more = match at % 20 {
        0..=2 => spread(ZONE, 1),
        4 | 5 => spread(HOSTNAME, 1),
        6 => pods("podAffinity", ZONE),
        7 => pods("podAntiAffinity", HOSTNAME),
        8 => json!({ "nodeSelector": { ZONE: &names.zones[at % 3] } }),
        _ => json!({}),
    };
    let cpu = dice.between(1, 40) * 50 + at % 7;
    let memory = dice.between(1, 16) * 128 + at % 11;
    (
        more,
        json!({ "cpu": format!("{cpu}m"), "memory": format!("{memory}Mi") }),
    )
}

/// A node of 32 cores with its daemons and four pods that run.
fn node(names: &Names, at: usize) -> Vec<Value> {
    let name = format!("node-{at:05}");
    let kind = format!("{}-31", names.kind);
    let room = json!({ "cpu": "31900m", "memory": "65526Mi", "pods": "320" });
    let mut all = vec![
        json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": { "name": name, "labels": {
                HOSTNAME: name, ZONE: &names.zones[at % 3], "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux",
                "node.kubernetes.io/instance-type": kind, "karpenter.sh/capacity-type": "on-demand",
                "karpenter.sh/nodepool": "default", "karpenter.sh/registered": "true", "karpenter.sh/initialized": "true",
                "testing/cluster": "unspecified", &names.size: "large", &names.special: "optional", &names.integer: "32" } },
            "spec": { "providerID": format!("plan://{name}") },
            "status": { "capacity": { "cpu": "32", "memory": "64Gi", "pods": "320" }, "allocatable": room },
        }),
        json!({ "apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": { "name": name },
            "spec": { "drivers": [{ "name": DRIVER, "nodeID": name, "allocatable": { "count": 25 } }] } }),
    ];
    for daemon in 0..3 {
        let requests = json!({ "cpu": "100m", "memory": "128Mi" });
        all.push(bound(
            &name,
            &format!("daemon-{daemon}-{at:05}"),
            "daemons",
            &requests,
            true,
        ));
    }
    for pod in 0..4 {
        let requests =
            json!({ "cpu": format!("{}m", 3000 + 500 * pod), "memory": format!("{}Gi", 4 + pod) });
        all.push(bound(
            &name,
            &format!("old-{at:05}-{pod}"),
            "old",
            &requests,
            false,
        ));
    }
    all
}

fn bound(node: &str, name: &str, app: &str, requests: &Value, daemon: bool) -> Value {
    let owner = if daemon { "DaemonSet" } else { "ReplicaSet" };
    json!({
        "apiVersion": "v1", "kind": "Pod", "status": { "phase": "Running" },
        "metadata": { "name": name, "namespace": "default", "uid": format!("uid-{name}"), "labels": { "run": app },
            "creationTimestamp": "2025-12-01T00:00:00Z",
            "ownerReferences": [{ "apiVersion": "apps/v1", "kind": owner, "name": app, "uid": app, "controller": true }] },
        "spec": { "nodeName": node, "containers": [{ "name": "main", "image": "any", "resources": { "requests": requests } }] },
    })
}

fn daemon_set(at: usize) -> Value {
    let labels = json!({ "daemon": format!("d-{at}") });
    json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": { "name": format!("daemon-{at}"), "namespace": "default", "uid": format!("d-{at}") },
        "spec": { "selector": { "matchLabels": &labels }, "template": { "metadata": { "labels": &labels }, "spec": {
            "tolerations": [{ "operator": "Exists" }],
            "containers": [{ "name": "main", "image": "any", "resources": { "requests": { "cpu": "100m", "memory": "128Mi" } } }] } } },
    })
}

fn storage_class(names: &Names) -> Value {
    json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": { "name": "disks" },
        "provisioner": DRIVER, "volumeBindingMode": "WaitForFirstConsumer",
        "allowedTopologies": [{ "matchLabelExpressions": [{ "key": ZONE, "values": [&names.zones[0], &names.zones[1]] }] }],
    })
}

fn volume_claim(at: usize) -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": { "name": format!("disk-{at:06}"), "namespace": "default" },
        "spec": { "storageClassName": "disks", "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "10Gi" } } },
    })
}
