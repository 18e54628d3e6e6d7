//! How does an OpenStack answer? One machine for all its services, told apart by the first segment of the path.

mod errors;
mod flavors;
mod glance;
mod keystone;
mod neutron;
mod nova;
mod plugs;
mod ports;
mod quota;
mod quote;
mod seed;
mod server_groups;
mod servers;
mod settings;
mod shelves;
mod tokens;
mod versions;
mod wire;
pub mod world;

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use jiff::Timestamp;
use serde_json::Value;

use crate::dice::Dice;
use crate::faults::{Act, Fault, Script, When};
use crate::journal::Journal;
use crate::machine::{Effect, Machine, Released, Reply, Ticket};

pub use seed::{Access, default_world};
pub use settings::Settings;
use wire::{Ask, Refusal, Said};
pub use wire::{Object, seconds};
use world::{Fate, World};

pub struct OpenStack {
    pub world: World,
    pub settings: Settings,
    dice: Dice,
    script: Script,
    journal: Journal,
    effects: Vec<Effect>,
    held: BTreeMap<Ticket, Held>,
    tickets: Ticket,
    servers_made: u64,
}

struct Held {
    fault: String,
    request: Request<Bytes>,
    delay: Duration,
    fates: Vec<String>,
    /// The answer, if the effect has happened already.
    answer: Option<Response<Bytes>>,
    late: bool,
    released: bool,
    orphan: bool,
}

impl OpenStack {
    pub fn new(world: World, settings: Settings, seed: u64) -> Self {
        Self {
            world,
            settings,
            dice: Dice::new(seed ^ 0x6f70_656e),
            script: Script::default(),
            journal: Journal::default(),
            effects: Vec::new(),
            held: BTreeMap::new(),
            tickets: 0,
            servers_made: 0,
        }
    }

    /// The answer without any fault.
    fn answer(
        &mut self,
        request: &Request<Bytes>,
        now: Timestamp,
        fates: Vec<String>,
    ) -> Response<Bytes> {
        let mut ask = Ask::read(request, now, format!("req-{}", self.dice.uuid()));
        ask.fates = fates;
        if ask.path.is_empty() {
            return versions::front_door().into_response();
        }
        let service = ask.path.remove(0);
        let outcome = match service.as_str() {
            "identity" => self.keystone(&ask),
            "compute" => self.nova(&ask),
            "networking" => self.neutron(&ask),
            "image" => self.glance(&ask),
            _ => Err(Refusal::from(Said::html(
                404,
                "The resource could not be found.",
            ))),
        };
        let said = outcome.unwrap_or_else(|refusal| *refusal.0);
        let said = match service.as_str() {
            "identity" => said.with("vary", "X-Auth-Token"),
            "compute" => said.with("x-compute-request-id", &ask.request_id),
            _ => said,
        };
        said.with("x-openstack-request-id", &ask.request_id)
            .into_response()
    }

    fn struck(
        &mut self,
        fault: &Fault,
        request: &Request<Bytes>,
        answer: Option<Response<Bytes>>,
        delay: Duration,
    ) -> Reply {
        let ok = || Response::new(Bytes::from_static(b"{\"truncated\": true}"));
        match &fault.act {
            Act::Refuse => Reply::Refuse { delay },
            Act::Reset => Reply::Reset { delay },
            Act::Truncate { keep } => Reply::Truncate {
                response: answer.unwrap_or_else(ok),
                keep: *keep,
                delay,
            },
            Act::Status {
                code,
                retry_after,
                body,
            } => {
                let service = request.uri().path().split('/').nth(1);
                let base = Ask::read(request, Timestamp::UNIX_EPOCH, String::new()).base;
                let mut said = errors::scripted(service, *code, &base);
                if let Some(after) = retry_after {
                    said = errors::with_retry_after(said, after);
                }
                let mut response = said.0.into_response();
                if let Some(body) = body {
                    *response.body_mut() = Bytes::from(quote::filled(body, request));
                }
                Reply::Answer { response, delay }
            }
            Act::Hold { late } => self.hold(fault, request, answer, *late),
            // the last two never decide what the caller sees
            Act::Silence | Act::Slow { .. } | Act::Fate(_) => Reply::Silence,
        }
    }

    fn hold(
        &mut self,
        fault: &Fault,
        request: &Request<Bytes>,
        answer: Option<Response<Bytes>>,
        late: bool,
    ) -> Reply {
        self.tickets += 1;
        let held = Held {
            fault: fault.id.clone(),
            request: request.clone(),
            delay: Duration::ZERO,
            fates: Vec::new(),
            answer,
            late,
            released: false,
            orphan: false,
        };
        self.held.insert(self.tickets, held);
        Reply::Held {
            ticket: self.tickets,
        }
    }

    fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    fn note_call(&mut self, request: &Request<Bytes>, now: Timestamp, reply: &Reply) {
        let outcome = match reply {
            Reply::Answer { response, .. } => response.status().as_u16().to_string(),
            Reply::Refuse { .. } => "refused".to_owned(),
            Reply::Reset { .. } => "reset".to_owned(),
            Reply::Truncate { .. } => "truncated".to_owned(),
            Reply::Silence => "silence".to_owned(),
            Reply::Held { ticket } => format!("held {ticket}"),
        };
        let path = request
            .uri()
            .path_and_query()
            .map_or("/", http::uri::PathAndQuery::as_str);
        self.journal
            .call(now, request.method().as_str(), path, outcome);
    }
}

impl Machine for OpenStack {
    fn handle(&mut self, request: &Request<Bytes>, now: Timestamp) -> (Reply, Vec<Effect>) {
        self.elapse(now);
        let verdict = self.script.judge(request);
        let delay = verdict.delay;
        let reply = match verdict.strike {
            None => Reply::Answer {
                response: self.answer(request, now, verdict.fates),
                delay,
            },
            Some(fault) if fault.when == When::Before => {
                let reply = self.struck(&fault, request, None, delay);
                if let Reply::Held { ticket } = reply
                    && let Some(held) = self.held.get_mut(&ticket)
                {
                    held.delay = delay;
                    held.fates = verdict.fates;
                }
                reply
            }
            Some(fault) => {
                let answer = self.answer(request, now, verdict.fates);
                self.struck(&fault, request, Some(answer), delay)
            }
        };
        self.note_call(request, now, &reply);
        (reply, self.take_effects())
    }

    fn pass(&mut self, now: Timestamp) -> Vec<Effect> {
        self.elapse(now);
        self.take_effects()
    }

    fn next_due(&self) -> Option<Timestamp> {
        self.world.agenda.first().map(|(at, _)| *at)
    }

    fn resume(&mut self, ticket: Ticket, now: Timestamp) -> Option<(Reply, Vec<Effect>)> {
        if self.held.get(&ticket).is_some_and(|held| !held.released) {
            return None;
        }
        let Some(held) = self.held.remove(&ticket) else {
            return Some((
                Reply::Reset {
                    delay: Duration::ZERO,
                },
                Vec::new(),
            ));
        };
        self.elapse(now);
        let response = match held.answer {
            Some(answer) => answer,
            None => self.answer(&held.request, now, held.fates),
        };
        let reply = Reply::Answer {
            response,
            delay: held.delay,
        };
        self.note_call(&held.request, now, &reply);
        Some((reply, self.take_effects()))
    }

    fn abandon(&mut self, ticket: Ticket) {
        match self.held.get_mut(&ticket) {
            Some(held) if held.late && held.answer.is_none() => held.orphan = true,
            _ => {
                self.held.remove(&ticket);
            }
        }
    }

    fn held(&self) -> Vec<(Ticket, String)> {
        let held = self.held.iter();
        held.map(|(ticket, held)| (*ticket, held.fault.clone()))
            .collect()
    }

    fn release(&mut self, fault: Option<&str>) -> Released {
        let mut released = Released::default();
        let held = self.held.iter_mut();
        for (ticket, held) in held.filter(|(_, held)| fault.is_none_or(|fault| fault == held.fault))
        {
            held.released = true;
            released.count += 1;
            if held.orphan {
                released.orphans.push(*ticket);
            }
        }
        released
    }

    fn print(&mut self, machine: &str, text: &str) {
        if let Some(server) = self.world.servers.get_mut(machine) {
            server.console.push_str(text);
            servers::trim_console(&mut server.console);
        }
    }

    fn state(&self) -> Value {
        serde_json::to_value(&self.world).unwrap_or_default()
    }

    fn settings(&self) -> Value {
        serde_json::to_value(&self.settings).unwrap_or_default()
    }

    fn change_settings(&mut self, change: Value) -> Result<(), String> {
        let (Value::Object(mut all), Value::Object(change)) = (self.settings(), change) else {
            return Err("settings are a JSON object".to_owned());
        };
        all.extend(change);
        self.settings =
            serde_json::from_value(Value::Object(all)).map_err(|error| error.to_string())?;
        Ok(())
    }

    fn script(&self) -> &Script {
        &self.script
    }

    fn script_mut(&mut self) -> &mut Script {
        &mut self.script
    }

    fn journal(&self) -> &Journal {
        &self.journal
    }

    fn fates(&self) -> &'static [&'static str] {
        Fate::NAMES
    }
}
