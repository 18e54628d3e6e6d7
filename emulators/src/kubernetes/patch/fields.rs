//! Which fields does an object have, and which of them does a manager own? Sets of field paths, as `fieldsV1` writes them.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::lists::{ListType, Spot, item_key};

/// A tree of path elements: `f:name`, `k:{"name":"x"}`, `v:"value"`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fields {
    /// This very path is in the set.
    here: bool,
    inside: BTreeMap<String, Fields>,
}

/// From the top of the object to one field.
pub type Path = Vec<String>;

/// Metadata that belongs to the server.
const OWN: [&str; 11] = [
    "f:name",
    "f:namespace",
    "f:uid",
    "f:resourceVersion",
    "f:generation",
    "f:creationTimestamp",
    "f:deletionTimestamp",
    "f:deletionGracePeriodSeconds",
    "f:managedFields",
    "f:generateName",
    "f:selfLink",
];

impl Fields {
    /// Everything this object says, but for what is the server's.
    pub fn of(value: &Value, spot: &Spot<'_>) -> Self {
        let mut all = Self::of_part(value, spot);
        all.inside.remove("f:apiVersion");
        all.inside.remove("f:kind");
        if let Some(meta) = all.inside.get_mut("f:metadata") {
            for own in OWN {
                meta.inside.remove(own);
            }
            meta.here = false;
            if meta.inside.is_empty() {
                all.inside.remove("f:metadata");
            }
        }
        all.here = false;
        all
    }

    fn of_part(value: &Value, spot: &Spot<'_>) -> Self {
        let mut fields = Self::default();
        match value {
            Value::Object(members) if !members.is_empty() && !spot.atomic_map() => {
                for (name, value) in members {
                    let inner = Self::of_part(value, &spot.member(name));
                    fields.inside.insert(format!("f:{name}"), inner);
                }
            }
            Value::Array(items) if !items.is_empty() => fields.add_items(items, spot),
            _ => fields.here = true,
        }
        fields
    }

    fn add_items(&mut self, items: &[Value], spot: &Spot<'_>) {
        match spot.list_type() {
            ListType::Atomic => self.here = true,
            ListType::Set => {
                for item in items {
                    let leaf = Self {
                        here: true,
                        inside: BTreeMap::new(),
                    };
                    self.inside.insert(format!("v:{item}"), leaf);
                }
            }
            ListType::Map(keys) => {
                for item in items {
                    let Some(key) = item_key(item, &keys) else {
                        continue;
                    };
                    let mut inner = Self::of_part(item, &spot.item());
                    inner.here = true;
                    self.inside.insert(format!("k:{key}"), inner);
                }
            }
        }
    }

    pub fn from_value(value: &Value) -> Self {
        let mut fields = Self::default();
        let Value::Object(members) = value else {
            return fields;
        };
        if members.is_empty() {
            fields.here = true;
        }
        for (name, value) in members {
            if name == "." {
                fields.here = true;
            } else {
                fields.inside.insert(name.clone(), Self::from_value(value));
            }
        }
        fields
    }

    pub fn to_value(&self) -> Value {
        let mut members = Map::new();
        if self.here && !self.inside.is_empty() {
            members.insert(".".to_owned(), Value::Object(Map::new()));
        }
        for (name, inner) in &self.inside {
            members.insert(name.clone(), inner.to_value());
        }
        Value::Object(members)
    }

    pub fn is_empty(&self) -> bool {
        !self.here && self.inside.values().all(Self::is_empty)
    }

    /// All paths in the set.
    pub fn paths(&self) -> Vec<Path> {
        let mut all = Vec::new();
        self.collect(&mut Vec::new(), &mut all);
        all
    }

    fn collect(&self, way: &mut Path, all: &mut Vec<Path>) {
        if self.here {
            all.push(way.clone());
        }
        for (name, inner) in &self.inside {
            way.push(name.clone());
            inner.collect(way, all);
            way.pop();
        }
    }

    pub fn has(&self, path: &[String]) -> bool {
        match path.split_first() {
            None => self.here,
            Some((first, rest)) => self.inside.get(first).is_some_and(|inner| inner.has(rest)),
        }
    }

    /// Is this path, or one below it, or an atomic one above it, in the set?
    pub fn touches(&self, path: &[String]) -> bool {
        match path.split_first() {
            None => !self.is_empty(),
            Some((first, rest)) => {
                let leaf = self.here && self.inside.is_empty();
                leaf || self
                    .inside
                    .get(first)
                    .is_some_and(|inner| inner.touches(rest))
            }
        }
    }

    pub fn add(&mut self, path: &[String]) {
        match path.split_first() {
            None => self.here = true,
            Some((first, rest)) => self.inside.entry(first.clone()).or_default().add(rest),
        }
    }

    pub fn remove(&mut self, path: &[String]) {
        match path.split_first() {
            None => self.here = false,
            Some((first, rest)) => {
                if let Some(inner) = self.inside.get_mut(first) {
                    inner.remove(rest);
                    if inner.is_empty() {
                        self.inside.remove(first);
                    }
                }
            }
        }
    }

    /// Only what is below (or not below) this member of the top.
    pub fn retain_top(&mut self, keep: impl Fn(&str) -> bool) {
        self.inside
            .retain(|name, _| keep(name.trim_start_matches("f:")));
    }
}

/// The value at a path, if the object has it.
pub fn find<'a>(value: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter()
        .try_fold(value, |value, element| step(value, element))
}

/// Takes out what is at a path.
pub fn take_out(value: &mut Value, path: &[String]) {
    let Some((last, way)) = path.split_last() else {
        return;
    };
    let mut value = value;
    for element in way {
        let inner = match (element.split_at_checked(2), value) {
            (Some(("f:", name)), Value::Object(members)) => members.get_mut(name),
            (Some(("k:", key)), Value::Array(items)) => {
                items.iter_mut().find(|item| matches_key(item, key))
            }
            _ => None,
        };
        let Some(inner) = inner else {
            return;
        };
        value = inner;
    }
    match (last.split_at_checked(2), value) {
        (Some(("f:", name)), Value::Object(members)) => drop(members.remove(name)),
        (Some(("k:", key)), Value::Array(items)) => items.retain(|item| !matches_key(item, key)),
        (Some(("v:", wanted)), Value::Array(items)) => {
            items.retain(|item| !is_written(item, wanted));
        }
        _ => {}
    }
}

/// `.spec.containers[name="x"].image`, for people.
pub fn shown(path: &[String]) -> String {
    let mut text = String::new();
    for element in path {
        match element.split_at_checked(2) {
            Some(("k:", key)) => {
                let keys: Map<String, Value> = serde_json::from_str(key).unwrap_or_default();
                let keys: Vec<String> = keys
                    .iter()
                    .map(|(name, value)| format!("{name}={value}"))
                    .collect();
                text.extend(["[", &keys.join(","), "]"]);
            }
            Some(("v:", value)) => text.extend(["[=", value, "]"]),
            Some((_, name)) => {
                text.push('.');
                text.push_str(name);
            }
            None => {}
        }
    }
    text
}

fn step<'a>(value: &'a Value, element: &str) -> Option<&'a Value> {
    match element.split_at_checked(2)? {
        ("f:", name) => value.as_object()?.get(name),
        ("k:", key) => value.as_array()?.iter().find(|item| matches_key(item, key)),
        ("v:", wanted) => value
            .as_array()?
            .iter()
            .find(|item| is_written(item, wanted)),
        _ => None,
    }
}

/// Is this the value that a path element writes as JSON?
fn is_written(item: &Value, wanted: &str) -> bool {
    let text = item.to_string();
    text == wanted
}

fn matches_key(item: &Value, key: &str) -> bool {
    let keys: Map<String, Value> = serde_json::from_str(key).unwrap_or_default();
    let names: Vec<String> = keys.keys().cloned().collect();
    item_key(item, &names).as_deref() == Some(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kubernetes::kinds::Kinds;
    use serde_json::json;

    #[test]
    fn fields_are_written_as_kubernetes_writes_them_and_read_back() {
        let kinds = Kinds::built_in();
        let spot = Spot::top(kinds.get("pods").unwrap(), "v1");
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "labels": {"a": "b"}, "finalizers": ["x"]},
            "spec": {"containers": [{"name": "c", "image": "i"}], "tolerations": [{"key": "t"}]}});
        let fields = Fields::of(&pod, &spot);
        let wire = json!({
            "f:metadata": {"f:labels": {"f:a": {}}, "f:finalizers": {"v:\"x\"": {}}},
            "f:spec": {"f:containers": {"k:{\"name\":\"c\"}": {".": {}, "f:image": {}, "f:name": {}}}, "f:tolerations": {}},
        });
        assert_eq!(fields.to_value(), wire);
        assert_eq!(Fields::from_value(&wire), fields);
        for path in fields.paths() {
            assert!(find(&pod, &path).is_some(), "{path:?}");
        }
        let image: Path = ["f:spec", "f:containers", "k:{\"name\":\"c\"}", "f:image"]
            .map(str::to_owned)
            .into();
        assert_eq!(shown(&image), ".spec.containers[name=\"c\"].image");
        let mut less = pod.clone();
        take_out(&mut less, &image);
        assert_eq!(less["spec"]["containers"], json!([{"name": "c"}]));
    }
}
