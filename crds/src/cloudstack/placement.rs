//! Where on CloudStack does an instance run, and as whose?

#![allow(unreachable_pub, reason = "kube's derive repeats each struct inside a function")]

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Keeps instances apart or together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[x_kube(validation = Rule::new("!has(self.ids) || !(has(self.type) || has(self.perNodePool))").message("existing affinity groups keep their own type; remove type and perNodePool, or ids"))]
#[serde(rename_all = "camelCase")]
pub struct AffinityGroup {
    /// What the groups we create ask of the allocator. Absent means non-strict host anti-affinity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub type_: Option<AffinityType>,
    /// Whether each pool gets a group of its own. Absent means true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_node_pool: Option<bool>,
    /// Ids of existing groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 10), inner(length(min = 1, max = 160)))]
    pub ids: Option<Vec<String>>,
}

/// What an affinity group asks of the allocator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum AffinityType {
    #[serde(rename = "host anti-affinity")]
    HostAntiAffinity,
    #[serde(rename = "host affinity")]
    HostAffinity,
    #[serde(rename = "non-strict host anti-affinity")]
    SoftHostAntiAffinity,
    #[serde(rename = "non-strict host affinity")]
    SoftHostAffinity,
}

/// Account of a domain.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Account {
    /// Name of the account.
    #[schemars(length(min = 1, max = 255))]
    pub name: String,
    /// Id of its domain.
    #[serde(rename = "domainID")]
    #[schemars(length(min = 1, max = 160))]
    pub domain_id: String,
}

/// Firmware of an instance.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[x_kube(validation = Rule::new("!has(self.mode) || self.mode != 'SECURE' || (has(self.type) && self.type == 'UEFI')").message("secure boot needs UEFI; set boot.type to UEFI or remove mode"))]
#[serde(rename_all = "camelCase")]
pub struct Boot {
    /// Firmware. Absent means the template's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub type_: Option<BootType>,
    /// Mode of the firmware. Absent means the template's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<BootMode>,
}

/// Firmware.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum BootType {
    #[serde(rename = "BIOS")]
    Bios,
    #[serde(rename = "UEFI")]
    Uefi,
}

/// Mode of the firmware.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum BootMode {
    #[serde(rename = "LEGACY")]
    Legacy,
    #[serde(rename = "SECURE")]
    Secure,
}

/// Whether a destroyed instance is expunged at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Expunge {
    /// If the account may.
    Auto,
    /// Always; a class whose account may not is not ready.
    Always,
    /// Never; CloudStack does it later.
    Never,
}

/// Sizes to offer for service offerings without a fixed size.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[x_kube(validation = Rule::new("has(self.cpu) && has(self.memoryGiB)").message("a custom offering needs both cpu and memoryGiB; add the missing one"))]
#[serde(rename_all = "camelCase")]
pub struct CustomOffering {
    /// vCPUs to offer: powers of two within the range, and its ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<SizeRange>,
    /// Memory to offer, in GiB: powers of two within the range, and its ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_gi_b: Option<SizeRange>,
}

/// A range of whole numbers, ends included.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[x_kube(validation = Rule::new("!has(self.min) || self.min <= self.max").message("min must not be above max; lower min or raise max"))]
#[serde(rename_all = "camelCase")]
pub struct SizeRange {
    /// Smallest. Absent means 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub min: Option<i64>,
    /// Largest.
    #[schemars(range(min = 1))]
    pub max: i64,
}
