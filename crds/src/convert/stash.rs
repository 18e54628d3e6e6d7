//! How does what a version cannot express travel on an object of that version?
//!
//! As JSON in one annotation: `{"spec": {"ports": {"value": …}}}`. `value` is the field as the other version had it (no
//! `value`: the field was absent there). `beside` is there only where the field's counterpart is not simply what the table
//! makes of `value`: it is that counterpart in a list of one, or an empty list if there was none.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// The largest stash we write: Kubernetes refuses objects whose annotations exceed 256 KiB together.
pub const LIMIT: usize = 200 * 1024;

/// Fields that are not below `spec` or `status`.
pub(crate) const OBJECT: &str = "object";
/// Annotations of ours that stood on an object they do not belong to.
pub(crate) const ANNOTATIONS: &str = "annotations";
/// `annotations` itself, where it was there but empty.
pub(crate) const METADATA: &str = "metadata";
const SECTIONS: [&str; 5] = ["spec", "status", OBJECT, ANNOTATIONS, METADATA];

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StashError {
    #[error(
        "metadata.annotations[{annotation:?}] cannot be read ({reason}); restore it from a fresh read of the object, or remove it \
         to give up the fields it holds"
    )]
    Malformed { annotation: String, reason: String },
    #[error(
        "metadata.annotations[{annotation:?}] would be {size} bytes long and at most {LIMIT} are allowed; shorten the largest \
         fields (user data belongs into a Secret)"
    )]
    TooLarge { annotation: String, size: usize },
}

/// Fields put aside, by section and name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stash {
    sections: BTreeMap<String, BTreeMap<String, Entry>>,
}

/// One field put aside.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub value: Option<Value>,
    /// The counterpart at that time, if it differs from what the table makes of `value`.
    pub beside: Option<Option<Value>>,
}

impl Stash {
    pub fn is_empty(&self) -> bool {
        self.sections.is_empty()
    }

    pub fn get(&self, section: &str, field: &str) -> Option<&Entry> {
        self.sections.get(section)?.get(field)
    }

    pub fn section(&self, section: &str) -> impl Iterator<Item = (&str, &Entry)> {
        let fields = self.sections.get(section).into_iter().flatten();
        fields.map(|(name, entry)| (name.as_str(), entry))
    }

    pub(crate) fn put(&mut self, section: &str, field: &str, entry: Entry) {
        let fields = self.sections.entry(section.to_owned()).or_default();
        fields.insert(field.to_owned(), entry);
    }

    /// Reads the text of an annotation; `ours` are the annotations it may itself hold.
    pub fn read(annotation: &str, text: &Value, ours: &[String]) -> Result<Self, StashError> {
        parse(text, ours).map_err(|reason| StashError::Malformed {
            annotation: annotation.to_owned(),
            reason,
        })
    }

    pub(crate) fn write(&self, annotation: &str) -> Result<Value, StashError> {
        let sections = self.sections.iter().map(|(section, fields)| {
            let fields = fields.iter().map(|(name, entry)| (name.clone(), entry.write()));
            (section.clone(), Value::Object(fields.collect()))
        });
        let text = Value::Object(sections.collect()).to_string();
        if text.len() > LIMIT {
            return Err(StashError::TooLarge {
                annotation: annotation.to_owned(),
                size: text.len(),
            });
        }
        Ok(Value::String(text))
    }
}

impl Entry {
    pub(crate) fn of(value: Option<Value>) -> Self {
        Self { value, beside: None }
    }

    fn write(&self) -> Value {
        let mut entry = Map::new();
        if let Some(value) = &self.value {
            entry.insert("value".into(), value.clone());
        }
        if let Some(beside) = &self.beside {
            entry.insert("beside".into(), beside.iter().cloned().collect());
        }
        Value::Object(entry)
    }
}

fn parse(text: &Value, ours: &[String]) -> Result<Stash, String> {
    let text = text.as_str().ok_or("it is not a string")?;
    let Ok(Value::Object(sections)) = serde_json::from_str(text) else {
        return Err("it is not a JSON object".into());
    };
    let mut stash = Stash::default();
    for (section, fields) in sections {
        let Value::Object(fields) = fields else {
            return Err(format!("{section:?} is not an object"));
        };
        if !SECTIONS.contains(&section.as_str()) {
            return Err(format!("{section:?} is not one of {}", SECTIONS.join(", ")));
        }
        for (field, entry) in fields {
            let entry = parse_entry(entry).ok_or_else(|| format!("{section}.{field} holds more than value and beside"))?;
            if !may_hold(&section, &field, &entry, ours) {
                return Err(format!("{section}.{field} does not belong into it"));
            }
            stash.put(&section, &field, entry);
        }
    }
    Ok(stash)
}

fn parse_entry(entry: Value) -> Option<Entry> {
    let Value::Object(mut entry) = entry else { return None };
    let value = entry.remove("value");
    let beside = match entry.remove("beside") {
        None => None,
        Some(Value::Array(mut list)) if list.len() <= 1 => Some(list.pop()),
        Some(_) => return None,
    };
    entry.is_empty().then_some(Entry { value, beside })
}

/// Metadata is not ours to change, so a stash may bring back nothing of it but our own annotations.
fn may_hold(section: &str, field: &str, entry: &Entry, ours: &[String]) -> bool {
    let empty = |value: &Value| value.is_null() || value.as_object().is_some_and(Map::is_empty);
    match section {
        ANNOTATIONS => ours.iter().any(|name| name == field) && entry.value.is_some(),
        METADATA => field == "annotations" && entry.value.as_ref().is_some_and(empty),
        OBJECT => !["apiVersion", "kind", "metadata", "spec", "status"].contains(&field),
        _ => true,
    }
}
