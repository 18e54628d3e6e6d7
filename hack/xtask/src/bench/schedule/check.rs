//! Is this plan one that kube-scheduler would carry out, and that keeps every promise?
//!
//! Knows nothing of the planner: it reads the same files as the planner and the plan that was printed.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::Value;

use super::amount::{self, Amounts};
use super::labels::{expressions, term_holds, tolerated};
use super::{reservations, topology, volumes};

const ZONE: &str = "topology.kubernetes.io/zone";

/// A place with what is on it.
#[derive(Default)]
pub struct Spot {
    pub name: String,
    pub labels: BTreeMap<String, String>,
    taints: Vec<Value>,
    room: Amounts,
    pub pods: Vec<usize>,
    /// The claim's own requirements leave these open: the node will have what the offering has.
    new: bool,
}

impl Spot {
    pub fn hard_taints(&self) -> Vec<&Value> {
        let taints = self.taints.iter();
        taints
            .filter(|taint| text(taint, "/effect") != "PreferNoSchedule")
            .collect()
    }
}

/// Everything the plan is judged by.
pub struct World<'a> {
    pub pods: Vec<&'a Value>,
    pub spots: Vec<Spot>,
    pub spot_of: HashMap<usize, usize>,
    /// Labels of those that are in the files.
    pub namespaces: BTreeMap<&'a str, BTreeMap<String, String>>,
    daemons: Vec<&'a Value>,
    pools: BTreeMap<&'a str, &'a Value>,
    types: BTreeMap<&'a str, &'a Value>,
}

/// Everything that is wrong with it; empty is fine.
pub fn check(objects: &[Value], catalog: &Value, plan: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut world = World::read(objects, catalog);
    world.carry_out(plan, &mut wrong);
    world.rooms(&mut wrong);
    world.limits(plan, &mut wrong);
    topology::check(&world, &mut wrong);
    volumes::check(&world, objects, &mut wrong);
    reservations::check(catalog, plan, &mut wrong);
    wrong
}

pub fn text<'a>(value: &'a Value, path: &str) -> &'a str {
    value.pointer(path).and_then(Value::as_str).unwrap_or("")
}

pub fn list<'a>(value: &'a Value, path: &str) -> &'a [Value] {
    let found = value.pointer(path).and_then(Value::as_array);
    found.map_or(&[], Vec::as_slice)
}

pub fn labels(value: &Value, path: &str) -> BTreeMap<String, String> {
    let map = value.pointer(path).and_then(Value::as_object);
    map.into_iter()
        .flatten()
        .map(|(key, value)| (key.clone(), value.as_str().unwrap_or("").to_owned()))
        .collect()
}

fn name(object: &Value) -> String {
    format!(
        "{}/{}",
        text(object, "/metadata/namespace"),
        text(object, "/metadata/name")
    )
}

impl<'a> World<'a> {
    fn read(objects: &'a [Value], catalog: &'a Value) -> Self {
        let of = |kind: &'static str| objects.iter().filter(move |one| text(one, "/kind") == kind);
        let pods: Vec<&Value> = of("Pod").collect();
        let mut spots: Vec<Spot> = of("Node").map(standing).collect();
        let at: HashMap<String, usize> = spots
            .iter()
            .enumerate()
            .map(|(at, spot)| (spot.name.clone(), at))
            .collect();
        let mut spot_of = HashMap::new();
        for (pod, object) in pods.iter().enumerate() {
            if let Some(spot) = at.get(text(object, "/spec/nodeName")) {
                spots[*spot].pods.push(pod);
                spot_of.insert(pod, *spot);
            }
        }
        let types = list(catalog, "/instanceTypes");
        Self {
            pods,
            spots,
            spot_of,
            namespaces: of("Namespace")
                .map(|one| (text(one, "/metadata/name"), labels(one, "/metadata/labels")))
                .collect(),
            daemons: of("DaemonSet").collect(),
            pools: of("NodePool")
                .map(|pool| (text(pool, "/metadata/name"), pool))
                .collect(),
            types: types
                .iter()
                .map(|kind| (text(kind, "/name"), kind))
                .collect(),
        }
    }

    /// Puts every pod where the plan says, each exactly once.
    fn carry_out(&mut self, plan: &Value, wrong: &mut Vec<String>) {
        let known: HashMap<String, usize> = self
            .pods
            .iter()
            .enumerate()
            .map(|(at, pod)| (name(pod), at))
            .collect();
        let nodes: HashMap<String, usize> = self
            .spots
            .iter()
            .enumerate()
            .map(|(at, spot)| (spot.name.clone(), at))
            .collect();
        let mut told: BTreeSet<usize> = self.spot_of.keys().copied().collect();
        let mut put = |pod: &str, spot: Option<usize>, wrong: &mut Vec<String>| match known.get(pod)
        {
            Some(at) if told.insert(*at) => spot.map(|spot| (*at, spot)),
            _ => {
                wrong.push(format!("{pod}: unknown, or told twice"));
                None
            }
        };
        let mut moves = Vec::new();
        for placement in list(plan, "/placements") {
            let spot = nodes.get(text(placement, "/node")).copied();
            if spot.is_none() {
                wrong.push(format!(
                    "placement of {} on no node",
                    text(placement, "/pod")
                ));
            }
            moves.extend(put(text(placement, "/pod"), spot, wrong));
        }
        for claim in list(plan, "/claims") {
            let spot = self.spots.len();
            self.spots.push(self.opened(claim, wrong));
            for pod in list(claim, "/pods") {
                moves.extend(put(pod.as_str().unwrap_or(""), Some(spot), wrong));
            }
        }
        for refusal in list(plan, "/refusals") {
            if list(refusal, "/why").is_empty() {
                wrong.push(format!("{}: refused without reason", text(refusal, "/pod")));
            }
            put(text(refusal, "/pod"), None, wrong);
        }
        let untold = (0..self.pods.len()).filter(|at| !told.contains(at));
        wrong.extend(
            untold.map(|at| format!("{}: the plan does not speak of it", name(self.pods[at]))),
        );
        for (pod, spot) in moves {
            self.spots[spot].pods.push(pod);
            self.spot_of.insert(pod, spot);
        }
    }

    /// The node a claim becomes: that of its cheapest offering.
    fn opened(&self, claim: &Value, wrong: &mut Vec<String>) -> Spot {
        let named = text(claim, "/name");
        let (kind, zone, capacity) = (
            text(claim, "/cheapest/instanceType"),
            text(claim, "/cheapest/zone"),
            text(claim, "/cheapest/capacityType"),
        );
        let Some(sold) = self.types.get(kind) else {
            wrong.push(format!(
                "{named}: buys {kind:?}, which is not in the catalog"
            ));
            return Spot::default();
        };
        let there = list(sold, "/offerings").iter().any(|offering| {
            offering.get("available").and_then(Value::as_bool) != Some(false)
                && offered(offering, ZONE) == zone
                && offered(offering, "karpenter.sh/capacity-type") == capacity
        });
        if !there {
            wrong.push(format!(
                "{named}: {kind} is not sold as {capacity} in {zone}"
            ));
        }
        let pool = self.pools.get(text(claim, "/pool"));
        let Some(pool) = pool else {
            wrong.push(format!("{named}: of no pool"));
            return Spot::default();
        };
        let has = labels_of(claim, sold, pool);
        for one in expressions(list(pool, "/spec/template/spec/requirements")) {
            if !term_holds(std::slice::from_ref(&one), &has) && one.operator != "Exists" {
                wrong.push(format!("{named}: its pool does not allow {}", one.key));
            }
        }
        Spot {
            name: named.to_owned(),
            taints: list(pool, "/spec/template/spec/taints").to_vec(),
            room: amount::of(sold, "/capacity").minus(&amount::of(sold, "/overhead")),
            labels: has,
            pods: Vec::new(),
            new: true,
        }
    }

    /// Nothing overcommitted, everything tolerated and selected, no port twice.
    fn rooms(&self, wrong: &mut Vec<String>) {
        for spot in &self.spots {
            let mut used = Amounts::default();
            let mut ports = BTreeSet::new();
            let hard = spot.hard_taints();
            if spot.new {
                let lands = |daemon: &&&Value| lands(daemon, spot, &hard);
                for daemon in self.daemons.iter().filter(lands) {
                    let spec = daemon.pointer("/spec/template/spec");
                    used.add(&amount::asked(spec.unwrap_or(&Value::Null)));
                }
            }
            for pod in spot.pods.iter().map(|at| self.pods[*at]) {
                let spec = pod.get("spec").unwrap_or(&Value::Null);
                used.add(&amount::asked(spec));
                let bound = !text(pod, "/spec/nodeName").is_empty();
                for port in list(spec, "/containers/0/ports") {
                    let number = port.get("hostPort").and_then(Value::as_i64);
                    if number.is_some_and(|number| !ports.insert(number)) {
                        wrong.push(format!("{}: host port {number:?} twice", spot.name));
                    }
                }
                if !bound {
                    may_stand(pod, spot, &hard, wrong);
                }
            }
            if let Some(what) = used.first_above(&spot.room)
                && spot
                    .pods
                    .iter()
                    .any(|at| text(self.pods[*at], "/spec/nodeName").is_empty())
            {
                wrong.push(format!("{}: overcommitted in {what}", spot.name));
            }
        }
    }

    /// What the pool has and gets stays within its limits, counted by what is bought first.
    fn limits(&self, plan: &Value, wrong: &mut Vec<String>) {
        for (pool, object) in &self.pools {
            let limits = amount::of(object, "/spec/limits");
            let bought = list(plan, "/claims")
                .iter()
                .filter(|claim| text(claim, "/pool") == *pool);
            let mut used = Amounts::default();
            let mut any = false;
            for claim in bought {
                any = true;
                if let Some(kind) = self.types.get(text(claim, "/cheapest/instanceType")) {
                    used.add(&amount::of(kind, "/capacity"));
                }
            }
            if let Some(what) = used.first_limited_above(&limits)
                && any
            {
                wrong.push(format!("pool {pool}: above its limit of {what}"));
            }
        }
    }
}

/// What the node of a claim will be labelled with.
fn may_stand(pod: &Value, spot: &Spot, hard: &[&Value], wrong: &mut Vec<String>) {
    if !tolerated(hard, list(pod, "/spec/tolerations")) {
        wrong.push(format!("{} does not tolerate {}", name(pod), spot.name));
    }
    if !selected(pod.get("spec").unwrap_or(&Value::Null), &spot.labels) {
        wrong.push(format!("{} does not select {}", name(pod), spot.name));
    }
}

fn labels_of(claim: &Value, sold: &Value, pool: &Value) -> BTreeMap<String, String> {
    let mut has = labels(pool, "/spec/template/metadata/labels");
    let asked = list(claim, "/requirements").iter();
    for one in asked.chain(list(sold, "/requirements")) {
        if let ("In", [first, ..]) = (text(one, "/operator"), list(one, "/values")) {
            has.entry(text(one, "/key").to_owned())
                .or_insert_with(|| first.as_str().unwrap_or("").to_owned());
        }
    }
    for (key, path) in [
        ("node.kubernetes.io/instance-type", "/cheapest/instanceType"),
        (ZONE, "/cheapest/zone"),
        ("karpenter.sh/capacity-type", "/cheapest/capacityType"),
        ("karpenter.sh/nodepool", "/pool"),
        ("kubernetes.io/hostname", "/name"),
    ] {
        has.insert(key.to_owned(), text(claim, path).to_owned());
    }
    has
}

fn standing(node: &Value) -> Spot {
    Spot {
        name: text(node, "/metadata/name").to_owned(),
        labels: labels(node, "/metadata/labels"),
        taints: list(node, "/spec/taints").to_vec(),
        room: amount::of(node, "/status/allocatable"),
        pods: Vec::new(),
        new: false,
    }
}

fn offered(offering: &Value, key: &str) -> String {
    let found = list(offering, "/requirements")
        .iter()
        .find(|one| text(one, "/key") == key);
    found.map_or(String::new(), |one| text(one, "/values/0").to_owned())
}

/// Does a pod of this DaemonSet come to the new node?
fn lands(daemon: &Value, spot: &Spot, hard: &[&Value]) -> bool {
    let spec = daemon
        .pointer("/spec/template/spec")
        .unwrap_or(&Value::Null);
    tolerated(hard, list(spec, "/tolerations")) && selected(spec, &spot.labels)
}

/// Node selector and required node affinity.
pub fn selected(spec: &Value, has: &BTreeMap<String, String>) -> bool {
    let selector = labels(spec, "/nodeSelector");
    let terms = list(
        spec,
        "/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms",
    );
    selector
        .iter()
        .all(|(key, value)| has.get(key) == Some(value))
        && (terms.is_empty()
            || terms
                .iter()
                .any(|term| term_holds(&expressions(list(term, "/matchExpressions")), has)))
}
