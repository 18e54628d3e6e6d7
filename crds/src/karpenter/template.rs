//! What is every node of a pool stamped from?

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::shared::duration::{GoDuration, NILLABLE_PATTERN, PLAIN_PATTERN};
use crate::shared::requirement::{
    COMPARISON_NEEDS_ONE_INTEGER, IN_NEEDS_VALUES, KEY_PATTERN, LabelValue,
    MIN_VALUES_WITHIN_VALUES, Requirement, without_nodepool_key,
};

/// What the claims of a pool are stamped from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeClaimTemplate {
    /// Labels and annotations every node of the pool gets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<TemplateMetadata>,
    /// What kind of nodes the pool may buy.
    pub spec: NodeClaimTemplateSpec,
}

/// Labels and annotations for nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct TemplateMetadata {
    /// Annotations for every claim and node of the pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-map-type" = "granular"))]
    pub annotations: Option<BTreeMap<String, String>>,
    /// Labels for every claim and node of the pool (at most 100). Pods may select them. Keys in the domain
    /// `karpenter.sh` are ours to set, except `karpenter.sh/capacity-type`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(
        with = "Option<BTreeMap<String, LabelValue>>",
        extend("maxProperties" = 100, "x-kubernetes-map-type" = "atomic")
    )]
    #[x_kube(
        validation = Rule::new(r#"self.all(x, x in ["karpenter.sh/capacity-type", "karpenter.sh/nodepool"] || !x.find("^([^/]+)").endsWith("karpenter.sh"))"#)
            .message(r#"label domain "karpenter.sh" is restricted"#),
        validation = Rule::new(r#"self.all(x, x != "karpenter.sh/nodepool")"#)
            .message(r#"label "karpenter.sh/nodepool" is restricted"#),
        validation = Rule::new(r#"self.all(x, x != "kubernetes.io/hostname")"#)
            .message(r#"label "kubernetes.io/hostname" is restricted"#)
    )]
    pub labels: Option<BTreeMap<String, String>>,
}

/// What kind of nodes a pool may buy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeClaimTemplateSpec {
    /// Taints that stay on the nodes: only pods that tolerate them are placed there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub taints: Option<Vec<Taint>>,
    /// Taints the nodes start with and somebody else removes when the node is prepared (a DaemonSet, say). They do not
    /// keep pods from being planned onto the node; the node counts as initialized once they are gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub startup_taints: Option<Vec<Taint>>,
    /// Which labels a node must be able to carry: this is where instance types, zones, architectures and capacity types
    /// are narrowed. All must hold; an empty list allows everything the class offers.
    #[schemars(extend("maxItems" = 100, "x-kubernetes-list-type" = "atomic"), transform = without_nodepool_key)]
    #[x_kube(
        validation = IN_NEEDS_VALUES,
        validation = COMPARISON_NEEDS_ONE_INTEGER,
        validation = MIN_VALUES_WITHIN_VALUES
    )]
    pub requirements: Vec<Requirement>,
    /// The class that says how nodes are made in the cloud. Group and kind stay for the life of the pool; another name
    /// replaces the nodes one by one.
    #[x_kube(
        validation = Rule::new("self.group == oldSelf.group").message("nodeClassRef.group is immutable"),
        validation = Rule::new("self.kind == oldSelf.kind").message("nodeClassRef.kind is immutable")
    )]
    pub node_class_ref: NodeClassReference,
    /// How long a node may drain before its remaining pods are removed by force. Unset waits for ever, so a disruption
    /// budget of a workload can hold a node for good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = PLAIN_PATTERN))]
    pub termination_grace_period: Option<GoDuration>,
    /// Age at which a node is replaced, disruption budgets notwithstanding; `Never` lets it live.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = NILLABLE_PATTERN, "default" = DEFAULT_EXPIRE_AFTER))]
    pub expire_after: Option<GoDuration>,
}

/// What the API server writes where nobody set `expireAfter`.
pub const DEFAULT_EXPIRE_AFTER: &str = "720h";

/// A mark on a node that repels pods which do not tolerate it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Taint {
    /// Name of the taint.
    #[schemars(extend("minLength" = 1, "pattern" = KEY_PATTERN))]
    pub key: String,
    /// Value of the taint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = KEY_PATTERN))]
    pub value: Option<String>,
    /// What happens to pods that do not tolerate the taint.
    pub effect: TaintEffect,
    /// When the taint was put on the node; set by Kubernetes for `NoExecute`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_added: Option<Time>,
}

/// What a taint does to pods that do not tolerate it.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum TaintEffect {
    NoSchedule,
    PreferNoSchedule,
    NoExecute,
}

impl TaintEffect {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoSchedule => "NoSchedule",
            Self::PreferNoSchedule => "PreferNoSchedule",
            Self::NoExecute => "NoExecute",
        }
    }
}

/// Names a class object; the version is not part of the name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeClassReference {
    /// API group of the class, for example `karpenter.k8s.openstack`.
    #[schemars(extend("pattern" = "^[^/]*$"))]
    #[x_kube(validation = Rule::new("self != ''").message("group may not be empty"))]
    pub group: String,
    /// Kind of the class, for example `OpenStackNodeClass`.
    #[x_kube(validation = Rule::new("self != ''").message("kind may not be empty"))]
    pub kind: String,
    /// Name of the class.
    #[x_kube(validation = Rule::new("self != ''").message("name may not be empty"))]
    pub name: String,
}
