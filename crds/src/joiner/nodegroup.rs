//! What may a NodeGroup say, the group of nodes that Cluster Autoscaler scales?

#![allow(unreachable_pub, reason = "kube's derive repeats each struct inside a function")]

use std::collections::BTreeMap;

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::shared::class_status::Condition;
use crate::shared::reference::NodeClassRef;
use crate::shared::taint::Taint;

/// A group of equal nodes that Cluster Autoscaler scales through `joiner grpc`.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "joiner.dev",
    version = "v1alpha1",
    kind = "NodeGroup",
    plural = "nodegroups",
    singular = "nodegroup",
    shortname = "jng",
    category = "joiner",
    derive = "PartialEq",
    status = "NodeGroupStatus",
    printcolumn(name = "Ready", type_ = "string", json_path = ".status.conditions[?(@.type=='Ready')].status"),
    printcolumn(name = "Min", type_ = "integer", json_path = ".spec.minSize"),
    printcolumn(name = "Max", type_ = "integer", json_path = ".spec.maxSize"),
    printcolumn(name = "Target", type_ = "integer", json_path = ".status.targetSize"),
    printcolumn(name = "Type", type_ = "string", json_path = ".spec.instanceType"),
    printcolumn(name = "Zone", type_ = "string", json_path = ".spec.zone", priority = "1"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    doc = "A group of equal nodes that Cluster Autoscaler scales through `joiner grpc`."
)]
#[x_kube(validation = Rule::new("self.minSize <= self.maxSize").message("minSize must not be above maxSize; lower minSize or raise maxSize"))]
#[serde(rename_all = "camelCase")]
pub struct NodeGroupSpec {
    /// Fewest nodes Cluster Autoscaler leaves.
    #[schemars(range(min = 0, max = 5000))]
    pub min_size: i32,
    /// Most nodes Cluster Autoscaler asks for.
    #[schemars(range(min = 0, max = 5000))]
    pub max_size: i32,
    /// The NodeClass that says how instances are made.
    #[x_kube(validation = Rule::new("[self.group, self.kind] in [['karpenter.k8s.openstack', 'OpenStackNodeClass'], ['karpenter.k8s.cloudstack', 'CloudStackNodeClass'], ['karpenter.ovhcloud.sh', 'OVHNodeClass']]").message("nodeClassRef must name an OpenStackNodeClass (karpenter.k8s.openstack), a CloudStackNodeClass (karpenter.k8s.cloudstack) or an OVHNodeClass (karpenter.ovhcloud.sh); correct group and kind"))]
    #[x_kube(validation = Rule::new("self.group == oldSelf.group && self.kind == oldSelf.kind").message("a group cannot move to another cloud; create a new NodeGroup"))]
    pub node_class_ref: NodeClassRef,
    /// Instance type of every node: the name of a flavor or of a service offering.
    #[schemars(length(min = 1, max = 255))]
    pub instance_type: String,
    /// Zone of every node. Absent means any zone of the class; pods that ask for a zone then never make the
    /// group grow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub zone: Option<String>,
    /// Labels of the nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxProperties" = 50, "additionalProperties" = {"type": "string", "maxLength": 63}))]
    #[x_kube(validation = Rule::new("self.all(k, !k.startsWith('karpenter.sh/') && k != 'kubernetes.io/hostname')").message("labels under karpenter.sh/ and kubernetes.io/hostname are written by others; remove them"))]
    pub labels: Option<BTreeMap<String, String>>,
    /// Taints of the nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 50))]
    pub taints: Option<Vec<Taint>>,
    /// Taints the nodes start with and lose by themselves; Cluster Autoscaler does not see them in the
    /// template.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 50))]
    pub startup_taints: Option<Vec<Taint>>,
    /// What Cluster Autoscaler cannot learn from a group without nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<NodeTemplate>,
    /// Options of Cluster Autoscaler for this group. Absent means its own flags. On Cluster Autoscaler 1.35 and
    /// later any option set here makes it treat a starting node as unready (kubernetes/autoscaler#10245).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub autoscaler: Option<AutoscalerOptions>,
}

/// How a node of the group will look, where the catalog does not know.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeTemplate {
    /// Further or corrected resources, for example `nvidia.com/gpu: "1"`; quantities.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxProperties" = 20, "additionalProperties" = {"type": "string", "maxLength": 63}))]
    #[x_kube(validation = Rule::new("self.all(r, isQuantity(self[r]))").message("a resource is a quantity such as 1 or 16Gi, in quotes; correct the value"))]
    pub capacity: Option<BTreeMap<String, String>>,
    /// Annotations of the nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxProperties" = 50))]
    pub annotations: Option<BTreeMap<String, String>>,
}

/// Options of Cluster Autoscaler for one group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct AutoscalerOptions {
    /// Use below which a node may be removed, a decimal string between 0 and 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 8))]
    #[x_kube(validation = Rule::new(r#"self.matches('^(0(\\.[0-9]{1,4})?|1(\\.0{1,4})?)$')"#).message("a threshold is a decimal between 0 and 1 in quotes, for example 0.5; correct the value"))]
    pub scale_down_utilization_threshold: Option<String>,
    /// GPU use below which a node may be removed, a decimal string between 0 and 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 8))]
    #[x_kube(validation = Rule::new(r#"self.matches('^(0(\\.[0-9]{1,4})?|1(\\.0{1,4})?)$')"#).message("a threshold is a decimal between 0 and 1 in quotes, for example 0.5; correct the value"))]
    pub scale_down_gpu_utilization_threshold: Option<String>,
    /// How long a node must be unneeded before it is removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32), regex(pattern = r"^([0-9]+(s|m|h))+$"))]
    pub scale_down_unneeded_time: Option<String>,
    /// How long a node must be unready before it is removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32), regex(pattern = r"^([0-9]+(s|m|h))+$"))]
    pub scale_down_unready_time: Option<String>,
    /// How long a node may take to join.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32), regex(pattern = r"^([0-9]+(s|m|h))+$"))]
    #[x_kube(validation = Rule::new("duration(self) > duration('0s')").message("maxNodeProvisionTime of zero would have every starting node deleted; write for example 15m"))]
    pub max_node_provision_time: Option<String>,
    /// Whether the group has either no node or maxSize nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zero_or_max_node_scaling: Option<bool>,
    /// Whether DaemonSet pods count as use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ignore_daemon_sets_utilization: Option<bool>,
}

/// What is known about the group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeGroupStatus {
    /// How many nodes Cluster Autoscaler asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_size: Option<i32>,
    /// The instances of the group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instances: Option<Vec<InstanceStatus>>,
    /// What is known about the group; Ready sums it up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Vec<Condition>>,
}

/// One instance of the group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct InstanceStatus {
    /// Provider id, as the node will carry it.
    pub id: String,
    /// What it is doing.
    pub state: InstanceState,
    /// What went wrong, as one word for machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 255))]
    pub error_code: Option<String>,
    /// What the cloud said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub error_message: Option<String>,
    /// Whether it failed for lack of capacity or quota, so that Cluster Autoscaler tries another group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub out_of_resources: Option<bool>,
}

/// What an instance is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum InstanceState {
    Running,
    Creating,
    Deleting,
}
