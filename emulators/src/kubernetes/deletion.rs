//! Does a deleted object go at once, or what keeps it?
//!
//! Finalizers and the grace of pods keep it, marked; preconditions refuse.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::kinds::Kind;
use super::object::{Object, stamp};
use super::paths::{self, list, text};
use super::status::Status;

/// The options of a delete.
#[derive(Debug, Clone, Default)]
pub struct Deletion {
    pub grace_seconds: Option<i64>,
    pub uid: Option<String>,
    pub resource_version: Option<String>,
    pub propagation: Option<Propagation>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Propagation {
    Background,
    Foreground,
    Orphan,
}

/// What a delete came to.
#[derive(Debug, Clone)]
pub enum Deleted {
    /// It is gone; this was it.
    Gone(Arc<Object>),
    /// It stays until its finalizers or its grace are over.
    Marked(Arc<Object>),
}

/// `None`: it goes at once. `Some`: it stays, marked like this. Pure.
pub fn prepare_delete(
    kind: &Kind,
    old: &Object,
    how: &Deletion,
    now: Timestamp,
) -> Result<Option<Value>, Status> {
    check_preconditions(kind, old, how)?;
    let mut value = Arc::unwrap_or_clone(old.value());
    add_propagation(&mut value, how.propagation);
    let grace = grace_of(kind, &value, how);
    let held = !list(&value["metadata"]["finalizers"]).is_empty()
        || !list(&value["spec"]["finalizers"]).is_empty() && kind.id == "namespaces";
    if grace == 0 && !held {
        return Ok(None);
    }
    let marked_before = value["metadata"]["deletionTimestamp"].is_string();
    let grace_before = value["metadata"]["deletionGracePeriodSeconds"].as_i64();
    if marked_before && grace_before.is_some_and(|before| before <= grace) {
        return Ok(Some(value));
    }
    let ends = now
        .checked_add(SignedDuration::from_secs(grace))
        .unwrap_or(now);
    let meta = &mut value["metadata"];
    meta["deletionTimestamp"] = stamp(ends).into();
    meta["deletionGracePeriodSeconds"] = grace.into();
    if kind.counts_generation && !marked_before {
        meta["generation"] = (old.meta.generation + 1).into();
    }
    if kind.id == "namespaces" {
        paths::set(&mut value, &["status", "phase"], "Terminating".into());
    }
    Ok(Some(value))
}

/// Marked for deletion, its grace over and no finalizer left?
pub(super) fn finished(id: &str, value: &Value) -> bool {
    let meta = &value["metadata"];
    meta["deletionTimestamp"].is_string()
        && list(&meta["finalizers"]).is_empty()
        && (id != "namespaces" || list(&value["spec"]["finalizers"]).is_empty())
        && (id != "pods" || meta["deletionGracePeriodSeconds"].as_i64() == Some(0))
}

fn check_preconditions(kind: &Kind, old: &Object, how: &Deletion) -> Result<(), Status> {
    let have = [
        ("UID", &how.uid, old.meta.uid.clone()),
        (
            "ResourceVersion",
            &how.resource_version,
            old.meta.revision.to_string(),
        ),
    ];
    for (what, wanted, have) in have {
        if let Some(wanted) = wanted
            && *wanted != have
        {
            let why = format!(
                "Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {have}"
            );
            return Err(Status::conflict(&kind.id, old.name(), &why));
        }
    }
    Ok(())
}

/// Deleting the dependants first, or letting them go, is a finalizer that the garbage collector takes off.
fn add_propagation(value: &mut Value, propagation: Option<Propagation>) {
    let add = match propagation {
        None | Some(Propagation::Background) => return,
        Some(Propagation::Foreground) => "foregroundDeletion",
        Some(Propagation::Orphan) => "orphan",
    };
    let finalizers = &mut value["metadata"]["finalizers"];
    if !finalizers.is_array() {
        *finalizers = json!([]);
    }
    if let Some(list) = finalizers.as_array_mut()
        && !list.iter().any(|have| have == add)
    {
        list.push(add.into());
    }
}

/// Only pods have time to end: none if no kubelet has them or they ended already.
fn grace_of(kind: &Kind, value: &Value, how: &Deletion) -> i64 {
    if kind.id != "pods" {
        return 0;
    }
    let unbound = text(&value["spec"], "nodeName").is_empty();
    let ended = matches!(text(&value["status"], "phase"), "Succeeded" | "Failed");
    if unbound || ended {
        return 0;
    }
    let own = value["spec"]["terminationGracePeriodSeconds"].as_i64();
    how.grace_seconds.or(own).unwrap_or(30).clamp(0, 1 << 31)
}
