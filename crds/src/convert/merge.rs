//! What does a value become when its author edited it in a version that shows only part of it?
//!
//! `now` is the value as it stands in the version the object comes from, `then` is what was put aside for the version it
//! goes to. Unedited, `then` is the answer. Edited, the edit wins and everything the author could not see stays.

use std::collections::{BTreeMap, VecDeque};

use serde_json::{Map, Value};

use super::project::{project, project_element};
use super::table::{Direction, FieldMap, How, Member};

pub(crate) fn merge(how: How, direction: Direction, now: Option<&Value>, then: Option<&Value>) -> Option<Value> {
    if project(how, direction.back(), then).as_ref() == now {
        return then.cloned();
    }
    let Some(then) = then else {
        return project(how, direction, now);
    };
    match (how, direction) {
        (How::Same | How::Rewrite(_), _) => project(how, direction, now),
        (How::Fields(maps), _) => fields(maps, direction, now, then),
        (How::Each(element), _) => list(*element, direction, now, then),
        (How::First(element), Direction::Up) => first(*element, now, then),
        (How::First(element), Direction::Down) => {
            merge(*element, direction, now.and_then(|list| list.get(0)), Some(then))
        }
        (How::Inside(member), Direction::Up) => inside(member, now, then),
        (How::Inside(member), Direction::Down) => {
            let inner = now.and_then(|object| object.get(member.name));
            merge(member.how, direction, inner, Some(then))
        }
    }
}

fn fields(maps: &[FieldMap], direction: Direction, now: Option<&Value>, then: &Value) -> Option<Value> {
    let empty = Map::new();
    let then = then.as_object().unwrap_or(&empty);
    let unseen = |name: &String| !maps.iter().any(|map| map.target(direction) == name);
    let kept = then.iter().filter(|(name, _)| unseen(name));
    let mut merged: Map<_, _> = kept.map(|(name, value)| (name.clone(), value.clone())).collect();
    for map in maps {
        let now = now.and_then(|now| now.get(map.source(direction)));
        if let Some(value) = merge(map.how, direction, now, then.get(map.target(direction))) {
            merged.insert(map.target(direction).to_owned(), value);
        }
    }
    (now.is_some() || !merged.is_empty()).then_some(Value::Object(merged))
}

/// Elements keep what was put aside for the element they equal; an edited element keeps what was put aside at its place.
fn list(element: How, direction: Direction, now: Option<&Value>, then: &Value) -> Option<Value> {
    let now = now?.as_array()?;
    let then = then.as_array().map(Vec::as_slice).unwrap_or_default();
    let seen: Vec<Value> = then
        .iter()
        .map(|item| project_element(element, direction.back(), item))
        .collect();
    let partners = pair_up(now, &seen);
    let mut taken = vec![false; then.len()];
    for partner in partners.iter().flatten() {
        taken[*partner] = true;
    }
    let merged = now.iter().enumerate().map(|(at, item)| match partners[at] {
        Some(partner) => then[partner].clone(),
        None if at < then.len() && !taken[at] => merge(element, direction, Some(item), Some(&then[at]))
            .unwrap_or_else(|| project_element(element, direction, item)),
        None => project_element(element, direction, item),
    });
    Some(merged.collect())
}

/// For each element of `now`, the index of the equal element of `seen`: the same index if possible, else the first free one.
fn pair_up(now: &[Value], seen: &[Value]) -> Vec<Option<usize>> {
    let mut partners: Vec<Option<usize>> = (0..now.len())
        .map(|at| (seen.get(at) == Some(&now[at])).then_some(at))
        .collect();
    let mut free: BTreeMap<String, VecDeque<usize>> = BTreeMap::new();
    for (at, value) in seen.iter().enumerate() {
        if partners.get(at).copied().flatten().is_none() {
            free.entry(value.to_string()).or_default().push_back(at);
        }
    }
    for (at, partner) in partners.iter_mut().enumerate() {
        if partner.is_none() {
            *partner = free.get_mut(&now[at].to_string()).and_then(VecDeque::pop_front);
        }
    }
    partners
}

/// Removing the value removes the list; changing it changes the first element and keeps the others.
fn first(element: How, now: Option<&Value>, then: &Value) -> Option<Value> {
    let then = then.as_array().map(Vec::as_slice).unwrap_or_default();
    let head = merge(element, Direction::Up, Some(now?), then.first())?;
    let rest = then.iter().skip(1).cloned();
    Some(std::iter::once(head).chain(rest).collect())
}

fn inside(member: &Member, now: Option<&Value>, then: &Value) -> Option<Value> {
    let mut merged = then.as_object().cloned().unwrap_or_default();
    let before = merged.remove(member.name);
    if now.is_some() {
        for other in member.instead_of {
            merged.remove(*other);
        }
    }
    if let Some(inner) = merge(member.how, Direction::Up, now, before.as_ref()) {
        merged.insert(member.name.to_owned(), inner);
    }
    (!merged.is_empty()).then_some(Value::Object(merged))
}
