//! What does the server answer that it does not store: who am I, may I, give me a token?

use bytes::Bytes;
use http::Request;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::ask::{Ask, body};
use super::object::stamp;
use super::paths::{set, strings, text};
use super::rbac::{self, Deed};
use super::status::{Cause, Status};
use super::users::User;
use super::{Kubernetes, Said};

impl Kubernetes {
    pub(super) fn review(
        &self,
        ask: &Ask,
        request: &Request<Bytes>,
        now: Timestamp,
    ) -> Result<Said, Status> {
        let mut value = body(request)?;
        if !value.is_object() {
            return Err(Status::bad_request("the body must be an object"));
        }
        value["apiVersion"] = ask.kind.api_version(&ask.version).into();
        value["kind"] = ask.kind.kind.clone().into();
        let status = match ask.kind.kind.as_str() {
            "TokenReview" => self.token_status(text(&value["spec"], "token"), now),
            "SelfSubjectReview" => json!({"userInfo": shown(&ask.user)}),
            "SelfSubjectRulesReview" => {
                json!({"resourceRules": [], "nonResourceRules": [], "incomplete": true})
            }
            "SelfSubjectAccessReview" => self.allowed(&ask.user, &value["spec"]),
            _ => self.allowed(&subject(&value["spec"]), &value["spec"]),
        };
        set(&mut value, &["status"], status);
        if !value["metadata"].is_object() {
            value["metadata"] = json!({});
        }
        Ok(Said::json(201, &value))
    }

    pub(super) fn token(
        &mut self,
        ask: &Ask,
        request: &Request<Bytes>,
        now: Timestamp,
    ) -> Result<Said, Status> {
        let wish = body(request)?;
        if !wish.is_object() {
            return Err(Status::bad_request("the body must be an object"));
        }
        let account = self.find(ask)?;
        let seconds = wish["spec"]["expirationSeconds"].as_i64().unwrap_or(3600);
        if !(600..=4_294_967_296).contains(&seconds) {
            let cause = Cause::new(
                "spec.expirationSeconds",
                "FieldValueInvalid",
                format!(
                    "Invalid value: {seconds}: may not specify a duration less than 10 minutes"
                ),
            );
            return Err(Status::invalid("TokenRequest", &ask.name, vec![cause]));
        }
        let expires = now
            .checked_add(SignedDuration::from_secs(seconds))
            .unwrap_or(now);
        let token = format!("emulated.{}", self.dice.word(48));
        let meta = &account.meta;
        self.tokens
            .add_account(&token, (&meta.namespace, &meta.name, &meta.uid), expires);
        let mut answer = wish;
        answer["apiVersion"] = "authentication.k8s.io/v1".into();
        answer["kind"] = "TokenRequest".into();
        answer["metadata"] = json!({"name": meta.name, "namespace": meta.namespace, "creationTimestamp": stamp(now)});
        set(&mut answer, &["spec", "expirationSeconds"], seconds.into());
        set(
            &mut answer,
            &["status"],
            json!({"token": token, "expirationTimestamp": stamp(expires)}),
        );
        Ok(Said::json(201, &answer))
    }

    fn token_status(&self, token: &str, now: Timestamp) -> Value {
        match self.tokens.user(token, &self.world.store, now) {
            Some(user) => json!({"authenticated": true, "user": shown(&user)}),
            None => {
                json!({"authenticated": false, "error": "the token is not known, or no longer good"})
            }
        }
    }

    fn allowed(&self, user: &User, spec: &Value) -> Value {
        let allowed = rbac::may(&self.world.store, user, &Deed::of_review(spec));
        json!({"allowed": allowed})
    }
}

fn subject(spec: &Value) -> User {
    User {
        name: text(spec, "user").to_owned(),
        groups: strings(&spec["groups"]).map(str::to_owned).collect(),
        uid: text(spec, "uid").to_owned(),
    }
}

fn shown(user: &User) -> Value {
    let mut value = json!({"username": user.name, "groups": user.groups});
    if !user.uid.is_empty() {
        value["uid"] = user.uid.clone().into();
    }
    value
}
