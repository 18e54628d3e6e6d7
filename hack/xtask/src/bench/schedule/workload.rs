//! Which pods wait in Karpenter's own benchmark, and what can be bought for them?

use serde_json::{Value, json};

use super::dice::Dice;
use super::names::Names;

/// A question in the format of `joiner plan`.
#[derive(Clone, Debug)]
pub struct Workload {
    pub name: String,
    pub catalog: Value,
    pub objects: Vec<Value>,
    pub ignore_preferences: bool,
}

const ZONE: &str = "topology.kubernetes.io/zone";
const HOSTNAME: &str = "kubernetes.io/hostname";

/// `n` pods of five kinds in equal parts: plain, spread over zones, spread over hosts, near each other, apart from each other.
pub fn diverse(n: usize, seed: u64) -> Workload {
    let names = Names::of(seed);
    let mut dice = Dice::new(seed);
    let fifth = n / 5;
    let mut pods = Vec::with_capacity(n);
    for at in 0..n {
        let kind = at.checked_div(fifth).unwrap_or(0);
        let (labels, constraint) = match kind {
            1 => spread(&names, &mut dice, ZONE),
            2 => spread(&names, &mut dice, HOSTNAME),
            3 => near(&names, &mut dice),
            4 => apart(&names),
            _ => (
                json!({ &names.label: letter(&names, &mut dice) }),
                json!({}),
            ),
        };
        pods.push(pod(at, &labels, &constraint, &requests(&mut dice)));
    }
    workload(format!("diverse {n}"), &names, pods)
}

/// Pods that are all alike and would like what cannot all be had.
pub fn preferences(n: usize, seed: u64, ignore: bool) -> Workload {
    let names = Names::of(seed);
    let mut dice = Dice::new(seed);
    let requests = requests(&mut dice);
    let labels = json!({ &names.app: &names.apart });
    let avoid = |key: &str, weight: u32| json!({ "weight": weight, "podAffinityTerm": { "topologyKey": key, "labelSelector": { "matchLabels": &labels } } });
    let constraint = json!({ "affinity": {
        "nodeAffinity": { "preferredDuringSchedulingIgnoredDuringExecution": [{ "weight": 1,
            "preference": { "matchExpressions": [{ "key": ZONE, "operator": "In", "values": [&names.zones[0]] }] } }] },
        "podAntiAffinity": { "preferredDuringSchedulingIgnoredDuringExecution": [avoid(ZONE, 10), avoid(HOSTNAME, 1)] },
    } });
    let pods = (0..n)
        .map(|at| pod(at, &labels, &constraint, &requests))
        .collect();
    let policy = if ignore { "ignored" } else { "respected" };
    Workload {
        ignore_preferences: ignore,
        ..workload(format!("preferences {policy} {n}"), &names, pods)
    }
}

fn workload(name: String, names: &Names, pods: Vec<Value>) -> Workload {
    let mut objects = vec![pool("default")];
    objects.extend(pods);
    Workload {
        name,
        catalog: catalog(names, 400),
        objects,
        ignore_preferences: false,
    }
}

pub fn pool(name: &str) -> Value {
    json!({
        "apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": { "name": name },
        "spec": {
            "limits": { "cpu": "10000000", "memory": "10000000Gi" },
            "template": { "metadata": { "labels": { "testing/cluster": "unspecified" } },
                "spec": { "requirements": [], "expireAfter": "Never",
                    "nodeClassRef": { "group": "karpenter.k8s.openstack", "kind": "OpenStackNodeClass", "name": "default" } } },
        },
    })
}

/// Types that grow by one core each; every one is sold in all zones, in two of them also on the spot.
pub fn catalog(names: &Names, types: usize) -> Value {
    let types: Vec<Value> = (1..=types).map(|cpu| instance_type(names, cpu)).collect();
    json!({
        "apiVersion": "joiner.dev/v1alpha1", "kind": "Catalog",
        "wellKnownLabels": [&names.size, &names.special, &names.integer],
        "instanceTypes": types,
    })
}

#[allow(clippy::cast_precision_loss, reason = "catalogs hold small numbers")]
fn instance_type(names: &Names, cpu: usize) -> Value {
    let memory = 2 * cpu;
    let price = 0.1 * cpu as f64 + 0.1 * (memory as f64 * 1_073_741_824.0 / 1e9);
    let large = cpu > 4 && memory > 8;
    let one = |key: &str, value: &str| json!({ "key": key, "operator": "In", "values": [value] });
    let mut requirements = vec![
        one("kubernetes.io/arch", "amd64"),
        json!({ "key": "kubernetes.io/os", "operator": "In", "values": ["linux", "windows", "darwin"] }),
        one(&names.size, if large { "large" } else { "small" }),
        one(&names.integer, &cpu.to_string()),
    ];
    requirements.push(if large {
        one(&names.special, "optional")
    } else {
        json!({ "key": &names.special, "operator": "DoesNotExist" })
    });
    let sold = [
        (0, "spot"),
        (1, "spot"),
        (0, "on-demand"),
        (1, "on-demand"),
        (2, "on-demand"),
    ];
    let offerings: Vec<Value> = sold
        .iter()
        .map(|(zone, kind)| {
            json!({ "price": price, "requirements": [
                one(ZONE, &names.zones[*zone]), one("karpenter.sh/capacity-type", kind) ] })
        })
        .collect();
    json!({
        "name": format!("{}-{}", names.kind, cpu - 1), "requirements": requirements, "offerings": offerings,
        "capacity": { "cpu": cpu.to_string(), "memory": format!("{memory}Gi"), "pods": (10 * cpu).to_string() },
        "overhead": { "cpu": "100m", "memory": "10Mi" },
    })
}

fn spread(names: &Names, dice: &mut Dice, key: &str) -> (Value, Value) {
    let labels = json!({ &names.label: letter(names, dice) });
    let counted = json!({ &names.label: letter(names, dice) });
    let constraint = json!({ "topologySpreadConstraints": [{ "maxSkew": 1, "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule", "labelSelector": { "matchLabels": counted } }] });
    (labels, constraint)
}

fn near(names: &Names, dice: &mut Dice) -> (Value, Value) {
    let labels = json!({ &names.near: letter(names, dice) });
    let constraint = json!({ "affinity": { "podAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": [
        { "topologyKey": ZONE, "labelSelector": { "matchLabels": &labels } }] } } });
    (labels, constraint)
}

fn apart(names: &Names) -> (Value, Value) {
    let labels = json!({ &names.app: &names.apart });
    let constraint = json!({ "affinity": { "podAntiAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": [
        { "topologyKey": HOSTNAME, "labelSelector": { "matchLabels": &labels } }] } } });
    (labels, constraint)
}

fn letter(names: &Names, dice: &mut Dice) -> String {
    dice.pick(&names.letters).clone()
}

pub fn requests(dice: &mut Dice) -> Value {
    let cpu = dice.pick(&["100m", "250m", "500m", "1000m", "1500m"]);
    let memory = dice.pick(&["100Mi", "256Mi", "512Mi", "1024Mi", "2048Mi", "4096Mi"]);
    json!({ "cpu": cpu, "memory": memory })
}

/// A pod that waits; `more` is added to its spec.
pub fn pod(at: usize, labels: &Value, more: &Value, requests: &Value) -> Value {
    let mut spec = json!({ "containers": [{ "name": "main", "image": "any", "resources": { "requests": requests } }] });
    if let (Some(spec), Some(more)) = (spec.as_object_mut(), more.as_object()) {
        spec.extend(more.clone());
    }
    json!({
        "apiVersion": "v1", "kind": "Pod", "spec": spec, "status": { "phase": "Pending" },
        "metadata": { "name": format!("pod-{at:06}"), "namespace": "default", "uid": format!("uid-{at:06}"),
            "labels": labels, "creationTimestamp": "2026-01-01T00:00:00Z" },
    })
}
