//! What may a NodeClaim say?

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::template::{DEFAULT_EXPIRE_AFTER, NodeClassReference, Taint};
use crate::shared::conditions::{Condition, reason_optional};
use crate::shared::duration::{GoDuration, NILLABLE_PATTERN, PLAIN_PATTERN};
use crate::shared::quantity::ResourceList;
use crate::shared::requirement::{
    COMPARISON_NEEDS_ONE_INTEGER, IN_NEEDS_VALUES, MIN_VALUES_WITHIN_VALUES, Requirement,
};

/// The node that is wanted. Nothing in it changes after creation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, CustomResource, KubeSchema)]
#[kube(
    group = "karpenter.sh",
    version = "v1",
    kind = "NodeClaim",
    plural = "nodeclaims",
    category = "karpenter",
    status = "NodeClaimStatus",
    derive = "PartialEq",
    doc = "One node that was asked for: first a wish, then an instance in the cloud, then a node of the cluster.",
    printcolumn(
        name = "Type",
        type_ = "string",
        json_path = ".metadata.labels.node\\.kubernetes\\.io/instance-type"
    ),
    printcolumn(
        name = "Capacity",
        type_ = "string",
        json_path = ".metadata.labels.karpenter\\.sh/capacity-type"
    ),
    printcolumn(
        name = "Zone",
        type_ = "string",
        json_path = ".metadata.labels.topology\\.kubernetes\\.io/zone"
    ),
    printcolumn(name = "Node", type_ = "string", json_path = ".status.nodeName"),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status"
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp"
    ),
    printcolumn(
        name = "ImageID",
        type_ = "string",
        json_path = ".status.imageID",
        priority = 1
    ),
    printcolumn(
        name = "ID",
        type_ = "string",
        json_path = ".status.providerID",
        priority = 1
    ),
    printcolumn(
        name = "NodePool",
        type_ = "string",
        json_path = ".metadata.labels.karpenter\\.sh/nodepool",
        priority = 1
    ),
    printcolumn(
        name = "NodeClass",
        type_ = "string",
        json_path = ".spec.nodeClassRef.name",
        priority = 1
    ),
    printcolumn(
        name = "Drifted",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Drifted\")].status",
        priority = 1
    )
)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("self == oldSelf").message("spec is immutable"))]
pub struct NodeClaimSpec {
    /// Taints that stay on the node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub taints: Option<Vec<Taint>>,
    /// Taints the node starts with and somebody else removes; until then it is not initialized.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub startup_taints: Option<Vec<Taint>>,
    /// Which labels the node must be able to carry.
    #[schemars(extend("maxItems" = 100, "x-kubernetes-list-type" = "atomic"))]
    #[x_kube(
        validation = IN_NEEDS_VALUES,
        validation = COMPARISON_NEEDS_ONE_INTEGER,
        validation = MIN_VALUES_WITHIN_VALUES
    )]
    pub requirements: Vec<Requirement>,
    /// What the node must at least offer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<ResourceRequirements>,
    /// The class that says how the node is made in the cloud.
    pub node_class_ref: NodeClassReference,
    /// How long the node may drain before its remaining pods are removed by force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = PLAIN_PATTERN))]
    pub termination_grace_period: Option<GoDuration>,
    /// Age at which the node is replaced; `Never` lets it live.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = NILLABLE_PATTERN, "default" = DEFAULT_EXPIRE_AFTER))]
    pub expire_after: Option<GoDuration>,
}

/// What a node must at least offer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceRequirements {
    /// Amounts by resource; the node is initialized only when all of them are registered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<ResourceList>,
}

/// What became of the wish.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeClaimStatus {
    /// Name of the node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_name: Option<String>,
    /// The instance, as the node's `spec.providerID` names it.
    #[serde(
        default,
        rename = "providerID",
        skip_serializing_if = "Option::is_none"
    )]
    pub provider_id: Option<String>,
    /// Image the instance was made from.
    #[serde(default, rename = "imageID", skip_serializing_if = "Option::is_none")]
    pub image_id: Option<String>,
    /// Everything the instance has, as expected before the node says so itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<ResourceList>,
    /// What of it pods may use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocatable: Option<ResourceList>,
    /// `Ready` sums up `Launched`, `Registered` and `Initialized`; the others tell of disruption and removal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]),
        transform = reason_optional
    )]
    pub conditions: Option<Vec<Condition>>,
    /// When a pod last came to or went from the node; consolidation counts from here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_pod_event_time: Option<Time>,
}
