//! What does an object's status say about itself, aspect by aspect?

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

const TYPE_PATTERN: &str = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$";
const REASON_PATTERN: &str = r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$";
const REASON_OR_EMPTY_PATTERN: &str = r"^([A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?|)$";

/// One aspect of an object's state, with the time it last changed.
///
/// Read leniently: a missing reason or message is empty, as it is in Go.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = every_field_written)]
pub struct Condition {
    /// Which aspect, in CamelCase, for example `Ready`.
    #[serde(rename = "type")]
    #[schemars(extend("maxLength" = 316, "pattern" = TYPE_PATTERN))]
    pub type_: String,
    /// Whether it holds.
    pub status: ConditionStatus,
    /// Why, as one word for machines.
    #[serde(default)]
    #[schemars(extend("minLength" = 1, "maxLength" = 1024, "pattern" = REASON_PATTERN))]
    pub reason: String,
    /// Why, in a sentence for humans; may be empty.
    #[serde(default)]
    #[schemars(extend("maxLength" = 32768))]
    pub message: String,
    /// When `status` last changed.
    pub last_transition_time: Time,
    /// Generation of the object this was decided for; older than `metadata.generation` means not yet decided again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub observed_generation: Option<i64>,
}

/// Whether a condition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum ConditionStatus {
    True,
    False,
    Unknown,
}

/// Schema transform for a list of conditions whose reason may be missing or empty (NodeClaim, as upstream has it).
pub fn reason_optional(list: &mut Schema) {
    let Some(Value::Object(item)) = list.get_mut("items") else {
        return;
    };
    item.insert(
        "required".to_owned(),
        json!(["lastTransitionTime", "status", "type"]),
    );
    if let Some(reason) = item
        .get_mut("properties")
        .and_then(|all| all.get_mut("reason"))
        .and_then(Value::as_object_mut)
    {
        reason.remove("minLength");
        reason.insert("pattern".to_owned(), json!(REASON_OR_EMPTY_PATTERN));
    }
}

/// We read leniently but demand that whoever writes says everything; serde's defaults would loosen the schema.
fn every_field_written(condition: &mut Schema) {
    condition.insert(
        "required".to_owned(),
        json!(["lastTransitionTime", "message", "reason", "status", "type"]),
    );
    let Some(Value::Object(properties)) = condition.get_mut("properties") else {
        return;
    };
    for property in properties.values_mut().filter_map(Value::as_object_mut) {
        property.remove("default");
    }
}
