//! What may the operator do in the cluster, and why does it need that?
//!
//! One table; the role it ships is made from it, and a typed API is only to be had here.

use crds::karpenter::{NodeClaim, NodePool};
use crds::openstack::v1::OpenStackNodeClass;
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{
    ConfigMap, Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod, Secret,
};
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::storage::v1::{CSINode, StorageClass, VolumeAttachment};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{Api, Client};

/// One right, with its reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    pub group: &'static str,
    pub resource: &'static str,
    pub verbs: &'static [&'static str],
    /// Only these objects; empty: all of them.
    pub names: &'static [&'static str],
    pub place: Place,
    pub why: &'static str,
}

/// Where a right holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Cluster,
    /// The operator's own namespace.
    Own,
    /// The operator's own namespace and those named by --secret-namespaces.
    SecretNamespaces,
    Namespace(&'static str),
}

/// The CRD of the classes we rewrite at start.
pub const CLASS_DEFINITION: &str = "openstacknodeclasses.karpenter.k8s.openstack";

const READ: &[&str] = &["list", "watch"];

pub const GRANTS: &[Grant] = &[
    cluster("", "pods", READ, "pods that wait and pods that fill nodes"),
    cluster(
        "",
        "pods",
        &["delete"],
        "pods that would outlast the deadline of their node",
    ),
    cluster(
        "",
        "pods/eviction",
        &["create"],
        "draining respects disruption budgets",
    ),
    cluster(
        "",
        "nodes",
        &["get", "list", "watch", "patch", "delete"],
        "registration, taints, termination",
    ),
    cluster(
        "",
        "namespaces",
        &["get"],
        "the uid of kube-system identifies the cluster",
    )
    .only(&["kube-system"]),
    cluster(
        "",
        "namespaces",
        READ,
        "affinities of pods may select namespaces by their labels",
    ),
    cluster(
        "apps",
        "daemonsets",
        READ,
        "what lands on every node by itself",
    ),
    cluster(
        "policy",
        "poddisruptionbudgets",
        READ,
        "what holds a node back",
    ),
    cluster(
        "",
        "persistentvolumeclaims",
        READ,
        "which volumes a pod needs, and which stay on a node to its end",
    ),
    cluster(
        "",
        "persistentvolumes",
        READ,
        "from where the volumes of a pod are reached",
    ),
    cluster(
        "storage.k8s.io",
        "storageclasses",
        READ,
        "from where volumes that are not made yet will be reached",
    ),
    cluster(
        "storage.k8s.io",
        "csinodes",
        READ,
        "how many volumes a node takes",
    ),
    cluster(
        "storage.k8s.io",
        "volumeattachments",
        READ,
        "a node goes when the volumes of its pods are detached",
    ),
    cluster("karpenter.sh", "nodepools", READ, "what may be bought"),
    cluster(
        "karpenter.sh",
        "nodepools",
        &["patch"],
        "the hash of the template",
    ),
    cluster(
        "karpenter.sh",
        "nodepools/status",
        &["patch"],
        "conditions and totals",
    ),
    cluster(
        "karpenter.sh",
        "nodeclaims",
        &["get", "list", "watch", "create", "patch", "delete"],
        "nodes that are wanted, and their ledger",
    ),
    cluster(
        "karpenter.sh",
        "nodeclaims/status",
        &["patch"],
        "what became of them",
    ),
    cluster(
        "karpenter.k8s.openstack",
        "openstacknodeclasses",
        &["list", "watch", "patch"],
        "how instances are made; its finalizer; rewriting what an older version has stored",
    ),
    cluster(
        "karpenter.k8s.openstack",
        "openstacknodeclasses/status",
        &["patch"],
        "what it resolved to",
    ),
    cluster(
        "apiextensions.k8s.io",
        "customresourcedefinitions",
        &["get"],
        "in which versions classes are stored",
    )
    .only(&[CLASS_DEFINITION]),
    cluster(
        "apiextensions.k8s.io",
        "customresourcedefinitions/status",
        &["patch"],
        "forgetting versions in which no class is stored any more",
    )
    .only(&[CLASS_DEFINITION]),
    cluster(
        "events.k8s.io",
        "events",
        &["create", "patch"],
        "telling people",
    ),
    within(
        Place::SecretNamespaces,
        ("", "secrets"),
        &["get"],
        "credentials and user data that classes refer to",
    ),
    within(
        Place::Namespace("kube-system"),
        ("", "secrets"),
        &["create", "patch", "delete"],
        "one bootstrap token per claim",
    ),
    within(
        Place::Namespace("kube-public"),
        ("", "configmaps"),
        &["get"],
        "endpoint and CA for new nodes",
    )
    .only(&["cluster-info"]),
    within(
        Place::Own,
        ("coordination.k8s.io", "leases"),
        &["get", "create", "update"],
        "only one of us acts",
    ),
    within(
        Place::Own,
        ("", "namespaces"),
        &["get"],
        "joiner.dev/paused on it stops us",
    ),
];

const fn cluster(
    group: &'static str,
    resource: &'static str,
    verbs: &'static [&'static str],
    why: &'static str,
) -> Grant {
    within(Place::Cluster, (group, resource), verbs, why)
}

const fn within(
    place: Place,
    (group, resource): (&'static str, &'static str),
    verbs: &'static [&'static str],
    why: &'static str,
) -> Grant {
    Grant {
        group,
        resource,
        verbs,
        names: &[],
        place,
        why,
    }
}

impl Grant {
    const fn only(self, names: &'static [&'static str]) -> Self {
        Self { names, ..self }
    }
}

/// The way to typed APIs.
#[derive(Clone)]
pub struct Access {
    client: Client,
}

impl Access {
    pub fn new(client: Client) -> Self {
        Self { client }
    }

    pub fn pods(&self) -> Api<Pod> {
        Api::all(self.client.clone())
    }

    pub fn pods_in(&self, namespace: &str) -> Api<Pod> {
        Api::namespaced(self.client.clone(), namespace)
    }

    pub fn nodes(&self) -> Api<Node> {
        Api::all(self.client.clone())
    }

    pub fn namespaces(&self) -> Api<Namespace> {
        Api::all(self.client.clone())
    }

    pub fn daemon_sets(&self) -> Api<DaemonSet> {
        Api::all(self.client.clone())
    }

    pub fn budgets(&self) -> Api<PodDisruptionBudget> {
        Api::all(self.client.clone())
    }

    pub fn volume_claims(&self) -> Api<PersistentVolumeClaim> {
        Api::all(self.client.clone())
    }

    pub fn volumes(&self) -> Api<PersistentVolume> {
        Api::all(self.client.clone())
    }

    pub fn storage_classes(&self) -> Api<StorageClass> {
        Api::all(self.client.clone())
    }

    pub fn csi_nodes(&self) -> Api<CSINode> {
        Api::all(self.client.clone())
    }

    pub fn attachments(&self) -> Api<VolumeAttachment> {
        Api::all(self.client.clone())
    }

    pub fn pools(&self) -> Api<NodePool> {
        Api::all(self.client.clone())
    }

    pub fn claims(&self) -> Api<NodeClaim> {
        Api::all(self.client.clone())
    }

    pub fn classes(&self) -> Api<OpenStackNodeClass> {
        Api::all(self.client.clone())
    }

    pub fn definitions(&self) -> Api<CustomResourceDefinition> {
        Api::all(self.client.clone())
    }

    pub fn secrets_in(&self, namespace: &str) -> Api<Secret> {
        Api::namespaced(self.client.clone(), namespace)
    }

    pub fn config_maps_in(&self, namespace: &str) -> Api<ConfigMap> {
        Api::namespaced(self.client.clone(), namespace)
    }

    pub fn events_in(&self, namespace: &str) -> Api<Event> {
        Api::namespaced(self.client.clone(), namespace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::tests::sources;

    #[test]
    fn nobody_gets_a_typed_api_past_this_table() {
        let makers = ["Api::all", "Api::namespaced", "Api::default_namespaced"];
        let past = sources().into_iter().filter(|(path, text)| {
            !path.ends_with("access.rs") && makers.iter().any(|maker| text.contains(maker))
        });
        let past: Vec<_> = past.map(|(path, _)| path).collect();
        assert!(past.is_empty(), "use Access instead: {past:?}");
    }

    #[test]
    fn nothing_is_granted_twice_and_nothing_to_everybody() {
        let mut all: Vec<_> = GRANTS
            .iter()
            .flat_map(|one| {
                let key = (one.group, one.resource, format!("{:?}", one.place));
                one.verbs.iter().map(move |verb| (key.clone(), *verb))
            })
            .collect();
        let count = all.len();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), count);
        assert!(
            all.iter()
                .all(|((_, resource, _), verb)| { !resource.contains('*') && !verb.contains('*') })
        );
    }
}
