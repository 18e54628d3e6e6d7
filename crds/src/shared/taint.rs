//! Which pods shall a node refuse from its first moment?

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::karpenter::template::TaintEffect;

/// A taint to put on nodes. Unlike one that is on a node already it has no time.
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
