//! Which networks, offerings and templates of CloudStack does a class choose?

#![allow(unreachable_pub, reason = "kube's derive repeats each struct inside a function")]

use std::collections::BTreeMap;

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::shared::selector::LabelledTerm;

/// Network of a further NIC.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct AdditionalNetwork {
    /// Chooses the network; any term may match.
    #[schemars(length(min = 1, max = 10))]
    pub selector_terms: Vec<LabelledTerm>,
    /// Fixed address. Only sensible for a class that makes one instance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub ip_address: Option<String>,
}

/// Chooses service offerings. All fields given must match.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[x_kube(validation = Rule::new("has(self.id) || has(self.name) || has(self.nameRegex) || has(self.tags) || has(self.details) || has(self.hostTags) || has(self.storageTags)").message("an offering term must set at least one field; add for example nameRegex or remove the term"))]
#[x_kube(validation = Rule::new("!has(self.name) || !has(self.nameRegex)").message("set at most one of name and nameRegex; remove the other"))]
#[serde(rename_all = "camelCase")]
pub struct ServiceOfferingSelectorTerm {
    /// Id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 160))]
    pub id: Option<String>,
    /// Exact name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    pub name: Option<String>,
    /// Regular expression the whole name must match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    pub name_regex: Option<String>,
    /// CloudStack has no tags on offerings: matches its details, then hostTags and storageTags written as
    /// `key=value` or `key`; the value `*` means any value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minProperties" = 1, "maxProperties" = 20))]
    pub tags: Option<BTreeMap<String, String>>,
    /// Details the offering must have; the value `*` means any value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minProperties" = 1, "maxProperties" = 20))]
    pub details: Option<BTreeMap<String, String>>,
    /// Host tags the offering must have, all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 20), inner(length(min = 1, max = 255)))]
    pub host_tags: Option<Vec<String>>,
    /// Storage tags the offering must have, all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 20), inner(length(min = 1, max = 255)))]
    pub storage_tags: Option<Vec<String>>,
}

/// Chooses templates. All fields given must match.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[x_kube(validation = Rule::new("has(self.id) || has(self.name) || has(self.nameRegex) || has(self.tags) || has(self.osType)").message("a template term must set at least one of id, name, nameRegex, tags and osType; add one or remove the term"))]
#[x_kube(validation = Rule::new("!has(self.name) || !has(self.nameRegex)").message("set at most one of name and nameRegex; remove the other"))]
#[serde(rename_all = "camelCase")]
pub struct TemplateSelectorTerm {
    /// Id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 160))]
    pub id: Option<String>,
    /// Exact name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    pub name: Option<String>,
    /// Regular expression the whole name must match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    pub name_regex: Option<String>,
    /// Resource tags it must carry, all of them; the value `*` means any value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minProperties" = 1, "maxProperties" = 20))]
    pub tags: Option<BTreeMap<String, String>>,
    /// Operating system type, as CloudStack names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    pub os_type: Option<String>,
    /// Architecture, as CloudStack names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arch: Option<Arch>,
    /// Which templates to look among. Absent means executable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<TemplateFilter>,
}

/// Architecture of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Arch {
    #[serde(rename = "x86_64")]
    X86,
    #[serde(rename = "aarch64")]
    Arm,
}

/// Which templates to look among.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum TemplateFilter {
    #[serde(rename = "featured")]
    Featured,
    #[serde(rename = "self")]
    SelfOwned,
    #[serde(rename = "selfexecutable")]
    SelfExecutable,
    #[serde(rename = "sharedexecutable")]
    SharedExecutable,
    #[serde(rename = "executable")]
    Executable,
    #[serde(rename = "community")]
    Community,
}
