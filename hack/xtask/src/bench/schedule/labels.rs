//! Do these labels, taints and selectors match, as Kubernetes says?

use std::collections::BTreeMap;

use serde_json::Value;

use super::check::{labels, list, text};

#[derive(Clone, Debug)]
pub struct Expression {
    pub key: String,
    pub operator: String,
    values: Vec<String>,
}

pub fn expressions(raw: &[Value]) -> Vec<Expression> {
    raw.iter()
        .map(|one| Expression {
            key: text(one, "/key").to_owned(),
            operator: text(one, "/operator").to_owned(),
            values: list(one, "/values")
                .iter()
                .filter_map(|value| Some(value.as_str()?.to_owned()))
                .collect(),
        })
        .collect()
}

/// All of them must hold; an empty term matches nothing.
pub fn term_holds(term: &[Expression], has: &BTreeMap<String, String>) -> bool {
    !term.is_empty() && term.iter().all(|one| holds(one, has))
}

fn holds(one: &Expression, has: &BTreeMap<String, String>) -> bool {
    let value = has.get(&one.key);
    let listed = value.is_some_and(|value| one.values.contains(value));
    match one.operator.as_str() {
        "In" => listed,
        "NotIn" => !listed,
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        "Gt" | "Lt" => {
            let number = value.and_then(|value| value.parse::<i64>().ok());
            let bound = one
                .values
                .first()
                .and_then(|value| value.parse::<i64>().ok());
            match (number, bound) {
                (Some(number), Some(bound)) if one.operator == "Gt" => number > bound,
                (Some(number), Some(bound)) => number < bound,
                _ => false,
            }
        }
        _ => false,
    }
}

/// A label selector: an absent one matches nothing, an empty one everything.
pub fn selects(selector: Option<&Value>, has: &BTreeMap<String, String>) -> bool {
    let Some(selector) = selector else {
        return false;
    };
    let exact = labels(selector, "/matchLabels");
    let more = expressions(list(selector, "/matchExpressions"));
    exact.iter().all(|(key, value)| has.get(key) == Some(value))
        && more.iter().all(|one| holds(one, has))
}

/// Each taint has a toleration.
pub fn tolerated(taints: &[&Value], tolerations: &[Value]) -> bool {
    taints
        .iter()
        .all(|taint| tolerations.iter().any(|one| tolerates(one, taint)))
}

fn tolerates(toleration: &Value, taint: &Value) -> bool {
    let effect = text(toleration, "/effect");
    if !effect.is_empty() && effect != text(taint, "/effect") {
        return false;
    }
    let (key, exists) = (
        text(toleration, "/key"),
        text(toleration, "/operator") == "Exists",
    );
    if key.is_empty() {
        return exists;
    }
    key == text(taint, "/key") && (exists || text(toleration, "/value") == text(taint, "/value"))
}
