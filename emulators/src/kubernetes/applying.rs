//! How does a server-side apply become a write?

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use super::ask::Ask;
use super::object::Object;
use super::patch::apply::{Writer, apply};
use super::patch::lists::Spot;
use super::paths::{set, text};
use super::status::{Cause, Status};
use super::write::{By, expect_kind, place};
use super::{Kubernetes, Said, view};

impl Kubernetes {
    pub(super) fn apply(
        &mut self,
        ask: &Ask,
        mut wish: Value,
        now: Timestamp,
    ) -> Result<Said, Status> {
        check_wish(ask, &wish)?;
        set(&mut wish, &["metadata", "name"], ask.name.clone().into());
        place(ask, &mut wish)?;
        view::inward(ask, &mut wish);
        let force = ask.query.is("force");
        let kind = Arc::clone(&ask.stored);
        let version = ask.kind.api_version(&ask.version);
        let writer = Writer {
            manager: ask.written_by(),
            api_version: &version,
            subresource: &ask.subresource,
            now,
        };
        let spot = Spot::top(&kind, &ask.version);
        let old = self.world.store.get(&kind.id, &ask.namespace, &ask.name);
        let Some(old) = old.cloned() else {
            if !ask.subresource.is_empty() {
                return Err(Status::not_found(ask.resource(), &ask.name));
            }
            let next = apply(&Value::Null, &wish, &spot, writer, force)?;
            return self.create_value(ask, next, now);
        };
        check_wished_version(ask, &wish, &old)?;
        let mut next = apply(&old.value(), &wish, &spot, writer, force)?;
        let revision = old.meta.revision.to_string();
        set(&mut next, &["metadata", "resourceVersion"], revision.into());
        self.finish_as(ask, &old, next, By::Apply(now))
    }
}

fn check_wish(ask: &Ask, wish: &Value) -> Result<(), Status> {
    if ask.query.get("fieldManager").is_empty() {
        let cause = Cause::new(
            "fieldManager",
            "FieldValueRequired",
            "Required value: is required for apply patch",
        );
        return Err(Status::invalid("PatchOptions", "", vec![cause]));
    }
    if text(wish, "apiVersion").is_empty() || text(wish, "kind").is_empty() {
        return Err(Status::bad_request(
            "an applied configuration needs apiVersion and kind",
        ));
    }
    expect_kind(ask, wish)?;
    if !matches!(wish["metadata"], Value::Null | Value::Object(_)) {
        return Err(Status::bad_request("metadata must be an object"));
    }
    let managed = wish["metadata"]["managedFields"].as_array();
    if managed.is_some_and(|list| !list.is_empty()) {
        return Err(Status::bad_request("metadata.managedFields must be nil"));
    }
    let name = text(&wish["metadata"], "name");
    if !name.is_empty() && name != ask.name {
        return Err(Status::bad_request(format!(
            "the name of the object ({name}) does not match the name on the URL ({})",
            ask.name
        )));
    }
    Ok(())
}

fn check_wished_version(ask: &Ask, wish: &Value, old: &Object) -> Result<(), Status> {
    let version = text(&wish["metadata"], "resourceVersion");
    let uid = text(&wish["metadata"], "uid");
    if (version.is_empty() || version == old.meta.revision.to_string())
        && (uid.is_empty() || uid == old.meta.uid)
    {
        return Ok(());
    }
    Err(Status::conflict(
        ask.resource(),
        &ask.name,
        "the object has been modified; please apply your changes to the latest version and try again",
    ))
}
