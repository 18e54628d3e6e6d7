//! Which lists are merged item by item, and by which keys? Lists that are not named here are replaced whole.

use serde_json::Value;

use crate::kubernetes::kinds::Kind;
use crate::kubernetes::paths::{strings, text};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListType {
    Atomic,
    /// Plain values, each at most once.
    Set,
    /// Objects told apart by these members.
    Map(Vec<String>),
}

/// A place in an object: what its schema, or the table, says about lists and maps there.
#[derive(Debug, Clone)]
pub struct Spot<'a> {
    /// Of a custom resource.
    schema: Option<&'a Value>,
    parent: String,
    field: String,
}

/// (parent, field, keys); `*` is any parent, `=` a set.
#[rustfmt::skip]
const LISTS: &[(&str, &str, &str)] = &[
    ("metadata", "finalizers", "="),
    ("metadata", "ownerReferences", "uid"),
    ("status", "conditions", "type"),
    ("status", "addresses", "type"),
    ("status", "podIPs", "ip"),
    ("spec", "podCIDRs", "="),
    ("*", "containers", "name"),
    ("*", "initContainers", "name"),
    ("*", "ephemeralContainers", "name"),
    ("*", "env", "name"),
    ("*", "volumes", "name"),
    ("*", "volumeMounts", "mountPath"),
    ("*", "volumeDevices", "devicePath"),
    ("containers", "ports", "containerPort protocol"),
    ("initContainers", "ports", "containerPort protocol"),
    ("spec", "ports", "port protocol"),
    ("*", "imagePullSecrets", "name"),
    ("*", "hostAliases", "ip"),
    ("*", "topologySpreadConstraints", "topologyKey whenUnsatisfiable"),
    ("*", "resourceClaims", "name"),
    ("*", "claims", "name"),
    ("*", "schedulingGates", "name"),
    ("*", "webhooks", "name"),
    ("*", "secrets", "name"),
    ("spec", "drivers", "name"),
];

/// Maps that are replaced whole: references and selectors.
const ATOMIC_MAPS: &[&str] = &[
    "nodeSelector",
    "selector",
    "labelSelector",
    "namespaceSelector",
    "roleRef",
    "targetRef",
    "claimRef",
    "configMapKeyRef",
    "secretKeyRef",
    "fieldRef",
    "resourceFieldRef",
];

impl<'a> Spot<'a> {
    pub fn top(kind: &'a Kind, version: &str) -> Self {
        let custom = kind.custom.get(version);
        Self {
            schema: custom.map(|custom| &custom.schema),
            parent: String::new(),
            field: String::new(),
        }
    }

    #[must_use]
    pub fn member(&self, name: &str) -> Self {
        // metadata is the same everywhere and not in a custom schema
        let schema = self
            .schema
            .filter(|_| !(self.field.is_empty() && name == "metadata"));
        let schema = schema.map(|schema| match schema["properties"].get(name) {
            Some(found) => found,
            None => &schema["additionalProperties"],
        });
        Self {
            schema,
            parent: self.field.clone(),
            field: name.to_owned(),
        }
    }

    /// An item of the list here: what is inside belongs to the list's field.
    #[must_use]
    pub fn item(&self) -> Self {
        Self {
            schema: self.schema.map(|schema| &schema["items"]),
            parent: self.parent.clone(),
            field: self.field.clone(),
        }
    }

    pub fn list_type(&self) -> ListType {
        if let Some(schema) = self.schema {
            return match text(schema, "x-kubernetes-list-type") {
                "set" => ListType::Set,
                "map" => ListType::Map(
                    strings(&schema["x-kubernetes-list-map-keys"])
                        .map(str::to_owned)
                        .collect(),
                ),
                _ => ListType::Atomic,
            };
        }
        let row = LISTS.iter().find(|(parent, field, _)| {
            *field == self.field && (*parent == "*" || *parent == self.parent)
        });
        match row {
            None => ListType::Atomic,
            Some((_, _, "=")) => ListType::Set,
            Some((_, _, keys)) => ListType::Map(keys.split(' ').map(str::to_owned).collect()),
        }
    }

    pub fn atomic_map(&self) -> bool {
        match self.schema {
            Some(schema) => schema["x-kubernetes-map-type"] == "atomic",
            None => ATOMIC_MAPS.contains(&self.field.as_str()),
        }
    }
}

/// The key of an item, as field paths write it: `{"name":"x"}`. `None` for an item without any of the keys.
pub fn item_key(item: &Value, keys: &[String]) -> Option<String> {
    let mut found = serde_json::Map::new();
    for key in keys {
        match (item.get(key), key.as_str()) {
            (Some(value), _) => drop(found.insert(key.clone(), value.clone())),
            // the one key with a default
            (None, "protocol") => drop(found.insert(key.clone(), "TCP".into())),
            (None, _) => {}
        }
    }
    if found.is_empty() || !item.is_object() {
        return None;
    }
    serde_json::to_string(&found).ok()
}

/// Where in the list is the item with this key?
pub fn position(list: &[Value], keys: &[String], key: &str) -> Option<usize> {
    list.iter()
        .position(|item| item_key(item, keys).as_deref() == Some(key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kubernetes::kinds::Kinds;
    use serde_json::json;

    #[test]
    fn ports_of_containers_and_of_services_have_different_keys() {
        let kinds = Kinds::built_in();
        let spec = Spot::top(kinds.get("pods").unwrap(), "v1").member("spec");
        let ports = spec.member("containers").item().member("ports");
        let keys = ListType::Map(vec!["containerPort".into(), "protocol".into()]);
        assert_eq!(ports.list_type(), keys);
        let keys = ListType::Map(vec!["port".into(), "protocol".into()]);
        assert_eq!(spec.member("ports").list_type(), keys);
        assert_eq!(spec.member("tolerations").list_type(), ListType::Atomic);
    }

    #[test]
    fn a_missing_protocol_means_tcp() {
        let keys = ["containerPort".to_owned(), "protocol".to_owned()];
        let key = item_key(&json!({"containerPort": 80}), &keys).unwrap();
        assert_eq!(key, r#"{"containerPort":80,"protocol":"TCP"}"#);
        assert_eq!(item_key(&json!(5), &keys), None);
    }
}
