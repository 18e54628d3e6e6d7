//! Is this a name, and where does a generated one come from?

use serde_json::Value;

use super::kinds::Kind;
use super::status::{Cause, Status};
use crate::dice::Dice;

/// Names and label keys must be what Kubernetes takes for such.
pub fn check(kind: &Kind, namespace: &str, name: &str, meta: &Value) -> Result<(), Status> {
    let mut causes = Vec::new();
    if let Some(why) = name_trouble(kind, name) {
        causes.push(Cause::new(
            "metadata.name",
            "FieldValueInvalid",
            format!("Invalid value: \"{name}\": {why}"),
        ));
    }
    if kind.namespaced == namespace.is_empty() {
        let (reason, why) = if kind.namespaced {
            ("FieldValueRequired", "Required value")
        } else {
            ("FieldValueForbidden", "Forbidden: not allowed on this type")
        };
        causes.push(Cause::new("metadata.namespace", reason, why));
    }
    for member in ["labels", "annotations"] {
        causes.extend(map_trouble(member, &meta[member]));
    }
    for member in ["finalizers", "ownerReferences"] {
        if !matches!(meta[member], Value::Null | Value::Array(_)) {
            causes.push(Cause::new(
                format!("metadata.{member}"),
                "FieldValueTypeInvalid",
                "Invalid value: must be a list",
            ));
        }
    }
    causes.extend(owner_trouble(&meta["ownerReferences"]));
    if causes.is_empty() {
        Ok(())
    } else {
        Err(Status::invalid(&kind.kind, name, causes))
    }
}

/// Five letters after the prefix, none of which can spell a word.
pub fn generate(prefix: &str, dice: &mut Dice) -> String {
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let mut name: String = prefix.chars().take(58).collect();
    let mut bits = dice.roll();
    for _ in 0..5 {
        let at = usize::try_from(bits % LETTERS.len() as u64).unwrap_or_default();
        name.push(char::from(LETTERS[at]));
        bits /= LETTERS.len() as u64;
    }
    name
}

/// May it be updated without naming the version that was read?
pub fn unconditional(kind: &Kind) -> bool {
    const NEVER: [&str; 5] = [
        "leases.coordination.k8s.io",
        "customresourcedefinitions.apiextensions.k8s.io",
        "poddisruptionbudgets.policy",
        "validatingwebhookconfigurations.admissionregistration.k8s.io",
        "mutatingwebhookconfigurations.admissionregistration.k8s.io",
    ];
    kind.custom.is_empty() && !NEVER.contains(&kind.id.as_str())
}

fn name_trouble(kind: &Kind, name: &str) -> Option<&'static str> {
    if kind.group == "rbac.authorization.k8s.io" {
        let bad = name == "." || name == ".." || name.contains(['/', '%']) || name.is_empty();
        return bad.then_some("may not be '.' or '..' and may not contain '/' or '%'");
    }
    let labels_only = matches!(kind.id.as_str(), "namespaces" | "services");
    if name.len() > if labels_only { 63 } else { 253 } {
        return Some("must be no more than 253 characters (63 for namespaces and services)");
    }
    let parts: Vec<&str> = if labels_only {
        vec![name]
    } else {
        name.split('.').collect()
    };
    let good = parts.iter().all(|part| is_label(part));
    (!good).then_some(
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
    )
}

fn is_label(part: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = part.as_bytes();
    bytes.first().is_some_and(|byte| plain(*byte))
        && bytes.last().is_some_and(|byte| plain(*byte))
        && bytes.iter().all(|byte| plain(*byte) || *byte == b'-')
}

fn map_trouble(member: &str, value: &Value) -> Vec<Cause> {
    let field = format!("metadata.{member}");
    let members = match value {
        Value::Null => return Vec::new(),
        Value::Object(members) => members,
        _ => {
            return vec![Cause::new(
                field,
                "FieldValueTypeInvalid",
                "Invalid value: must be a map of strings",
            )];
        }
    };
    let mut causes = Vec::new();
    for (key, value) in members {
        if !is_qualified(key) {
            causes.push(Cause::new(
                &field,
                "FieldValueInvalid",
                format!("Invalid value: \"{key}\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"),
            ));
        }
        match value.as_str() {
            None => causes.push(Cause::new(
                format!("{field}.{key}"),
                "FieldValueTypeInvalid",
                "Invalid value: must be a string",
            )),
            Some(value) if member == "labels" && !is_label_value(value) => causes.push(Cause::new(
                &field,
                "FieldValueInvalid",
                format!("Invalid value: \"{value}\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"),
            )),
            Some(_) => {}
        }
    }
    causes
}

fn owner_trouble(owners: &Value) -> Vec<Cause> {
    let owners = owners.as_array().into_iter().flatten().enumerate();
    let lacking = owners.flat_map(|(at, owner)| {
        ["apiVersion", "kind", "name", "uid"]
            .into_iter()
            .filter(|member| owner[*member].as_str().is_none_or(str::is_empty))
            .map(move |member| {
                Cause::new(
                    format!("metadata.ownerReferences[{at}].{member}"),
                    "FieldValueInvalid",
                    format!("Invalid value: \"\": {member} must not be empty"),
                )
            })
    });
    lacking.collect()
}

/// `prefix/name` or `name`.
pub fn is_qualified(key: &str) -> bool {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    let prefix_fits =
        prefix.is_none_or(|prefix| prefix.len() <= 253 && prefix.split('.').all(is_label));
    prefix_fits && !name.is_empty() && name.len() <= 63 && is_word(name)
}

pub fn is_label_value(value: &str) -> bool {
    value.is_empty() || value.len() <= 63 && is_word(value)
}

fn is_word(name: &str) -> bool {
    let bytes = name.as_bytes();
    bytes.first().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_names_differ_and_keep_their_prefix_short() {
        let mut dice = Dice::new(1);
        let (one, two) = (generate("web-", &mut dice), generate("web-", &mut dice));
        assert!(one.starts_with("web-") && one.len() == 9 && one != two);
        assert_eq!(generate(&"x".repeat(100), &mut dice).len(), 63);
    }

    #[test]
    fn label_keys_and_values_are_checked() {
        assert!(is_qualified("karpenter.sh/nodepool") && is_qualified("app"));
        assert!(!is_qualified("/app") && !is_qualified("a b") && !is_qualified("A.b/"));
        assert!(is_label_value("") && is_label_value("a_b.c") && !is_label_value("-a"));
    }
}
