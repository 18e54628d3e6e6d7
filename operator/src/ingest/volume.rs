//! From where can a pod's volumes be reached?

use std::collections::HashMap;

use k8s_openapi::api::core::v1::{
    PersistentVolume, PersistentVolumeClaim, PersistentVolumeSpec, Pod,
};
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

/// A claim a pod mounts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mounted {
    /// `namespace/name`.
    pub claim: Text,
    /// Made for this pod and gone with it.
    pub ephemeral: bool,
}

/// The claims a pod mounts.
pub fn mounted(pod: &Pod) -> Vec<Mounted> {
    let namespace = pod.namespace().unwrap_or_else(|| "default".to_owned());
    let volumes = pod
        .spec
        .iter()
        .flat_map(|spec| spec.volumes.iter().flatten());
    let name = |volume: &k8s_openapi::api::core::v1::Volume| {
        if let Some(claim) = &volume.persistent_volume_claim {
            return Some((claim.claim_name.clone(), false));
        }
        volume.ephemeral.as_ref()?;
        Some((format!("{}-{}", pod.name_any(), volume.name), true))
    };
    let mounted = |(name, ephemeral)| Mounted {
        claim: format!("{namespace}/{name}").into(),
        ephemeral,
    };
    volumes.filter_map(name).map(mounted).collect()
}

/// The CSI driver that does the work of a plugin that was once part of Kubernetes.
fn migrated(plugin: &str) -> &str {
    match plugin {
        "kubernetes.io/cinder" => "cinder.csi.openstack.org",
        "kubernetes.io/aws-ebs" => "ebs.csi.aws.com",
        "kubernetes.io/gce-pd" => "pd.csi.storage.gke.io",
        "kubernetes.io/azure-disk" => "disk.csi.azure.com",
        "kubernetes.io/azure-file" => "file.csi.azure.com",
        "kubernetes.io/vsphere-volume" => "csi.vsphere.vmware.com",
        "kubernetes.io/portworx-volume" => "pxd.portworx.com",
        plugin => plugin,
    }
}

/// Who attaches a volume; network file systems and host paths nobody has to.
fn driver_of(spec: &PersistentVolumeSpec) -> Option<&str> {
    let plugins = [
        (spec.cinder.is_some(), "kubernetes.io/cinder"),
        (
            spec.aws_elastic_block_store.is_some(),
            "kubernetes.io/aws-ebs",
        ),
        (spec.gce_persistent_disk.is_some(), "kubernetes.io/gce-pd"),
        (spec.azure_disk.is_some(), "kubernetes.io/azure-disk"),
        (spec.azure_file.is_some(), "kubernetes.io/azure-file"),
        (
            spec.vsphere_volume.is_some(),
            "kubernetes.io/vsphere-volume",
        ),
        (
            spec.portworx_volume.is_some(),
            "kubernetes.io/portworx-volume",
        ),
    ];
    if let Some(csi) = &spec.csi {
        return Some(&csi.driver);
    }
    let used = plugins.into_iter().find(|(used, _)| *used);
    used.map(|(_, plugin)| migrated(plugin))
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
    Ok(Reach {
        driver: spec.and_then(driver_of).map(Text::from),
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
        driver: Some(migrated(&class.provisioner).into()),
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
mod tests;
