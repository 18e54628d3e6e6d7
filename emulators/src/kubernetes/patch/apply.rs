//! Who owns which field, and what does server-side apply make of it?

use jiff::Timestamp;
use serde_json::{Value, json};

use super::fields::{Fields, Path, find, shown, take_out};
use super::lists::{ListType, Spot, item_key, position};
use crate::kubernetes::object::stamp;
use crate::kubernetes::paths::{list, text};
use crate::kubernetes::status::{Cause, Status};

/// Who writes, through which door.
#[derive(Debug, Clone, Copy)]
pub struct Writer<'a> {
    pub manager: &'a str,
    pub api_version: &'a str,
    /// Empty for the object itself.
    pub subresource: &'a str,
    pub now: Timestamp,
}

#[derive(Debug, Clone)]
struct Entry {
    manager: String,
    operation: String,
    subresource: String,
    api_version: String,
    time: String,
    fields: Fields,
}

/// Applies a configuration over the live object (or over nothing, `Value::Null`).
pub fn apply(
    live: &Value,
    wanted: &Value,
    spot: &Spot<'_>,
    writer: Writer<'_>,
    force: bool,
) -> Result<Value, Status> {
    let mut entries = read(live);
    let fields = scoped(Fields::of(wanted, spot), writer.subresource);
    let clashes = clashes(&entries, &fields, live, wanted, writer);
    if !clashes.is_empty() && !force {
        return Err(conflict(&clashes));
    }
    for (at, path) in &clashes_at(&entries, &clashes) {
        entries[*at].fields.remove(path);
    }
    let mine = |entry: &Entry| entry.is(writer, "Apply");
    let before = entries
        .iter()
        .find(|entry| mine(entry))
        .map(|entry| entry.fields.clone());
    entries.retain(|entry| !mine(entry));
    let mut next = if live.is_object() {
        live.clone()
    } else {
        json!({})
    };
    let mut wanted = wanted.clone();
    if let Some(meta) = wanted["metadata"].as_object_mut() {
        for server in ["resourceVersion", "uid", "managedFields"] {
            meta.remove(server);
        }
    }
    if writer.subresource == "status"
        && let Some(members) = wanted.as_object_mut()
    {
        members.retain(|name, _| matches!(name.as_str(), "status" | "apiVersion" | "kind"));
    }
    lay_over(&mut next, &wanted, spot);
    // an item before its members: without its key it would not be found
    for path in before.iter().flat_map(Fields::paths) {
        let others = entries.iter().any(|entry| entry.fields.touches(&path));
        if !fields.has(&path) && !others {
            take_out(&mut next, &path);
        }
    }
    drop_empty(&mut next);
    entries.push(Entry::new(writer, "Apply", fields));
    write(&mut next, entries);
    Ok(next)
}

/// Notes who changed what in a plain update.
pub fn track(before: &Value, after: &mut Value, spot: &Spot<'_>, writer: Writer<'_>) {
    let cleared = after["metadata"]["managedFields"]
        .as_array()
        .is_some_and(Vec::is_empty);
    let mut entries = if cleared { Vec::new() } else { read(before) };
    let now = Fields::of(after, spot);
    let mut changed = Fields::default();
    for path in now.paths() {
        let (old, new) = (find(before, &path), find(after, &path));
        let item = path.last().is_some_and(|last| !last.starts_with("f:"));
        if old != new && !(item && old.is_some()) {
            changed.add(&path);
        }
    }
    for entry in &mut entries {
        for path in entry.fields.paths() {
            let gone = find(after, &path).is_none();
            if gone || changed.has(&path) && !entry.is(writer, "Update") {
                entry.fields.remove(&path);
            }
        }
    }
    if !changed.is_empty() {
        match entries.iter_mut().find(|entry| entry.is(writer, "Update")) {
            Some(entry) => {
                for path in changed.paths() {
                    entry.fields.add(&path);
                }
                entry.time = stamp(writer.now);
            }
            None => entries.push(Entry::new(writer, "Update", changed)),
        }
    }
    write(after, entries);
}

/// (manager and version, field) of everything somebody else owns and the wish would change.
type Clash = (usize, Path, String);

fn clashes(
    entries: &[Entry],
    fields: &Fields,
    live: &Value,
    wanted: &Value,
    writer: Writer<'_>,
) -> Vec<Clash> {
    let mut all = Vec::new();
    for path in fields.paths() {
        let item = path.last().is_some_and(|last| !last.starts_with("f:"));
        if item || find(live, &path) == find(wanted, &path) {
            continue;
        }
        for (at, entry) in entries.iter().enumerate() {
            if !entry.is(writer, "Apply") && entry.fields.has(&path) {
                all.push((at, path.clone(), entry.name()));
            }
        }
    }
    all
}

fn clashes_at(entries: &[Entry], clashes: &[Clash]) -> Vec<(usize, Path)> {
    let known = clashes.iter().filter(|(at, ..)| *at < entries.len());
    known.map(|(at, path, _)| (*at, path.clone())).collect()
}

fn conflict(clashes: &[Clash]) -> Status {
    let causes: Vec<Cause> = clashes
        .iter()
        .map(|(_, path, who)| {
            Cause::new(
                shown(path),
                "FieldManagerConflict",
                format!("conflict with {who}"),
            )
        })
        .collect();
    let said = match causes.as_slice() {
        [one] => format!(
            "Apply failed with 1 conflict: {}: {}",
            one.message, one.field
        ),
        many => {
            let lines: Vec<String> = many
                .iter()
                .map(|cause| format!("{}: {}", cause.message, cause.field))
                .collect();
            format!(
                "Apply failed with {} conflicts: {}",
                many.len(),
                lines.join("\n")
            )
        }
    };
    Status::new(409, "Conflict", said).because(&causes)
}

/// Lists by their keys, maps member by member, everything else whole.
fn lay_over(into: &mut Value, wanted: &Value, spot: &Spot<'_>) {
    match (into, wanted) {
        (Value::Object(into), Value::Object(wanted)) if !spot.atomic_map() => {
            for (name, value) in wanted {
                let inner = into.entry(name.as_str()).or_insert(Value::Null);
                lay_over(inner, value, &spot.member(name));
            }
        }
        (Value::Array(into), Value::Array(wanted)) => match spot.list_type() {
            ListType::Atomic => into.clone_from(wanted),
            ListType::Set => {
                let new = wanted.iter().filter(|item| !into.contains(item)).cloned();
                let new: Vec<Value> = new.collect();
                into.extend(new);
            }
            ListType::Map(keys) => {
                for item in wanted {
                    let at = item_key(item, &keys).and_then(|key| position(into, &keys, &key));
                    match at {
                        Some(at) => lay_over(&mut into[at], item, &spot.item()),
                        None => into.push(item.clone()),
                    }
                }
            }
        },
        (into, wanted) => *into = wanted.clone(),
    }
}

/// Maps and lists of the metadata that have lost their last entry are not there at all.
fn drop_empty(value: &mut Value) {
    if let Some(meta) = value["metadata"].as_object_mut() {
        meta.retain(|_, value| match value {
            Value::Object(members) => !members.is_empty(),
            Value::Array(items) => !items.is_empty(),
            _ => true,
        });
    }
}

/// The status belongs to its own door, everything else to the other.
fn scoped(mut fields: Fields, subresource: &str) -> Fields {
    if subresource == "status" {
        fields.retain_top(|name| name == "status");
    }
    fields
}

impl Entry {
    fn new(writer: Writer<'_>, operation: &str, fields: Fields) -> Self {
        Self {
            manager: writer.manager.to_owned(),
            operation: operation.to_owned(),
            subresource: writer.subresource.to_owned(),
            api_version: writer.api_version.to_owned(),
            time: stamp(writer.now),
            fields,
        }
    }

    fn is(&self, writer: Writer<'_>, operation: &str) -> bool {
        self.manager == writer.manager
            && self.operation == operation
            && self.subresource == writer.subresource
    }

    fn name(&self) -> String {
        match self.operation.as_str() {
            "Apply" => format!("{:?}", self.manager),
            _ => format!("{:?} using {}", self.manager, self.api_version),
        }
    }
}

fn read(value: &Value) -> Vec<Entry> {
    let entries = list(&value["metadata"]["managedFields"]).iter();
    let entries = entries.map(|entry| Entry {
        manager: text(entry, "manager").to_owned(),
        operation: text(entry, "operation").to_owned(),
        subresource: text(entry, "subresource").to_owned(),
        api_version: text(entry, "apiVersion").to_owned(),
        time: text(entry, "time").to_owned(),
        fields: Fields::from_value(&entry["fieldsV1"]),
    });
    entries.collect()
}

fn write(value: &mut Value, mut entries: Vec<Entry>) {
    entries.retain(|entry| !entry.fields.is_empty());
    entries.sort_by(|a, b| {
        (&a.operation, &a.time, &a.manager, &a.subresource).cmp(&(
            &b.operation,
            &b.time,
            &b.manager,
            &b.subresource,
        ))
    });
    let entries = entries.iter().map(|entry| {
        let mut wire = json!({
            "manager": entry.manager, "operation": entry.operation, "apiVersion": entry.api_version,
            "time": entry.time, "fieldsType": "FieldsV1", "fieldsV1": entry.fields.to_value(),
        });
        if !entry.subresource.is_empty() {
            wire["subresource"] = entry.subresource.clone().into();
        }
        wire
    });
    let entries: Vec<Value> = entries.collect();
    crate::kubernetes::paths::set(value, &["metadata", "managedFields"], entries.into());
}

#[cfg(test)]
#[path = "apply_tests.rs"]
mod tests;
