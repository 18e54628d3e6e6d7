//! What has been found out about an OpenStackNodeClass? (the same in every version)

#![allow(unreachable_pub, reason = "kube's derive repeats each struct inside a function")]

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::shared::class_status::{Condition, NamedResource};

/// What the class resolved to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpenStackNodeClassStatus {
    /// What is known about the class; Ready sums it up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Vec<Condition>>,
    /// Images the terms resolved to, newest first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub images: Option<Vec<ImageStatus>>,
    /// Networks of the ports, in their order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub networks: Option<Vec<NamedResource>>,
    /// Security groups the terms resolved to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub security_groups: Option<Vec<NamedResource>>,
    /// Flavors the class may use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flavors: Option<FlavorStatus>,
    /// Availability zones the class may use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub availability_zones: Option<Vec<String>>,
    /// What the project may still create; absent or -1 means unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota: Option<QuotaStatus>,
}

/// An image that was found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImageStatus {
    /// Id of the image.
    pub id: String,
    /// Name of the image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Architecture of the image, as Kubernetes names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub architecture: Option<String>,
}

/// How many flavors were found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct FlavorStatus {
    /// Number of flavors that match.
    pub count: i32,
}

/// What is left of the project's quota.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct QuotaStatus {
    /// Instances left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instances: Option<i64>,
    /// vCPUs left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cores: Option<i64>,
    /// Memory left, in MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_mi_b: Option<i64>,
}
