//! How does a class choose something that exists in the cloud?
//!
//! Fields of one term must all match, any term may match.

#![allow(unreachable_pub, reason = "kube's derive repeats each struct inside a function")]

use std::collections::BTreeMap;

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

/// Chooses OpenStack networks, subnets or security groups. All fields given must match.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[x_kube(validation = Rule::new("has(self.id) || has(self.name) || has(self.tags)").message("a term must set at least one of id, name and tags; add one or remove the term"))]
#[serde(rename_all = "camelCase")]
pub struct TaggedTerm {
    /// Id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 160))]
    pub id: Option<String>,
    /// Exact name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    pub name: Option<String>,
    /// Tags it must carry, all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 20), inner(length(min = 1, max = 255)))]
    pub tags: Option<Vec<String>>,
}

/// Chooses CloudStack networks. All fields given must match.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[x_kube(validation = Rule::new("has(self.id) || has(self.name) || has(self.tags)").message("a term must set at least one of id, name and tags; add one or remove the term"))]
#[serde(rename_all = "camelCase")]
pub struct LabelledTerm {
    /// Id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 160))]
    pub id: Option<String>,
    /// Exact name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    pub name: Option<String>,
    /// Resource tags it must carry, all of them; the value `*` means any value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minProperties" = 1, "maxProperties" = 20))]
    pub tags: Option<BTreeMap<String, String>>,
}

/// Chooses by id or name; if both are given both must match.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[x_kube(validation = Rule::new("has(self.id) || has(self.name)").message("a term must set at least one of id and name; add one or remove the term"))]
#[serde(rename_all = "camelCase")]
pub struct NamedTerm {
    /// Id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 160))]
    pub id: Option<String>,
    /// Exact name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    pub name: Option<String>,
}
