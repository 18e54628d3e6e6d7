//! What may a class tell the kubelet of its nodes?

#![allow(unreachable_pub, reason = "kube's derive repeats each struct inside a function")]

use std::collections::BTreeMap;

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::taint::Taint;

/// Settings of the kubelet. They also decide how much of an instance pods may use.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[x_kube(validation = Rule::new("!has(self.imageGCHighThresholdPercent) || !has(self.imageGCLowThresholdPercent) || self.imageGCHighThresholdPercent > self.imageGCLowThresholdPercent").message("imageGCHighThresholdPercent must be above imageGCLowThresholdPercent; raise the one or lower the other"))]
#[x_kube(validation = Rule::new("!has(self.evictionSoft) || self.evictionSoft.all(signal, has(self.evictionSoftGracePeriod) && signal in self.evictionSoftGracePeriod)").message("every signal of evictionSoft needs a grace period; add it to evictionSoftGracePeriod"))]
#[x_kube(validation = Rule::new("!has(self.evictionSoftGracePeriod) || self.evictionSoftGracePeriod.all(signal, has(self.evictionSoft) && signal in self.evictionSoft)").message("every signal of evictionSoftGracePeriod needs a threshold; add it to evictionSoft or remove the grace period"))]
#[serde(rename_all = "camelCase")]
pub struct Kubelet {
    /// Addresses of the cluster's DNS service.
    #[serde(rename = "clusterDNS", default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 10), inner(length(max = 63)))]
    pub cluster_dns: Option<Vec<String>>,
    /// Most pods on a node. Absent means 110.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub max_pods: Option<i32>,
    /// Most pods per vCPU; the smaller of this and maxPods counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub pods_per_core: Option<i32>,
    /// Kept for the operating system: quantities by cpu, memory, ephemeral-storage, pid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxProperties" = 10, "additionalProperties" = {"type": "string", "maxLength": 63}))]
    #[x_kube(validation = Rule::new("self.all(k, k in ['cpu', 'memory', 'ephemeral-storage', 'pid'])").message("only cpu, memory, ephemeral-storage and pid can be reserved; remove the other keys"))]
    #[x_kube(validation = Rule::new("self.all(k, isQuantity(self[k]))").message("a reserved amount is a quantity such as 100m or 512Mi; correct the value"))]
    pub system_reserved: Option<BTreeMap<String, String>>,
    /// Kept for the kubelet and the container runtime: quantities by cpu, memory, ephemeral-storage, pid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxProperties" = 10, "additionalProperties" = {"type": "string", "maxLength": 63}))]
    #[x_kube(validation = Rule::new("self.all(k, k in ['cpu', 'memory', 'ephemeral-storage', 'pid'])").message("only cpu, memory, ephemeral-storage and pid can be reserved; remove the other keys"))]
    #[x_kube(validation = Rule::new("self.all(k, isQuantity(self[k]))").message("a reserved amount is a quantity such as 100m or 512Mi; correct the value"))]
    pub kube_reserved: Option<BTreeMap<String, String>>,
    /// Thresholds at which pods are evicted at once, by signal, for example `memory.available: 100Mi`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxProperties" = 20, "additionalProperties" = {"type": "string", "maxLength": 63}))]
    pub eviction_hard: Option<BTreeMap<String, String>>,
    /// Thresholds at which pods are evicted after a grace period, by signal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxProperties" = 20, "additionalProperties" = {"type": "string", "maxLength": 63}))]
    pub eviction_soft: Option<BTreeMap<String, String>>,
    /// Grace period for each signal of evictionSoft, for example `memory.available: 1m30s`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxProperties" = 20, "additionalProperties" = {"type": "string", "maxLength": 63}))]
    pub eviction_soft_grace_period: Option<BTreeMap<String, String>>,
    /// Longest termination grace period, in seconds, at a soft eviction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eviction_max_pod_grace_period: Option<i32>,
    /// Disk use, in percent, above which unused images are removed.
    #[serde(rename = "imageGCHighThresholdPercent", default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100))]
    pub image_gc_high_threshold_percent: Option<i32>,
    /// Disk use, in percent, down to which unused images are removed.
    #[serde(rename = "imageGCLowThresholdPercent", default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100))]
    pub image_gc_low_threshold_percent: Option<i32>,
    /// Whether CPU limits are enforced by CFS quota. Absent means true.
    #[serde(rename = "cpuCFSQuota", default, skip_serializing_if = "Option::is_none")]
    pub cpu_cfs_quota: Option<bool>,
    /// How exclusive CPUs are given out. Absent means none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_manager_policy: Option<CpuManagerPolicy>,
    /// How devices and CPUs are aligned. Absent means none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topology_manager_policy: Option<TopologyManagerPolicy>,
    /// Feature gates of the kubelet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxProperties" = 50))]
    pub feature_gates: Option<BTreeMap<String, bool>>,
    /// Taints the kubelet registers with, besides those of the pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 20))]
    pub register_with_taints: Option<Vec<Taint>>,
}

/// How exclusive CPUs are given out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum CpuManagerPolicy {
    #[serde(rename = "none")]
    None,
    #[serde(rename = "static")]
    Static,
}

/// How devices and CPUs are aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum TopologyManagerPolicy {
    #[serde(rename = "none")]
    None,
    #[serde(rename = "best-effort")]
    BestEffort,
    #[serde(rename = "restricted")]
    Restricted,
    #[serde(rename = "single-numa-node")]
    SingleNumaNode,
}
