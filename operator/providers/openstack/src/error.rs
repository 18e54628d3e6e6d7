//! What does a refusal of OpenStack mean?
//!
//! Status and structured fields decide; text only where nothing else tells (Nova's 403 is policy or quota). A body need not
//! be JSON.

use cloud::transport::Answer;
use cloud::{CloudError, Said, Scope};
use http::StatusCode;
use serde_json::Value;

/// The readable part of an error body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refusal {
    /// Nova's member name (`itemNotFound`), Neutron's type (`OverQuota`); none for a body that is no JSON.
    pub kind: Option<String>,
    pub message: String,
}

/// What was asked for, as far as it changes the meaning of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// One object by its id: that it is not found is a fact about it.
    ById,
    /// Anything else.
    Other,
}

/// Reads an error body of any service; what cannot be read has no kind.
pub fn read(body: &[u8]) -> Refusal {
    let Ok(Value::Object(members)) = serde_json::from_slice::<Value>(body) else {
        return Refusal::default();
    };
    let text = |value: &Value| value.as_str().map(str::to_owned);
    if let (Some(title), Some(message)) = (members.get("title"), members.get("message")) {
        // Glance, and Nova for routes it does not know.
        let message = text(message).unwrap_or_default();
        return Refusal {
            kind: text(title),
            message,
        };
    }
    let Some((name, inner)) = members.into_iter().next() else {
        return Refusal::default();
    };
    let kind = inner.get("type").and_then(text).or(Some(name));
    let message = inner
        .get("message")
        .and_then(text)
        .or_else(|| text(&inner))
        .unwrap_or_default();
    Refusal { kind, message }
}

/// The meaning of an answer that is not a success. A 401 is judged by the client, which first renews the token.
pub fn meaning(answer: &Answer, refusal: &Refusal, subject: Subject, said: Said) -> CloudError {
    if let Some(resource) = over_quota(refusal, answer.status) {
        return CloudError::NoCapacity {
            scope: Scope::Quota { resource },
            said,
        };
    }
    match answer.status {
        StatusCode::NOT_FOUND if subject == Subject::ById => absent(refusal, said),
        StatusCode::BAD_REQUEST if zone_is_missing(&refusal.message) => CloudError::NoCapacity {
            scope: Scope::Offering,
            said,
        },
        StatusCode::TOO_MANY_REQUESTS | StatusCode::CONFLICT => CloudError::Throttled {
            retry_after: answer.retry_after,
            said,
        },
        StatusCode::UNAUTHORIZED => CloudError::Unauthorized { said },
        StatusCode::REQUEST_TIMEOUT => CloudError::doubt(said),
        StatusCode::NOT_IMPLEMENTED => CloudError::Rejected { said },
        status if status.is_server_error() => CloudError::doubt(said),
        _ => CloudError::Rejected { said },
    }
}

/// Why a build failed, if for lack of capacity. `fault` of a server: its code and its message.
pub fn fault_scope(code: i64, message: &str) -> Option<Scope> {
    const NO_HOST: [&str; 2] = [
        "No valid host was found",
        "Exceeded maximum number of retries",
    ];
    if NO_HOST.iter().any(|begin| message.starts_with(begin)) {
        return Some(Scope::Offering);
    }
    let quota = |resource: String| Some(Scope::Quota { resource });
    if message.contains("VolumeLimitExceeded") {
        return quota("volumes".to_owned());
    }
    if message.contains("VolumeSizeExceedsAvailableQuota") {
        return quota("gigabytes".to_owned());
    }
    if code == 413 || message.starts_with("Quota exceeded") {
        return quota(resources_named(message));
    }
    None
}

/// Only a service that knows its objects can say that one is missing; a proxy's or a router's 404 proves nothing.
fn absent(refusal: &Refusal, said: Said) -> CloudError {
    match refusal.kind.as_deref() {
        Some(kind)
            if kind == "itemNotFound" || kind == "Not Found" || kind.ends_with("NotFound") =>
        {
            CloudError::Gone
        }
        _ => CloudError::doubt(said),
    }
}

fn over_quota(refusal: &Refusal, status: StatusCode) -> Option<String> {
    let message = refusal.message.as_str();
    let kind = refusal.kind.as_deref().unwrap_or_default();
    match status {
        StatusCode::FORBIDDEN if message.starts_with("Quota exceeded") => {
            Some(resources_named(message))
        }
        StatusCode::FORBIDDEN if message.starts_with("Maximum number of ports") => {
            Some("port".to_owned())
        }
        StatusCode::CONFLICT if kind == "OverQuota" => Some(resources_named(message)),
        StatusCode::CONFLICT if kind == "IpAddressGenerationFailure" => {
            Some("addresses".to_owned())
        }
        StatusCode::PAYLOAD_TOO_LARGE if kind == "overLimit" => Some(resources_named(message)),
        _ => None,
    }
}

fn zone_is_missing(message: &str) -> bool {
    message.contains("availability zone") && message.contains("not available")
}

/// `Quota exceeded for cores, ram: Requested …` and `Quota exceeded for resources: ['port'].`
fn resources_named(message: &str) -> String {
    if message.contains("server group") || message.contains("servers in group") {
        return "server groups".to_owned();
    }
    let Some(rest) = message.split_once(" for ").map(|(_, rest)| rest) else {
        return "an unnamed resource".to_owned();
    };
    let named = match rest.strip_prefix("resources:") {
        Some(list) => list.split('.').next().unwrap_or(list),
        None => rest.split(':').next().unwrap_or(rest),
    };
    let named: String = named
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || matches!(c, ',' | ' ' | '_'))
        .collect();
    named.trim().chars().take(60).collect()
}
