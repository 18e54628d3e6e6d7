//! What do we answer to a ConversionReview, whatever is in it?

use serde_json::{Value, json};

use super::{ConvertError, convert};

const API_VERSION: &str = "apiextensions.k8s.io/v1";

/// Answers an `apiextensions.k8s.io/v1` ConversionReview (as JSON) with one; never fails: what cannot be converted is a
/// failed response that names the object and carries no objects.
pub fn review(review: &Value) -> Value {
    let uid = review.pointer("/request/uid").cloned().unwrap_or_else(|| json!(""));
    let response = match converted(review) {
        Ok(objects) => json!({"uid": uid, "convertedObjects": objects, "result": {"status": "Success"}}),
        Err(Refusal { reason, message }) => json!({
            "uid": uid,
            "convertedObjects": [],
            "result": {"status": "Failure", "reason": reason, "message": message},
        }),
    };
    json!({"apiVersion": API_VERSION, "kind": "ConversionReview", "response": response})
}

/// Why the whole request is refused: one object that cannot be converted spoils all, by Kubernetes' rules.
struct Refusal {
    reason: &'static str,
    message: String,
}

impl From<ConvertError> for Refusal {
    fn from(error: ConvertError) -> Self {
        Self {
            reason: "Invalid",
            message: error.to_string(),
        }
    }
}

fn converted(review: &Value) -> Result<Vec<Value>, Refusal> {
    let malformed = |message: &str| Refusal {
        reason: "BadRequest",
        message: message.to_owned(),
    };
    if review.get("kind") != Some(&json!("ConversionReview")) || review.get("apiVersion") != Some(&json!(API_VERSION)) {
        return Err(malformed("not an apiextensions.k8s.io/v1 ConversionReview; set conversionReviewVersions: [v1] on the CRD"));
    }
    let text = |path| review.pointer(path).and_then(Value::as_str);
    text("/request/uid").ok_or_else(|| malformed("request.uid is missing; send the review as the API server writes it"))?;
    let desired = text("/request/desiredAPIVersion")
        .ok_or_else(|| malformed("request.desiredAPIVersion is missing; name the version to convert to"))?;
    let objects = review
        .pointer("/request/objects")
        .and_then(Value::as_array)
        .ok_or_else(|| malformed("request.objects is not a list; list the objects to convert"))?;
    objects
        .iter()
        .map(|object| convert(object.clone(), desired).map_err(Refusal::from))
        .collect()
}
