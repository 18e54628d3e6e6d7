//! What does each service say when it refuses?

use serde_json::{Value, json};

use super::wire::{Body, Refusal, Said};

/// Nova's (and Cinder's) shape: the only member is the kind of error.
pub(super) fn nova(status: u16, message: impl Into<String>) -> Refusal {
    let kind = match status {
        400 => "badRequest",
        401 => "unauthorized",
        403 => "forbidden",
        404 => "itemNotFound",
        405 => "badMethod",
        409 => "conflictingRequest",
        413 | 429 => "overLimit",
        415 => "badMediaType",
        501 => "notImplemented",
        503 => "serviceUnavailable",
        _ => "computeFault",
    };
    let body = json!({kind: {"code": status, "message": message.into()}});
    Refusal::from(Said::json(status, body).with("content-type", "application/json; charset=UTF-8"))
}

pub(super) fn keystone(status: u16, message: &str) -> Refusal {
    let body = json!({"error": {"code": status, "message": message, "title": title(status)}});
    Refusal::from(Said::json(status, body))
}

/// Keystone's 400 always ends with the same two sentences.
pub(super) fn keystone_expected(what: &str) -> Refusal {
    keystone(
        400,
        &format!(
            "Expecting to find {what}. The server could not comply with the request since it is either malformed or otherwise incorrect. The client is assumed to be in error."
        ),
    )
}

pub(super) fn neutron(status: u16, kind: &str, message: impl Into<String>) -> Refusal {
    let message: String = message.into();
    let body = json!({"NeutronError": {"type": kind, "message": message, "detail": ""}});
    Refusal::from(Said::json(status, body))
}

/// The web framework's own shape: Glance, and Nova for paths it does not know.
pub(super) fn webob(status: u16, message: &str) -> Refusal {
    let title = title(status);
    let body = json!({
        "message": format!("{message}<br /><br />\n\n\n"),
        "code": format!("{status} {title}"),
        "title": title,
    });
    Refusal::from(Said::json(status, body))
}

const WANTED: &str = "The request you have made requires authentication.";

/// The 401 of every service but Glance.
pub(super) fn unauthorized(base: &str) -> Refusal {
    let refused = keystone(401, WANTED);
    refused.with("www-authenticate", challenge(base))
}

/// Glance speaks JSON only to those who ask for it.
pub(super) fn unauthorized_glance(base: &str, accept: Option<&str>) -> Refusal {
    let text = "This server could not verify that you are authorized to access the document you requested. Either you supplied the wrong credentials (e.g., bad password), or your browser does not understand how to supply the credentials required.";
    let json = accept.is_some_and(|accept| accept.contains("json"));
    let refused = if json {
        webob(401, text)
    } else {
        Refusal::from(Said::html(401, text))
    };
    refused.with("www-authenticate", challenge(base))
}

fn challenge(base: &str) -> String {
    format!("Keystone uri=\"{base}/identity/v3\"")
}

/// What the service behind this path says with this status, for scripted faults.
pub(super) fn scripted(service: Option<&str>, status: u16, base: &str) -> Refusal {
    let message = match status {
        429 => "This request was rate-limited.",
        409 => "There was a conflict with another request.",
        403 => "Policy doesn't allow this action to be performed.",
        404 => "The resource could not be found.",
        500 => {
            "Unexpected API Error. Please report this at http://bugs.launchpad.net/nova/ and attach the Nova API log if possible.\n<class 'scripted.Fault'>"
        }
        _ => "The fault script says so.",
    };
    if status == 401 {
        return if service == Some("image") {
            unauthorized_glance(base, None)
        } else {
            unauthorized(base)
        };
    }
    if matches!(status, 502..=504) {
        return Refusal::from(Said::html(status, "The server is temporarily unavailable."));
    }
    match service {
        Some("identity") => keystone(status, message),
        Some("networking") => neutron(status, "Scripted", message),
        Some("image") => webob(status, message),
        _ => nova(status, message),
    }
}

pub(super) fn with_retry_after(mut said: Refusal, after: &str) -> Refusal {
    if let Body::Json(Value::Object(members)) = &mut said.0.body
        && let Some(limit) = members.get_mut("overLimit").and_then(Value::as_object_mut)
    {
        limit.insert("retryAfter".to_owned(), after.into());
    }
    Refusal::from(said.0.with("retry-after", after))
}

fn title(status: u16) -> &'static str {
    http::StatusCode::from_u16(status)
        .ok()
        .and_then(|status| status.canonical_reason())
        .unwrap_or("Error")
}
