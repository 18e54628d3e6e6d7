//! Which rarer wishes have the pods and nodes of a random cluster?
//!
//! Thrown with dice of its own: a seed keeps everything else it has, whatever is added here.

use serde_json::{Value, json};

use super::cluster::{CAPACITY, ZONE, decimal, one};
use super::dice::Dice;

pub const DRIVER: &str = "csi.example.com";
/// Everybody's namespace, and the one some clusters have beside it.
pub const HOME: &str = "default";
const AWAY: &str = "away";
const REVISION: &str = "revision";

pub struct Rare {
    dice: Dice,
    /// Something is paid for already.
    reserves: Option<Dice>,
    /// Pods live in two namespaces and their terms look across.
    neighbours: bool,
    /// Nodes say how many volumes they take, and more pods have some.
    few_volumes: bool,
}

/// The volumes of the pods of one workload.
pub struct Disks {
    class: &'static str,
    /// How many each pod has of its own.
    own: usize,
    /// All of them mount one more, the same.
    shared: bool,
}

impl Rare {
    pub fn of(seed: u64) -> Self {
        let mut dice = Dice::new(seed ^ 0x7261_7265);
        let mut reserves = Dice::new(seed ^ 0x7265_7376);
        Self {
            reserves: reserves.one_in(5).then_some(reserves),
            neighbours: dice.one_in(4),
            few_volumes: dice.one_in(4),
            dice,
        }
    }

    /// What of a type is reserved somewhere, at a third of what it costs elsewhere.
    pub fn reserved(&mut self, zones: &[String], base: usize) -> Option<Value> {
        let dice = self.reserves.as_mut()?;
        let (zone, left) = (dice.pick(zones).clone(), dice.below(4));
        dice.one_in(3).then(|| {
            json!({ "requirements": [one(ZONE, &zone), one(CAPACITY, "reserved")],
                "price": decimal(base * 3), "reservationCapacity": left })
        })
    }

    pub fn namespaces(&self) -> Vec<Value> {
        let one = |name: &str, side: &str| {
            json!({ "apiVersion": "v1", "kind": "Namespace",
                "metadata": { "name": name, "labels": { "side": side, "owner": "example" } } })
        };
        if self.neighbours {
            vec![one(HOME, "near"), one(AWAY, "far")]
        } else {
            Vec::new()
        }
    }

    /// Where the next workload lives.
    pub fn home(&mut self) -> &'static str {
        if self.neighbours && self.dice.one_in(3) {
            AWAY
        } else {
            HOME
        }
    }

    /// Whose pods does this term of (anti-)affinity mean?
    pub fn scope(&mut self, term: &mut Value) {
        if !self.neighbours {
            return;
        }
        let side = |operator: &str| json!({ "matchExpressions": [{ "key": "side", "operator": operator, "values": ["far"] }] });
        match self.dice.below(8) {
            0 => term["namespaces"] = json!([AWAY]),
            1 => term["namespaces"] = json!([HOME, AWAY]),
            2 => term["namespaceSelector"] = json!({}),
            3 => term["namespaceSelector"] = json!({ "matchLabels": { "side": "far" } }),
            4 => term["namespaceSelector"] = side("NotIn"),
            5 => {
                term["namespaces"] = json!([HOME]);
                term["namespaceSelector"] = side("In");
            }
            6 => term["namespaceSelector"] = json!({ "matchLabels": { "side": "nowhere" } }),
            _ => {}
        }
    }

    /// What else does this spread say? Tells whether it tells revisions apart.
    pub fn spread(&mut self, constraint: &mut Value) -> bool {
        let hard = constraint["whenUnsatisfiable"] == "DoNotSchedule";
        let least = self.dice.between(2, 4);
        if self.dice.one_in(4) && hard {
            constraint["minDomains"] = json!(least);
        }
        let policy = *self.dice.pick(&["Honor", "Honor", "Honor", "Ignore"]);
        if self.dice.one_in(4) {
            constraint["nodeTaintsPolicy"] = json!(policy);
        }
        let policy = *self.dice.pick(&["Ignore", "Ignore", "Ignore", "Honor"]);
        if self.dice.one_in(4) {
            constraint["nodeAffinityPolicy"] = json!(policy);
        }
        let revisions = self.dice.one_in(5);
        if revisions {
            constraint["matchLabelKeys"] = json!([REVISION, "nobody-has-this"]);
        }
        revisions
    }

    /// The pod is of one revision or another.
    pub fn revise(&mut self, labels: &mut Value) {
        labels[REVISION] = json!(*self.dice.pick(&["old", "new", "new"]));
    }

    /// How many volumes a node takes.
    pub fn limits(&mut self, node: &str) -> Option<Value> {
        let most = self.dice.between(0, 5);
        let said = self.few_volumes && !self.dice.one_in(5);
        said.then(|| {
            json!({ "apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": { "name": node },
                "spec": { "drivers": [{ "name": DRIVER, "nodeID": node, "topologyKeys": [], "allocatable": { "count": most } }] } })
        })
    }

    /// The volumes of a workload; `class` is what it would have anyhow.
    pub fn disks(&mut self, class: Option<&'static str>) -> Option<Disks> {
        let more = self.few_volumes && self.dice.one_in(2);
        let class = class.or(more.then_some("anywhere"))?;
        let mut disks = Disks {
            class,
            own: 1,
            shared: false,
        };
        if self.few_volumes {
            disks.own = *self.dice.pick(&[1, 1, 2]);
            disks.shared = self.dice.one_in(4);
        }
        Some(disks)
    }

    /// A volume that the running pod has already, with its claim.
    pub fn attached(&mut self, pod: &mut Value) -> Vec<Value> {
        if !self.few_volumes || !self.dice.one_in(2) {
            return Vec::new();
        }
        let meta = &pod["metadata"];
        let (name, namespace) = (text(&meta["name"]).to_owned(), text(&meta["namespace"]));
        let all = made("anywhere", namespace, &name);
        mount(pod, &[&name]);
        all
    }
}

impl Disks {
    /// What all pods of the workload mount together. It is there already, for everybody to reach: where a volume that several
    /// pods wait for will be made, and so who else can reach it, nobody can tell before the first of them is bound.
    pub fn shared_by_all(&self, namespace: &str, workload: &str) -> Vec<Value> {
        if self.shared {
            made(self.class, namespace, &format!("{workload}-all"))
        } else {
            Vec::new()
        }
    }

    /// Mounts the pod's volumes and returns the claims that are its own.
    pub fn give(&self, pod: &mut Value, workload: &str) -> Vec<Value> {
        let meta = &pod["metadata"];
        let (name, namespace) = (text(&meta["name"]).to_owned(), text(&meta["namespace"]));
        let own = (0..self.own).map(|at| match at {
            0 => name.clone(),
            _ => format!("{name}-{at}"),
        });
        let own: Vec<String> = own.collect();
        let claims = own.iter().map(|one| claim(self.class, namespace, one));
        let claims = claims.collect();
        let common = format!("{workload}-all");
        let shared = self.shared.then_some(common.as_str());
        let all: Vec<&str> = own.iter().map(String::as_str).chain(shared).collect();
        mount(pod, &all);
        claims
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn claim(class: &str, namespace: &str, name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": { "name": name, "namespace": namespace },
        "spec": { "storageClassName": class, "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } } })
}

/// A claim with its volume.
fn made(class: &str, namespace: &str, name: &str) -> Vec<Value> {
    let volume = format!("volume-{name}");
    let mut claim = claim(class, namespace, name);
    claim["metadata"]["annotations"] = json!({ "pv.kubernetes.io/bind-completed": "yes" });
    claim["spec"]["volumeName"] = json!(volume);
    claim["status"] = json!({ "phase": "Bound" });
    let of = json!({ "apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": namespace, "name": name });
    let volume = json!({ "apiVersion": "v1", "kind": "PersistentVolume", "metadata": { "name": volume },
        "spec": { "capacity": { "storage": "1Gi" }, "accessModes": ["ReadWriteOnce"], "storageClassName": class,
            "csi": { "driver": DRIVER, "volumeHandle": volume }, "claimRef": of } });
    vec![volume, claim]
}

fn mount(pod: &mut Value, claims: &[&str]) {
    let volumes = claims.iter().enumerate().map(|(at, claim)| {
        let name = match at {
            0 => "disk".to_owned(),
            _ => format!("disk-{at}"),
        };
        json!({ "name": name, "persistentVolumeClaim": { "claimName": claim } })
    });
    pod["spec"]["volumes"] = volumes.collect();
}

#[cfg(test)]
mod tests {
    use super::super::check::{list, text};
    use super::super::cluster::cluster;
    use super::*;

    fn waiting(objects: &[Value]) -> impl Iterator<Item = &Value> {
        let waits = |one: &&Value| one["kind"] == "Pod" && one["spec"]["nodeName"].is_null();
        objects.iter().filter(waits)
    }

    fn spreads<'a>(objects: &'a [Value], field: &'a str) -> bool {
        let hard = |term: &&Value| term["whenUnsatisfiable"] == "DoNotSchedule";
        let terms =
            waiting(objects).flat_map(|pod| list(pod, "/spec/topologySpreadConstraints").iter());
        terms.filter(hard).any(|term| !term[field].is_null())
    }

    fn looks_across(objects: &[Value]) -> bool {
        waiting(objects).any(|pod| {
            let said = pod["spec"]["affinity"].to_string();
            said.contains("namespaceSelector") || said.contains("namespaces")
        })
    }

    fn is_short_of_volumes(objects: &[Value]) -> bool {
        let mounts = waiting(objects).filter(|pod| !pod["spec"]["volumes"].is_null());
        objects.iter().any(|one| text(one, "/kind") == "CSINode") && mounts.count() > 1
    }

    #[test]
    fn every_rare_wish_is_in_one_of_four_to_one_of_nine_clusters() {
        let clusters: Vec<Vec<Value>> = (1..=400).map(|seed| cluster(seed).objects).collect();
        let count = |has: &dyn Fn(u64) -> bool| (1..=400).filter(|seed| has(*seed)).count();
        let share = |has: &dyn Fn(&[Value]) -> bool| clusters.iter().filter(|all| has(all)).count();
        let shares = [
            ("minDomains", share(&|all| spreads(all, "minDomains"))),
            ("labels", share(&|all| spreads(all, "matchLabelKeys"))),
            ("taints", share(&|all| spreads(all, "nodeTaintsPolicy"))),
            ("affinity", share(&|all| spreads(all, "nodeAffinityPolicy"))),
            ("namespaces", share(&looks_across)),
            ("volumes", share(&is_short_of_volumes)),
            (
                "reserved",
                count(&|seed| {
                    cluster(seed)
                        .catalog
                        .to_string()
                        .contains("reservationCapacity")
                }),
            ),
        ];
        println!("of 400: {shares:?}");
        for (what, share) in shares {
            assert!((44..=100).contains(&share), "{what}: {shares:?}");
        }
    }
}
