//! What did somebody ask of the API server: was anything denied, and which right was never used?

use anyhow::{Context, Result};
use serde::Deserialize;

/// One verb on one resource, as a role grants it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Right {
    pub group: String,
    /// With its subresource: `pods/eviction`.
    pub resource: String,
    pub verb: String,
    /// `None`: everywhere.
    pub namespace: Option<String>,
    /// Empty: all of them.
    pub names: Vec<String>,
}

/// One request that was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    verb: String,
    uri: String,
    group: String,
    resource: String,
    namespace: Option<String>,
    name: Option<String>,
    code: u16,
    forbidden: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    verb: String,
    #[serde(rename = "requestURI")]
    request_uri: String,
    user: User,
    #[serde(default)]
    object_ref: Object,
    #[serde(default)]
    response_status: Status,
    #[serde(default)]
    annotations: Annotations,
}

#[derive(Deserialize)]
struct User {
    username: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Object {
    api_group: String,
    resource: String,
    subresource: String,
    namespace: Option<String>,
    name: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    code: u16,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Annotations {
    #[serde(rename = "authorization.k8s.io/decision")]
    decision: String,
}

/// The calls of one user, in the order of the log.
pub fn calls(log: &str, user: &str) -> Result<Vec<Call>> {
    let mut calls = Vec::new();
    // The last line may be half written.
    let lines = log.lines().filter(|line| line.ends_with('}'));
    for line in lines.filter(|line| line.contains(user)) {
        let said: Line =
            serde_json::from_str(line).with_context(|| format!("no audit event: {line}"))?;
        if said.user.username == user {
            calls.push(call(said));
        }
    }
    Ok(calls)
}

fn call(said: Line) -> Call {
    let object = said.object_ref;
    let resource = match object.subresource.as_str() {
        "" => object.resource,
        sub => format!("{}/{sub}", object.resource),
    };
    Call {
        verb: said.verb,
        uri: said.request_uri,
        group: object.api_group,
        resource,
        namespace: object.namespace,
        name: object.name,
        code: said.response_status.code,
        forbidden: said.response_status.code == 403 || said.annotations.decision == "forbid",
    }
}

/// Every call that was denied, once.
pub fn denied(calls: &[Call]) -> Vec<String> {
    let mut said: Vec<String> = calls
        .iter()
        .filter(|call| call.forbidden)
        .map(|call| {
            let place = call.namespace.as_deref().unwrap_or("the cluster");
            format!(
                "{} {}.{} in {place} ({})",
                call.verb, call.resource, call.group, call.uri
            )
        })
        .collect();
    said.sort();
    said.dedup();
    said
}

/// Every right that no call has needed and got.
pub fn unused(rights: &[Right], calls: &[Call]) -> Vec<String> {
    rights
        .iter()
        .filter(|right| !calls.iter().any(|call| call.uses(right)))
        .map(|right| {
            let place = right.namespace.as_deref().unwrap_or("the cluster");
            format!(
                "{} {}.{} in {place}",
                right.verb, right.resource, right.group
            )
        })
        .collect()
}

impl Call {
    fn uses(&self, right: &Right) -> bool {
        let succeeded = !self.forbidden && (200..300).contains(&self.code);
        // An apply that made the object needed both rights.
        let verb = self.verb == right.verb
            || (right.verb == "create" && self.verb == "patch" && self.code == 201);
        let here = right.namespace.is_none() || right.namespace == self.namespace;
        let named = right.names.is_empty()
            || self
                .name
                .as_ref()
                .is_some_and(|name| right.names.contains(name));
        succeeded
            && verb
            && here
            && named
            && self.group == right.group
            && self.resource == right.resource
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(verb: &str, resource: &str, code: u16) -> String {
        let (resource, sub) = resource.split_once('/').unwrap_or((resource, ""));
        format!(
            r#"{{"verb":"{verb}","requestURI":"/x","user":{{"username":"us"}},"objectRef":{{"resource":"{resource}","subresource":"{sub}","namespace":"a","name":"n"}},"responseStatus":{{"code":{code}}}}}"#
        )
    }

    fn right(verb: &str, resource: &str) -> Right {
        Right {
            group: String::new(),
            resource: resource.to_owned(),
            verb: verb.to_owned(),
            namespace: None,
            names: Vec::new(),
        }
    }

    #[test]
    fn a_denied_call_is_named_with_verb_and_resource() {
        let seen = calls(&line("list", "secrets", 403), "us").unwrap();
        assert_eq!(denied(&seen), ["list secrets. in a (/x)"]);
        assert!(
            calls(&line("list", "secrets", 403), "them")
                .unwrap()
                .is_empty()
        );
    }

    #[test]
    fn a_right_counts_as_used_only_where_and_when_it_was_needed() {
        let seen = calls(&line("create", "pods/eviction", 201), "us").unwrap();
        assert!(unused(&[right("create", "pods/eviction")], &seen).is_empty());
        assert_eq!(unused(&[right("create", "pods")], &seen).len(), 1);
        let mut elsewhere = right("create", "pods/eviction");
        elsewhere.namespace = Some("b".to_owned());
        assert_eq!(unused(&[elsewhere], &seen).len(), 1);
        let mut other = right("create", "pods/eviction");
        other.names = vec!["m".to_owned()];
        assert_eq!(unused(&[other], &seen).len(), 1);
        let refused = calls(&line("create", "pods/eviction", 429), "us").unwrap();
        assert_eq!(
            unused(&[right("create", "pods/eviction")], &refused).len(),
            1
        );
    }

    #[test]
    fn an_apply_that_makes_the_object_needs_create_as_well() {
        let made = calls(&line("patch", "secrets", 201), "us").unwrap();
        assert!(
            unused(
                &[right("create", "secrets"), right("patch", "secrets")],
                &made
            )
            .is_empty()
        );
        let changed = calls(&line("patch", "secrets", 200), "us").unwrap();
        assert_eq!(unused(&[right("create", "secrets")], &changed).len(), 1);
    }
}
