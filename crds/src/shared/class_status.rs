//! What does the status of a class say, whatever the cloud?

#![allow(unreachable_pub, reason = "kube's derive repeats each struct inside a function")]

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One aspect of an object's state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// Which aspect, for example `Ready`.
    #[schemars(length(max = 316))]
    pub type_: String,
    /// Whether it holds.
    pub status: ConditionStatus,
    /// Generation of the object this was decided for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub observed_generation: Option<i64>,
    /// When status last changed.
    #[schemars(extend("format" = "date-time"))]
    pub last_transition_time: String,
    /// Why, as one word for machines.
    #[schemars(length(max = 1024))]
    pub reason: String,
    /// Why, in a sentence for people.
    #[schemars(length(max = 32768))]
    pub message: String,
}

/// Whether a condition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ConditionStatus {
    True,
    False,
    Unknown,
}

/// Something of the cloud that was found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct NamedResource {
    /// Id in the cloud.
    pub id: String,
    /// Name in the cloud.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}
