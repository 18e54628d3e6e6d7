//! How does the API say no? A `Status` object, always, whatever was wrong.

use serde_json::{Value, json};

/// A refusal in Kubernetes' own shape.
#[derive(Debug, Clone, PartialEq)]
pub struct Status {
    pub code: u16,
    pub reason: &'static str,
    pub message: String,
    pub details: Value,
}

/// One thing that is wrong with an object: where, which rule, and in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    pub field: String,
    pub reason: &'static str,
    pub message: String,
}

impl Cause {
    pub fn new(field: impl Into<String>, reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            reason,
            message: message.into(),
        }
    }
}

impl Status {
    pub fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            reason,
            message: message.into(),
            details: Value::Null,
        }
    }

    pub fn not_found(resource: &str, name: &str) -> Self {
        Self::new(404, "NotFound", format!("{resource} \"{name}\" not found")).about(resource, name)
    }

    /// A path nobody serves.
    pub fn no_such_path() -> Self {
        Self::new(
            404,
            "NotFound",
            "the server could not find the requested resource",
        )
    }

    pub fn already_exists(resource: &str, name: &str) -> Self {
        Self::new(
            409,
            "AlreadyExists",
            format!("{resource} \"{name}\" already exists"),
        )
        .about(resource, name)
    }

    pub fn conflict(resource: &str, name: &str, why: &str) -> Self {
        Self::new(
            409,
            "Conflict",
            format!("Operation cannot be fulfilled on {resource} \"{name}\": {why}"),
        )
        .about(resource, name)
    }

    pub fn invalid(kind: &str, name: &str, causes: Vec<Cause>) -> Self {
        let said: Vec<String> = causes
            .iter()
            .map(|cause| format!("{}: {}", cause.field, cause.message))
            .collect();
        let said = match said.as_slice() {
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        let mut status = Self::new(
            422,
            "Invalid",
            format!("{kind} \"{name}\" is invalid: {said}"),
        );
        status.details = json!({"name": name, "kind": kind, "causes": listed(causes)});
        status
    }

    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    pub fn forbidden(resource: &str, name: &str, why: &str) -> Self {
        Self::new(
            403,
            "Forbidden",
            format!("{resource} \"{name}\" is forbidden: {why}"),
        )
        .about(resource, name)
    }

    pub fn unauthorized() -> Self {
        Self::new(401, "Unauthorized", "Unauthorized")
    }

    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    pub fn method_not_allowed() -> Self {
        Self::new(
            405,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
        )
    }

    /// Names the object in `details`; `resource` is `plural.group`.
    #[must_use]
    pub fn about(mut self, resource: &str, name: &str) -> Self {
        let (plural, group) = resource.split_once('.').unwrap_or((resource, ""));
        let mut details = json!({"name": name, "kind": plural});
        if !group.is_empty() {
            details["group"] = group.into();
        }
        self.details = details;
        self
    }

    #[must_use]
    pub fn because(mut self, causes: &[Cause]) -> Self {
        if !self.details.is_object() {
            self.details = json!({});
        }
        self.details["causes"] = listed(causes.to_vec());
        self
    }

    #[must_use]
    pub fn retry_after(mut self, seconds: u32) -> Self {
        if !self.details.is_object() {
            self.details = json!({});
        }
        self.details["retryAfterSeconds"] = seconds.into();
        self
    }

    pub fn to_value(&self) -> Value {
        let mut body = json!({
            "apiVersion": "v1", "kind": "Status", "metadata": {},
            "status": "Failure", "message": self.message, "code": self.code,
        });
        if !self.reason.is_empty() {
            body["reason"] = self.reason.into();
        }
        if !self.details.is_null() {
            body["details"] = self.details.clone();
        }
        body
    }
}

impl std::fmt::Display for Status {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(to, "{} {}: {}", self.code, self.reason, self.message)
    }
}

impl std::error::Error for Status {}

fn listed(causes: Vec<Cause>) -> Value {
    let causes = causes.into_iter().map(
        |cause| json!({"field": cause.field, "reason": cause.reason, "message": cause.message}),
    );
    causes.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn details_name_plural_and_group() {
        let said = Status::not_found("deployments.apps", "web").to_value();
        assert_eq!(said["message"], "deployments.apps \"web\" not found");
        assert_eq!(
            said["details"],
            json!({"name": "web", "group": "apps", "kind": "deployments"})
        );
    }

    #[test]
    fn one_cause_is_said_plainly_and_several_in_brackets() {
        let cause = |field: &str| Cause::new(field, "FieldValueRequired", "Required value");
        let one = Status::invalid("Pod", "a", vec![cause("spec")]);
        assert_eq!(one.message, "Pod \"a\" is invalid: spec: Required value");
        let two = Status::invalid("Pod", "a", vec![cause("spec"), cause("x")]);
        assert!(
            two.message
                .ends_with("[spec: Required value, x: Required value]")
        );
    }
}
