//! Does a node have what a node selector asks for?

use serde_json::Value;

use super::label_rules::{LabelRules, Test};
use super::reading::{count, list, text};

/// `nodeSelector` and the required node affinity of a pod, or the node affinity of a volume.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodeNeeds {
    plain: LabelRules,
    /// One of them must match; `None`: no such demand.
    any_of: Option<Vec<Term>>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Term {
    labels: LabelRules,
    /// On `metadata.name`.
    fields: LabelRules,
}

/// A term and how much it is worth.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Liking {
    pub weight: i64,
    pub term: Term,
}

impl NodeNeeds {
    pub fn of_pod(pod: &Value) -> Self {
        let spec = &pod["spec"];
        let required =
            &spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
        Self {
            plain: LabelRules::of_map(&spec["nodeSelector"]),
            any_of: terms(required),
        }
    }

    /// A `NodeSelector`, as volumes have it.
    pub fn of_selector(selector: &Value) -> Self {
        Self {
            plain: LabelRules::default(),
            any_of: terms(selector),
        }
    }

    pub fn met_by(&self, name: &str, labels: &[(String, String)]) -> bool {
        let any_of = self.any_of.as_ref();
        self.plain.hold(labels)
            && any_of.is_none_or(|terms| terms.iter().any(|term| term.matches(name, labels)))
    }

    /// If every term names exactly one node: these, and no other can meet the needs.
    pub fn only_names(&self) -> Option<Vec<&str>> {
        let terms = self.any_of.as_ref()?;
        terms.iter().map(Term::only_name).collect()
    }
}

impl Term {
    pub fn of(value: &Value) -> Self {
        let mut labels = LabelRules::default();
        labels.extend(&value["matchExpressions"]);
        let mut fields = LabelRules::default();
        fields.extend(&value["matchFields"]);
        Self { labels, fields }
    }

    /// A term without requirements matches no node.
    pub fn matches(&self, name: &str, labels: &[(String, String)]) -> bool {
        let asks = !self.labels.is_empty() || !self.fields.is_empty();
        asks && self.labels.hold(labels)
            && self.fields.rules().iter().all(|rule| {
                let fields = [("metadata.name".to_owned(), name.to_owned())];
                rule.holds(&fields)
            })
    }

    fn only_name(&self) -> Option<&str> {
        self.fields
            .rules()
            .iter()
            .find_map(|rule| match &rule.test {
                Test::In(names) if rule.key == "metadata.name" => match names.as_slice() {
                    [name] => Some(name.as_str()),
                    _ => None,
                },
                _ => None,
            })
    }
}

impl Liking {
    pub fn of_pod(pod: &Value) -> Vec<Self> {
        let preferred = &pod["spec"]["affinity"]["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"];
        let each = list(preferred).iter();
        each.map(|liking| Self {
            weight: count(&liking["weight"], 0),
            term: Term::of(&liking["preference"]),
        })
        .collect()
    }
}

/// The node a daemon's pod was made for, before it is bound.
pub fn target(pod: &Value) -> Option<&str> {
    let required =
        &pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
    let term = list(&required["nodeSelectorTerms"]).first()?;
    let field = list(&term["matchFields"]).first()?;
    (text(field, "key") == "metadata.name").then_some(())?;
    list(&field["values"]).first()?.as_str()
}

fn terms(selector: &Value) -> Option<Vec<Term>> {
    let terms = selector.get("nodeSelectorTerms")?;
    Some(list(terms).iter().map(Term::of).collect())
}
