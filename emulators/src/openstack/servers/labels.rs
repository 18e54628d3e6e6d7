//! How are tags and metadata read and written after the creation?

use serde_json::{Value, json};

use super::super::OpenStack;
use super::super::errors;
use super::super::nova::Call;
use super::super::wire::{Outcome, Refusal, Said};
use super::super::world::{Phase, Server};
use super::{limits, show};

impl OpenStack {
    pub(super) fn tags(&mut self, call: &Call, id: &str, rest: &[&str]) -> Option<Outcome> {
        let outcome = match (call.ask.method.as_str(), rest) {
            ("GET", []) => self
                .own_server(call, id)
                .map(|server| Said::json(200, json!({"tags": server.tags}))),
            ("GET", [tag]) => self.own_server(call, id).and_then(|server| {
                if server.tags.contains(*tag) {
                    Ok(Said::empty(204))
                } else {
                    Err(no_tag(id, tag))
                }
            }),
            ("PUT", []) => self.replace_tags(call, id),
            ("PUT", [tag]) => self.add_tag(call, id, tag),
            ("DELETE", []) => self.settled(call, id).map(|server| {
                server.tags.clear();
                Said::blank(204, "application/json")
            }),
            ("DELETE", [tag]) => self.settled(call, id).and_then(|server| {
                if server.tags.remove(*tag) {
                    Ok(Said::blank(204, "application/json"))
                } else {
                    Err(no_tag(id, tag))
                }
            }),
            _ => return None,
        };
        Some(outcome)
    }

    fn replace_tags(&mut self, call: &Call, id: &str) -> Outcome {
        let body = call.body()?;
        let wanted = body
            .get("tags")
            .ok_or_else(|| errors::nova(400, "'tags' is a required property"))?;
        let tags = limits::tags(wanted)?;
        let server = self.settled(call, id)?;
        server.tags = tags.into_iter().collect();
        let shown = json!({"tags": server.tags});
        self.note(call, id, "tagged");
        Ok(Said::json(200, shown))
    }

    fn add_tag(&mut self, call: &Call, id: &str, tag: &str) -> Outcome {
        let tag = limits::tag("tag", &Value::String(tag.to_owned()))?;
        let server = self.settled(call, id)?;
        if server.tags.contains(&tag) {
            return Ok(Said::blank(204, "text/html; charset=UTF-8"));
        }
        if server.tags.len() >= 50 {
            return Err(errors::nova(
                400,
                "The number of tags exceeded the per-server limit 50",
            ));
        }
        server.tags.insert(tag.clone());
        self.note(call, id, "tagged");
        let location = format!("{}/compute/v2.1/servers/{id}/tags/{tag}", call.ask.base);
        Ok(Said::blank(201, "text/html; charset=UTF-8").with("location", location))
    }

    pub(super) fn metadata(&mut self, call: &Call, id: &str, rest: &[&str]) -> Option<Outcome> {
        let outcome = match (call.ask.method.as_str(), rest) {
            ("GET", []) => self
                .own_server(call, id)
                .map(|server| Said::json(200, json!({"metadata": server.metadata}))),
            ("GET", [key]) => self.own_server(call, id).and_then(|server| {
                let value = server.metadata.get(*key).ok_or_else(no_item)?;
                Ok(Said::json(200, json!({"meta": {*key: value}})))
            }),
            ("POST" | "PUT", []) => self.write_metadata(call, id),
            ("PUT", [key]) => self.write_item(call, id, key),
            ("DELETE", [key]) => self.settled(call, id).and_then(|server| {
                server
                    .metadata
                    .remove(*key)
                    .map(|_| Said::empty(204))
                    .ok_or_else(no_item)
            }),
            _ => return None,
        };
        Some(outcome)
    }

    /// POST merges, PUT replaces.
    fn write_metadata(&mut self, call: &Call, id: &str) -> Outcome {
        let body = call.body()?;
        let wanted = body
            .get("metadata")
            .ok_or_else(|| errors::nova(400, "'metadata' is a required property"))?;
        let metadata = limits::metadata(wanted)?;
        let replace = call.ask.method == http::Method::PUT;
        let server = self.settled(call, id)?;
        if replace {
            server.metadata.clear();
        }
        let mut merged = server.metadata.clone();
        merged.extend(metadata);
        if merged.len() > 128 {
            return Err(errors::nova(
                403,
                "Maximum number of metadata items exceeds 128",
            ));
        }
        server.metadata = merged;
        let shown = json!({"metadata": server.metadata});
        self.note(call, id, "metadata written");
        Ok(Said::json(200, shown))
    }

    fn write_item(&mut self, call: &Call, id: &str, key: &str) -> Outcome {
        let body = call.body()?;
        let wanted = body
            .get("meta")
            .ok_or_else(|| errors::nova(400, "'meta' is a required property"))?;
        let item = limits::metadata(wanted)?;
        if item.len() != 1 || !item.contains_key(key) {
            return Err(errors::nova(400, "Request body and URI mismatch"));
        }
        let server = self.settled(call, id)?;
        server.metadata.extend(item.clone());
        self.note(call, id, "metadata written");
        Ok(Said::json(200, json!({"meta": item})))
    }

    /// A server that may be written to: not while it is built.
    fn settled(&mut self, call: &Call, id: &str) -> Result<&mut Server, Refusal> {
        let server = self.own_server(call, id)?;
        if server.phase == Phase::Scheduling {
            return Err(super::not_found(id));
        }
        if server.phase.is_build() {
            let state = show::states(server).0;
            let message = format!("Cannot 'update' instance {id} while it is in vm_state {state}");
            return Err(errors::nova(409, message));
        }
        self.world
            .servers
            .get_mut(id)
            .ok_or_else(|| super::not_found(id))
    }

    fn note(&mut self, call: &Call, id: &str, change: &str) {
        let name = self
            .world
            .servers
            .get(id)
            .map(|server| server.name.clone())
            .unwrap_or_default();
        self.journal
            .change(call.ask.now, ("server", id, &name), change.to_owned());
    }
}

fn no_tag(id: &str, tag: &str) -> Refusal {
    errors::nova(404, format!("Instance {id} has no tag '{tag}'"))
}

fn no_item() -> Refusal {
    errors::nova(404, "Metadata item was not found")
}
