//! What may a NodeOverlay say?

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::shared::conditions::Condition;
use crate::shared::quantity::ResourceList;
use crate::shared::requirement::{
    IN_NEEDS_VALUES, KEY_NOT_HOSTNAME, KEY_OUTSIDE_OUR_DOMAIN, KEY_PATTERN, NOT_IN_NEEDS_VALUES,
    OVERLAY_COMPARISON_NEEDS_ONE_INTEGER, Operator, VALUE_PATTERN,
};

/// Which instance types are seen differently, and how.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, CustomResource, KubeSchema,
)]
#[kube(
    group = "karpenter.sh",
    version = "v1alpha1",
    kind = "NodeOverlay",
    plural = "nodeoverlays",
    shortname = "overlays",
    category = "karpenter",
    status = "NodeOverlayStatus",
    derive = "PartialEq",
    doc = "Corrects what the planner believes about instance types: their price, or resources the cloud does not tell of.",
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
    )
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("!has(self.price) || !has(self.priceAdjustment)")
        .message("cannot set both 'price' and 'priceAdjustment'")
)]
pub struct NodeOverlaySpec {
    /// Which instance types and offerings this is about; all conditions must hold.
    #[schemars(extend("maxItems" = 100, "x-kubernetes-list-type" = "atomic"))]
    #[x_kube(
        validation = NOT_IN_NEEDS_VALUES,
        validation = IN_NEEDS_VALUES,
        validation = OVERLAY_COMPARISON_NEEDS_ONE_INTEGER
    )]
    pub requirements: Vec<OverlayRequirement>,
    /// Adds to the price per hour: a signed amount (`+0.5`, `-0.01`) or a signed percentage (`+10%`, `-100%`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = r"^(([+-]{1}(\d*\.?\d+))|(\+{1}\d*\.?\d+%)|(^(-\d{1,2}(\.\d+)?%)$)|(-100%))$"))]
    pub price_adjustment: Option<String>,
    /// Replaces the price per hour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = r"^\d+(\.\d+)?$"))]
    pub price: Option<String>,
    /// Resources the node will have on top of what the cloud tells; not `cpu`, `memory`, `ephemeral-storage`, `pods`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(
        validation = Rule::new("self.all(x, !(x in ['cpu', 'memory', 'ephemeral-storage', 'pods']))")
            .message("invalid resource restricted")
    )]
    pub capacity: Option<ResourceList>,
    /// Where two overlays touch the same thing, the greater weight wins (1 to 10000; unset counts as 0).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10000))]
    pub weight: Option<i32>,
}

/// One condition on a label of the instance types an overlay is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct OverlayRequirement {
    /// Label the condition is about.
    #[schemars(extend("maxLength" = 316, "pattern" = KEY_PATTERN))]
    #[x_kube(validation = KEY_OUTSIDE_OUR_DOMAIN, validation = KEY_NOT_HOSTNAME)]
    pub key: String,
    /// How the label relates to `values`.
    pub operator: Operator,
    /// Values the operator works on: at least one for `In` and `NotIn`; exactly one whole number, not negative, for
    /// `Gt`, `Lt`, `Gte` and `Lte`; none for `Exists` and `DoesNotExist`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxLength" = 63, "pattern" = VALUE_PATTERN, "x-kubernetes-list-type" = "atomic"))]
    pub values: Option<Vec<String>>,
}

/// Whether the overlay is in force.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeOverlayStatus {
    /// `Ready` follows `ValidationSucceeded`, which tells of conflicts with other overlays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Option<Vec<Condition>>,
}
