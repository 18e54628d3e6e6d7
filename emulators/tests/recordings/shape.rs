//! In what do two answers differ: status, headers, members, types?

use std::collections::BTreeSet;

use bytes::Bytes;
use http::Response;
use serde_json::Value;

use crate::recorded::Exchange;

/// Lists that are longer in a cloud with more services; their elements are compared all the same.
const LENGTHS_DIFFER: &[&str] = &["catalog", "endpoints", "extensions"];

pub(crate) fn differences(exchange: &Exchange, ours: &Response<Bytes>) -> Vec<String> {
    let theirs = &exchange.reply;
    let mut found = Vec::new();
    if theirs.status != ours.status().as_u16() {
        found.push(format!(
            "status {} is {}",
            theirs.status,
            ours.status().as_u16()
        ));
        return found;
    }
    for name in [
        "content-type",
        "location",
        "www-authenticate",
        "x-subject-token",
        "openstack-api-version",
        "vary",
    ] {
        let mine = ours
            .headers()
            .get(name)
            .map(|value| value.to_str().unwrap());
        let same = match (theirs.headers.get(name), mine) {
            (Some(theirs), Some(mine)) => {
                name != "content-type" && name != "openstack-api-version" || theirs == mine
            }
            (None, None) => true,
            _ => false,
        };
        if !same {
            found.push(format!(
                "header {name}: {:?} is {mine:?}",
                theirs.headers.get(name)
            ));
        }
    }
    let text = String::from_utf8_lossy(ours.body());
    let mine = if text.is_empty() {
        Value::String(String::new())
    } else {
        serde_json::from_str(&text).unwrap_or(Value::String(text.into_owned()))
    };
    compare("", &theirs.body, &mine, &mut found);
    found
}

fn compare(at: &str, theirs: &Value, ours: &Value, found: &mut Vec<String>) {
    match (theirs, ours) {
        (Value::Object(theirs), Value::Object(ours)) => {
            for (key, value) in theirs {
                match ours.get(key) {
                    None => found.push(format!("{at}/{key} is missing")),
                    Some(mine) => compare(&format!("{at}/{key}"), value, mine, found),
                }
            }
            let extra = ours.keys().filter(|key| !theirs.contains_key(*key));
            found.extend(extra.map(|key| format!("{at}/{key} is extra")));
        }
        (Value::Array(theirs), Value::Array(ours)) => compare_lists(at, theirs, ours, found),
        (theirs, ours) if kind(theirs) != kind(ours) => {
            found.push(format!("{at}: {} is {}", kind(theirs), kind(ours)));
        }
        _ => {}
    }
}

fn compare_lists(at: &str, theirs: &[Value], ours: &[Value], found: &mut Vec<String>) {
    let name = at.rsplit('/').next().unwrap_or_default();
    if !LENGTHS_DIFFER.contains(&name) && theirs.len() != ours.len() {
        found.push(format!(
            "{at}: {} elements are {}",
            theirs.len(),
            ours.len()
        ));
        return;
    }
    if theirs.len() == ours.len() && !LENGTHS_DIFFER.contains(&name) {
        for (index, (theirs, ours)) in theirs.iter().zip(ours).enumerate() {
            compare(&format!("{at}/{index}"), theirs, ours, found);
        }
        return;
    }
    let shapes = |list: &[Value]| list.iter().map(shape).collect::<BTreeSet<_>>();
    if shapes(theirs) != shapes(ours) {
        found.push(format!("{at}: the elements have other members"));
    }
}

/// Members and types as text; of a list only the different shapes count.
fn shape(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let members: Vec<String> = members
                .iter()
                .map(|(key, value)| format!("{key}:{}", shape(value)))
                .collect();
            format!("{{{}}}", members.join(","))
        }
        Value::Array(list) => {
            let shapes: BTreeSet<String> = list.iter().map(shape).collect();
            format!("{shapes:?}")
        }
        value => kind(value).to_owned(),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "fraction",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "list",
        Value::Object(_) => "object",
    }
}
