//! From where can a pod's volumes be reached?

use std::collections::HashMap;

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim, Pod};
use k8s_openapi::api::storage::v1::{CSINode, StorageClass};
use kube::ResourceExt;
use planner::requirements::Text;
use planner::snapshot::Volume;
use planner::{Operator, Requirement, Why, labels};

/// What is known about storage, by name.
#[derive(Default)]
pub struct Storage {
    claims: HashMap<Text, Claim>,
    /// What could not be read keeps its reason, for the pods that need it.
    volumes: HashMap<Text, Result<Reach, Why>>,
    classes: HashMap<Text, Result<Class, Why>>,
}

struct Claim {
    volume: Option<Text>,
    class: Option<Text>,
    /// Why no pod can use it.
    broken: Option<&'static str>,
    completed: bool,
}

/// Where something can be reached from, and who attaches it.
#[derive(Clone)]
struct Reach {
    driver: Option<Text>,
    alternatives: Vec<Vec<Requirement>>,
    leaving: bool,
}

struct Class {
    reach: Reach,
    immediate: bool,
}

/// The claims a pod mounts, `namespace/name`.
pub fn mounted(pod: &Pod) -> Vec<Text> {
    let namespace = pod.namespace().unwrap_or_else(|| "default".to_owned());
    let volumes = pod
        .spec
        .iter()
        .flat_map(|spec| spec.volumes.iter().flatten());
    let name = |volume: &k8s_openapi::api::core::v1::Volume| {
        if let Some(claim) = &volume.persistent_volume_claim {
            return Some(claim.claim_name.clone());
        }
        volume.ephemeral.as_ref()?;
        Some(format!("{}-{}", pod.name_any(), volume.name))
    };
    volumes
        .filter_map(name)
        .map(|name| format!("{namespace}/{name}").into())
        .collect()
}

/// How many volumes of each driver a node takes; `None` is no limit.
pub type Limits = Vec<(Text, Option<u32>)>;

pub fn limits(node: &CSINode) -> Limits {
    let mut all: Limits = node
        .spec
        .drivers
        .iter()
        .map(|driver| {
            let count = driver.allocatable.as_ref().and_then(|all| all.count);
            let count = count.map(|count| u32::try_from(count).unwrap_or(0));
            (driver.name.as_str().into(), count)
        })
        .collect();
    all.sort();
    all
}

impl Storage {
    pub fn add_claim(&mut self, key: Text, claim: &PersistentVolumeClaim) {
        let spec = claim.spec.as_ref();
        let text = |field: Option<&String>| {
            let field = field.filter(|text| !text.is_empty());
            field.map(|text| text.as_str().into())
        };
        let phase = claim
            .status
            .as_ref()
            .and_then(|status| status.phase.as_deref());
        let broken = if claim.metadata.deletion_timestamp.is_some() {
            Some("is being deleted")
        } else {
            (phase == Some("Lost")).then_some("has lost its volume")
        };
        let kept = Claim {
            volume: text(spec.and_then(|spec| spec.volume_name.as_ref())),
            class: text(spec.and_then(|spec| spec.storage_class_name.as_ref())),
            broken,
            completed: claim
                .annotations()
                .contains_key("pv.kubernetes.io/bind-completed"),
        };
        self.claims.insert(key, kept);
    }

    /// The reason, too, if it cannot be read.
    pub fn add_volume(&mut self, volume: &PersistentVolume) -> Result<(), Why> {
        let read = reach_of_volume(volume);
        let outcome = read.as_ref().map(|_| ()).map_err(Clone::clone);
        self.volumes.insert(volume.name_any().into(), read);
        outcome
    }

    /// The reason, too, if it cannot be read.
    pub fn add_class(&mut self, class: &StorageClass) -> Result<(), Why> {
        let read = reach_of_class(class).map(|reach| Class {
            reach,
            immediate: class.volume_binding_mode.as_deref() == Some("Immediate"),
        });
        let outcome = read.as_ref().map(|_| ()).map_err(Clone::clone);
        self.classes.insert(class.name_any().into(), read);
        outcome
    }

    /// One mounted claim, or the reason why no pod can use it now.
    pub fn volume(&self, key: &Text) -> Result<Volume, Why> {
        let refused = |said: &str| {
            super::pod::unreadable(&format!("PersistentVolumeClaim {key}"), &said.to_owned())
        };
        let claim = self
            .claims
            .get(key)
            .ok_or_else(|| refused("there is none"))?;
        if let Some(broken) = claim.broken {
            return Err(refused(broken));
        }
        let reach = match (&claim.volume, &claim.class) {
            (Some(name), _) => {
                let volume = self.volumes.get(name);
                let volume = volume
                    .ok_or_else(|| refused(&format!("there is no PersistentVolume {name}")))?;
                let volume = volume.as_ref().map_err(Clone::clone)?;
                if volume.leaving {
                    return Err(refused("its PersistentVolume is being deleted"));
                }
                if !claim.completed {
                    return Err(refused("it is not bound yet"));
                }
                volume
            }
            (None, Some(name)) => {
                let class = self.classes.get(name);
                let class =
                    class.ok_or_else(|| refused(&format!("there is no StorageClass {name}")))?;
                let class = class.as_ref().map_err(Clone::clone)?;
                if class.immediate {
                    return Err(refused("its volume is made at once, and is not there yet"));
                }
                &class.reach
            }
            (None, None) => return Err(refused("it has neither volume nor storage class")),
        };
        Ok(Volume {
            claim: key.clone(),
            driver: reach.driver.clone(),
            alternatives: reach.alternatives.clone(),
        })
    }
}

fn reach_of_volume(volume: &PersistentVolume) -> Result<Reach, Why> {
    let spec = volume.spec.as_ref();
    let local = spec.is_some_and(|spec| spec.local.is_some() || spec.host_path.is_some());
    let required = spec
        .and_then(|spec| spec.node_affinity.as_ref())
        .and_then(|affinity| affinity.required.as_ref());
    let mut alternatives = Vec::new();
    for term in required
        .into_iter()
        .flat_map(|all| &all.node_selector_terms)
    {
        let raw: Vec<_> = term.match_expressions.iter().flatten().collect();
        // A pod that moves does not come back to the same host.
        let kept = raw
            .iter()
            .filter(|one| !(local && one.key == labels::HOSTNAME));
        let read: Result<Vec<Requirement>, Why> = kept
            .map(|one| {
                let values: Vec<&str> = one.values.iter().flatten().map(String::as_str).collect();
                asked(&one.key, &one.operator, &values)
            })
            .collect();
        if !raw.is_empty() {
            alternatives.push(read?);
        }
    }
    let driver = spec.and_then(|spec| spec.csi.as_ref());
    Ok(Reach {
        driver: driver.map(|csi| csi.driver.as_str().into()),
        alternatives,
        leaving: volume.metadata.deletion_timestamp.is_some(),
    })
}

fn reach_of_class(class: &StorageClass) -> Result<Reach, Why> {
    let mut alternatives = Vec::new();
    for term in class.allowed_topologies.iter().flatten() {
        let expressions = term.match_label_expressions.iter().flatten();
        let read: Result<Vec<Requirement>, Why> = expressions
            .map(|one| {
                let values: Vec<&str> = one.values.iter().map(String::as_str).collect();
                asked(&one.key, "In", &values)
            })
            .collect();
        alternatives.push(read?);
    }
    alternatives.retain(|term: &Vec<Requirement>| !term.is_empty());
    Ok(Reach {
        driver: Some(class.provisioner.as_str().into()),
        alternatives,
        leaving: false,
    })
}

fn asked(key: &str, operator: &str, values: &[&str]) -> Result<Requirement, Why> {
    let bad = |said: &str| super::pod::unreadable(&format!("topology on {key}"), &said.to_owned());
    let operator: Operator = operator.parse().map_err(|()| bad(operator))?;
    Requirement::new(key, operator, values).map_err(|error| bad(&error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, from_value, json};

    fn zonal(name: &str, operator: &str) -> PersistentVolume {
        let term = json!({ "matchExpressions": [{ "key": labels::ZONE, "operator": operator, "values": ["a"] }] });
        let object: Value = json!({ "metadata": { "name": name }, "spec": {
            "csi": { "driver": "csi.example.com", "volumeHandle": "x" },
            "nodeAffinity": { "required": { "nodeSelectorTerms": [term] } } } });
        from_value(object).unwrap()
    }

    fn bound_to(volume: &str) -> Storage {
        let mut storage = Storage::default();
        let claim = json!({ "metadata": { "name": "data", "annotations": { "pv.kubernetes.io/bind-completed": "yes" } },
            "spec": { "volumeName": volume } });
        storage.add_claim("d/data".into(), &from_value(claim).unwrap());
        storage
    }

    #[test]
    fn a_bound_claim_is_reached_from_where_its_volume_is() {
        let mut storage = bound_to("pv");
        storage.add_volume(&zonal("pv", "In")).unwrap();
        let volume = storage.volume(&"d/data".into()).unwrap();
        assert_eq!(volume.driver.as_deref(), Some("csi.example.com"));
        assert_eq!(volume.alternatives.len(), 1);
        assert!(volume.alternatives[0][0].has("a") && !volume.alternatives[0][0].has("b"));
    }

    #[test]
    fn a_volume_that_cannot_be_read_refuses_its_pods_and_is_not_everywhere() {
        let mut storage = bound_to("pv");
        assert!(storage.add_volume(&zonal("pv", "Around")).is_err());
        let why = storage.volume(&"d/data".into()).unwrap_err();
        assert_eq!(why.code(), "Unreadable");
    }

    #[test]
    fn a_claim_without_its_volume_or_class_is_a_reason() {
        let why = bound_to("gone").volume(&"d/data".into()).unwrap_err();
        assert!(crate::explain::sentence(&why).contains("there is no PersistentVolume gone"));
        assert!(Storage::default().volume(&"d/data".into()).is_err());
    }
}
