//! Which objects does a generated cluster become, so that kube-scheduler judges the plan for it?
//!
//! Cases share one control plane: each has namespaces of its own and a label that only its nodes have. A pod is tied to its planned
//! node by a resource that only this node has, not by a selector or a taint: those would narrow what its spreads look at.

use anyhow::{Context, Result};
use jiff::Timestamp;
use operator::args::{MinValues, Preferences};
use operator::plan::{Asked, Output, Plan, answer};
use serde_json::{Map, Value, json};
use xtask::bench::schedule::rare::HOME;
use xtask::bench::schedule::workload::Workload;

use crate::Scratch;

const CASE: &str = "example.test/case";
/// Followed by a node's name: a resource that only it has.
const TIE: &str = "example.test/on-";
/// On pods and nodes: what belongs to one round.
pub const ROUND: &str = "example.test/round";
const HOSTNAME: &str = "kubernetes.io/hostname";
const ZONE: &str = "topology.kubernetes.io/zone";

/// What is put into the cluster, in this order.
pub struct Case {
    pub namespaces: Vec<Value>,
    pub nodes: Vec<Value>,
    pub classes: Vec<Value>,
    /// Volumes that are there, and claims with and without one.
    pub volumes: Vec<Value>,
    pub disks: Vec<Value>,
    /// How many volumes nodes take.
    pub limits: Vec<Value>,
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
            planned.push(tied(names.pod(known(&pod)?), &node));
        }
        let mut refused = Vec::new();
        for refusal in &plan.refusals {
            refused.push(names.pod(known(&refusal.pod)?));
        }
        let daemons = of("DaemonSet");
        let daemons = daemons
            .iter()
            .flat_map(|set| nodes.iter().map(|node| names.daemon(set, node)));
        let untouched = |kind: &str| of(kind).into_iter().cloned().collect();
        Ok(Self {
            namespaces: names.namespaces(&of("Namespace")),
            classes: untouched("StorageClass"),
            volumes: untouched("PersistentVolume"),
            disks: untouched("PersistentVolumeClaim"),
            limits: untouched("CSINode"),
            bound: bound.map(|pod| names.pod(pod)).collect(),
            daemons: daemons.collect(),
            nodes,
            planned,
            refused,
            plan,
        })
    }
}

/// The node that a pod is tied to.
pub fn tied_to(pod: &Value) -> &str {
    let requests = pod["spec"]["containers"][0]["resources"]["requests"].as_object();
    let mut names = requests.into_iter().flatten().map(|(name, _)| name);
    names
        .find_map(|name| name.strip_prefix(TIE))
        .unwrap_or_default()
}

fn tied(mut pod: Value, node: &str) -> Value {
    let resources = &mut pod["spec"]["containers"][0]["resources"];
    for side in ["requests", "limits"] {
        resources[side][format!("{TIE}{node}")] = json!("1");
    }
    pod
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
        Some("StorageClass" | "CSINode") => own(&mut object["metadata"]["name"]),
        Some("Namespace") => own_namespace(&mut object["metadata"]["name"], namespace),
        Some("PersistentVolume") => {
            own(&mut object["metadata"]["name"]);
            own(&mut object["spec"]["storageClassName"]);
            own(&mut object["spec"]["csi"]["volumeHandle"]);
            own_namespace(&mut object["spec"]["claimRef"]["namespace"], namespace);
        }
        Some("Pod" | "DaemonSet" | "PersistentVolumeClaim") => {
            own_namespace(&mut object["metadata"]["namespace"], namespace);
            let spec = object["spec"].as_object_mut();
            for (field, value) in spec.into_iter().flatten() {
                match field.as_str() {
                    "nodeName" | "storageClassName" | "volumeName" => own(value),
                    "affinity" => each_term(value, &mut |term| {
                        let named = term.get_mut("namespaces").and_then(Value::as_array_mut);
                        let named = named.into_iter().flatten();
                        named.for_each(|one| own_namespace(one, namespace));
                    }),
                    _ => {}
                }
            }
        }
        _ => {}
    }
}

/// The usual namespace is called like the case, others like the case and themselves.
fn own_namespace(value: &mut Value, case: &str) {
    *value = match value.as_str() {
        Some(HOME) | None => json!(case),
        Some(other) => json!(format!("{case}-{other}")),
    };
}

/// Every term of affinity and anti-affinity between pods.
fn each_term(affinity: &mut Value, change: &mut impl FnMut(&mut Map<String, Value>)) {
    for kind in ["podAffinity", "podAntiAffinity"] {
        let lists = affinity.get_mut(kind).and_then(Value::as_object_mut);
        let terms = lists.into_iter().flatten();
        for one in terms.filter_map(|(_, list)| list.as_array_mut()).flatten() {
            let term = match one.get_mut("podAffinityTerm") {
                Some(term) => term,
                None => one,
            };
            if let Some(term) = term.as_object_mut() {
                change(term);
            }
        }
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
    /// Those of the files; the case's own, too, where they do not speak of it.
    fn namespaces(&self, raw: &[&Value]) -> Vec<Value> {
        let mut all: Vec<Value> = raw.iter().map(|one| (*one).clone()).collect();
        if all.is_empty() {
            all.push(json!({ "metadata": { "name": self.namespace } }));
        }
        for one in &mut all {
            one["metadata"]["labels"][CASE] = json!(self.namespace);
        }
        all
    }

    /// A topology label that only nodes of this case have: some spreads look past all selectors.
    fn topology(&self, key: &str) -> String {
        let name = key.rsplit('/').next().unwrap_or(key);
        format!("{}.example.test/{name}", self.namespace)
    }

    /// Ready, of this case, and with what ties pods to it.
    fn node(&self, raw: &Value) -> Value {
        let mut node = raw.clone();
        let name = node["metadata"]["name"].as_str().unwrap_or_default();
        let tie = format!("{TIE}{name}");
        let labels = &mut node["metadata"]["labels"];
        for key in [ZONE, HOSTNAME] {
            labels[self.topology(key)] = labels[key].clone();
        }
        labels[CASE] = json!(self.namespace);
        labels[ROUND] = json!(self.round);
        let status = &mut node["status"];
        for side in ["capacity", "allocatable"] {
            status[side][&tie] = json!("1000");
        }
        status["conditions"] =
            json!([{ "type": "Ready", "status": "True", "reason": "KubeletReady", "message": "" }]);
        node
    }

    fn pod(&self, raw: &Value) -> Value {
        let meta = &raw["metadata"];
        let mut labels = meta["labels"].clone();
        labels[ROUND] = json!(self.round);
        let mut spec = raw["spec"].clone();
        spec["nodeSelector"][CASE] = json!(self.namespace);
        let spreads = spec.get_mut("topologySpreadConstraints");
        for one in spreads.and_then(Value::as_array_mut).into_iter().flatten() {
            let key = one["topologyKey"].as_str().unwrap_or_default();
            one["topologyKey"] = json!(self.topology(key));
        }
        // Who means every namespace means those of the case.
        let of_case = |term: &mut Map<String, Value>| {
            if let Some(selector) = term.get_mut("namespaceSelector") {
                selector["matchLabels"][CASE] = json!(self.namespace);
            }
        };
        if let Some(affinity) = spec.get_mut("affinity") {
            each_term(affinity, &mut { of_case });
        }
        json!({ "apiVersion": "v1", "kind": "Pod", "spec": spec,
            "metadata": { "name": meta["name"], "namespace": meta["namespace"], "labels": labels } })
    }

    /// The pod that the DaemonSet's controller would make for a node.
    fn daemon(&self, set: &Value, node: &Value) -> Value {
        let template = &set["spec"]["template"];
        let node = node["metadata"]["name"].as_str().unwrap_or_default();
        let name = format!(
            "{}-{node}",
            set["metadata"]["name"].as_str().unwrap_or_default()
        );
        let raw = json!({ "spec": template["spec"], "metadata": { "name": name, "labels": template["metadata"]["labels"],
            "namespace": set["metadata"]["namespace"] } });
        let mut pod = self.pod(&raw);
        let here = json!([{ "matchFields": [{ "key": "metadata.name", "operator": "In", "values": [node] }] }]);
        pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] =
            json!({ "nodeSelectorTerms": here });
        pod
    }
}
