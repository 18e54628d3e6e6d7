//! How does the cluster misbehave on demand? The script before and after the honest answer.
//!
//! Besides the acts every emulator has, these fates: `watch-breaks` (a watch breaks off in its second piece),
//! `stale-read` (a get or list has not seen the last changes), `conflict` (a write is refused with 409), `expired` (a
//! watch or list is refused with 410).

use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::status::Status;
use super::{Kubernetes, Said, Settings};
use crate::faults::{Act, Fault, Script, When};
use crate::journal::Journal;
use crate::machine::{Effect, Machine, Released, Reply, Ticket};

const FATES: &[&str] = &["watch-breaks", "stale-read", "conflict", "expired"];

pub(super) struct Held {
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

impl Kubernetes {
    fn answer_with(
        &mut self,
        request: &Request<Bytes>,
        now: Timestamp,
        fates: Vec<String>,
    ) -> Response<Bytes> {
        self.fates = fates;
        let response = if self.has_fate("expired") {
            Said::refused(&Status::expired("the resource version is too old")).into_response()
        } else {
            self.answer(request, now)
        };
        self.fates.clear();
        response
    }

    fn struck(
        &mut self,
        fault: &Fault,
        request: &Request<Bytes>,
        answer: Option<Response<Bytes>>,
        (delay, fates): (Duration, Vec<String>),
    ) -> Reply {
        match &fault.act {
            Act::Refuse => Reply::Refuse { delay },
            Act::Reset => Reply::Reset { delay },
            Act::Truncate { keep } => Reply::Truncate {
                response: answer
                    .unwrap_or_else(|| Response::new(Bytes::from_static(b"{\"kind\":\"Status\"}"))),
                keep: *keep,
                delay,
            },
            Act::Status {
                code,
                retry_after,
                body,
            } => {
                let response = scripted(*code, retry_after.as_deref(), body.as_deref());
                Reply::Answer { response, delay }
            }
            Act::Hold { late } => {
                self.tickets += 1;
                let held = Held {
                    fault: fault.id.clone(),
                    request: request.clone(),
                    delay,
                    fates,
                    answer,
                    late: *late,
                    released: false,
                    orphan: false,
                };
                self.held.insert(self.tickets, held);
                Reply::Held {
                    ticket: self.tickets,
                }
            }
            // the last two never decide what the caller sees
            Act::Silence | Act::Slow { .. } | Act::Fate(_) => Reply::Silence,
        }
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
        let path = request.uri().path_and_query();
        let path = path.map_or("/", http::uri::PathAndQuery::as_str);
        self.journal
            .call(now, request.method().as_str(), path, outcome);
    }
}

impl Machine for Kubernetes {
    fn handle(&mut self, request: &Request<Bytes>, now: Timestamp) -> (Reply, Vec<Effect>) {
        self.world.tick(now);
        let verdict = self.script.judge(request);
        let delay = verdict.delay;
        let reply = match verdict.strike {
            None => Reply::Answer {
                response: self.answer_with(request, now, verdict.fates),
                delay,
            },
            Some(fault) if fault.when == When::Before => {
                self.struck(&fault, request, None, (delay, verdict.fates))
            }
            Some(fault) => {
                let answer = self.answer_with(request, now, verdict.fates);
                self.struck(&fault, request, Some(answer), (delay, Vec::new()))
            }
        };
        self.note_call(request, now, &reply);
        (reply, Vec::new())
    }

    fn pass(&mut self, now: Timestamp) -> Vec<Effect> {
        self.world.tick(now);
        Vec::new()
    }

    fn next_due(&self) -> Option<Timestamp> {
        self.world.due()
    }

    fn version(&self) -> u64 {
        self.world.store.revision().wrapping_add(self.epoch << 40)
    }

    fn resume(&mut self, ticket: Ticket, now: Timestamp) -> Option<(Reply, Vec<Effect>)> {
        if self.held.get(&ticket).is_some_and(|held| !held.released) {
            return None;
        }
        let Some(held) = self.held.remove(&ticket) else {
            let delay = Duration::ZERO;
            return Some((Reply::Reset { delay }, Vec::new()));
        };
        self.world.tick(now);
        let response = match held.answer {
            Some(answer) => answer,
            None => self.answer_with(&held.request, now, held.fates),
        };
        let reply = Reply::Answer {
            response,
            delay: held.delay,
        };
        self.note_call(&held.request, now, &reply);
        Some((reply, Vec::new()))
    }

    fn abandon(&mut self, ticket: Ticket) {
        match self.held.get_mut(&ticket) {
            Some(held) if held.late && held.answer.is_none() => held.orphan = true,
            _ => drop(self.held.remove(&ticket)),
        }
    }

    fn held(&self) -> Vec<(Ticket, String)> {
        let held = self.held.iter();
        held.map(|(ticket, held)| (*ticket, held.fault.clone()))
            .collect()
    }

    fn release(&mut self, fault: Option<&str>) -> Released {
        let mut released = Released::default();
        for (ticket, held) in &mut self.held {
            if fault.is_some_and(|fault| fault != held.fault) {
                continue;
            }
            held.released = true;
            released.count += 1;
            if held.orphan {
                released.orphans.push(*ticket);
            }
        }
        released
    }

    /// Machines have no screens here.
    fn print(&mut self, _machine: &str, _text: &str) {}

    fn state(&self) -> Value {
        let kinds = self.world.store.kinds.iter();
        let shelves = kinds.filter_map(|kind| {
            let all: Vec<Value> = self
                .world
                .store
                .list(&kind.id, None)
                .map(|object| (*object.value()).clone())
                .collect();
            (!all.is_empty()).then(|| (kind.id.clone(), Value::Array(all)))
        });
        json!({"revision": self.world.store.revision(), "objects": Value::Object(shelves.collect())})
    }

    fn settings(&self) -> Value {
        serde_json::to_value(&self.settings).unwrap_or_default()
    }

    fn change_settings(&mut self, change: Value) -> Result<(), String> {
        let (Value::Object(mut all), Value::Object(change)) = (Machine::settings(self), change)
        else {
            return Err("settings are a JSON object".to_owned());
        };
        all.extend(change);
        let next: Settings =
            serde_json::from_value(Value::Object(all)).map_err(|error| error.to_string())?;
        self.world.reaction = SignedDuration::from_millis(i64::from(next.reaction_ms));
        self.world.store.keep_changes(next.log_length);
        self.settings = next;
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
        FATES
    }
}

fn scripted(code: u16, retry_after: Option<&str>, body: Option<&str>) -> Response<Bytes> {
    let reason = match code {
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "NotFound",
        409 => "Conflict",
        410 => "Expired",
        429 => "TooManyRequests",
        500 => "InternalError",
        503 => "ServiceUnavailable",
        504 => "Timeout",
        _ => "Unknown",
    };
    let mut response =
        Said::refused(&Status::new(code, reason, "the fault script says so")).into_response();
    if let Some(after) = retry_after.and_then(|after| after.parse().ok()) {
        response
            .headers_mut()
            .insert(http::header::RETRY_AFTER, after);
    }
    if let Some(body) = body {
        *response.body_mut() = Bytes::from(body.to_owned());
    }
    response
}
