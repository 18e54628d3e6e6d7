//! Do these labels satisfy that selector?

use serde_json::Value;

use super::object::label;
use super::reading::{list, strings, text};

/// Requirements that must all hold. Empty: everything matches.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct LabelRules(Vec<Rule>);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rule {
    pub key: String,
    pub test: Test,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Test {
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    Absent,
    Above(i64),
    Below(i64),
    /// What no label can satisfy: a selector that cannot be understood.
    Never,
}

impl LabelRules {
    /// A `LabelSelector`. An absent one matches nothing.
    pub fn of_selector(selector: &Value) -> Self {
        if !selector.is_object() {
            return Self::nothing();
        }
        let mut rules = Self::of_map(&selector["matchLabels"]);
        rules.extend(&selector["matchExpressions"]);
        rules
    }

    /// Plain key and value pairs, as in `nodeSelector`.
    pub fn of_map(map: &Value) -> Self {
        let members = map.as_object().into_iter().flatten();
        Self(
            members
                .map(|(key, value)| Rule {
                    key: key.clone(),
                    test: Test::In(vec![value.as_str().unwrap_or_default().to_owned()]),
                })
                .collect(),
        )
    }

    pub fn nothing() -> Self {
        Self(vec![Rule {
            key: String::new(),
            test: Test::Never,
        }])
    }

    /// Requirements with `key`, `operator` and `values`.
    pub fn extend(&mut self, expressions: &Value) {
        self.0.extend(list(expressions).iter().map(Rule::of));
    }

    pub fn push(&mut self, key: &str, test: Test) {
        let key = key.to_owned();
        self.0.push(Rule { key, test });
    }

    /// `labels` are sorted by key.
    pub fn hold(&self, labels: &[(String, String)]) -> bool {
        self.0.iter().all(|rule| rule.holds(labels))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn rules(&self) -> &[Rule] {
        &self.0
    }
}

impl Rule {
    fn of(expression: &Value) -> Self {
        let values = strings(&expression["values"]);
        let bound = || values.first().and_then(|bound| bound.parse().ok());
        let test = match text(expression, "operator") {
            "In" => Test::In(values),
            "NotIn" => Test::NotIn(values),
            "Exists" => Test::Exists,
            "DoesNotExist" => Test::Absent,
            "Gt" => bound().map_or(Test::Never, Test::Above),
            "Lt" => bound().map_or(Test::Never, Test::Below),
            _ => Test::Never,
        };
        let key = text(expression, "key").to_owned();
        Self { key, test }
    }

    pub fn holds(&self, labels: &[(String, String)]) -> bool {
        let have = label(labels, &self.key);
        let number = || have.and_then(|have| have.parse::<i64>().ok());
        match &self.test {
            Test::In(values) => have.is_some_and(|have| values.iter().any(|one| one == have)),
            Test::NotIn(values) => have.is_none_or(|have| values.iter().all(|one| one != have)),
            Test::Exists => have.is_some(),
            Test::Absent => have.is_none(),
            Test::Above(bound) => number().is_some_and(|have| have > *bound),
            Test::Below(bound) => number().is_some_and(|have| have < *bound),
            Test::Never => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn holds(selector: &Value) -> bool {
        let labels = [("app".into(), "web".into()), ("n".into(), "5".into())];
        LabelRules::of_selector(selector).hold(&labels)
    }

    #[test]
    fn an_absent_selector_matches_nothing_and_an_empty_one_everything() {
        assert!(!holds(&Value::Null));
        assert!(holds(&json!({})));
    }

    #[test]
    fn every_operator_means_what_it_says() {
        let cases = [
            (
                json!({"key": "app", "operator": "In", "values": ["web"]}),
                true,
            ),
            (
                json!({"key": "x", "operator": "In", "values": ["web"]}),
                false,
            ),
            (
                json!({"key": "app", "operator": "NotIn", "values": ["web"]}),
                false,
            ),
            (
                json!({"key": "x", "operator": "NotIn", "values": ["web"]}),
                true,
            ),
            (json!({"key": "app", "operator": "Exists"}), true),
            (json!({"key": "x", "operator": "DoesNotExist"}), true),
            (json!({"key": "n", "operator": "Gt", "values": ["4"]}), true),
            (
                json!({"key": "n", "operator": "Lt", "values": ["5"]}),
                false,
            ),
            (
                json!({"key": "app", "operator": "Gt", "values": ["4"]}),
                false,
            ),
            (json!({"key": "app", "operator": "Sideways"}), false),
        ];
        for (expression, wanted) in cases {
            let selector = json!({"matchExpressions": [expression]});
            assert_eq!(holds(&selector), wanted, "{selector}");
        }
    }
}
