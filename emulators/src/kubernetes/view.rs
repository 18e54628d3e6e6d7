//! How does a stored object look to the one who asked: his version, his spelling, his table?

use bytes::Bytes;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::ask::Ask;
use super::events;
use super::object::Object;
use super::print;

/// As JSON text.
pub(super) fn bytes(ask: &Ask, object: &Object) -> Bytes {
    if is_plain(ask) {
        return object.bytes().clone();
    }
    Bytes::from(value(ask, object).to_string())
}

/// As a value, in the version and group that was asked for.
pub(super) fn value(ask: &Ask, object: &Object) -> Value {
    translate(ask, (*object.value()).clone())
}

/// From the stored spelling to the asked one.
pub(super) fn translate(ask: &Ask, mut value: Value) -> Value {
    if ask.kind.id != ask.stored.id {
        events::from_core(&mut value);
    }
    value["apiVersion"] = ask.kind.api_version(&ask.version).into();
    if ask.metadata_only {
        let metadata = value["metadata"].take();
        return json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": metadata});
    }
    value
}

/// From the asked spelling to the stored one.
pub(super) fn inward(ask: &Ask, value: &mut Value) {
    if ask.kind.id != ask.stored.id {
        events::to_core(value);
    }
    if value.is_object() {
        value["apiVersion"] = ask.stored.api_version(&ask.stored.storage).into();
        value["kind"] = ask.stored.kind.clone().into();
    }
}

/// One answer to a get or a write: the object, or a table with its row.
pub(super) fn answer(ask: &Ask, object: &Object, now: Timestamp) -> Bytes {
    if ask.table {
        let rows = vec![print::row(ask, object, now)];
        return Bytes::from(print::table(ask, rows, true, &meta_of(object)).to_string());
    }
    bytes(ask, object)
}

pub(super) fn meta_of(object: &Object) -> Value {
    json!({"resourceVersion": object.meta.revision.to_string()})
}

/// A list from the texts of its items.
pub(super) fn list(ask: &Ask, meta: &Value, items: &[Bytes]) -> Bytes {
    let (api_version, kind) = if ask.metadata_only {
        ("meta.k8s.io/v1".to_owned(), "PartialObjectMetadataList")
    } else {
        (
            ask.kind.api_version(&ask.version),
            ask.kind.list_kind.as_str(),
        )
    };
    let head = json!({"apiVersion": api_version, "kind": kind, "metadata": meta}).to_string();
    let room = items.iter().map(|item| item.len() + 1).sum::<usize>();
    let mut text = Vec::with_capacity(head.len() + room + 16);
    text.extend_from_slice(&head.as_bytes()[..head.len() - 1]);
    text.extend_from_slice(b",\"items\":[");
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            text.push(b',');
        }
        text.extend_from_slice(item);
    }
    text.extend_from_slice(b"]}");
    Bytes::from(text)
}

/// One line of a watch.
pub(super) fn event(kind: &str, object: &[u8]) -> Bytes {
    let mut line = Vec::with_capacity(object.len() + kind.len() + 24);
    line.extend_from_slice(b"{\"type\":\"");
    line.extend_from_slice(kind.as_bytes());
    line.extend_from_slice(b"\",\"object\":");
    line.extend_from_slice(object);
    line.extend_from_slice(b"}\n");
    Bytes::from(line)
}

fn is_plain(ask: &Ask) -> bool {
    ask.kind.id == ask.stored.id && ask.version == ask.stored.storage && !ask.metadata_only
}
