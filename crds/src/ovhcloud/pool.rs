//! How are nodes put into node pools of OVHcloud?

#![allow(unreachable_pub, reason = "kube's derive repeats each struct inside a function")]

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How nodes are put into node pools.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[x_kube(validation = Rule::new("!has(self.maxNodesPerPool) || (has(self.strategy) && self.strategy != 'PerNodeClaim')").message("with strategy PerNodeClaim every pool holds one node; remove maxNodesPerPool or set strategy to Shared"))]
#[serde(rename_all = "camelCase")]
pub struct Pool {
    /// How many nodes share a pool. Absent means PerNodeClaim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy: Option<PoolStrategy>,
    /// Beginning of the names of our pools. Absent means karpenter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 20))]
    #[x_kube(validation = Rule::new("self.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')").message("a pool name takes lower-case letters, digits and hyphens and begins with a letter; write for example karpenter"))]
    pub name_prefix: Option<String>,
    /// Most pools we create in the cluster. Absent means 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub max_pools: Option<i32>,
    /// Most nodes in a shared pool. Absent means 100, or 5 with anti-affinity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 999))]
    pub max_nodes_per_pool: Option<i32>,
}

/// How many nodes share a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PoolStrategy {
    /// Each node has a pool of its own: exact deletion, no mixing.
    PerNodeClaim,
    /// Nodes that look the same share a pool.
    Shared,
    /// PerNodeClaim until maxPools is near, then Shared.
    Auto,
}
