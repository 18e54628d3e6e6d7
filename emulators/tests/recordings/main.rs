//! Does the emulator answer as a real OpenStack answered, call by call?
//!
//! Every recorded call is replayed against a world like the recorded one, ids and tokens mapped. Status, the headers
//! that matter and the shape of the JSON (members and types) must be equal. What differs stands in `differences.md`
//! with its reason: an unlisted difference fails, and so does a listed one that is none any more.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod recorded;
mod shape;
mod table;

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use emulators::machine::{Machine, Reply};
use emulators::openstack::{OpenStack, Settings};
use http::{Request, Response};
use serde_json::Value;

use recorded::Exchange;

/// Between two calls. Longer than half of the scheduling, so that the recorded burst gets past the quota as it did.
const GAP: Duration = Duration::from_millis(100);
const PAUSE: Duration = Duration::from_secs(30);

/// What the replay showed.
#[derive(Default)]
struct Tally {
    compared: usize,
    found: BTreeMap<u64, String>,
    left_out: BTreeMap<String, u32>,
    refusals: u32,
    same_words: u32,
}

#[test]
fn a_real_openstack_said_the_same() {
    let exchanges = recorded::all();
    let table = table::read();
    let tally = replay(&exchanges, &table);
    let Tally {
        compared,
        found,
        left_out,
        refusals,
        same_words,
    } = &tally;
    let equal = compared - found.len();
    println!(
        "recordings: {} calls, {compared} compared, {equal} equal, {} differ",
        exchanges.len(),
        found.len()
    );
    println!(
        "recordings: of {refusals} refusals {same_words} are equal to the letter (members sorted)"
    );
    println!("recordings: not implemented: {left_out:?}");
    for (n, difference) in found {
        println!("recordings: {n}: {difference}");
    }
    let listed: Vec<u64> = table.differences.keys().copied().collect();
    let differing: Vec<u64> = found.keys().copied().collect();
    assert_eq!(
        differing, listed,
        "left: what differs, right: what differences.md lists"
    );
    assert!(
        equal * 100 >= compared * 95,
        "only {equal} of {compared} are equal"
    );
    let kinds: Vec<&String> = table
        .kinds
        .iter()
        .filter(|kind| !left_out.contains_key(*kind))
        .collect();
    assert!(
        kinds.is_empty(),
        "listed as not implemented but never recorded: {kinds:?}"
    );
}

fn replay(exchanges: &[Exchange], table: &table::Table) -> Tally {
    let settings = Settings {
        schedule_ms: 150,
        build_ms: 6000,
        ..Settings::default()
    };
    let mut cloud = OpenStack::new(recorded::world(exchanges), settings, 1);
    let mut now = "2026-11-18T02:27:10Z".parse().unwrap();
    let mut names = BTreeMap::new();
    let mut tally = Tally::default();
    for exchange in exchanges {
        now += if waited(exchange) { PAUSE } else { GAP };
        let (reply, _) = cloud.handle(&replayed(exchange, &names), now);
        let Reply::Answer { response, .. } = reply else {
            panic!("{}: {reply:?}", exchange.n)
        };
        if let Some(kind) = table.left_out(exchange) {
            assert_eq!(
                response.status(),
                404,
                "{kind} is implemented by now: take it out of differences.md"
            );
            *tally.left_out.entry(kind).or_default() += 1;
            continue;
        }
        tally.compared += 1;
        learn(exchange, &response, &mut names);
        let differences = shape::differences(exchange, &response);
        if !differences.is_empty() {
            tally.found.insert(exchange.n, differences.join("; "));
        }
        if exchange.reply.status >= 400 {
            tally.refusals += 1;
            let same = words(exchange, &names) == String::from_utf8_lossy(response.body());
            tally.same_words += u32::from(same);
        }
    }
    tally
}

/// The recorder let time pass here.
fn waited(exchange: &Exchange) -> bool {
    let notes = [
        "poll",
        "after the build",
        "became of it",
        "while deleting",
        "after delete",
    ];
    notes.iter().any(|note| exchange.note.contains(note)) || exchange.n == 264
}

fn replayed(exchange: &Exchange, names: &BTreeMap<String, String>) -> Request<Bytes> {
    let prefix = match exchange.service.as_str() {
        "keystone" => "/identity",
        "nova" => "/compute",
        "neutron" => "/networking",
        "cinder" => "/volume",
        _ => "/image",
    };
    let path = renamed(&exchange.request.path, names).replace('^', "%5E");
    let mut request = Request::builder()
        .method(exchange.request.method.as_str())
        .uri(format!("{prefix}{path}"))
        .header("host", "127.0.0.1:5000");
    for (name, value) in &exchange.request.headers {
        request = request.header(name, renamed(value, names));
    }
    let body = match &exchange.request.body {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        body => body.to_string(),
    };
    if !body.is_empty() && !exchange.request.headers.contains_key("Content-Type") {
        request = request.header("content-type", "application/json");
    }
    request.body(Bytes::from(renamed(&body, names))).unwrap()
}

/// From now on the recorded name means ours.
fn learn(exchange: &Exchange, response: &Response<Bytes>, names: &mut BTreeMap<String, String>) {
    if let (Some(theirs), Some(ours)) = (
        exchange.reply.headers.get("x-subject-token"),
        response.headers().get("x-subject-token"),
    ) {
        names.insert(theirs.clone(), ours.to_str().unwrap().to_owned());
    }
    if exchange.request.method != "POST" {
        return;
    }
    let ours: Value = serde_json::from_slice(response.body()).unwrap_or_default();
    for member in ["server", "port", "application_credential", "server_group"] {
        let id = |body: &Value| body[member]["id"].as_str().map(str::to_owned);
        if let (Some(theirs), Some(ours)) = (id(&exchange.reply.body), id(&ours)) {
            names.insert(theirs, ours);
        }
    }
}

fn renamed(text: &str, names: &BTreeMap<String, String>) -> String {
    let longest_first = names.iter().rev();
    longest_first.fold(text.to_owned(), |text, (theirs, ours)| {
        text.replace(theirs, ours)
    })
}

fn words(exchange: &Exchange, names: &BTreeMap<String, String>) -> String {
    renamed(&exchange.reply.body.to_string(), names)
}
