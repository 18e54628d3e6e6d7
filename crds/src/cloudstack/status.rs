//! What has been found out about a CloudStackNodeClass? (the same in every version)

#![allow(unreachable_pub, reason = "kube's derive repeats each struct inside a function")]

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::shared::class_status::{Condition, NamedResource};

/// What the class resolved to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct CloudStackNodeClassStatus {
    /// Networks the terms resolved to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub networks: Option<Vec<NetworkStatus>>,
    /// Service offerings that may be bought.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_offerings: Option<Vec<ServiceOfferingStatus>>,
    /// Templates the terms resolved to, newest first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub templates: Option<Vec<TemplateStatus>>,
    /// What is known about the class; Ready sums it up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Vec<Condition>>,
    /// Zones the terms resolved to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zones: Option<Vec<NamedResource>>,
    /// Security groups the terms resolved to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub security_groups: Option<Vec<NamedResource>>,
}

/// A network that was found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkStatus {
    /// Id of the network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Name of the network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Zone of the network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// Type of the network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub type_: Option<String>,
}

/// A service offering that was found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServiceOfferingStatus {
    /// Id of the offering.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Name of the offering, as CloudStack writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// vCPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_number: Option<i32>,
    /// Speed of one vCPU in MHz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_speed: Option<i32>,
    /// Memory in MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<i64>,
    /// Network rate in Mbit/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_rate: Option<i32>,
    /// GPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_count: Option<i32>,
    /// Name of the GPU card.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_card: Option<String>,
    /// Name of the vGPU profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vgpu_profile: Option<String>,
}

/// A template that was found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct TemplateStatus {
    /// Id of the template.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Name of the template.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Operating system type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub os_type: Option<String>,
    /// Zone of the template.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// Architecture, as Kubernetes names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arch: Option<String>,
}
