//! Which other object does a class name?

#![allow(unreachable_pub, reason = "kube's derive repeats each struct inside a function")]

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

/// A Secret, all keys of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretRef {
    /// Name of the Secret.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Namespace of the Secret. The operator must be allowed to read Secrets there.
    #[schemars(length(min = 1, max = 63))]
    pub namespace: String,
}

/// One key of a Secret.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretKeyRef {
    /// Name of the Secret.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Namespace of the Secret. The operator must be allowed to read Secrets there.
    #[schemars(length(min = 1, max = 63))]
    pub namespace: String,
    /// Key inside the Secret. Absent means the documented key of the field that refers to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub key: Option<String>,
}

/// Something of the cloud, by id or by exact name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[x_kube(validation = Rule::new("has(self.id) != has(self.name)").message("set exactly one of id and name; remove the other"))]
#[serde(rename_all = "camelCase")]
pub struct NamedOrId {
    /// Id in the cloud.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 160))]
    pub id: Option<String>,
    /// Exact name in the cloud.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    pub name: Option<String>,
}

/// The NodeClass that says how the instances of a group are made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeClassRef {
    /// API group of the class.
    #[schemars(length(min = 1, max = 253))]
    pub group: String,
    /// Kind of the class.
    #[schemars(length(min = 1, max = 63))]
    pub kind: String,
    /// Name of the class.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
}
