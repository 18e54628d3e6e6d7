//! Which objects does a label or field selector pick?

use serde_json::Value;

use super::kinds::Kind;
use super::names;
use super::object::{Object, label};
use super::paths::{json_path, strings, text};
use super::status::Status;

/// Label and field selector of one request.
#[derive(Debug, Clone, Default)]
pub struct Selector {
    labels: Vec<Requirement>,
    fields: Vec<Field>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement {
    key: String,
    test: Test,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Test {
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    Absent,
    Above(i64),
    Below(i64),
}

#[derive(Debug, Clone)]
struct Field {
    path: String,
    value: String,
    equal: bool,
}

impl Selector {
    pub fn parse(kind: &Kind, labels: &str, fields: &str) -> Result<Self, Status> {
        Ok(Self {
            labels: parse_labels(labels)?,
            fields: parse_fields(kind, fields)?,
        })
    }

    pub fn picks(&self, object: &Object) -> bool {
        self.labels
            .iter()
            .all(|wanted| wanted.holds(&object.meta.labels))
            && self.fields.iter().all(|field| field.holds(object))
    }

    /// The one name it can pick, if it says so.
    pub fn only_name(&self) -> Option<&str> {
        let named = self
            .fields
            .iter()
            .find(|field| field.path == "metadata.name" && field.equal);
        named.map(|field| field.value.as_str())
    }
}

impl Requirement {
    /// `labels` are sorted by key.
    pub fn holds(&self, labels: &[(String, String)]) -> bool {
        let have = label(labels, &self.key);
        match &self.test {
            Test::In(values) => have.is_some_and(|have| values.iter().any(|value| value == have)),
            Test::NotIn(values) => {
                have.is_none_or(|have| !values.iter().any(|value| value == have))
            }
            Test::Exists => have.is_some(),
            Test::Absent => have.is_none(),
            Test::Above(bound) => number(have).is_some_and(|have| have > *bound),
            Test::Below(bound) => number(have).is_some_and(|have| have < *bound),
        }
    }
}

/// A `LabelSelector` as objects have it. `None` selects nothing; an empty one everything.
pub fn of_object(selector: &Value) -> Option<Vec<Requirement>> {
    if !selector.is_object() {
        return None;
    }
    let mut all = Vec::new();
    for (key, value) in selector["matchLabels"].as_object().into_iter().flatten() {
        let value = value.as_str().unwrap_or_default().to_owned();
        all.push(Requirement {
            key: key.clone(),
            test: Test::In(vec![value]),
        });
    }
    let expressions = selector["matchExpressions"].as_array();
    for expression in expressions.into_iter().flatten() {
        let values = || strings(&expression["values"]).map(str::to_owned).collect();
        let test = match text(expression, "operator") {
            "In" => Test::In(values()),
            "NotIn" => Test::NotIn(values()),
            "Exists" => Test::Exists,
            "DoesNotExist" => Test::Absent,
            _ => return None,
        };
        all.push(Requirement {
            key: text(expression, "key").to_owned(),
            test,
        });
    }
    Some(all)
}

pub fn all_hold(requirements: &[Requirement], labels: &[(String, String)]) -> bool {
    requirements.iter().all(|wanted| wanted.holds(labels))
}

pub fn parse_labels(selector: &str) -> Result<Vec<Requirement>, Status> {
    let mut all = Vec::new();
    for part in split(selector) {
        all.push(requirement(part.trim())?);
    }
    Ok(all)
}

/// At commas outside parentheses.
fn split(selector: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0_i32, 0);
    for (at, letter) in selector.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&selector[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&selector[start..]);
    parts.retain(|part| !part.trim().is_empty());
    parts
}

fn requirement(part: &str) -> Result<Requirement, Status> {
    let bad = || {
        Status::bad_request(format!(
            "unable to parse requirement: found {part:?} in the label selector"
        ))
    };
    let made = |key: &str, test: Test| {
        let key = key.trim();
        if names::is_qualified(key) {
            Ok(Requirement {
                key: key.to_owned(),
                test,
            })
        } else {
            Err(bad())
        }
    };
    let one = |value: &str| vec![value.trim().to_owned()];
    if let Some((key, value)) = part.split_once("!=") {
        return made(key, Test::NotIn(one(value)));
    }
    if let Some((key, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
        return made(key, Test::In(one(value)));
    }
    if let Some(key) = part.strip_prefix('!') {
        return made(key, Test::Absent);
    }
    for (sign, above) in [('>', true), ('<', false)] {
        if let Some((key, value)) = part.split_once(sign) {
            let bound = value.trim().parse().map_err(|_| bad())?;
            return made(
                key,
                if above {
                    Test::Above(bound)
                } else {
                    Test::Below(bound)
                },
            );
        }
    }
    if let Some((head, values)) = part.split_once('(') {
        let values = values.strip_suffix(')').ok_or_else(bad)?;
        let values = values
            .split(',')
            .map(|value| value.trim().to_owned())
            .collect();
        let mut words = head.split_whitespace();
        return match (words.next(), words.next(), words.next()) {
            (Some(key), Some("in"), None) => made(key, Test::In(values)),
            (Some(key), Some("notin"), None) => made(key, Test::NotIn(values)),
            _ => Err(bad()),
        };
    }
    made(part, Test::Exists)
}

fn parse_fields(kind: &Kind, selector: &str) -> Result<Vec<Field>, Status> {
    let mut all = Vec::new();
    for part in selector.split(',').filter(|part| !part.trim().is_empty()) {
        let (path, value, equal) = if let Some((path, value)) = part.split_once("!=") {
            (path, value, false)
        } else if let Some((path, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
            (path, value, true)
        } else {
            return Err(Status::bad_request(format!(
                "invalid selector: {part:?}; can't understand it"
            )));
        };
        if !selectable(kind, path) {
            return Err(Status::bad_request(format!(
                "Unable to find \"{}\" that match label selector \"\", field selector \"{selector}\": field label not supported: {path}",
                kind.id
            )));
        }
        all.push(Field {
            path: path.trim().to_owned(),
            value: value.to_owned(),
            equal,
        });
    }
    Ok(all)
}

fn selectable(kind: &Kind, path: &str) -> bool {
    let more: &[&str] = match kind.id.as_str() {
        "pods" => &[
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.nominatedNodeName",
        ],
        "nodes" => &["spec.unschedulable"],
        "namespaces" => &["status.phase"],
        "secrets" => &["type"],
        "services" => &["spec.clusterIP", "spec.type"],
        "replicasets.apps" | "replicationcontrollers" => &["status.replicas"],
        "jobs.batch" => &["status.successful"],
        "certificatesigningrequests.certificates.k8s.io" => &["spec.signerName"],
        "events" | "events.events.k8s.io" => &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ],
        _ => &[],
    };
    matches!(path, "metadata.name" | "metadata.namespace")
        || more.contains(&path)
        || kind.custom.values().any(|custom| {
            custom
                .selectable
                .iter()
                .any(|have| have.trim_start_matches('.') == path)
        })
}

impl Field {
    fn holds(&self, object: &Object) -> bool {
        let equal = match self.path.as_str() {
            "metadata.name" => object.name() == self.value,
            "metadata.namespace" => object.namespace() == self.value,
            "spec.nodeName" => object.meta.node == self.value,
            "status.phase" => object.meta.phase == self.value,
            "source" => object.value()["source"]["component"] == self.value.as_str(),
            path => shown(json_path(&object.value(), path)) == self.value,
        };
        equal == self.equal
    }
}

fn shown(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

fn number(have: Option<&str>) -> Option<i64> {
    have?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kubernetes::kinds::Kinds;
    use serde_json::json;

    fn picks(labels: &str, fields: &str) -> bool {
        let pod = json!({"metadata": {"name": "p", "namespace": "a", "labels": {"app": "web", "n": "5"}},
            "spec": {"nodeName": "n1", "restartPolicy": "Always"}, "status": {"phase": "Running"}});
        let kinds = Kinds::built_in();
        let kind = kinds.get("pods").unwrap();
        let selector = Selector::parse(kind, labels, fields).unwrap();
        selector.picks(&Object::new(pod, true))
    }

    #[test]
    fn label_selectors_pick_by_all_their_operators() {
        for yes in [
            "",
            "app",
            "app=web",
            "app==web",
            "app in (x, web)",
            "app notin (x)",
            "!zone",
            "zone!=a",
            "n>4,n<6",
        ] {
            assert!(picks(yes, ""), "{yes}");
        }
        for no in [
            "zone",
            "app=x",
            "app!=web",
            "app notin (web,x)",
            "!app",
            "n>5",
            "app=web,zone",
        ] {
            assert!(!picks(no, ""), "{no}");
        }
    }

    #[test]
    fn field_selectors_pick_by_what_the_kind_offers() {
        assert!(picks(
            "",
            "metadata.name=p,spec.nodeName=n1,status.phase!=Failed"
        ));
        assert!(picks("", "spec.restartPolicy=Always"));
        assert!(!picks("", "spec.nodeName="));
        let kinds = Kinds::built_in();
        let nodes = kinds.get("nodes").unwrap();
        assert_eq!(
            Selector::parse(nodes, "", "spec.x=1").unwrap_err().code,
            400
        );
    }

    #[test]
    fn nonsense_is_refused() {
        let kinds = Kinds::built_in();
        let pods = kinds.get("pods").unwrap();
        for bad in ["a b", "=x", "a in x)", "a in (x", "n>y", "(", "a,(b"] {
            assert!(Selector::parse(pods, bad, "").is_err(), "{bad}");
        }
    }
}
