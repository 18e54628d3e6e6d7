//! How does a CustomResourceDefinition become a kind that is served?

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::kinds::{self, Custom, Kind};
use super::object::{Object, stamp};
use super::paths::{default, list, set, strings, text};
use super::status::{Cause, Status};
use super::store::Store;

pub const ID: &str = "customresourcedefinitions.apiextensions.k8s.io";

/// Refuses what cannot be served and fills in names.
pub fn check(value: &mut Value) -> Result<(), Status> {
    let name = text(&value["metadata"], "name").to_owned();
    let spec = &value["spec"];
    let mut causes = Vec::new();
    let expected = format!("{}.{}", text(&spec["names"], "plural"), text(spec, "group"));
    if name != expected {
        let said = format!("Invalid value: \"{name}\": must be spec.names.plural+\".\"+spec.group");
        causes.push(Cause::new("metadata.name", "FieldValueInvalid", said));
    }
    for (field, value) in [
        ("spec.group", text(spec, "group")),
        ("spec.names.plural", text(&spec["names"], "plural")),
        ("spec.names.kind", text(&spec["names"], "kind")),
    ] {
        if value.is_empty() {
            causes.push(Cause::new(field, "FieldValueRequired", "Required value"));
        }
    }
    if !matches!(text(spec, "scope"), "Namespaced" | "Cluster") {
        let said = "Unsupported value: supported values: \"Cluster\", \"Namespaced\"";
        causes.push(Cause::new("spec.scope", "FieldValueNotSupported", said));
    }
    let versions = list(&spec["versions"]);
    if versions
        .iter()
        .filter(|version| version["storage"] == true)
        .count()
        != 1
    {
        let said = "Invalid value: must have exactly one version marked as storage version";
        causes.push(Cause::new("spec.versions", "FieldValueInvalid", said));
    }
    for (at, version) in versions.iter().enumerate() {
        if !version["schema"]["openAPIV3Schema"].is_object() {
            let field = format!("spec.versions[{at}].schema.openAPIV3Schema");
            causes.push(Cause::new(
                field,
                "FieldValueRequired",
                "Required value: schemas are required",
            ));
        }
    }
    if !causes.is_empty() {
        return Err(Status::invalid("CustomResourceDefinition", &name, causes));
    }
    let kind = text(&value["spec"]["names"], "kind").to_owned();
    default(value, &["spec", "names", "singular"], kind.to_lowercase());
    default(value, &["spec", "names", "listKind"], format!("{kind}List"));
    default(value, &["spec", "conversion"], json!({"strategy": "None"}));
    Ok(())
}

/// The kind it defines.
pub fn kind(definition: &Value) -> Kind {
    let spec = &definition["spec"];
    let names = &spec["names"];
    let own = |value: &Value| -> Vec<String> { strings(value).map(str::to_owned).collect() };
    let mut versions: Vec<&Value> = list(&spec["versions"]).iter().collect();
    versions.retain(|version| version["served"] == true);
    versions.sort_by_key(|version| std::cmp::Reverse(priority(text(version, "name"))));
    let storage = list(&spec["versions"])
        .iter()
        .find(|version| version["storage"] == true);
    let mut subresources = Vec::new();
    for sub in ["status", "scale"] {
        if versions
            .iter()
            .any(|version| version["subresources"][sub].is_object())
        {
            subresources.push(sub.to_owned());
        }
    }
    let custom = list(&spec["versions"]).iter().map(|version| {
        let custom = Custom {
            schema: version["schema"]["openAPIV3Schema"].clone(),
            columns: version["additionalPrinterColumns"].clone(),
            scale: version["subresources"]["scale"].clone(),
            selectable: list(&version["selectableFields"])
                .iter()
                .map(|field| text(field, "jsonPath").to_owned())
                .collect(),
            served: version["served"] == true,
        };
        (text(version, "name").to_owned(), Arc::new(custom))
    });
    Kind {
        id: kinds::id(text(names, "plural"), text(spec, "group")),
        group: text(spec, "group").to_owned(),
        versions: versions
            .iter()
            .map(|version| text(version, "name").to_owned())
            .collect(),
        storage: storage
            .map(|version| text(version, "name"))
            .unwrap_or_default()
            .to_owned(),
        plural: text(names, "plural").to_owned(),
        singular: text(names, "singular").to_owned(),
        kind: text(names, "kind").to_owned(),
        list_kind: text(names, "listKind").to_owned(),
        namespaced: spec["scope"] == "Namespaced",
        short_names: own(&names["shortNames"]),
        categories: own(&names["categories"]),
        subresources,
        counts_generation: true,
        asked_only: false,
        custom: custom.collect::<BTreeMap<_, _>>(),
    }
}

/// Serves the kind and says so in the definition's status.
pub fn install(store: &mut Store, definition: &Object, now: Timestamp) {
    let value = definition.value();
    let kind = kind(&value);
    let storage = kind.storage.clone();
    store.kinds.insert(kind);
    let at = ("", definition.name());
    let _ = store.change(ID, at, now, |value| {
        let names = value["spec"]["names"].clone();
        set(value, &["status", "acceptedNames"], names);
        let mut stored: Vec<String> = strings(&value["status"]["storedVersions"]).map(str::to_owned).collect();
        if !stored.contains(&storage) {
            stored.push(storage);
        }
        set(value, &["status", "storedVersions"], json!(stored));
        if list(&value["status"]["conditions"]).is_empty() {
            let since = stamp(now);
            let condition = |kind: &str, reason: &str, message: &str| {
                json!({"type": kind, "status": "True", "lastTransitionTime": since, "reason": reason, "message": message})
            };
            let conditions = json!([
                condition("NamesAccepted", "NoConflicts", "no conflicts found"),
                condition("Established", "InitialNamesAccepted", "the initial names have been accepted"),
            ]);
            set(value, &["status", "conditions"], conditions);
        }
    });
}

/// Versions in Kubernetes' order: v2 before v1 before v1beta2 before v1alpha1 before anything else.
pub fn priority(version: &str) -> (u8, u32, u32) {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let Some(rest) = version.strip_prefix('v') else {
        return (0, 0, 0);
    };
    let end = digits(rest);
    let Ok(major) = rest[..end].parse::<u32>() else {
        return (0, 0, 0);
    };
    let tail = &rest[end..];
    if tail.is_empty() {
        return (3, major, 0);
    }
    for (word, stage) in [("beta", 2), ("alpha", 1)] {
        if let Some(minor) = tail.strip_prefix(word)
            && let Ok(minor) = minor.parse()
        {
            return (stage, major, minor);
        }
    }
    (0, 0, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_as_kubernetes_orders_them() {
        let mut versions = ["v1alpha1", "v1openstack", "v1", "v2beta1", "v2", "v1beta2"];
        versions.sort_by_key(|version| std::cmp::Reverse(priority(version)));
        assert_eq!(
            versions,
            ["v2", "v1", "v2beta1", "v1beta2", "v1alpha1", "v1openstack"]
        );
    }

    #[test]
    fn a_definition_must_be_named_after_what_it_defines() {
        let mut crd = json!({"metadata": {"name": "x"}, "spec": {"group": "g.io", "scope": "Cluster",
            "names": {"plural": "things", "kind": "Thing"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}]}});
        assert!(
            check(&mut crd)
                .unwrap_err()
                .message
                .contains("spec.names.plural")
        );
        crd["metadata"]["name"] = "things.g.io".into();
        check(&mut crd).unwrap();
        let kind = kind(&crd);
        assert_eq!(
            (
                kind.id.as_str(),
                kind.list_kind.as_str(),
                kind.storage.as_str()
            ),
            ("things.g.io", "ThingList", "v1")
        );
    }
}
