//! Which images and flavors of OpenStack does a class choose?

#![allow(unreachable_pub, reason = "kube's derive repeats each struct inside a function")]

use std::collections::BTreeMap;

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Chooses images. All fields given must match.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[x_kube(validation = Rule::new("has(self.alias) || has(self.id) || has(self.name) || has(self.nameRegex) || has(self.tags) || has(self.properties) || has(self.owner) || has(self.visibility)").message("an image term must set at least one field; add for example name or remove the term"))]
#[x_kube(validation = Rule::new("!has(self.name) || !has(self.nameRegex)").message("set at most one of name and nameRegex; remove the other"))]
#[serde(rename_all = "camelCase")]
pub struct ImageSelectorTerm {
    /// Exact name; if no image has it, the `os_distro` or `os_family` property.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 60))]
    pub alias: Option<String>,
    /// Id of the image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 160))]
    pub id: Option<String>,
    /// Exact name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    pub name: Option<String>,
    /// Regular expression the whole name must match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    pub name_regex: Option<String>,
    /// Tags the image must carry, all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 20), inner(length(min = 1, max = 255)))]
    pub tags: Option<Vec<String>>,
    /// Properties the image must have, for example `os_version: "24.04"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minProperties" = 1, "maxProperties" = 20))]
    pub properties: Option<BTreeMap<String, String>>,
    /// Project that owns the image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 160))]
    pub owner: Option<String>,
    /// Visibility of the image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visibility: Option<Visibility>,
}

/// Who sees an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Visibility {
    #[serde(rename = "public")]
    Public,
    #[serde(rename = "private")]
    Private,
    #[serde(rename = "shared")]
    Shared,
    #[serde(rename = "community")]
    Community,
}

/// Chooses flavors. All fields given must match.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[x_kube(validation = Rule::new("has(self.id) || has(self.name) || has(self.nameRegex) || has(self.extraSpecs)").message("a flavor term must set at least one of id, name, nameRegex and extraSpecs; add one or remove the term"))]
#[x_kube(validation = Rule::new("!has(self.name) || !has(self.nameRegex)").message("set at most one of name and nameRegex; remove the other"))]
#[serde(rename_all = "camelCase")]
pub struct FlavorSelectorTerm {
    /// Id of the flavor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    pub id: Option<String>,
    /// Exact name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    pub name: Option<String>,
    /// Regular expression the whole name must match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    pub name_regex: Option<String>,
    /// Extra specs the flavor must have; the value `*` means any value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minProperties" = 1, "maxProperties" = 20))]
    pub extra_specs: Option<BTreeMap<String, String>>,
}
