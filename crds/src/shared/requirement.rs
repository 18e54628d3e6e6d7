//! Which values of a label are allowed?

use std::borrow::Cow;

use kube::KubeSchema;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A label key: an optional DNS prefix and a name.
pub const KEY_PATTERN: &str = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*(\/))?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$";

/// A label value, which may be empty.
pub const VALUE_PATTERN: &str = r"^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$";

/// Rule and message, as `#[x_kube(validation = …)]` takes them.
pub type CelRule = (&'static str, &'static str);

pub const KEY_OUTSIDE_OUR_DOMAIN: CelRule = (
    r#"self in ["karpenter.sh/capacity-type", "karpenter.sh/nodepool"] || !self.find("^([^/]+)").endsWith("karpenter.sh")"#,
    r#"label domain "karpenter.sh" is restricted"#,
);
pub const KEY_NOT_HOSTNAME: CelRule = (
    r#"self != "kubernetes.io/hostname""#,
    r#"label "kubernetes.io/hostname" is restricted"#,
);
const KEY_NOT_NODEPOOL: CelRule = (
    r#"self != "karpenter.sh/nodepool""#,
    r#"label "karpenter.sh/nodepool" is restricted"#,
);

pub const IN_NEEDS_VALUES: CelRule = (
    "self.all(x, x.operator == 'In' ? x.values.size() != 0 : true)",
    "requirements with operator 'In' must have a value defined",
);
pub const NOT_IN_NEEDS_VALUES: CelRule = (
    "self.all(x, x.operator == 'NotIn' ? x.values.size() != 0 : true)",
    "requirements with operator 'NotIn' must have a value defined",
);
const ONE_INTEGER: &str = "self.all(x, (x.operator == 'Gt' || x.operator == 'Lt' || x.operator == 'Gte' || x.operator == 'Lte') ? (x.values.size() == 1 && int(x.values[0]) >= 0) : true)";
pub const COMPARISON_NEEDS_ONE_INTEGER: CelRule = (
    ONE_INTEGER,
    "requirements operator 'Gt', 'Lt', 'Gte', or 'Lte' must have a single positive integer value",
);
/// Upstream's overlay words the same rule without the last comma.
pub const OVERLAY_COMPARISON_NEEDS_ONE_INTEGER: CelRule = (
    ONE_INTEGER,
    "requirements operator 'Gt', 'Lt', 'Gte' or 'Lte' must have a single positive integer value",
);
pub const MIN_VALUES_WITHIN_VALUES: CelRule = (
    "self.all(x, (x.operator == 'In' && has(x.minValues)) ? x.values.size() >= x.minValues : true)",
    "requirements with 'minValues' must have at least that many values specified in the 'values' field",
);

/// One condition on a label of the nodes that may be bought.
#[derive(Clone, Debug, PartialEq, Eq, KubeSchema, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Requirement {
    /// Label the condition is about, for example `node.kubernetes.io/instance-type` or `topology.kubernetes.io/zone`.
    #[schemars(extend("maxLength" = 316, "pattern" = KEY_PATTERN))]
    #[x_kube(validation = KEY_OUTSIDE_OUR_DOMAIN, validation = KEY_NOT_HOSTNAME)]
    pub key: String,
    /// How the label relates to `values`.
    pub operator: Operator,
    /// Values the operator works on: at least one for `In`; exactly one whole number, not negative, for `Gt`, `Lt`,
    /// `Gte` and `Lte`; none for `Exists` and `DoesNotExist`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxLength" = 63, "pattern" = VALUE_PATTERN, "x-kubernetes-list-type" = "atomic"))]
    pub values: Option<Vec<String>>,
    /// How many different values of this label the instance types considered for one launch must still cover (1 to 50).
    /// Keeps a choice open, at the price of refusing launches that would narrow it. Alpha upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "one_to_fifty")]
    pub min_values: Option<i32>,
}

/// How a label relates to the listed values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, JsonSchema, Serialize, Deserialize)]
pub enum Operator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
    Gt,
    Lt,
    Gte,
    Lte,
}

impl Operator {
    /// Compares numbers, so it takes exactly one.
    pub fn compares(self) -> bool {
        matches!(self, Self::Gt | Self::Lt | Self::Gte | Self::Lte)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::In => "In",
            Self::NotIn => "NotIn",
            Self::Exists => "Exists",
            Self::DoesNotExist => "DoesNotExist",
            Self::Gt => "Gt",
            Self::Lt => "Lt",
            Self::Gte => "Gte",
            Self::Lte => "Lte",
        }
    }
}

/// Schema transform for lists in a pool: there the pool itself decides `karpenter.sh/nodepool`, so nobody may require it.
pub fn without_nodepool_key(list: &mut Schema) {
    let Some(Value::Array(rules)) =
        list.pointer_mut("/items/properties/key/x-kubernetes-validations")
    else {
        return;
    };
    let (rule, message) = KEY_NOT_NODEPOOL;
    rules.insert(1, json!({"rule": rule, "message": message}));
}

/// Upstream gives this number no format, so neither do we.
fn one_to_fifty(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "integer", "minimum": 1, "maximum": 50})
}

/// Marker for maps whose values are label values: `BTreeMap<String, LabelValue>` in `#[schemars(with = …)]`.
pub struct LabelValue;

impl JsonSchema for LabelValue {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "LabelValue".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "maxLength": 63, "pattern": VALUE_PATTERN})
    }
}
