//! What could an OpenStackNodeClass say for the prototype (version v1openstack)?

#![allow(unreachable_pub, reason = "kube's derive repeats each struct inside a function")]

use std::collections::BTreeMap;

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

use super::status::OpenStackNodeClassStatus;

/// How instances on OpenStack are made, as the prototype had it.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "karpenter.k8s.openstack",
    kind = "OpenStackNodeClass",
    plural = "openstacknodeclasses",
    singular = "openstacknodeclass",
    shortname = "osnc",
    category = "karpenter",
    derive = "PartialEq",
    status = "OpenStackNodeClassStatus",
    version = "v1openstack",
    storage = false,
    deprecated = "v1openstack is deprecated, use v1: networks is ports, securityGroups is securityGroupSelectorTerms, disks is blockDevices, userData is userData.inline, floatingIP is floatingIP.enabled, kubeletConfiguration is kubelet",
    doc = "How instances on OpenStack are made, as the prototype had it."
)]
#[serde(rename_all = "camelCase")]
pub struct OpenStackNodeClassSpec {
    /// Name of the key pair for SSH.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_pair: Option<String>,
    /// Volumes of the instance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 10))]
    pub disks: Option<Vec<Disk>>,
    /// User data, handed over as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_data: Option<String>,
    /// Ignored, as it always was: imageSelectorTerms chooses the image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_ref: Option<String>,
    /// Chooses the image.
    #[schemars(length(min = 1, max = 30))]
    pub image_selector_terms: Vec<ImageSelectorTerm>,
    /// Networks by id or name, one port each.
    #[schemars(length(min = 1))]
    pub networks: Vec<String>,
    /// Security groups by id or name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub security_groups: Option<Vec<String>>,
    /// Whether the instance gets a floating IP.
    #[serde(rename = "floatingIP", default, skip_serializing_if = "Option::is_none")]
    pub floating_ip: Option<bool>,
    /// Settings of the kubelet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubelet_configuration: Option<KubeletConfiguration>,
    /// Merged under metadata, with lower precedence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<BTreeMap<String, String>>,
    /// Metadata of the instance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<BTreeMap<String, String>>,
}

/// A volume.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Disk {
    /// Size in GiB.
    #[schemars(range(min = 10))]
    pub size_gi_b: i32,
    /// Cinder volume type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume_type: Option<String>,
    /// Whether the instance boots from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot: Option<bool>,
}

/// Chooses an image.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImageSelectorTerm {
    /// Exact name, else distribution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 60))]
    pub alias: Option<String>,
    /// Id of the image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 160))]
    pub id: Option<String>,
}

/// Settings of the kubelet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct KubeletConfiguration {
    /// Addresses of the cluster's DNS service.
    #[serde(rename = "clusterDNS", default, skip_serializing_if = "Option::is_none")]
    pub cluster_dns: Option<Vec<String>>,
    /// Most pods on a node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub max_pods: Option<i32>,
    /// Most pods per vCPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub pods_per_core: Option<i32>,
    /// Kept for the operating system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_reserved: Option<BTreeMap<String, String>>,
    /// Kept for Kubernetes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kube_reserved: Option<BTreeMap<String, String>>,
    /// Thresholds of immediate eviction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eviction_hard: Option<BTreeMap<String, String>>,
    /// Thresholds of eviction after a grace period.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eviction_soft: Option<BTreeMap<String, String>>,
    /// Grace periods by signal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eviction_soft_grace_period: Option<BTreeMap<String, String>>,
    /// Longest grace period, in seconds, at a soft eviction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eviction_max_pod_grace_period: Option<i32>,
    /// Disk use above which images are removed.
    #[serde(rename = "imageGCHighThresholdPercent", default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100))]
    pub image_gc_high_threshold_percent: Option<i32>,
    /// Disk use down to which images are removed.
    #[serde(rename = "imageGCLowThresholdPercent", default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100))]
    pub image_gc_low_threshold_percent: Option<i32>,
    /// Whether CPU limits are enforced by CFS quota.
    #[serde(rename = "cpuCFSQuota", default, skip_serializing_if = "Option::is_none")]
    pub cpu_cfs_quota: Option<bool>,
}
