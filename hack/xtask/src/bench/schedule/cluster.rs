//! Which clusters might a user have? One for every seed, small and full of constraints.

use serde_json::{Map, Value, json};

use super::dice::Dice;
use super::rare::{DRIVER, Rare};
use super::workload::Workload;

pub const ZONE: &str = "topology.kubernetes.io/zone";
const HOSTNAME: &str = "kubernetes.io/hostname";
pub const CAPACITY: &str = "karpenter.sh/capacity-type";

/// What is common to the objects of one cluster.
struct World {
    dice: Dice,
    rare: Rare,
    zones: Vec<String>,
    teams: Vec<String>,
    pools: usize,
    types: Vec<(String, usize, usize)>,
}

pub fn cluster(seed: u64) -> Workload {
    let mut dice = Dice::new(seed);
    let zones = (0..dice.between(1, 3)).map(|at| format!("z{at}")).collect();
    let teams = ["red", "blue", "green"].map(str::to_owned).to_vec();
    let pools = dice.between(1, 3);
    let mut world = World {
        dice,
        rare: Rare::of(seed),
        zones,
        teams,
        pools,
        types: Vec::new(),
    };
    let catalog = world.catalog();
    let mut objects: Vec<Value> = (0..pools).map(|at| world.pool(at)).collect();
    for at in 0..world.dice.between(0, 2) {
        objects.push(world.daemon_set(at));
    }
    objects.extend(world.storage());
    objects.extend(world.rare.namespaces());
    for at in 0..world.dice.between(0, 6) {
        objects.extend(world.node(at));
    }
    for group in 0..world.dice.between(1, 7) {
        objects.extend(world.group(group));
    }
    Workload {
        name: format!("cluster {seed}"),
        catalog,
        objects,
        ignore_preferences: world.dice.one_in(5),
    }
}

pub fn one(key: &str, value: &str) -> Value {
    json!({ "key": key, "operator": "In", "values": [value] })
}

impl World {
    fn catalog(&mut self) -> Value {
        let mut types = Vec::new();
        for at in 0..self.dice.between(3, 12) {
            let cpu = *self.dice.pick(&[1_usize, 2, 4, 8, 16, 32]);
            let memory = cpu * *self.dice.pick(&[2_usize, 4, 8]);
            let name = format!("t{at}");
            let arch = if self.dice.one_in(5) {
                "arm64"
            } else {
                "amd64"
            };
            let base = 10 * cpu + 3 * memory + self.dice.below(10);
            let mut offerings = Vec::new();
            for zone in self.zones.clone() {
                for kind in ["on-demand", "spot"] {
                    if self.dice.one_in(4) {
                        continue;
                    }
                    let price = if kind == "spot" { base * 6 } else { base * 10 };
                    let price = price + self.dice.below(4) * 5;
                    offerings.push(
                        json!({ "requirements": [one(ZONE, &zone), one(CAPACITY, kind)],
                        "price": decimal(price), "available": !self.dice.one_in(10) }),
                    );
                }
            }
            offerings.extend(self.rare.reserved(&self.zones, base));
            self.types.push((name.clone(), cpu, memory));
            types.push(json!({
                "name": name, "offerings": offerings,
                "requirements": [one("kubernetes.io/arch", arch), one("kubernetes.io/os", "linux")],
                "capacity": { "cpu": cpu.to_string(), "memory": format!("{memory}Gi"), "pods": "40" },
                "overhead": { "cpu": "100m", "memory": "300Mi" } }));
        }
        json!({ "apiVersion": "joiner.dev/v1alpha1", "kind": "Catalog", "instanceTypes": types })
    }

    fn pool(&mut self, at: usize) -> Value {
        let mut requirements = Vec::new();
        if self.dice.one_in(3) {
            requirements.push(one(CAPACITY, "on-demand"));
        }
        if self.dice.one_in(4) {
            let zone = self.dice.pick(&self.zones).clone();
            requirements.push(one(ZONE, &zone));
        }
        if self.dice.one_in(4) {
            requirements.push(json!({ "key": "tier", "operator": "Exists" }));
        }
        let mut spec = json!({ "requirements": requirements, "expireAfter": "Never",
            "nodeClassRef": { "group": "karpenter.k8s.openstack", "kind": "OpenStackNodeClass", "name": "default" } });
        if self.dice.one_in(3) {
            let effect = self
                .dice
                .pick(&["NoSchedule", "PreferNoSchedule", "NoExecute"]);
            spec["taints"] = json!([{ "key": "dedicated", "value": "red", "effect": effect }]);
        }
        let labels = if self.dice.one_in(2) {
            json!({ "team": self.dice.pick(&self.teams) })
        } else {
            json!({})
        };
        let mut pool = json!({ "apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": { "name": format!("pool-{at}") },
            "spec": { "weight": self.dice.between(1, 3), "template": { "metadata": { "labels": labels }, "spec": spec } } });
        if self.dice.one_in(3) {
            let (cpu, memory) = (self.dice.between(4, 64), self.dice.between(16, 256));
            pool["spec"]["limits"] =
                json!({ "cpu": cpu.to_string(), "memory": format!("{memory}Gi") });
        }
        pool
    }

    fn daemon_set(&mut self, at: usize) -> Value {
        let mut spec = json!({ "containers": [{ "name": "main", "image": "any",
            "resources": { "requests": { "cpu": format!("{}m", 50 * self.dice.between(1, 4)), "memory": "100Mi" } } }] });
        if self.dice.one_in(2) {
            spec["tolerations"] = json!([{ "operator": "Exists" }]);
        }
        if self.dice.one_in(3) {
            spec["nodeSelector"] = json!({ "kubernetes.io/arch": "amd64" });
        }
        let labels = json!({ "daemon": format!("d{at}") });
        json!({ "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": { "name": format!("d{at}"), "namespace": "default", "uid": format!("d{at}") },
            "spec": { "selector": { "matchLabels": &labels }, "template": { "metadata": { "labels": &labels }, "spec": spec } } })
    }

    fn storage(&mut self) -> Vec<Value> {
        let zone = self.dice.pick(&self.zones).clone();
        let class = |name: &str, topologies: Value| {
            json!({ "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": { "name": name },
                "provisioner": DRIVER, "volumeBindingMode": "WaitForFirstConsumer", "allowedTopologies": topologies })
        };
        vec![
            class("anywhere", json!([])),
            class(
                "here",
                json!([{ "matchLabelExpressions": [{ "key": ZONE, "values": [zone] }] }]),
            ),
        ]
    }

    fn node(&mut self, at: usize) -> Vec<Value> {
        let name = format!("n{at}");
        let (kind, cpu, memory) = self.dice.pick(&self.types).clone();
        let pool = format!("pool-{}", self.dice.below(self.pools));
        let zone = self.dice.pick(&self.zones).clone();
        let mut labels = json!({ HOSTNAME: name, ZONE: zone, "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux",
            "node.kubernetes.io/instance-type": kind, CAPACITY: "on-demand" });
        if self.dice.one_in(2) {
            labels["karpenter.sh/nodepool"] = json!(pool);
        }
        if self.dice.one_in(3) {
            labels["team"] = json!(self.dice.pick(&self.teams));
        }
        let mut spec = json!({ "providerID": format!("plan://{name}") });
        if self.dice.one_in(5) {
            spec["taints"] =
                json!([{ "key": "dedicated", "value": "red", "effect": "NoSchedule" }]);
        }
        let room = |cpu: usize, spare: &str| {
            json!({ "cpu": format!("{}m", cpu * 1000 - if spare.is_empty() { 0 } else { 100 }),
            "memory": format!("{}Mi", memory * 1024 - if spare.is_empty() { 0 } else { 300 }), "pods": "40" })
        };
        let mut all = vec![
            json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": name, "labels": labels }, "spec": spec,
                "status": { "capacity": room(cpu, ""), "allocatable": room(cpu, "spare") } }),
        ];
        all.extend(self.rare.limits(&name));
        for pod in 0..self.dice.between(0, 2) {
            all.extend(self.running(&name, &format!("b{at}-{pod}")));
        }
        all
    }

    /// A pod that is on the node already, with what it has there.
    fn running(&mut self, node: &str, name: &str) -> Vec<Value> {
        let mut labels = json!({ "app": format!("g{}", self.dice.below(4)) });
        self.rare.revise(&mut labels);
        let mut pod = json!({ "apiVersion": "v1", "kind": "Pod", "status": { "phase": "Running" },
            "metadata": { "name": name, "namespace": self.rare.home(), "uid": name,
                "labels": labels, "creationTimestamp": "2025-12-01T00:00:00Z" },
            "spec": { "nodeName": node, "containers": [{ "name": "main", "image": "any",
                "resources": { "requests": { "cpu": "200m", "memory": "256Mi" } } }] } });
        let mut all = self.rare.attached(&mut pod);
        all.push(pod);
        all
    }

    /// The pods of one workload.
    fn group(&mut self, at: usize) -> Vec<Value> {
        let namespace = self.rare.home();
        let mut spec = Map::new();
        self.selectors(&mut spec);
        self.apart_or_near(at, &mut spec);
        let revisions = self.spreads(at, &mut spec);
        if self.dice.one_in(4) {
            spec.insert(
                "tolerations".to_owned(),
                json!([{ "key": "dedicated", "operator": "Exists" }]),
            );
        }
        spec.insert("containers".to_owned(), json!([self.container()]));
        let class = self
            .dice
            .one_in(6)
            .then(|| *self.dice.pick(&["anywhere", "here"]));
        let disks = self.rare.disks(class);
        let workload = format!("g{at}");
        let common = disks
            .as_ref()
            .map(|one| one.shared_by_all(namespace, &workload));
        let mut all = common.unwrap_or_default();
        for pod in 0..self.dice.between(1, 12) {
            let name = format!("g{at}-{pod}");
            let mut labels = json!({ "app": &workload });
            if revisions {
                self.rare.revise(&mut labels);
            }
            let mut pod = json!({ "apiVersion": "v1", "kind": "Pod", "spec": &spec, "status": { "phase": "Pending" },
                "metadata": { "name": name, "namespace": namespace, "uid": name, "labels": labels, "creationTimestamp": "2026-01-01T00:00:00Z" } });
            if let Some(disks) = &disks {
                all.extend(disks.give(&mut pod, &workload));
            }
            all.push(pod);
        }
        all
    }

    fn container(&mut self) -> Value {
        let cpu = 50 * self.dice.between(1, 60);
        let memory = 64 * self.dice.between(1, 80);
        let mut container = json!({ "name": "main", "image": "any",
            "resources": { "requests": { "cpu": format!("{cpu}m"), "memory": format!("{memory}Mi") } } });
        if self.dice.one_in(10) {
            container["ports"] = json!([{ "containerPort": 80, "hostPort": 8080 }]);
        }
        container
    }

    fn selectors(&mut self, spec: &mut Map<String, Value>) {
        match self.dice.below(8) {
            0 => {
                let zone = self.dice.pick(&self.zones).clone();
                spec.insert("nodeSelector".to_owned(), json!({ ZONE: zone }));
            }
            1 => {
                let team = self.dice.pick(&self.teams).clone();
                spec.insert("nodeSelector".to_owned(), json!({ "team": team }));
            }
            2 => {
                let expressions =
                    json!([{ "key": CAPACITY, "operator": "NotIn", "values": ["spot"] }]);
                spec.insert(
                    "affinity".to_owned(),
                    json!({ "nodeAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{ "matchExpressions": expressions }] } } }),
                );
            }
            3 => {
                let zone = self.dice.pick(&self.zones).clone();
                spec.insert(
                    "affinity".to_owned(),
                    json!({ "nodeAffinity": { "preferredDuringSchedulingIgnoredDuringExecution": [
                    { "weight": 5, "preference": { "matchExpressions": [one(ZONE, &zone)] } }] } }),
                );
            }
            _ => {}
        }
    }

    fn apart_or_near(&mut self, at: usize, spec: &mut Map<String, Value>) {
        let which = match self.dice.below(8) {
            0 => "podAntiAffinity",
            1 => "podAffinity",
            _ => return,
        };
        let key = *self.dice.pick(&[ZONE, HOSTNAME]);
        let other = if self.dice.one_in(4) {
            self.dice.below(4)
        } else {
            at
        };
        let mut term = json!({ "topologyKey": key, "labelSelector": { "matchLabels": { "app": format!("g{other}") } } });
        self.rare.scope(&mut term);
        let terms = if self.dice.one_in(3) {
            json!({ "preferredDuringSchedulingIgnoredDuringExecution": [{ "weight": 10, "podAffinityTerm": term }] })
        } else {
            json!({ "requiredDuringSchedulingIgnoredDuringExecution": [term] })
        };
        let affinity = spec.entry("affinity").or_insert_with(|| json!({}));
        affinity[which] = terms;
    }

    /// Tells whether pods of different revisions are spread apart from each other.
    fn spreads(&mut self, at: usize, spec: &mut Map<String, Value>) -> bool {
        if !self.dice.one_in(3) {
            return false;
        }
        let key = *self.dice.pick(&[ZONE, ZONE, HOSTNAME]);
        let hard = if self.dice.one_in(4) {
            "ScheduleAnyway"
        } else {
            "DoNotSchedule"
        };
        let mut constraint = json!({ "maxSkew": self.dice.between(1, 2), "topologyKey": key, "whenUnsatisfiable": hard,
            "labelSelector": { "matchLabels": { "app": format!("g{at}") } } });
        let revisions = self.rare.spread(&mut constraint);
        spec.insert("topologySpreadConstraints".to_owned(), json!([constraint]));
        revisions
    }
}

/// Thousandths, exactly.
pub fn decimal(thousandths: usize) -> Value {
    let text = format!("{}.{:03}", thousandths / 1000, thousandths % 1000);
    serde_json::from_str(&text).unwrap_or(Value::Null)
}
