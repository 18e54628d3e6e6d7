//! Which bootstrap tokens are over?

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::Value;
use std::sync::Arc;

use super::driver::Controller;
use crate::kubernetes::object::Object;
use crate::kubernetes::reading::text;
use crate::kubernetes::rules::Deletion;
use crate::kubernetes::store::Store;

const TYPE: &str = "bootstrap.kubernetes.io/token";

/// Deletes a token's Secret when it expires.
pub struct Tokens;

impl Controller for Tokens {
    fn kind(&self) -> &'static str {
        "secrets"
    }

    fn children(&self) -> &'static [&'static str] {
        &[]
    }

    fn reconcile(
        &mut self,
        store: &mut Store,
        object: &Arc<Object>,
        now: Timestamp,
    ) -> Option<Timestamp> {
        if object.namespace() != "kube-system" || !object.name().starts_with("bootstrap-token-") {
            return None;
        }
        let value = object.value();
        if text(&value, "type") != TYPE {
            return None;
        }
        let until: Timestamp = entry(&value, "expiration")?.parse().ok()?;
        if until > now {
            return Some(until);
        }
        let at = (object.namespace(), object.name());
        let _ = store.delete("secrets", at, &Deletion::default(), now);
        None
    }
}

/// Would the API take this token for authentication now?
pub fn accepted(store: &Store, token: &str, now: Timestamp) -> bool {
    let Some((id, secret)) = token.split_once('.') else {
        return false;
    };
    let name = format!("bootstrap-token-{id}");
    let Some(object) = store.get("secrets", "kube-system", &name) else {
        return false;
    };
    let value = object.value();
    let is = |member: &str, wanted: &str| entry(&value, member).as_deref() == Some(wanted);
    let expired = match entry(&value, "expiration") {
        None => false,
        Some(until) => until
            .parse::<Timestamp>()
            .map_or(true, |until| until <= now),
    };
    text(&value, "type") == TYPE
        && object.meta.deleted_at.is_none()
        && is("token-id", id)
        && is("token-secret", secret)
        && is("usage-bootstrap-authentication", "true")
        && !expired
}

fn entry(secret: &Value, member: &str) -> Option<String> {
    if let Some(plain) = secret["stringData"][member].as_str() {
        return Some(plain.to_owned());
    }
    let bytes = STANDARD.decode(secret["data"][member].as_str()?).ok()?;
    String::from_utf8(bytes).ok()
}
