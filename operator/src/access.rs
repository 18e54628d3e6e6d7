//! What may the operator do in the cluster, and why does it need that?
//!
//! One table; the role it ships is made from it, and a typed API is only to be had here.

use crds::karpenter::{NodeClaim, NodePool};
use crds::openstack::v1::OpenStackNodeClass;
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Node, PersistentVolumeClaim, Pod, Secret};
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::storage::v1::VolumeAttachment;
use kube::{Api, Client};

/// One right, with its reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    pub group: &'static str,
    pub resource: &'static str,
    pub verbs: &'static [&'static str],
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
        "the uid of kube-system identifies the cluster; joiner.dev/paused on our own stops us",
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
        "which volumes belong to pods that stay on a node to its end",
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
        "how instances are made; its finalizer",
    ),
    cluster(
        "karpenter.k8s.openstack",
        "openstacknodeclasses/status",
        &["patch"],
        "what it resolved to",
    ),
    cluster(
        "events.k8s.io",
        "events",
        &["create", "patch"],
        "telling people",
    ),
    Grant {
        group: "",
        resource: "secrets",
        verbs: &["get"],
        place: Place::SecretNamespaces,
        why: "credentials and user data that classes refer to",
    },
    Grant {
        group: "",
        resource: "secrets",
        verbs: &["create", "patch", "delete"],
        place: Place::Namespace("kube-system"),
        why: "one bootstrap token per claim",
    },
    Grant {
        group: "",
        resource: "configmaps",
        verbs: &["get"],
        place: Place::Namespace("kube-public"),
        why: "cluster-info: endpoint and CA for new nodes",
    },
    Grant {
        group: "coordination.k8s.io",
        resource: "leases",
        verbs: &["get", "create", "update"],
        place: Place::Own,
        why: "only one of us acts",
    },
];

const fn cluster(
    group: &'static str,
    resource: &'static str,
    verbs: &'static [&'static str],
    why: &'static str,
) -> Grant {
    Grant {
        group,
        resource,
        verbs,
        place: Place::Cluster,
        why,
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
