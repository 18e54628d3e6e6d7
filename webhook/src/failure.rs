//! How is "no" said so that an API server passes our words on?

use serde_json::{Value, json};

use crate::answer::Route;

/// A review that failed, in the shape its path is expected to answer with.
pub(crate) fn failed_review(route: Route, uid: &str, code: u16, message: &str) -> Vec<u8> {
    let response = match route {
        // No objects: the API server must not take part of a list for the whole.
        Route::Convert => {
            json!({"uid": uid, "convertedObjects": [], "result": status(code, message)})
        }
        Route::Validate => json!({"uid": uid, "allowed": false, "status": status(code, message)}),
    };
    json!({"apiVersion": route.api_version(), "kind": route.kind(), "response": response})
        .to_string()
        .into_bytes()
}

/// A `Status` object for everything that is not even a review.
pub(crate) fn bad_request(code: u16, reason: &str, message: &str) -> Vec<u8> {
    let mut whole = status(code, message);
    whole["apiVersion"] = "v1".into();
    whole["kind"] = "Status".into();
    whole["metadata"] = json!({});
    whole["reason"] = reason.into();
    whole.to_string().into_bytes()
}

fn status(code: u16, message: &str) -> Value {
    let reason = if code < 500 {
        "BadRequest"
    } else {
        "InternalError"
    };
    json!({"status": "Failure", "code": code, "reason": reason, "message": message})
}
