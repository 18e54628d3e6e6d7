//! Can every pod reach its volumes, and does no node attach more of them than its driver says it can?
//!
//! As kube-scheduler sees it: a claim without a volume will get one from its class, and a claim that several pods of a node
//! mount is attached once.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::check::{Spot, World, list, text};

pub fn check(world: &World<'_>, objects: &[Value], wrong: &mut Vec<String>) {
    let storage = Storage::read(objects);
    if storage.claims.is_empty() {
        return;
    }
    for spot in &world.spots {
        let is_new = |pod: &&Value| text(pod, "/spec/nodeName").is_empty();
        let pods = || spot.pods.iter().map(|pod| world.pods[*pod]);
        let mut new: BTreeSet<(&str, String)> = BTreeSet::new();
        for pod in pods().filter(is_new) {
            storage.reached(pod, spot, wrong);
            new.extend(storage.attached(pod));
        }
        let drivers: BTreeSet<&str> = new.iter().map(|(driver, _)| *driver).collect();
        let all: BTreeSet<(&str, String)> = pods().flat_map(|pod| storage.attached(pod)).collect();
        for driver in drivers {
            let count = all.iter().filter(|(by, _)| *by == driver).count() as u64;
            let most = storage.limits.get(&(spot.name.as_str(), driver));
            if most.is_some_and(|most| count > *most) {
                wrong.push(format!("{}: {count} volumes of {driver}", spot.name));
            }
        }
    }
}

/// What the files say about storage.
struct Storage<'a> {
    /// By namespace and name.
    claims: BTreeMap<String, &'a Value>,
    classes: BTreeMap<&'a str, &'a Value>,
    volumes: BTreeMap<&'a str, &'a Value>,
    /// By node and driver.
    limits: BTreeMap<(&'a str, &'a str), u64>,
}

impl<'a> Storage<'a> {
    fn read(objects: &'a [Value]) -> Self {
        let of = |kind: &'static str| objects.iter().filter(move |one| text(one, "/kind") == kind);
        let named = |one: &'a Value| (text(one, "/metadata/name"), one);
        let key = |one: &'a Value| {
            let namespace = text(one, "/metadata/namespace");
            (format!("{namespace}/{}", text(one, "/metadata/name")), one)
        };
        let limits = of("CSINode").flat_map(|node| {
            list(node, "/spec/drivers").iter().filter_map(|driver| {
                let most = driver.pointer("/allocatable/count")?.as_u64()?;
                Some(((text(node, "/metadata/name"), text(driver, "/name")), most))
            })
        });
        Self {
            claims: of("PersistentVolumeClaim").map(key).collect(),
            classes: of("StorageClass").map(named).collect(),
            volumes: of("PersistentVolume").map(named).collect(),
            limits: limits.collect(),
        }
    }

    /// The claims a pod mounts, by name.
    fn mounted(&self, pod: &Value) -> Vec<(String, Option<&'a Value>)> {
        let namespace = text(pod, "/metadata/namespace");
        let claims = list(pod, "/spec/volumes").iter().map(|volume| {
            let name = text(volume, "/persistentVolumeClaim/claimName");
            format!("{namespace}/{name}")
        });
        claims
            .map(|name| {
                let claim = self.claims.get(&name).copied();
                (name, claim)
            })
            .collect()
    }

    /// Driver and claim of everything that comes with a pod.
    fn attached(&self, pod: &Value) -> Vec<(&'a str, String)> {
        let mounted = self.mounted(pod).into_iter();
        let driver = |(name, claim): (String, Option<&'a Value>)| {
            let claim = claim?;
            let volume = self.volumes.get(text(claim, "/spec/volumeName"));
            let driver = match volume {
                Some(volume) => text(volume, "/spec/csi/driver"),
                None => text(
                    self.classes.get(text(claim, "/spec/storageClassName"))?,
                    "/provisioner",
                ),
            };
            Some((driver, name))
        };
        mounted.filter_map(driver).collect()
    }

    fn reached(&self, pod: &Value, spot: &Spot, wrong: &mut Vec<String>) {
        for (name, claim) in self.mounted(pod) {
            let Some(claim) = claim else {
                wrong.push(format!("{name}: no such claim"));
                continue;
            };
            let class = self.classes.get(text(claim, "/spec/storageClassName"));
            let bound = !text(claim, "/spec/volumeName").is_empty();
            let Some(class) = class.filter(|_| !bound) else {
                continue;
            };
            let terms = list(class, "/allowedTopologies");
            if !terms.is_empty() && !terms.iter().any(|term| allows(term, spot)) {
                wrong.push(format!("{name}: cannot be made on {}", spot.name));
            }
        }
    }
}

fn allows(term: &Value, spot: &Spot) -> bool {
    list(term, "/matchLabelExpressions").iter().all(|one| {
        let has = spot.labels.get(text(one, "/key"));
        let values = list(one, "/values").iter();
        has.is_some_and(|has| values.into_iter().any(|value| value == has.as_str()))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::check::check;

    /// A node in zone a that takes two volumes and has one, and pods that mount these claims.
    fn objects(class: &str, pods: &[(&str, &[&str])]) -> Vec<Value> {
        let zone = json!([{ "matchLabelExpressions": [{ "key": "topology.kubernetes.io/zone", "values": ["b"] }] }]);
        let kind = |name: &str, topologies: Value| json!({ "kind": "StorageClass", "metadata": { "name": name }, "provisioner": "csi", "allowedTopologies": topologies });
        let claim = |name: &str| {
            json!({ "kind": "PersistentVolumeClaim", "metadata": { "name": name, "namespace": "d" },
                "spec": { "storageClassName": class } })
        };
        let mut old = claim("old");
        old["spec"]["volumeName"] = json!("pv");
        let pod = |name: &str, claims: &[&str]| {
            let volumes = claims.iter();
            let volumes: Vec<Value> = volumes
                .map(|claim| json!({ "persistentVolumeClaim": { "claimName": claim } }))
                .collect();
            json!({ "kind": "Pod", "metadata": { "name": name, "namespace": "d" },
                "spec": { "containers": [{}], "volumes": volumes } })
        };
        let mut running = pod("running", &["old"]);
        running["spec"]["nodeName"] = json!("n");
        let mut all = vec![
            kind("anywhere", json!([])),
            kind("in-b", zone),
            json!({ "kind": "PersistentVolume", "metadata": { "name": "pv" }, "spec": { "csi": { "driver": "csi" } } }),
            old,
            running,
            json!({ "kind": "Node", "metadata": { "name": "n", "labels": { "topology.kubernetes.io/zone": "a" } },
                "status": { "allocatable": { "pods": "9" } } }),
            json!({ "kind": "CSINode", "metadata": { "name": "n" },
                "spec": { "drivers": [{ "name": "csi", "allocatable": { "count": 2 } }] } }),
        ];
        all.extend(["one", "two"].map(claim));
        all.extend(pods.iter().map(|(name, claims)| pod(name, claims)));
        all
    }

    fn wrong(class: &str, pods: &[(&str, &[&str])]) -> Vec<String> {
        let on = |(name, _): &(&str, &[&str])| json!({ "pod": format!("d/{name}"), "node": "n" });
        let plan = json!({ "placements": pods.iter().map(on).collect::<Vec<_>>() });
        check(&objects(class, pods), &json!({}), &plan)
    }

    #[test]
    fn a_node_takes_as_many_volumes_as_it_says() {
        let fine: Vec<String> = Vec::new();
        assert_eq!(wrong("anywhere", &[("a", &["one"])]), fine);
        let found = wrong("anywhere", &[("a", &["one"]), ("b", &["two"])]);
        assert_eq!(found, ["n: 3 volumes of csi"]);
        assert_eq!(
            wrong("anywhere", &[("a", &["one", "two"])]),
            ["n: 3 volumes of csi"]
        );
    }

    #[test]
    fn a_claim_that_two_pods_share_is_attached_once() {
        let fine: Vec<String> = Vec::new();
        assert_eq!(wrong("anywhere", &[("a", &["one"]), ("b", &["one"])]), fine);
        assert_eq!(
            wrong("anywhere", &[("a", &["one"]), ("b", &["one", "old"])]),
            fine
        );
    }

    #[test]
    fn a_volume_is_made_only_where_its_class_can() {
        let found = wrong("in-b", &[("a", &["one"])]);
        assert_eq!(found, ["d/one: cannot be made on n"]);
        assert_eq!(
            wrong("anywhere", &[("a", &["none"])]),
            ["d/none: no such claim"]
        );
    }
}
