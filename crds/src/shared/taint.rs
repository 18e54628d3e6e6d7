//! Which pods may a node refuse?

#![allow(unreachable_pub, reason = "kube's derive repeats each struct inside a function")]

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A taint as Kubernetes knows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Taint {
    /// Key of the taint.
    #[schemars(length(min = 1, max = 316))]
    pub key: String,
    /// Value of the taint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub value: Option<String>,
    /// What happens to pods that do not tolerate it.
    pub effect: TaintEffect,
}

/// What a taint does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum TaintEffect {
    NoSchedule,
    PreferNoSchedule,
    NoExecute,
}
