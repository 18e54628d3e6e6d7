//! What does an object become by a patch? JSON, merge, strategic-merge and server-side apply.

pub mod apply;
pub mod fields;
pub mod lists;
pub mod strategic;

use serde_json::Value;

use super::kinds::Kind;
use super::status::Status;
use lists::Spot;

/// How the body of a PATCH is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    Json,
    Merge,
    Strategic,
    Apply,
}

impl Dialect {
    pub fn of(content_type: &str) -> Option<Self> {
        match content_type.split(';').next().unwrap_or_default().trim() {
            "application/json-patch+json" => Some(Self::Json),
            "application/merge-patch+json" => Some(Self::Merge),
            "application/strategic-merge-patch+json" => Some(Self::Strategic),
            "application/apply-patch+yaml" | "application/apply-patch" => Some(Self::Apply),
            _ => None,
        }
    }
}

/// All but server-side apply, which needs to know who owns what.
pub fn patched(
    kind: &Kind,
    version: &str,
    old: &Value,
    dialect: Dialect,
    body: &Value,
) -> Result<Value, Status> {
    let mut next = old.clone();
    match dialect {
        Dialect::Json => {
            let steps: json_patch::Patch = serde_json::from_value(body.clone())
                .map_err(|error| Status::bad_request(format!("error decoding patch: {error}")))?;
            json_patch::patch(&mut next, &steps.0).map_err(|error| {
                Status::new(
                    422,
                    "Invalid",
                    format!(
                        "the server rejected our request due to an error in our request: {error}"
                    ),
                )
            })?;
        }
        Dialect::Merge => {
            must_be_object(body)?;
            json_patch::merge(&mut next, body);
        }
        Dialect::Strategic => {
            if !kind.custom.is_empty() {
                return Err(Status::new(
                    415,
                    "UnsupportedMediaType",
                    "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
                ));
            }
            must_be_object(body)?;
            strategic::merge(&mut next, body, &Spot::top(kind, version))?;
        }
        Dialect::Apply => {
            return Err(Status::bad_request("an apply is no plain patch"));
        }
    }
    must_be_object(&next)?;
    Ok(next)
}

fn must_be_object(value: &Value) -> Result<(), Status> {
    if value.is_object() {
        Ok(())
    } else {
        Err(Status::bad_request(
            "the patch must be, and result in, an object",
        ))
    }
}
