//! Which objects does a generated cluster become, so that kube-scheduler judges the plan for it?
//!
//! Cases share one control plane: each has a namespace and a label that only its nodes have. A pod is tied to its planned node by
//! a taint that only it tolerates, not by a selector: selectors would narrow what its spreads look at.

use anyhow::{Context, Result};
use jiff::Timestamp;
use operator::args::{MinValues, Preferences};
use operator::plan::{Asked, Output, Plan, answer};
use serde_json::{Map, Value, json};
use xtask::bench::schedule::workload::Workload;

use crate::Scratch;

const CASE: &str = "example.test/case";
const TIE: &str = "example.test/tie";
/// On pods and nodes: what belongs to one round.
pub const ROUND: &str = "example.test/round";
const HOSTNAME: &str = "kubernetes.io/hostname";
const ZONE: &str = "topology.kubernetes.io/zone";

/// What is put into the cluster, in this order.
pub struct Case {
    pub namespace: String,
    pub nodes: Vec<Value>,
    pub classes: Vec<Value>,
    pub disks: Vec<Value>,
    /// Pods that run already.
    pub bound: Vec<Value>,
    /// One for every DaemonSet and node; some will not land.
    pub daemons: Vec<Value>,
    /// Each must land on its node.
    pub planned: Vec<Value>,
    /// None may land anywhere.
    pub refused: Vec<Value>,
    /// What the plan said about the refused, for the story of a failure.
    pub plan: Plan,
}

impl Case {
    /// May one of the new claims come up in one zone or another?
    pub fn leaves_a_zone_open(&self) -> bool {
        self.plan.claims.iter().any(|claim| {
            let zone = claim.requirements.iter().find(|asked| asked.key == ZONE);
            zone.is_none_or(|asked| asked.operator != "In" || asked.values.len() != 1)
        })
    }

    pub fn of(mut workload: Workload, seed: u64, round: &str, scratch: &Scratch) -> Result<Self> {
        let namespace = format!("case-{seed}");
        for object in &mut workload.objects {
            rename(object, &namespace);
        }
        let plan = plan(&workload, seed, scratch)?;
        let names = Names {
            namespace: namespace.clone(),
            round: round.to_owned(),
        };
        let of = |kind: &str| -> Vec<&Value> {
            let all = workload.objects.iter();
            all.filter(|one| one["kind"] == kind).collect()
        };
        let mut nodes: Vec<Value> = of("Node").into_iter().map(|one| names.node(one)).collect();
        for claim in &plan.claims {
            nodes.push(names.node(&opened(&workload, &plan, &claim.name, &namespace)?));
        }
        let pods = of("Pod");
        let bound = pods.iter().filter(|pod| !pod["spec"]["nodeName"].is_null());
        let known = |pod: &str| {
            let found = pods.iter().find(|one| key(one) == pod);
            found.copied().with_context(|| format!("no pod {pod}"))
        };
        let mut planned = Vec::new();
        for (pod, node) in places(&plan, &namespace) {
            planned.push(names.pod(known(&pod)?, &json!({ "key": TIE, "value": node })));
        }
        let mut refused = Vec::new();
        for refusal in &plan.refusals {
            let everywhere = json!({ "key": TIE, "operator": "Exists" });
            refused.push(names.pod(known(&refusal.pod)?, &everywhere));
        }
        let daemons = of("DaemonSet");
        let daemons = daemons
            .iter()
            .flat_map(|set| nodes.iter().map(|node| names.daemon(set, node)));
        Ok(Self {
            classes: of("StorageClass").into_iter().cloned().collect(),
            disks: of("PersistentVolumeClaim").into_iter().cloned().collect(),
            bound: bound
                .map(|pod| names.pod(pod, &json!({ "key": TIE, "operator": "Exists" })))
                .collect(),
            daemons: daemons.collect(),
            nodes,
            planned,
            refused,
            namespace,
            plan,
        })
    }
}

fn key(object: &Value) -> String {
    let meta = &object["metadata"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    format!("{}/{}", text(&meta["namespace"]), text(&meta["name"]))
}

/// Names that no other case has.
fn rename(object: &mut Value, namespace: &str) {
    let own = |value: &mut Value| {
        if let Some(name) = value.as_str() {
            *value = json!(format!("{namespace}-{name}"));
        }
    };
    match object["kind"].as_str() {
        Some("Node") => {
            own(&mut object["metadata"]["name"]);
            own(&mut object["metadata"]["labels"][HOSTNAME]);
        }
        Some("StorageClass") => own(&mut object["metadata"]["name"]),
        Some("Pod" | "DaemonSet" | "PersistentVolumeClaim") => {
            object["metadata"]["namespace"] = json!(namespace);
            let spec = object["spec"].as_object_mut();
            for (field, value) in spec.into_iter().flatten() {
                if field == "nodeName" || field == "storageClassName" {
                    own(value);
                }
            }
        }
        _ => {}
    }
}

fn plan(workload: &Workload, seed: u64, scratch: &Scratch) -> Result<Plan> {
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": workload.objects });
    let asked = Asked {
        files: vec![scratch.write(&format!("{seed}.json"), &list.to_string())?],
        catalog: scratch.write(
            &format!("{seed}-catalog.json"),
            &workload.catalog.to_string(),
        )?,
        output: Output::Json,
        now: None,
        preference_policy: if workload.ignore_preferences {
            Preferences::Ignore
        } else {
            Preferences::Respect
        },
        min_values_policy: MinValues::Strict,
        scheduler_config: None,
        timing: false,
        repeat: 1,
    };
    let now: Timestamp = "2026-01-02T00:00:00Z".parse()?;
    let answered = answer(&asked, now).map_err(|trouble| anyhow::anyhow!("{seed}: {trouble}"))?;
    Ok(answered.plan)
}

/// Each placed pod with the name of its node.
fn places(plan: &Plan, namespace: &str) -> Vec<(String, String)> {
    let standing = plan.placements.iter().filter_map(|one| {
        let node = one.node.clone()?;
        Some((one.pod.clone(), node))
    });
    let opened = plan.claims.iter().flat_map(|claim| {
        let node = node_of(namespace, &claim.name);
        claim
            .pods
            .iter()
            .map(move |pod| (pod.clone(), node.clone()))
    });
    standing.chain(opened).collect()
}

fn node_of(namespace: &str, claim: &str) -> String {
    format!("{namespace}-{claim}")
}

/// The node that a claim becomes: what its pool, its requirements and its first offering say.
fn opened(workload: &Workload, plan: &Plan, claim: &str, namespace: &str) -> Result<Value> {
    let claim = plan.claims.iter().find(|one| one.name == claim);
    let claim = claim.context("a claim of the plan")?;
    let bought = claim.cheapest.as_ref().context("an offering")?;
    let types = workload.catalog["instanceTypes"].as_array();
    let kind = types.into_iter().flatten();
    let kind = kind
        .into_iter()
        .find(|one| one["name"] == *bought.instance_type)
        .context("a type of the catalog")?;
    let pool = workload
        .objects
        .iter()
        .find(|one| one["kind"] == "NodePool" && one["metadata"]["name"] == *claim.pool);
    let template = &pool.context("a pool")?["spec"]["template"];
    let name = node_of(namespace, &claim.name);
    let mut labels = Map::new();
    for asked in claim.requirements.iter() {
        let value = match asked.operator.as_str() {
            "In" => asked.values.first().map(|value| json!(value)),
            // A label that must be there and may be anything.
            "Exists" => Some(json!("anything")),
            _ => None,
        };
        labels.extend(value.map(|value| (asked.key.clone(), value)));
    }
    for asked in kind["requirements"].as_array().into_iter().flatten() {
        let key = asked["key"].as_str().unwrap_or_default();
        labels.insert(key.to_owned(), asked["values"][0].clone());
    }
    for (key, value) in template["metadata"]["labels"]
        .as_object()
        .into_iter()
        .flatten()
    {
        labels.insert(key.clone(), value.clone());
    }
    for (key, value) in [
        (HOSTNAME, &name),
        ("karpenter.sh/nodepool", &claim.pool),
        ("node.kubernetes.io/instance-type", &bought.instance_type),
        ("topology.kubernetes.io/zone", &bought.zone),
        ("karpenter.sh/capacity-type", &bought.capacity_type),
    ] {
        labels.insert(key.to_owned(), json!(value));
    }
    let capacity = &kind["capacity"];
    let allocatable = less(capacity, &kind["overhead"]);
    Ok(json!({
        "apiVersion": "v1", "kind": "Node", "metadata": { "name": name, "labels": labels },
        "spec": { "taints": template["spec"]["taints"] },
        "status": { "capacity": capacity, "allocatable": allocatable },
    }))
}

/// What is left for pods, in the units of the generator: whole cpus and gibibytes less milli-cpus and mebibytes.
fn less(capacity: &Value, overhead: &Value) -> Value {
    let number = |value: &Value, unit: &str| {
        let text = value.as_str().unwrap_or("0");
        text.trim_end_matches(unit).parse::<u64>().unwrap_or(0)
    };
    let cpu = number(&capacity["cpu"], "") * 1000 - number(&overhead["cpu"], "m");
    let memory = number(&capacity["memory"], "Gi") * 1024 - number(&overhead["memory"], "Mi");
    json!({ "cpu": format!("{cpu}m"), "memory": format!("{memory}Mi"), "pods": capacity["pods"] })
}

/// What marks the objects of one case.
struct Names {
    namespace: String,
    round: String,
}

impl Names {
    /// Ready, of this case, and tied.
    fn node(&self, raw: &Value) -> Value {
        let mut node = raw.clone();
        let name = node["metadata"]["name"].clone();
        node["metadata"]["labels"][CASE] = json!(self.namespace);
        node["metadata"]["labels"][ROUND] = json!(self.round);
        let taints = node["spec"]["taints"].as_array().cloned();
        let mut taints = taints.unwrap_or_default();
        taints.push(json!({ "key": TIE, "value": name, "effect": "NoSchedule" }));
        node["spec"]["taints"] = json!(taints);
        node["status"]["conditions"] =
            json!([{ "type": "Ready", "status": "True", "reason": "KubeletReady", "message": "" }]);
        node
    }

    fn pod(&self, raw: &Value, tie: &Value) -> Value {
        let meta = &raw["metadata"];
        let mut labels = meta["labels"].clone();
        labels[ROUND] = json!(self.round);
        let mut spec = raw["spec"].clone();
        spec["nodeSelector"][CASE] = json!(self.namespace);
        let tolerations = spec["tolerations"].as_array().cloned();
        let mut tolerations = tolerations.unwrap_or_default();
        tolerations.push(tie.clone());
        spec["tolerations"] = json!(tolerations);
        json!({ "apiVersion": "v1", "kind": "Pod", "spec": spec,
            "metadata": { "name": meta["name"], "namespace": self.namespace, "labels": labels } })
    }

    /// The pod that the DaemonSet's controller would make for a node.
    fn daemon(&self, set: &Value, node: &Value) -> Value {
        let template = &set["spec"]["template"];
        let node = node["metadata"]["name"].as_str().unwrap_or_default();
        let name = format!(
            "{}-{node}",
            set["metadata"]["name"].as_str().unwrap_or_default()
        );
        let raw = json!({ "metadata": { "name": name, "labels": template["metadata"]["labels"] }, "spec": template["spec"] });
        let mut pod = self.pod(&raw, &json!({ "key": TIE, "value": node }));
        let here = json!([{ "matchFields": [{ "key": "metadata.name", "operator": "In", "values": [node] }] }]);
        pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] =
            json!({ "nodeSelectorTerms": here });
        pod
    }
}
