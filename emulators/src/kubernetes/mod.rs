//! How does a Kubernetes API server behave, as a deterministic state machine?
//!
//! [`ask`] what is asked · [`kinds`], [`crds`] what is served · [`store`] what there is and what changed · [`rules`] what
//! every write obeys · [`read`], [`write`], [`remove`], [`watch`] the verbs · [`patch`] the four dialects and who owns
//! which field · [`users`], [`rbac`] who may · [`world`], [`cast`] who acts by itself, and when.

#![allow(
    clippy::similar_names,
    clippy::needless_pass_by_value,
    clippy::match_same_arms,
    clippy::format_push_string,
    clippy::return_self_not_must_use,
    clippy::collapsible_if,
    clippy::cmp_owned,
    clippy::semicolon_if_nothing_returned,
    clippy::assigning_clones,
    clippy::too_many_arguments,
    reason = "Kubernetes' own words (store, stored, kind, kinds) are alike, and a JSON value is handed on as it came"
)]

mod applying;
pub mod ask;
pub mod cast;
pub mod controllers;
pub mod crds;
pub mod defaults;
pub mod deletion;
mod discovery;
mod events;
mod faulty;
pub mod kinds;
pub mod kubelet;
pub mod label_rules;
pub mod names;
pub mod node_affinity;
pub mod object;
pub mod pace;
pub mod patch;
pub mod paths;
mod print;
mod proto;
pub mod rbac;
mod read;
pub mod reading;
pub mod remove;
mod reviews;
pub mod rules;
mod scale;
pub mod scheduler;
pub mod schema;
mod seed;
pub mod selectors;
mod settings;
mod shape;
#[cfg(test)]
mod stage;
pub mod status;
pub mod store;
pub mod taints;
pub mod users;
mod view;
pub mod watch;
pub mod world;
mod write;

use std::collections::BTreeMap;

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode};
use jiff::Timestamp;
use serde_json::Value;

use crate::dice::Dice;
use crate::faults::Script;
use crate::journal::Journal;
use crate::machine::Ticket;
use ask::{Ask, Verb};
use cast::Cast;
use rbac::Deed;
pub use seed::fresh;
pub use settings::Settings;
use status::Status;
use users::{Tokens, User};
use watch::{Pulled, Watch};
use world::World;

/// More than a real server takes.
const BODY_LIMIT: usize = 3 * 1024 * 1024;

pub struct Kubernetes {
    pub world: World,
    pub settings: Settings,
    pub tokens: Tokens,
    dice: Dice,
    script: Script,
    journal: Journal,
    held: BTreeMap<Ticket, faulty::Held>,
    tickets: Ticket,
    /// Watches begun in an earlier epoch are broken off.
    epoch: u64,
    /// What the script has in store for the request at hand.
    fates: Vec<String>,
}

/// An answer before it becomes a response.
#[derive(Debug)]
pub struct Said {
    pub code: u16,
    pub body: Bytes,
    pub content_type: &'static str,
    pub warnings: Vec<String>,
    pub watch: Option<Watch>,
}

impl Kubernetes {
    /// A fresh cluster with everyone who acts in it, and no machines.
    pub fn new(seed: u64, now: Timestamp) -> Self {
        Self::with_cast(seed, now, &Cast::default())
    }

    /// A fresh cluster with these actors.
    pub fn with_cast(seed: u64, now: Timestamp, cast: &Cast) -> Self {
        let mut world = World::new(fresh(seed, now), cast.actors());
        world.notice(now);
        Self::with_world(world, seed)
    }

    pub fn with_world(world: World, seed: u64) -> Self {
        Self {
            world,
            settings: Settings::default(),
            tokens: Tokens::default(),
            dice: Dice::new(seed ^ 0x6b38_7300),
            script: Script::default(),
            journal: Journal::default(),
            held: BTreeMap::new(),
            tickets: 0,
            epoch: 0,
            fates: Vec::new(),
        }
    }

    /// Every running watch breaks off at its next turn.
    pub fn break_watches(&mut self) {
        self.epoch += 1;
    }

    /// What a watch has to say now.
    pub fn pull(&self, watch: &mut Watch, now: Timestamp) -> Pulled {
        watch.pull(&self.world.store, self.epoch, now)
    }

    /// The answer without any fault. A watch travels in the response's extensions.
    fn answer(&mut self, request: &Request<Bytes>, now: Timestamp) -> Response<Bytes> {
        let said = self
            .say(request, now)
            .unwrap_or_else(|status| Said::refused(&status));
        self.world.notice(now);
        said.into_response()
    }

    fn say(&mut self, request: &Request<Bytes>, now: Timestamp) -> Result<Said, Status> {
        if request.body().len() > BODY_LIMIT {
            return Err(Status::new(
                413,
                "RequestEntityTooLarge",
                "limit is 3145728",
            ));
        }
        let store = &self.world.store;
        let (mut user, other) = users::caller(request, &self.tokens, store, now)?;
        if let Some(other) = other {
            let deed = Deed {
                verb: "impersonate".to_owned(),
                resource: "users".to_owned(),
                name: other.name.clone(),
                ..Deed::default()
            };
            self.authorize(&user, &deed)?;
            user = other;
        }
        if ask::Place::of(request.uri().path()).is_none() {
            let verb = request.method().as_str().to_ascii_lowercase();
            self.authorize(&user, &Deed::on_path(&verb, request.uri().path()))?;
            let known = discovery::answer(request, &self.world.store.kinds);
            return known.unwrap_or_else(|| Err(Status::no_such_path()));
        }
        if let Some(found) = discovery::answer(request, &self.world.store.kinds) {
            return found;
        }
        let ask = Ask::read(request, &self.world.store.kinds, user)?;
        self.authorize(&ask.user, &Deed::of(&ask))?;
        self.route(ask, request, now)
    }

    fn authorize(&self, user: &User, deed: &Deed) -> Result<(), Status> {
        if rbac::may(&self.world.store, user, deed) {
            return Ok(());
        }
        Err(rbac::refusal(user, deed))
    }

    fn route(
        &mut self,
        ask: Ask,
        request: &Request<Bytes>,
        now: Timestamp,
    ) -> Result<Said, Status> {
        if ask.kind.asked_only {
            return match ask.verb {
                Verb::Create => self.review(&ask, request, now),
                _ => Err(Status::method_not_allowed()),
            };
        }
        if ask.verb.writes() && ask.kind.namespaced && ask.namespace.is_empty() {
            return Err(Status::method_not_allowed());
        }
        if !ask.kind.namespaced && !ask.namespace.is_empty() {
            return Err(Status::no_such_path());
        }
        if ask.verb.writes() && self.has_fate("conflict") && ask.verb == Verb::Delete {
            return Err(Status::conflict(
                ask.resource(),
                &ask.name,
                "the object has been modified",
            ));
        }
        match (ask.verb, ask.subresource.as_str()) {
            (Verb::Create, "eviction") => self.evict(&ask, request, now),
            (Verb::Create, "binding") => self.bind(&ask, request, now),
            (Verb::Create, "token") => self.token(&ask, request, now),
            (_, "eviction" | "binding" | "token") => Err(Status::method_not_allowed()),
            (Verb::Get, _) => self.read_one(&ask, now),
            (Verb::List, _) => self.read_many(&ask, now),
            (Verb::Watch, _) => self.start_watch(ask, now),
            (_, "log") => Err(Status::method_not_allowed()),
            (Verb::Create, "") => self.create(&ask, request, now),
            (Verb::Update, _) => self.replace(&ask, request, now),
            (Verb::Patch, _) => self.patch(&ask, request, now),
            (Verb::Delete, "") => self.delete(&ask, request, now),
            (Verb::DeleteCollection, "") => self.delete_many(&ask, request, now),
            (Verb::Create | Verb::Delete | Verb::DeleteCollection, _) => {
                Err(Status::method_not_allowed())
            }
        }
    }

    fn has_fate(&self, name: &str) -> bool {
        self.fates.iter().any(|fate| fate == name)
    }
}

impl Said {
    pub fn bytes(code: u16, body: Bytes) -> Self {
        Self {
            code,
            body,
            content_type: "application/json",
            warnings: Vec::new(),
            watch: None,
        }
    }

    pub fn json(code: u16, body: &Value) -> Self {
        Self::bytes(code, Bytes::from(body.to_string()))
    }

    pub fn text(code: u16, body: &'static str) -> Self {
        let mut said = Self::bytes(code, Bytes::from_static(body.as_bytes()));
        said.content_type = "text/plain; charset=utf-8";
        said
    }

    pub fn refused(status: &Status) -> Self {
        Self::json(status.code, &status.to_value())
    }

    #[must_use]
    pub fn warning(mut self, warnings: Vec<String>) -> Self {
        self.warnings = warnings;
        self
    }

    fn into_response(self) -> Response<Bytes> {
        let mut response = Response::new(self.body);
        *response.status_mut() =
            StatusCode::from_u16(self.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        headers.insert(
            http::header::CONTENT_TYPE,
            HeaderValue::from_static(self.content_type),
        );
        for warning in self.warnings {
            let text = warning.replace(['\\', '"'], "'");
            if let Ok(value) = HeaderValue::from_str(&format!("299 - \"{text}\"")) {
                headers.append(http::header::WARNING, value);
            }
        }
        if let Some(watch) = self.watch {
            response.extensions_mut().insert(watch);
        }
        response
    }
}

#[cfg(test)]
mod tests;
