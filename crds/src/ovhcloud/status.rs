//! What has been found out about an OVHNodeClass? (the same in every version)

#![allow(unreachable_pub, reason = "kube's derive repeats each struct inside a function")]

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::shared::class_status::Condition;

/// What the class resolved to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct OvhNodeClassStatus {
    /// What is known about the class; Ready sums it up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Vec<Condition>>,
    /// Names of the flavors that may be bought.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discovered_flavors: Option<Vec<String>>,
    /// Flavors that may be bought.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flavors: Option<Vec<FlavorStatus>>,
    /// Availability zones that may be used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub availability_zones: Option<Vec<String>>,
    /// Node pools of the cluster that are ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pools: Option<Vec<PoolStatus>>,
    /// Managed Kubernetes cluster the class works on.
    #[serde(rename = "clusterID", default, skip_serializing_if = "Option::is_none")]
    pub cluster_id: Option<String>,
    /// Kubernetes version of the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_version: Option<String>,
    /// Region of the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
}

/// A flavor that was found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct FlavorStatus {
    /// Name of the flavor.
    pub name: String,
    /// Price per hour, a decimal string.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<String>,
    /// Zones that have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zones: Option<Vec<String>>,
}

/// A node pool of ours.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct PoolStatus {
    /// Id of the pool.
    pub id: String,
    /// Name of the pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Nodes in the pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<i32>,
}
