//! How do tests and people look behind the curtain and write the fault script?
//!
//! `GET /admin/state` the whole world · `GET /admin/log` what changed, with times · `GET /admin/calls` who asked what ·
//! `GET|PUT|POST|DELETE /admin/faults` the script (PUT replaces, POST adds, one fault or a list) ·
//! `DELETE /admin/faults/{id}` · `GET /admin/held` · `POST /admin/release` (`{"fault": "id"}` or nothing for all) ·
//! `GET|PUT /admin/settings` speeds and switches, merged.

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use serde_json::{Value, json};

use super::engine::Engine;
use crate::faults::{Act, Fault};
use crate::machine::Machine;

/// `None`: not a path of ours.
pub fn answer<M: Machine>(engine: &Engine<M>, request: &Request<Bytes>) -> Option<Response<Bytes>> {
    let path = request.uri().path().strip_prefix("/admin/")?;
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let answer = route(engine, request, &parts);
    let (status, body) = match answer {
        Ok(body) => (StatusCode::OK, body),
        Err((status, why)) => (status, json!({"error": why})),
    };
    let mut response = Response::new(Bytes::from(body.to_string()));
    *response.status_mut() = status;
    let json = http::HeaderValue::from_static("application/json");
    response
        .headers_mut()
        .insert(http::header::CONTENT_TYPE, json);
    Some(response)
}

type Refused = (StatusCode, String);

fn route<M: Machine>(
    engine: &Engine<M>,
    request: &Request<Bytes>,
    parts: &[&str],
) -> Result<Value, Refused> {
    match (request.method().as_str(), parts) {
        ("GET", ["state"]) => Ok(engine.with(|machine| machine.state())),
        ("GET", ["log"]) => Ok(engine
            .with(|machine| json!({"changes": machine.journal().changes().collect::<Vec<_>>()}))),
        ("GET", ["calls"]) => {
            Ok(engine
                .with(|machine| json!({"calls": machine.journal().calls().collect::<Vec<_>>()})))
        }
        ("GET", ["faults"]) => {
            Ok(engine.with(|machine| json!({"faults": machine.script().faults()})))
        }
        ("PUT", ["faults"]) => write_script(engine, request, true),
        ("POST", ["faults"]) => write_script(engine, request, false),
        ("DELETE", ["faults"]) => {
            engine.with(|machine| machine.script_mut().clear());
            Ok(json!({}))
        }
        ("DELETE", ["faults", id]) => {
            engine.with(|machine| machine.script_mut().remove(id));
            Ok(json!({}))
        }
        ("GET", ["held"]) => Ok(held(engine)),
        ("POST", ["release"]) => {
            let body: Value = serde_json::from_slice(request.body()).unwrap_or_default();
            let released = engine.release(body.get("fault").and_then(Value::as_str));
            Ok(json!({"released": released}))
        }
        ("GET", ["settings"]) => Ok(engine.with(|machine| machine.settings())),
        ("PUT" | "PATCH", ["settings"]) => {
            let change = read(request)?;
            let changed = engine.with(|machine| machine.change_settings(change));
            changed.map_err(bad)?;
            Ok(engine.with(|machine| machine.settings()))
        }
        _ => Err((
            StatusCode::NOT_FOUND,
            "there are: state, log, calls, faults, held, release, settings".to_owned(),
        )),
    }
}

fn held<M: Machine>(engine: &Engine<M>) -> Value {
    let held = engine.with(|machine| machine.held());
    let held: Vec<Value> = held
        .iter()
        .map(|(ticket, fault)| json!({"ticket": ticket, "fault": fault}))
        .collect();
    json!({"held": held})
}

fn write_script<M: Machine>(
    engine: &Engine<M>,
    request: &Request<Bytes>,
    replace: bool,
) -> Result<Value, Refused> {
    let body = read(request)?;
    let list = match body {
        Value::Array(list) => list,
        Value::Object(mut members) if members.contains_key("faults") => {
            match members.remove("faults") {
                Some(Value::Array(list)) => list,
                _ => return Err(bad("`faults` is a list".to_owned())),
            }
        }
        one => vec![one],
    };
    let faults: Result<Vec<Fault>, _> = list.into_iter().map(serde_json::from_value).collect();
    let faults = faults.map_err(|error| bad(error.to_string()))?;
    let known = engine.with(|machine| machine.fates());
    for fault in &faults {
        if let Act::Fate(name) = &fault.act
            && !known.contains(&name.as_str())
        {
            return Err(bad(format!(
                "no fate is called `{name}`; there are {}",
                known.join(", ")
            )));
        }
    }
    let ids: Vec<String> = engine.with(|machine| {
        let script = machine.script_mut();
        if replace {
            script.clear();
        }
        faults.into_iter().map(|fault| script.add(fault)).collect()
    });
    Ok(json!({"ids": ids}))
}

fn read(request: &Request<Bytes>) -> Result<Value, Refused> {
    serde_json::from_slice(request.body())
        .map_err(|error| bad(format!("the body is not JSON: {error}")))
}

fn bad(why: String) -> Refused {
    (StatusCode::BAD_REQUEST, why)
}
