//! What may a NodePool say?

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::template::NodeClaimTemplate;
use crate::shared::conditions::Condition;
use crate::shared::duration::{GoDuration, NILLABLE_PATTERN};
use crate::shared::quantity::ResourceList;

/// What the pool buys, how much of it, and when its nodes may be disrupted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, CustomResource, KubeSchema)]
#[kube(
    group = "karpenter.sh",
    version = "v1",
    kind = "NodePool",
    plural = "nodepools",
    category = "karpenter",
    status = "NodePoolStatus",
    derive = "PartialEq",
    doc = "A pool of nodes that are bought when pods need them and removed when they do not.",
    scale(
        spec_replicas_path = ".spec.replicas",
        status_replicas_path = ".status.nodes"
    ),
    printcolumn(
        name = "NodeClass",
        type_ = "string",
        json_path = ".spec.template.spec.nodeClassRef.name"
    ),
    printcolumn(name = "Nodes", type_ = "string", json_path = ".status.nodes"),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status"
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp"
    ),
    printcolumn(
        name = "Weight",
        type_ = "integer",
        json_path = ".spec.weight",
        priority = 1
    ),
    printcolumn(
        name = "CPU",
        type_ = "string",
        json_path = ".status.resources.cpu",
        priority = 1
    ),
    printcolumn(
        name = "Memory",
        type_ = "string",
        json_path = ".status.resources.memory",
        priority = 1
    )
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("has(self.replicas) == has(oldSelf.replicas)")
        .message("Cannot transition NodePool between static (replicas set) and dynamic (replicas unset) provisioning modes"),
    validation = Rule::new("!has(self.replicas) || (!has(self.limits) || size(self.limits) == 0 || (size(self.limits) == 1 && 'nodes' in self.limits))")
        .message("only 'limits.nodes' is supported on static NodePools"),
    validation = Rule::new("!has(self.replicas) || !has(self.weight)")
        .message("'weight' is not supported on static NodePools")
)]
pub struct NodePoolSpec {
    /// What every node of the pool is stamped from.
    pub template: NodeClaimTemplate,
    /// When and how many nodes may be disrupted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = {"consolidateAfter": DEFAULT_CONSOLIDATE_AFTER}))]
    pub disruption: Option<Disruption>,
    /// The most this pool may ever add up to, by resource: `cpu`, `memory`, any other resource of a node, and `nodes`
    /// for their number. Unset is unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<ResourceList>,
    /// Pools of greater weight are tried first (1 to 100; unset counts as 0).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100))]
    pub weight: Option<i32>,
    /// Keeps exactly this many nodes instead of following the pods. A pool is static or dynamic for life: set this at
    /// creation or never. Alpha upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub replicas: Option<i64>,
}

/// What the API server writes where nobody set `consolidateAfter`.
pub const DEFAULT_CONSOLIDATE_AFTER: &str = "0s";

/// When and how many nodes of a pool may be disrupted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Disruption {
    /// How long no pod may have come to or gone from a node before it may be consolidated; `Never` switches
    /// consolidation off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = NILLABLE_PATTERN, "default" = DEFAULT_CONSOLIDATE_AFTER))]
    pub consolidate_after: Option<GoDuration>,
    /// Which nodes may be consolidated: only empty ones, also those whose pods fit elsewhere or on something cheaper, or
    /// the latter only where the saving is worth the disruption.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "WhenEmptyOrUnderutilized"))]
    pub consolidation_policy: Option<ConsolidationPolicy>,
    /// How many nodes may be disrupted at the same time; of all budgets that apply at a moment the smallest counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxItems" = 50, "x-kubernetes-list-type" = "atomic", "default" = [{"nodes": DEFAULT_BUDGET_NODES}]))]
    #[x_kube(
        validation = Rule::new("self.all(x, has(x.schedule) == has(x.duration))")
            .message("'schedule' must be set with 'duration'")
    )]
    pub budgets: Option<Vec<Budget>>,
}

/// Which nodes may be consolidated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum ConsolidationPolicy {
    WhenEmpty,
    #[default]
    WhenEmptyOrUnderutilized,
    Balanced,
}

/// What the API server writes where a budget does not say how many nodes.
pub const DEFAULT_BUDGET_NODES: &str = "10%";

/// How many nodes may be disrupted at the same time, for which reasons and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = nodes_required)]
pub struct Budget {
    /// A number of nodes, or a percentage of the pool's nodes (rounded up); `0` forbids disruption.
    #[serde(default = "default_budget_nodes")]
    #[schemars(extend("pattern" = "^((100|[0-9]{1,2})%|[0-9]+)$"))]
    pub nodes: String,
    /// Reasons the budget is about; unset means all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxItems" = 50, "x-kubernetes-list-type" = "set"))]
    pub reasons: Option<Vec<DisruptionReason>>,
    /// When the budget begins to apply: cron with five fields (minute, hour, day of month, month, day of week) in UTC, or
    /// one of `@hourly`, `@daily`, `@midnight`, `@weekly`, `@monthly`, `@yearly`, `@annually`. Goes with `duration`;
    /// without both the budget always applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = r"^(@(annually|yearly|monthly|weekly|daily|midnight|hourly))|((.+)\s(.+)\s(.+)\s(.+)\s(.+))$"))]
    pub schedule: Option<String>,
    /// How long the budget applies each time, in hours and minutes. Goes with `schedule`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = "^((([0-9]+(h|m))|([0-9]+h[0-9]+m))(0s)?)$"))]
    pub duration: Option<GoDuration>,
}

fn default_budget_nodes() -> String {
    DEFAULT_BUDGET_NODES.to_owned()
}

/// Upstream demands the field and defaults it too; serde's default alone would make it optional.
fn nodes_required(budget: &mut schemars::Schema) {
    budget.insert("required".to_owned(), serde_json::json!(["nodes"]));
}

/// Why a node is disrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum DisruptionReason {
    Underutilized,
    Empty,
    Drifted,
    Unhealthy,
}

/// What the pool adds up to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodePoolStatus {
    /// Resources of all nodes of the pool, summed up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<ResourceList>,
    /// How many nodes the pool has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = 0))]
    pub nodes: Option<i64>,
    /// Generation of the class the pool last saw; a new one means registration is judged afresh.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_class_observed_generation: Option<i64>,
    /// `Ready` sums up `ValidationSucceeded` and `NodeClassReady`; `NodeRegistrationHealthy` says whether nodes join.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Option<Vec<Condition>>,
}
