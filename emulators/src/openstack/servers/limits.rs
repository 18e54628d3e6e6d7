//! Are these tags and this metadata within Nova's limits?

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::errors;
use super::super::wire::{Refusal, repr};
use super::check::invalid;

pub(super) fn metadata(value: &Value) -> Result<BTreeMap<String, String>, Refusal> {
    let Value::Object(members) = value else {
        return Err(invalid(
            "metadata",
            value,
            &format!("{} is not of type 'object'", repr(value)),
        ));
    };
    let mut read = BTreeMap::new();
    for (key, item) in members {
        let good = |letter: char| letter.is_ascii_alphanumeric() || "-_:. ".contains(letter);
        if key.is_empty() || key.len() > 255 || !key.chars().all(good) {
            let why =
                format!("'{key}' does not match any of the regexes: '^[a-zA-Z0-9-_:. ]{{1,255}}$'");
            return Err(invalid("metadata", value, &why));
        }
        match item.as_str() {
            None => {
                return Err(invalid(
                    key,
                    item,
                    &format!("{} is not of type 'string'", repr(item)),
                ));
            }
            Some(text) if text.chars().count() > 255 => {
                return Err(invalid(key, item, &format!("'{text}' is too long")));
            }
            Some(text) => read.insert(key.clone(), text.to_owned()),
        };
    }
    if read.len() > 128 {
        return Err(errors::nova(
            403,
            "Maximum number of metadata items exceeds 128",
        ));
    }
    Ok(read)
}

pub(super) fn tags(value: &Value) -> Result<Vec<String>, Refusal> {
    let Value::Array(items) = value else {
        return Err(invalid(
            "tags",
            value,
            &format!("{} is not of type 'array'", repr(value)),
        ));
    };
    if items.len() > 50 {
        return Err(invalid(
            "tags",
            value,
            &format!("{} is too long", repr(value)),
        ));
    }
    let read = items
        .iter()
        .enumerate()
        .map(|(at, item)| tag(&at.to_string(), item));
    read.collect()
}

pub(super) fn tag(field: &str, value: &Value) -> Result<String, Refusal> {
    let why = match value.as_str() {
        None => format!("{} is not of type 'string'", repr(value)),
        Some("") => "'' is too short".to_owned(),
        Some(tag) if tag.chars().count() > 60 => format!("'{tag}' is too long"),
        Some(tag) if tag.contains(['/', ',']) => format!("'{tag}' does not match '^[^,/]*$'"),
        Some(tag) => return Ok(tag.to_owned()),
    };
    Err(invalid(field, value, &why))
}
