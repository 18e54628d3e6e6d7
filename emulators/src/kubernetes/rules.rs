//! What does Kubernetes do on every create, update and delete, whoever asks?
//!
//! Uids, creation times, generations, conflicts, finalizers and grace. Written for the API and for the controllers
//! alike; who may ask is decided elsewhere.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use super::defaults;
use super::deletion::finished;
pub use super::deletion::{Deleted, Deletion, Propagation, prepare_delete};
use super::kinds::Kind;
use super::names;
use super::object::{Object, stamp};
use super::paths::{self, list, text};
use super::status::{Cause, Status};
use super::store::{Store, key};

/// Which part of an object a write is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Everything but the status, where the kind has a status subresource.
    Main,
    /// The status alone.
    Status,
    /// Both at once: for controllers of this emulator, never over the API.
    Whole,
}

impl Store {
    pub fn create(
        &mut self,
        id: &str,
        mut value: Value,
        now: Timestamp,
    ) -> Result<Arc<Object>, Status> {
        let kind = self.kind(id)?;
        self.prepare_create(&kind, &mut value, now)?;
        Ok(self.put(id, value))
    }

    /// Everything a create does except the write itself: for dry runs.
    pub fn prepare_create(
        &mut self,
        kind: &Kind,
        value: &mut Value,
        now: Timestamp,
    ) -> Result<(), Status> {
        if !value["metadata"].is_object() {
            return Err(Status::bad_request("metadata must be an object"));
        }
        if !text(&value["metadata"], "resourceVersion").is_empty() {
            return Err(Status::bad_request(
                "resourceVersion should not be set on objects to be created",
            ));
        }
        self.name_it(kind, value)?;
        let (namespace, name) = place(value);
        names::check(kind, &namespace, &name, &value["metadata"])?;
        self.namespace_takes(kind, &namespace, &name)?;
        if self.get(&kind.id, &namespace, &name).is_some() {
            return Err(Status::already_exists(&kind.id, &name));
        }
        value["apiVersion"] = kind.api_version(&kind.storage).into();
        value["kind"] = kind.kind.clone().into();
        if kind.has("status")
            && kind.id != "nodes"
            && let Some(members) = value.as_object_mut()
        {
            members.remove("status");
        }
        defaults::on_create(kind, value);
        if kind.id == "pods" {
            self.rank(value)?;
        }
        let meta = &mut value["metadata"];
        meta["uid"] = self.dice.uuid().into();
        meta["creationTimestamp"] = stamp(now).into();
        for own in [
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
            "selfLink",
        ] {
            paths::forget(meta, &[own]);
        }
        if kind.counts_generation {
            meta["generation"] = 1.into();
        } else {
            paths::forget(meta, &["generation"]);
        }
        Ok(())
    }

    pub fn update(
        &mut self,
        id: &str,
        value: Value,
        part: Part,
        now: Timestamp,
    ) -> Result<Arc<Object>, Status> {
        let kind = self.kind(id)?;
        let (namespace, name) = place(&value);
        let old = self.get(id, &namespace, &name).cloned();
        let old = old.ok_or_else(|| Status::not_found(id, &name))?;
        let next = merge_update(&kind, &old, value, part, now)?;
        Ok(self.settle(id, &old, next))
    }

    /// Reads, changes and writes in one go. An unchanged object is not written; an absent one is an error.
    pub fn change(
        &mut self,
        id: &str,
        at: (&str, &str),
        now: Timestamp,
        change: impl FnOnce(&mut Value),
    ) -> Result<Arc<Object>, Status> {
        let kind = self.kind(id)?;
        let old = self.get(id, at.0, at.1).cloned();
        let old = old.ok_or_else(|| Status::not_found(id, at.1))?;
        let mut value = Arc::unwrap_or_clone(old.value());
        change(&mut value);
        let next = merge_update(&kind, &old, value, Part::Whole, now)?;
        Ok(self.settle(id, &old, next))
    }

    pub fn delete(
        &mut self,
        id: &str,
        at: (&str, &str),
        how: &Deletion,
        now: Timestamp,
    ) -> Result<Deleted, Status> {
        let kind = self.kind(id)?;
        let old = self.get(id, at.0, at.1).cloned();
        let old = old.ok_or_else(|| Status::not_found(id, at.1))?;
        match prepare_delete(&kind, &old, how, now)? {
            None => {
                let gone = self.remove(id, &key(at.0, at.1));
                Ok(Deleted::Gone(gone.unwrap_or(old)))
            }
            Some(marked) if marked == *old.value() => Ok(Deleted::Marked(old)),
            Some(marked) => Ok(Deleted::Marked(self.put(id, marked))),
        }
    }

    /// Writes what [`merge_update`] made of an update; the last finalizer takes the object with it.
    pub(super) fn settle(&mut self, id: &str, old: &Arc<Object>, next: Value) -> Arc<Object> {
        if next == *old.value() {
            return Arc::clone(old);
        }
        if finished(id, &next) {
            let stored = self.put(id, next);
            let key = key(stored.namespace(), stored.name());
            return self.remove(id, &key).unwrap_or(stored);
        }
        self.put(id, next)
    }

    /// A name from `generateName` that nobody has yet.
    fn name_it(&mut self, kind: &Kind, value: &mut Value) -> Result<(), Status> {
        if !text(&value["metadata"], "name").is_empty() {
            return Ok(());
        }
        let prefix = text(&value["metadata"], "generateName").to_owned();
        if prefix.is_empty() {
            let cause = Cause::new(
                "metadata.name",
                "FieldValueRequired",
                "Required value: name or generateName is required",
            );
            return Err(Status::invalid(&kind.kind, "", vec![cause]));
        }
        let namespace = text(&value["metadata"], "namespace").to_owned();
        for _ in 0..8 {
            let name = names::generate(&prefix, &mut self.dice);
            if self.get(&kind.id, &namespace, &name).is_none() {
                value["metadata"]["name"] = name.into();
                return Ok(());
            }
        }
        Err(Status::already_exists(&kind.id, &prefix))
    }

    /// A pod's priority is its class's, or the default class's, or none.
    fn rank(&self, pod: &mut Value) -> Result<(), Status> {
        const ID: &str = "priorityclasses.scheduling.k8s.io";
        let named = text(&pod["spec"], "priorityClassName").to_owned();
        let class = if named.is_empty() {
            let mut all = self.list(ID, None);
            all.find(|class| class.value()["globalDefault"] == true)
        } else {
            self.get(ID, "", &named)
        };
        if class.is_none() && !named.is_empty() {
            let why = format!("no PriorityClass with name {named} was found");
            let name = text(&pod["metadata"], "name");
            return Err(Status::forbidden("pods", name, &why));
        }
        let Some(class) = class else {
            paths::default(pod, &["spec", "priority"], 0);
            return Ok(());
        };
        let value = class.value();
        paths::set(pod, &["spec", "priorityClassName"], class.name().into());
        paths::set(pod, &["spec", "priority"], value["value"].clone());
        paths::set(
            pod,
            &["spec", "preemptionPolicy"],
            value["preemptionPolicy"].clone(),
        );
        Ok(())
    }

    fn namespace_takes(&self, kind: &Kind, namespace: &str, name: &str) -> Result<(), Status> {
        if !kind.namespaced {
            return Ok(());
        }
        let Some(home) = self.get("namespaces", "", namespace) else {
            return Err(Status::not_found("namespaces", namespace));
        };
        if home.meta.deleted_at.is_none() {
            return Ok(());
        }
        let why = format!(
            "unable to create new content in namespace {namespace} because it is being terminated"
        );
        let cause = Cause::new(
            "metadata.namespace",
            "NamespaceTerminating",
            format!("namespace {namespace} is being terminated"),
        );
        Err(Status::forbidden(&kind.id, name, &why).because(&[cause]))
    }
}

/// What the object becomes if `value` is written over `old`. Pure.
pub fn merge_update(
    kind: &Kind,
    old: &Object,
    mut value: Value,
    part: Part,
    now: Timestamp,
) -> Result<Value, Status> {
    let before = old.value();
    check_versions(kind, old, &value, part)?;
    match part {
        Part::Main if kind.has("status") => copy(&before, &mut value, "status"),
        Part::Whole | Part::Main => {}
        Part::Status => value = with_status(&before, value),
    }
    value["apiVersion"] = before["apiVersion"].clone();
    value["kind"] = before["kind"].clone();
    if !value["metadata"].is_object() {
        return Err(Status::bad_request("metadata must be an object"));
    }
    if kind.id == "namespaces" && part == Part::Main {
        paths::set(
            &mut value,
            &["spec", "finalizers"],
            before["spec"]["finalizers"].clone(),
        );
    }
    defaults::on_update(kind, &before, &mut value);
    for own in [
        "uid",
        "creationTimestamp",
        "generateName",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "generation",
        "resourceVersion",
    ] {
        copy(&before["metadata"], &mut value["metadata"], own);
    }
    no_new_finalizers(kind, old, &value)?;
    names::check(kind, old.namespace(), old.name(), &value["metadata"])?;
    if kind.counts_generation && part != Part::Status && asks_more(kind, &before, &value) {
        value["metadata"]["generation"] = (old.meta.generation + 1).into();
    }
    let _ = now;
    Ok(value)
}

fn check_versions(kind: &Kind, old: &Object, value: &Value, part: Part) -> Result<(), Status> {
    let wanted = text(&value["metadata"], "resourceVersion");
    if wanted.is_empty() && part == Part::Main && !names::unconditional(kind) {
        let cause = Cause::new(
            "metadata.resourceVersion",
            "FieldValueInvalid",
            "Invalid value: 0: must be specified for an update",
        );
        return Err(Status::invalid(&kind.kind, old.name(), vec![cause]));
    }
    if !wanted.is_empty() && wanted != old.meta.revision.to_string() {
        return Err(Status::conflict(
            &kind.id,
            old.name(),
            "the object has been modified; please apply your changes to the latest version and try again",
        ));
    }
    let uid = text(&value["metadata"], "uid");
    if !uid.is_empty() && uid != old.meta.uid {
        let why = format!(
            "Precondition failed: UID in precondition: {uid}, UID in object meta: {}",
            old.meta.uid
        );
        return Err(Status::conflict(&kind.id, old.name(), &why));
    }
    Ok(())
}

/// A status update changes the status and what tells who wrote it, nothing else.
fn with_status(before: &Value, mut value: Value) -> Value {
    let mut next = before.clone();
    match value.get_mut("status").map(Value::take) {
        Some(status) => next["status"] = status,
        None => paths::forget(&mut next, &["status"]),
    }
    if let Some(managed) = value["metadata"].get_mut("managedFields") {
        next["metadata"]["managedFields"] = managed.take();
    }
    next
}

fn no_new_finalizers(kind: &Kind, old: &Object, value: &Value) -> Result<(), Status> {
    if old.meta.deleted_at.is_none() {
        return Ok(());
    }
    let added: Vec<&str> = list(&value["metadata"]["finalizers"])
        .iter()
        .filter_map(Value::as_str)
        .filter(|name| !old.meta.finalizers.iter().any(|have| have == name))
        .collect();
    if added.is_empty() {
        return Ok(());
    }
    let message = format!(
        "Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers {added:?}"
    );
    let cause = Cause::new("metadata.finalizers", "FieldValueForbidden", message);
    Err(Status::invalid(&kind.kind, old.name(), vec![cause]))
}

/// Did anything change that is neither metadata nor status?
fn asks_more(kind: &Kind, before: &Value, after: &Value) -> bool {
    let counts = |name: &str| name != "metadata" && !(name == "status" && kind.has("status"));
    let outside = |value: &Value, other: &Value| {
        let members = value.as_object().into_iter().flatten();
        let mut members = members.filter(|(name, _)| counts(name));
        members.any(|(name, value)| other.get(name) != Some(value))
    };
    outside(before, after) || outside(after, before)
}

pub(super) fn place(value: &Value) -> (String, String) {
    let meta = &value["metadata"];
    (
        text(meta, "namespace").to_owned(),
        text(meta, "name").to_owned(),
    )
}

fn copy(from: &Value, to: &mut Value, member: &str) {
    match from.get(member) {
        Some(value) => to[member] = value.clone(),
        None => paths::forget(to, &[member]),
    }
}

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
