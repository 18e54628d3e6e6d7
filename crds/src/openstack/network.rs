//! How is an instance on OpenStack connected?

#![allow(unreachable_pub, reason = "kube's derive repeats each struct inside a function")]

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::shared::selector::TaggedTerm;

/// One network port.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[x_kube(validation = Rule::new("has(self.network) || has(self.subnets)").message("a port must name its network or its subnets; add network or remove the port"))]
#[x_kube(validation = Rule::new("!has(self.portSecurity) || self.portSecurity || !(has(self.securityGroupSelectorTerms) || has(self.allowedAddressPairs))").message("security groups and address pairs need port security; remove them or portSecurity: false"))]
#[serde(rename_all = "camelCase")]
pub struct Port {
    /// Network of the port. Absent means the network of its subnets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<TaggedTerm>,
    /// Subnets to take one address each from. Absent means any subnet of the network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 10))]
    pub subnets: Option<Vec<TaggedTerm>>,
    /// Security groups of this port. Absent means those of the class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 30))]
    pub security_group_selector_terms: Option<Vec<TaggedTerm>>,
    /// Kind of the virtual NIC. Absent means normal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vnic_type: Option<VnicType>,
    /// Whether security groups and anti-spoofing apply. Absent means the network's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port_security: Option<bool>,
    /// Whether the port is the parent of a trunk. Absent means false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trunk: Option<bool>,
    /// Further addresses the instance may use on this port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 50))]
    pub allowed_address_pairs: Option<Vec<AddressPair>>,
    /// Tags of the port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 40), inner(length(min = 1, max = 60)))]
    pub tags: Option<Vec<String>>,
}

/// An address the instance may use besides its own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct AddressPair {
    /// Address or CIDR.
    #[schemars(length(min = 1, max = 64))]
    pub ip_address: String,
    /// MAC address. Absent means that of the port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 32))]
    pub mac_address: Option<String>,
}

/// Kind of a virtual NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum VnicType {
    #[serde(rename = "normal")]
    Normal,
    #[serde(rename = "direct")]
    Direct,
    #[serde(rename = "direct-physical")]
    DirectPhysical,
    #[serde(rename = "macvtap")]
    Macvtap,
    #[serde(rename = "baremetal")]
    Baremetal,
    #[serde(rename = "virtio-forwarder")]
    VirtioForwarder,
    #[serde(rename = "remote-managed")]
    RemoteManaged,
}

/// A public address for an instance.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct FloatingIp {
    /// Whether an instance gets one. Absent means false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// External networks to take it from; any term may match. Absent means the only external network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 10))]
    pub network_selector_terms: Option<Vec<TaggedTerm>>,
}
