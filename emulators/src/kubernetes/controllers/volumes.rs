//! Which volume does a claim get?
//!
//! A claim is bound to a volume that fits, or gets one made for it. Where the class waits for the first consumer,
//! that is done only after the scheduler named a node: in the annotation, as a real one does.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::driver::Controller;
use crate::kubernetes::object::Object;
use crate::kubernetes::reading::{list, open, strings, text};
use crate::kubernetes::scheduler::quantity;
use crate::kubernetes::store::{Store, key};

pub const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";
const ZONE: &str = "topology.kubernetes.io/zone";
const CLAIMS: &str = "persistentvolumeclaims";
const VOLUMES: &str = "persistentvolumes";

pub struct Volumes;

impl Controller for Volumes {
    fn kind(&self) -> &'static str {
        CLAIMS
    }

    fn children(&self) -> &'static [&'static str] {
        &[VOLUMES, "storageclasses.storage.k8s.io"]
    }

    /// A new volume or class may be what any unbound claim waits for.
    fn concerned(&self, store: &Store, _: &Object) -> Vec<String> {
        let all = store
            .list(CLAIMS, None)
            .filter(|claim| claim.meta.phase != "Bound");
        all.map(|claim| key(claim.namespace(), claim.name()))
            .collect()
    }

    fn reconcile(
        &mut self,
        store: &mut Store,
        object: &Arc<Object>,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let claim = object.value();
        if object.meta.deleted_at.is_some() || object.meta.phase == "Bound" {
            return None;
        }
        if object.meta.phase.is_empty() {
            let at = (object.namespace(), object.name());
            let _ = store.change(CLAIMS, at, now, |claim| {
                open(claim, "status")["phase"] = "Pending".into();
            });
        }
        let class = class_of(store, &claim);
        let waits = class.as_ref().is_some_and(|class| waits(class));
        let node = text(&claim["metadata"]["annotations"], SELECTED_NODE);
        let node = store.get("nodes", "", node).cloned();
        if waits && node.is_none() {
            return None;
        }
        if let Some(volume) = fitting(store, &claim, node.as_deref()) {
            bind(store, object, &volume, now);
            return None;
        }
        let class = class?;
        if text(&class, "provisioner") == "kubernetes.io/no-provisioner" {
            return None;
        }
        let made = made_for(object, &claim, (&class, node.as_deref()));
        if let Ok(volume) = store.create(VOLUMES, made, now) {
            bind(store, object, volume.name(), now);
        }
        None
    }
}

pub fn class_of(store: &Store, claim: &Value) -> Option<Arc<Value>> {
    let name = claim["spec"]["storageClassName"].as_str();
    let all = "storageclasses.storage.k8s.io";
    if let Some(name) = name {
        return Some(store.get(all, "", name)?.value());
    }
    let usual = "storageclass.kubernetes.io/is-default-class";
    let mut classes = store.list(all, None).map(|class| class.value());
    classes.find(|class| class["metadata"]["annotations"][usual] == "true")
}

pub fn waits(class: &Value) -> bool {
    text(class, "volumeBindingMode") == "WaitForFirstConsumer"
}

/// The smallest free volume that the claim could use, on that node if there is one.
pub fn fitting(store: &Store, claim: &Value, node: Option<&Object>) -> Option<String> {
    use crate::kubernetes::node_affinity::NodeNeeds;
    let asked = &claim["spec"];
    let named = text(asked, "volumeName");
    let wanted = quantity::units(&asked["resources"]["requests"]["storage"]);
    let modes = strings(&asked["accessModes"]);
    let (namespace, name) = (
        text(&claim["metadata"], "namespace"),
        text(&claim["metadata"], "name"),
    );
    let volumes = store.list(VOLUMES, None).filter(|volume| {
        if !named.is_empty() {
            return volume.name() == named;
        }
        let value = volume.value();
        let spec = &value["spec"];
        let reserved = &spec["claimRef"];
        let free = reserved.is_null()
            || text(reserved, "namespace") == namespace && text(reserved, "name") == name;
        let has_modes = modes
            .iter()
            .all(|mode| strings(&spec["accessModes"]).contains(mode));
        let needs = NodeNeeds::of_selector(&spec["nodeAffinity"]["required"]);
        free && has_modes
            && volume.meta.phase != "Released"
            && text(spec, "storageClassName") == text(asked, "storageClassName")
            && quantity::units(&spec["capacity"]["storage"]) >= wanted
            && node.is_none_or(|node| needs.met_by(node.name(), &node.meta.labels))
    });
    let best = volumes.min_by_key(|volume| {
        let size = quantity::units(&volume.value()["spec"]["capacity"]["storage"]);
        (size, volume.name().to_owned())
    });
    best.map(|volume| volume.name().to_owned())
}

fn bind(store: &mut Store, claim: &Object, volume: &str, now: Timestamp) {
    let written = store.change(VOLUMES, ("", volume), now, |volume| {
        open(volume, "spec")["claimRef"] = json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": claim.namespace(),
            "name": claim.name(), "uid": claim.meta.uid,
        });
        open(volume, "status")["phase"] = "Bound".into();
    });
    let Ok(written) = written else {
        return;
    };
    let spec = &written.value()["spec"];
    let _ = store.change(CLAIMS, (claim.namespace(), claim.name()), now, |claim| {
        open(claim, "spec")["volumeName"] = volume.into();
        claim["status"] = json!({
            "phase": "Bound", "accessModes": spec["accessModes"], "capacity": spec["capacity"],
        });
    });
}

/// Made by the class's driver, in the zone of the node if one is named.
fn made_for(object: &Object, claim: &Value, place: (&Value, Option<&Object>)) -> Value {
    let (class, node) = place;
    let name = format!("pvc-{}", object.meta.uid);
    let mut volume = json!({
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": claim["spec"]["resources"]["requests"]["storage"]},
            "accessModes": claim["spec"]["accessModes"],
            "storageClassName": class["metadata"]["name"],
            "persistentVolumeReclaimPolicy": "Delete",
            "csi": {"driver": class["provisioner"], "volumeHandle": object.meta.uid},
        },
    });
    let zone = node.and_then(|node| node.label(ZONE)).map(str::to_owned);
    let zone = zone.or_else(|| {
        let topologies = list(&class["allowedTopologies"]);
        let zones = topologies
            .iter()
            .flat_map(|one| list(&one["matchLabelExpressions"]));
        let zones = zones.filter(|one| text(one, "key") == ZONE);
        zones.flat_map(|one| strings(&one["values"])).min()
    });
    if let Some(zone) = zone {
        let expression = json!({"key": ZONE, "operator": "In", "values": [zone]});
        volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"] =
            json!([{"matchExpressions": [expression]}]);
    }
    volume
}
