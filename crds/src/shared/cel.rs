//! Which CEL rules does a schema carry, and what does it look like without one of them?
//!
//! Tests delete every rule in turn and expect somebody to notice; the same list tells the suite on a real API server
//! what it has to prove.

use serde_json::Value;

/// One rule at its place in an `openAPIV3Schema`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleAt {
    /// JSON pointer of the schema node that carries the rule.
    pub node: String,
    /// Position among the rules of that node.
    pub index: usize,
    pub rule: String,
    /// Empty if the rule has none.
    pub message: String,
}

impl std::fmt::Display for RuleAt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} [{}] {}", self.node, self.index, self.message)
    }
}

const RULES: &str = "x-kubernetes-validations";

/// Every rule, parents before children, properties by name.
pub fn rules(schema: &Value) -> Vec<RuleAt> {
    let mut found = Vec::new();
    // A work list instead of recursion: the depth of a schema is not ours to bound.
    let mut open = vec![(String::new(), schema)];
    while let Some((node, schema)) = open.pop() {
        for (index, rule) in schema
            .get(RULES)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .enumerate()
        {
            let text = |key| {
                rule.get(key)
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_owned()
            };
            found.push(RuleAt {
                node: node.clone(),
                index,
                rule: text("rule"),
                message: text("message"),
            });
        }
        for key in ["items", "additionalProperties"] {
            if let Some(child) = schema.get(key).filter(|child| child.is_object()) {
                open.push((format!("{node}/{key}"), child));
            }
        }
        for (name, child) in schema
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            open.push((format!("{node}/properties/{}", escape(name)), child));
        }
    }
    found.sort_by(|a, b| (&a.node, a.index).cmp(&(&b.node, b.index)));
    found
}

/// The schema with this one rule deleted; unchanged if it does not carry it.
pub fn without(schema: &Value, gone: &RuleAt) -> Value {
    let mut mutant = schema.clone();
    if let Some(Value::Array(rules)) = mutant.pointer_mut(&format!("{}/{RULES}", gone.node))
        && gone.index < rules.len()
    {
        rules.remove(gone.index);
    }
    mutant
}

/// A property name inside a JSON pointer.
fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> Value {
        json!({
            "x-kubernetes-validations": [{"rule": "a", "message": "A"}, {"rule": "b"}],
            "properties": {"x/y": {"items": {"x-kubernetes-validations": [{"rule": "c", "message": "C"}]}}},
        })
    }

    #[test]
    fn rules_are_found_at_every_depth() {
        let found: Vec<_> = rules(&schema())
            .into_iter()
            .map(|at| (at.node, at.index, at.rule))
            .collect();
        assert_eq!(
            found,
            [
                (String::new(), 0, "a".to_owned()),
                (String::new(), 1, "b".to_owned()),
                ("/properties/x~1y/items".to_owned(), 0, "c".to_owned()),
            ]
        );
    }

    #[test]
    fn a_mutant_lacks_exactly_the_one_rule() {
        let all = rules(&schema());
        for (index, gone) in all.iter().enumerate() {
            let left = rules(&without(&schema(), gone));
            assert_eq!(left.len(), all.len() - 1);
            assert!(!left.iter().any(|at| at.rule == all[index].rule));
        }
    }
}
