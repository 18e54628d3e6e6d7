//! How are objects written: created, replaced, patched, applied?

use std::sync::Arc;

use bytes::Bytes;
use http::Request;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::ask::{Ask, body, header};
use super::kinds::Kind;
use super::object::Object;
use super::patch::apply::{Writer, track};
use super::patch::lists::Spot;
use super::patch::{Dialect, patched};
use super::paths::{set, text};
use super::rules::{Part, merge_update};
use super::status::Status;
use super::{Kubernetes, Said, crds, scale, schema, shape, view};

/// Who says which fields are whose.
#[derive(Clone, Copy)]
pub(super) enum By<'a> {
    /// Whatever it changes belongs to this writer from now on.
    Update(Writer<'a>),
    /// The apply has said so already, at this instant.
    Apply(Timestamp),
}

impl Kubernetes {
    pub(super) fn create(
        &mut self,
        ask: &Ask,
        request: &Request<Bytes>,
        now: Timestamp,
    ) -> Result<Said, Status> {
        let value = body(request)?;
        self.create_value(ask, value, now)
    }

    pub(super) fn create_value(
        &mut self,
        ask: &Ask,
        mut value: Value,
        now: Timestamp,
    ) -> Result<Said, Status> {
        expect_kind(ask, &value)?;
        place(ask, &mut value)?;
        let warnings = accept(ask, &mut value)?;
        let dry = ask.dry_run()?;
        let kind = Arc::clone(&ask.stored);
        let dice = self.world.store.dice.clone();
        self.world.store.prepare_create(&kind, &mut value, now)?;
        let version = kind.api_version(&kind.storage);
        let writer = Writer {
            manager: ask.written_by(),
            api_version: &version,
            subresource: "",
            now,
        };
        if value["metadata"]["managedFields"]
            .as_array()
            .is_none_or(Vec::is_empty)
        {
            track(
                &Value::Null,
                &mut value,
                &Spot::top(&kind, &kind.storage),
                writer,
            );
        }
        if dry {
            self.world.store.dice = dice;
            let object = Object::new(value, true);
            return Ok(Said::bytes(201, view::answer(ask, &object, now)).warning(warnings));
        }
        let made = self.world.store.put(&kind.id, value);
        let made = self.after_write(&kind, made, now);
        Ok(Said::bytes(201, view::answer(ask, &made, now)).warning(warnings))
    }

    pub(super) fn replace(
        &mut self,
        ask: &Ask,
        request: &Request<Bytes>,
        now: Timestamp,
    ) -> Result<Said, Status> {
        let mut value = body(request)?;
        let old = self.find(ask)?;
        if ask.subresource == "scale" {
            let mut next = (*old.value()).clone();
            super::paths::forget(&mut next, &["metadata", "resourceVersion"]);
            scale::write(ask, &value, &mut next)?;
            return self.finish(ask, &old, next, now);
        }
        expect_kind(ask, &value)?;
        let name = text(&value["metadata"], "name");
        if name != ask.name {
            return Err(Status::bad_request(format!(
                "the name of the object ({name}) does not match the name on the URL ({})",
                ask.name
            )));
        }
        place(ask, &mut value)?;
        self.finish(ask, &old, value, now)
    }

    pub(super) fn patch(
        &mut self,
        ask: &Ask,
        request: &Request<Bytes>,
        now: Timestamp,
    ) -> Result<Said, Status> {
        let Some(dialect) = Dialect::of(header(request, "content-type")) else {
            return Err(Status::new(
                415,
                "UnsupportedMediaType",
                "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json, application/apply-patch+yaml",
            ));
        };
        let wish = body_of_patch(request, dialect)?;
        if dialect == Dialect::Apply {
            return self.apply(ask, wish, now);
        }
        let old = self.find(ask)?;
        if ask.subresource == "scale" {
            let next = patched(
                &ask.kind,
                &ask.version,
                &scale::of(ask, &old.value()),
                dialect,
                &wish,
            )?;
            let mut whole = (*old.value()).clone();
            scale::write(ask, &next, &mut whole)?;
            return self.finish(ask, &old, whole, now);
        }
        let seen = view::translate(&plain(ask), (*old.value()).clone());
        let mut next = patched(&ask.kind, &ask.version, &seen, dialect, &wish)?;
        if next["metadata"]["name"] != seen["metadata"]["name"]
            || next["metadata"]["namespace"] != seen["metadata"]["namespace"]
        {
            return Err(Status::bad_request(
                "the name and namespace of an object cannot be changed by a patch",
            ));
        }
        if next["metadata"]["resourceVersion"].is_null() {
            set(
                &mut next,
                &["metadata", "resourceVersion"],
                seen["metadata"]["resourceVersion"].clone(),
            );
        }
        self.finish(ask, &old, next, now)
    }

    /// The common end of every write to an existing object.
    fn finish(
        &mut self,
        ask: &Ask,
        old: &Arc<Object>,
        next: Value,
        now: Timestamp,
    ) -> Result<Said, Status> {
        let version = ask.kind.api_version(&ask.version);
        let sub = match ask.subresource.as_str() {
            sub @ ("status" | "scale") => sub,
            _ => "",
        };
        let writer = Writer {
            manager: ask.written_by(),
            api_version: &version,
            subresource: sub,
            now,
        };
        self.finish_as(ask, old, next, By::Update(writer))
    }

    pub(super) fn finish_as(
        &mut self,
        ask: &Ask,
        old: &Arc<Object>,
        mut next: Value,
        by: By<'_>,
    ) -> Result<Said, Status> {
        let (By::Update(Writer { now, .. }) | By::Apply(now)) = by;
        let kind = Arc::clone(&ask.stored);
        let warnings = accept(ask, &mut next)?;
        let part = match ask.subresource.as_str() {
            "status" | "approval" => Part::Status,
            "finalize" => Part::Whole,
            _ => Part::Main,
        };
        let managed = next["metadata"]["managedFields"].clone();
        let mut next = merge_update(&kind, old, next, part, now)?;
        shape::may_change(&kind, part, &old.value(), &next)?;
        if self.has_fate("conflict") {
            return Err(Status::conflict(
                ask.resource(),
                &ask.name,
                "the object has been modified; please apply your changes to the latest version and try again",
            ));
        }
        match by {
            By::Update(writer) => track(
                &old.value(),
                &mut next,
                &Spot::top(&kind, &kind.storage),
                writer,
            ),
            By::Apply(_) => set(&mut next, &["metadata", "managedFields"], managed),
        }
        keep_times(&old.value(), &mut next);
        let stored = if ask.dry_run()? {
            Arc::new(Object::new(next, true))
        } else {
            let stored = self.world.store.settle(&kind.id, old, next);
            self.after_write(&kind, stored, now)
        };
        if ask.subresource == "scale" {
            return Ok(Said::json(200, &scale::of(ask, &stored.value())));
        }
        Ok(Said::bytes(200, view::answer(ask, &stored, now)).warning(warnings))
    }

    /// What a write sets going in the server itself.
    pub(super) fn after_write(
        &mut self,
        kind: &Kind,
        object: Arc<Object>,
        now: Timestamp,
    ) -> Arc<Object> {
        if kind.id != crds::ID {
            return object;
        }
        if self.world.store.get(crds::ID, "", object.name()).is_none() {
            return object;
        }
        crds::install(&mut self.world.store, &object, now);
        let stored = self.world.store.get(crds::ID, "", object.name()).cloned();
        stored.unwrap_or(object)
    }
}

/// Types right, defaults in, unknown fields out; returns what to warn of.
fn accept(ask: &Ask, value: &mut Value) -> Result<Vec<String>, Status> {
    view::inward(ask, value);
    shape::check(&ask.stored, value)?;
    if ask.stored.id == crds::ID {
        crds::check(value)?;
    }
    let Some(custom) = ask.stored.custom.get(&ask.version) else {
        return Ok(Vec::new());
    };
    if !custom.served {
        return Err(Status::no_such_path());
    }
    let unknown = schema::prune(value, &custom.schema);
    if !unknown.is_empty() && ask.query.get("fieldValidation") == "Strict" {
        let said: Vec<String> = unknown
            .iter()
            .map(|field| format!("unknown field \"{field}\""))
            .collect();
        let said = format!(
            "{} in version \"{}\" cannot be handled as a {}: strict decoding error: {}",
            ask.kind.kind,
            ask.version,
            ask.kind.kind,
            said.join(", ")
        );
        return Err(Status::bad_request(said));
    }
    schema::fill(value, &custom.schema);
    let causes = schema::check(value, &custom.schema);
    if !causes.is_empty() {
        let name = text(&value["metadata"], "name").to_owned();
        return Err(Status::invalid(&ask.kind.kind, &name, causes));
    }
    let warnings = unknown
        .iter()
        .map(|field| format!("unknown field \"{field}\""));
    Ok(warnings
        .filter(|_| ask.query.get("fieldValidation") != "Ignore")
        .collect())
}

fn body_of_patch(request: &Request<Bytes>, dialect: Dialect) -> Result<Value, Status> {
    match dialect {
        Dialect::Apply => body(request),
        _ => serde_json::from_slice(request.body())
            .map_err(|error| Status::bad_request(format!("error decoding patch: {error}"))),
    }
}

pub(super) fn expect_kind(ask: &Ask, value: &Value) -> Result<(), Status> {
    if !value.is_object() {
        return Err(Status::bad_request("the body must be an object"));
    }
    let expected = ask.kind.api_version(&ask.version);
    let (version, kind) = (text(value, "apiVersion"), text(value, "kind"));
    if !version.is_empty() && version != expected {
        return Err(Status::bad_request(format!(
            "the API version in the data ({version}) does not match the expected API version ({expected})"
        )));
    }
    if !kind.is_empty() && kind != ask.kind.kind {
        return Err(Status::bad_request(format!(
            "{kind} in version \"{}\" cannot be handled as a {}",
            ask.version, ask.kind.kind
        )));
    }
    Ok(())
}

/// The namespace of the path goes into the object; another one there is a mistake.
pub(super) fn place(ask: &Ask, value: &mut Value) -> Result<(), Status> {
    if !value["metadata"].is_object() {
        if !value["metadata"].is_null() {
            return Err(Status::bad_request("metadata must be an object"));
        }
        set(value, &["metadata"], json!({}));
    }
    let said = text(&value["metadata"], "namespace");
    if !said.is_empty() && said != ask.namespace {
        return Err(Status::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    if ask.stored.namespaced {
        set(
            value,
            &["metadata", "namespace"],
            ask.namespace.clone().into(),
        );
    }
    Ok(())
}

/// If nothing but the times of managers changed, nothing changed.
fn keep_times(before: &Value, after: &mut Value) {
    let strip = |value: &Value| {
        let mut value = value.clone();
        let entries = value["metadata"]["managedFields"].as_array_mut();
        for entry in entries.into_iter().flatten() {
            super::paths::forget(entry, &["time"]);
        }
        value
    };
    if strip(before) == strip(after) {
        *after = before.clone();
    }
}

/// The object itself, whatever form the answer takes.
fn plain(ask: &Ask) -> Ask {
    Ask {
        metadata_only: false,
        table: false,
        ..ask.clone()
    }
}
