//! Where can a pod reach its volumes?

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value, json};

use super::spot::Spot;
use crate::kubernetes::controllers::volumes::{class_of, fitting, waits};
use crate::kubernetes::node_affinity::NodeNeeds;
use crate::kubernetes::reading::{list, text};
use crate::kubernetes::store::Store;

#[derive(Debug, Default)]
pub(super) struct VolumeRules {
    /// Where the volumes it has can be reached.
    places: Vec<NodeNeeds>,
    /// Claims without a volume yet, with where their class can make one.
    pub(super) unbound: Vec<Unbound>,
    /// Volumes it would attach, by driver.
    attached: BTreeMap<String, BTreeSet<String>>,
}

#[derive(Debug)]
pub(super) struct Unbound {
    pub(super) claim: String,
    value: Arc<Value>,
    makes: bool,
    allowed: NodeNeeds,
}

impl VolumeRules {
    /// An error holds for every node.
    pub(super) fn of(store: &Store, namespace: &str, claims: &[String]) -> Result<Self, String> {
        let mut rules = Self::default();
        for name in claims {
            let claim = store.get("persistentvolumeclaims", namespace, name);
            let claim =
                claim.ok_or_else(|| format!("persistentvolumeclaim \"{name}\" not found"))?;
            if claim.meta.deleted_at.is_some() {
                return Err(format!("persistentvolumeclaim \"{name}\" is being deleted"));
            }
            let value = claim.value();
            if claim.meta.phase == "Bound" {
                rules.has(store, text(&value["spec"], "volumeName"));
                continue;
            }
            let class = class_of(store, &value).filter(|class| waits(class));
            let class = class.ok_or("pod has unbound immediate PersistentVolumeClaims")?;
            let driver = text(&class, "provisioner");
            let made = driver != "kubernetes.io/no-provisioner";
            if made {
                let here = rules.attached.entry(driver.to_owned()).or_default();
                here.insert(format!("{namespace}/{name}"));
            }
            rules.unbound.push(Unbound {
                claim: name.clone(),
                value,
                makes: made,
                allowed: allowed(&class),
            });
        }
        Ok(rules)
    }

    fn has(&mut self, store: &Store, volume: &str) {
        let Some(volume) = store.get("persistentvolumes", "", volume) else {
            return;
        };
        let value = volume.value();
        let spec = &value["spec"];
        self.places
            .push(NodeNeeds::of_selector(&spec["nodeAffinity"]["required"]));
        if let Some(driver) = spec["csi"]["driver"].as_str() {
            let here = self.attached.entry(driver.to_owned()).or_default();
            here.insert(volume.name().to_owned());
        }
    }

    pub(super) fn refuse(&self, store: &Store, spot: &Spot) -> Option<&'static str> {
        let reached = self
            .places
            .iter()
            .all(|place| place.met_by(&spot.name, &spot.labels));
        if !reached {
            return Some("node(s) had volume node affinity conflict");
        }
        let node = store.get("nodes", "", &spot.name).map(|node| &**node);
        for unbound in &self.unbound {
            let here = unbound.allowed.met_by(&spot.name, &spot.labels);
            if !here {
                return Some("node(s) didn't match the allowed topologies of the storage class");
            }
            if !unbound.makes && fitting(store, &unbound.value, node).is_none() {
                return Some("node(s) didn't find available persistent volumes to bind");
            }
        }
        self.too_many(store, spot)
            .then_some("node(s) exceed max volume count")
    }

    fn too_many(&self, store: &Store, spot: &Spot) -> bool {
        let Some(csi) = store.get("csinodes.storage.k8s.io", "", &spot.name) else {
            return false;
        };
        let csi = csi.value();
        self.attached.iter().any(|(driver, wanted)| {
            let mut drivers = list(&csi["spec"]["drivers"]).iter();
            let entry = drivers.find(|entry| text(entry, "name") == driver);
            let most = entry.and_then(|entry| entry["allocatable"]["count"].as_u64());
            most.is_some_and(|most| {
                let mut all = attached_to(store, spot, driver);
                all.extend(wanted.iter().cloned());
                all.len() as u64 > most
            })
        })
    }
}

fn attached_to(store: &Store, spot: &Spot, driver: &str) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for pod in spot.pods.iter().filter_map(|key| store.by_key("pods", key)) {
        let value = pod.value();
        for volume in list(&value["spec"]["volumes"]) {
            let claim = text(&volume["persistentVolumeClaim"], "claimName");
            let claim = store.get("persistentvolumeclaims", pod.namespace(), claim);
            let name = claim.map(|claim| text(&claim.value()["spec"], "volumeName").to_owned());
            let bound = name.and_then(|name| store.get("persistentvolumes", "", &name));
            if let Some(bound) = bound
                && bound.value()["spec"]["csi"]["driver"] == driver
            {
                all.insert(bound.name().to_owned());
            }
        }
    }
    all
}

/// `allowedTopologies` of a class, in the words of a node selector.
fn allowed(class: &Value) -> NodeNeeds {
    let topologies = list(&class["allowedTopologies"]);
    if topologies.is_empty() {
        return NodeNeeds::default();
    }
    let terms: Vec<Value> = topologies
        .iter()
        .map(|topology| {
            let expressions = list(&topology["matchLabelExpressions"]).iter();
            let expressions = expressions
                .map(|one| json!({"key": one["key"], "operator": "In", "values": one["values"]}));
            json!({"matchExpressions": expressions.collect::<Vec<_>>()})
        })
        .collect();
    NodeNeeds::of_selector(&json!({"nodeSelectorTerms": terms}))
}
