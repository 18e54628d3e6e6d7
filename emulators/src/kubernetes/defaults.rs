//! What does the server fill in that the writer left out, as far as anybody relies on it?

use serde_json::{Value, json};

use super::kinds::Kind;

/// Fields of a new object.
pub fn on_create(kind: &Kind, value: &mut Value) {
    match kind.id.as_str() {
        "namespaces" => {
            value["spec"]["finalizers"] = json!(["kubernetes"]);
            value["status"] = json!({"phase": "Active"});
            let name = value["metadata"]["name"].clone();
            set(
                &mut value["metadata"]["labels"],
                "kubernetes.io/metadata.name",
                name,
            );
        }
        "pods" => {
            value["status"] = json!({"phase": "Pending"});
        }
        _ => {}
    }
}

/// Fields of a changed object that are not the writer's to change.
pub fn on_update(kind: &Kind, before: &Value, value: &mut Value) {
    if kind.id == "pods" && !before["spec"]["nodeName"].is_null() {
        value["spec"]["nodeName"] = before["spec"]["nodeName"].clone();
    }
}

fn set(map: &mut Value, key: &str, value: Value) {
    if map.is_null() {
        *map = json!({});
    }
    if let Some(members) = map.as_object_mut() {
        members.insert(key.to_owned(), value);
    }
}
