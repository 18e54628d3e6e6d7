//! What is one stored object: its bytes, shared by store, log and watchers, and the few fields that are asked for often?

use std::sync::Arc;

use bytes::Bytes;
use jiff::Timestamp;
use serde_json::Value;

/// Never changes; a write makes a new one.
#[derive(Debug)]
pub struct Object {
    pub meta: Meta,
    bytes: Bytes,
    /// Kept only while the store is small: parsed values take several times the room of their text.
    parsed: Option<Arc<Value>>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Meta {
    pub namespace: String,
    pub name: String,
    pub uid: String,
    /// The number of the write that made this version.
    pub revision: u64,
    pub generation: i64,
    /// Sorted by key.
    pub labels: Vec<(String, String)>,
    pub owners: Vec<Owner>,
    pub finalizers: Vec<String>,
    /// From `deletionTimestamp`: set means that it is being deleted.
    pub deleted_at: Option<Timestamp>,
    /// `spec.nodeName`, for pods.
    pub node: String,
    /// `status.phase`.
    pub phase: String,
    /// Since when the condition `Ready` is True.
    pub ready_since: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    pub uid: String,
    pub kind: String,
    pub name: String,
    pub controller: bool,
    pub blocks_deletion: bool,
}

impl Object {
    pub fn new(value: Value, keep_parsed: bool) -> Self {
        let meta = Meta::of(&value);
        // a Value always serializes: its keys are strings
        let bytes = Bytes::from(serde_json::to_vec(&value).unwrap_or_default());
        let parsed = keep_parsed.then(|| Arc::new(value));
        Self {
            meta,
            bytes,
            parsed,
        }
    }

    /// As JSON text, in the version it is stored in.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The whole object. Cheap in a small world, a parse in a large one.
    pub fn value(&self) -> Arc<Value> {
        self.parsed
            .clone()
            .unwrap_or_else(|| Arc::new(serde_json::from_slice(&self.bytes).unwrap_or_default()))
    }

    pub fn name(&self) -> &str {
        &self.meta.name
    }

    pub fn namespace(&self) -> &str {
        &self.meta.namespace
    }

    pub fn label(&self, key: &str) -> Option<&str> {
        label(&self.meta.labels, key)
    }

    /// The owner that manages it, if one does.
    pub fn controller(&self) -> Option<&Owner> {
        self.meta.owners.iter().find(|owner| owner.controller)
    }
}

impl Meta {
    pub fn of(value: &Value) -> Self {
        let meta = &value["metadata"];
        let labels = meta["labels"].as_object();
        let mut labels: Vec<(String, String)> = labels
            .into_iter()
            .flatten()
            .map(|(key, value)| (key.clone(), text(value)))
            .collect();
        labels.sort();
        Self {
            namespace: text(&meta["namespace"]),
            name: text(&meta["name"]),
            uid: text(&meta["uid"]),
            revision: text(&meta["resourceVersion"]).parse().unwrap_or_default(),
            generation: meta["generation"].as_i64().unwrap_or_default(),
            labels,
            owners: list(&meta["ownerReferences"]).map(Owner::of).collect(),
            finalizers: list(&meta["finalizers"]).map(text).collect(),
            deleted_at: meta["deletionTimestamp"]
                .as_str()
                .and_then(|at| at.parse().ok()),
            node: text(&value["spec"]["nodeName"]),
            phase: text(&value["status"]["phase"]),
            ready_since: ready_since(&value["status"]["conditions"]),
        }
    }
}

impl Owner {
    fn of(value: &Value) -> Self {
        Self {
            uid: text(&value["uid"]),
            kind: text(&value["kind"]),
            name: text(&value["name"]),
            controller: value["controller"] == true,
            blocks_deletion: value["blockOwnerDeletion"] == true,
        }
    }
}

pub fn label<'a>(sorted: &'a [(String, String)], key: &str) -> Option<&'a str> {
    let at = sorted.binary_search_by(|(have, _)| have.as_str().cmp(key));
    at.ok().map(|at| sorted[at].1.as_str())
}

fn ready_since(conditions: &Value) -> Option<Timestamp> {
    let ready = list(conditions).find(|condition| condition["type"] == "Ready")?;
    let since = ready["lastTransitionTime"].as_str();
    let since = since.and_then(|since| since.parse().ok());
    (ready["status"] == "True").then(|| since.unwrap_or(Timestamp::MIN))
}

/// Times in Kubernetes have whole seconds.
pub fn stamp(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Times in leases and events have microseconds.
pub fn micro_stamp(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
