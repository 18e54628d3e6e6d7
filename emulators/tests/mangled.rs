//! Does anything a caller sends make the emulator fall over, or answer with something that is no answer?
#![allow(clippy::unwrap_used, clippy::expect_used)]

use bytes::Bytes;
use emulators::dice::Dice;
use emulators::machine::{Machine, Reply};
use emulators::openstack::{OpenStack, Settings, default_world};
use http::Request;
use serde_json::Value;

const ROUNDS: u64 = 40;

const ODD_ENDS: &[&str] = &[
    "/",
    "//",
    "%",
    "%ff",
    "?limit=-1",
    "?limit=99999999999999999999",
    "?marker=",
    "&name=[",
    "?name=%28",
    "?tags=,,",
    "?changes-since=x",
    "/x/y/z",
    "?sort_key=%00",
    "?fields=",
    "&limit=0",
];

const VERSIONS: &[&str] = &[
    "2.1",
    "2.26",
    "2.52",
    "2.79",
    "2.93",
    "latest",
    "2.",
    "x.y",
    "2.99999999999",
    "3.0",
    "",
];

/// Every recorded request, bent in many ways, with a token that is good.
#[test]
fn a_mangled_request_gets_an_error_of_its_service_and_never_a_panic() {
    let now = "2026-11-18T02:27:10Z".parse().unwrap();
    let (world, access) = default_world(1, now);
    let mut cloud = OpenStack::new(
        world,
        Settings {
            token_seconds: 1_000_000,
            ..Settings::default()
        },
        1,
    );
    let token = sign_in(&mut cloud, &access, now);
    let mut dice = Dice::new(3);
    let (mut sent, mut refused) = (0, 0);
    for line in include_str!("recordings/openstack.jsonl").lines() {
        let recorded: Value = serde_json::from_str(line).unwrap();
        for _ in 0..ROUNDS {
            let Some(request) = mangled(&recorded, &token, &mut dice) else {
                continue;
            };
            let (reply, _) = cloud.handle(&request, now);
            let Reply::Answer { response, .. } = reply else {
                panic!("{reply:?}")
            };
            sent += 1;
            if response.status().is_client_error() {
                refused += 1;
                let kind = response.headers()["content-type"].to_str().unwrap();
                let text = String::from_utf8_lossy(response.body());
                let good = if kind.contains("html") {
                    text.contains("<html>")
                } else {
                    serde_json::from_str::<Value>(&text).unwrap().is_object()
                };
                assert!(good, "{request:?}: {text}");
            }
            assert!(
                !response.status().is_server_error(),
                "{request:?}: {response:?}"
            );
        }
    }
    println!("mangled: {sent} requests, {refused} refused, none fell over");
    assert!(
        sent > 5000 && refused > 1000,
        "{sent} sent, {refused} refused"
    );
}

fn sign_in(
    cloud: &mut OpenStack,
    access: &emulators::openstack::Access,
    now: jiff::Timestamp,
) -> String {
    let body = format!(
        r#"{{"auth":{{"identity":{{"methods":["application_credential"],"application_credential":{{"id":"{}","secret":"{}"}}}}}}}}"#,
        access.credential_id, access.credential_secret
    );
    let request = Request::post("/identity/v3/auth/tokens")
        .body(Bytes::from(body))
        .unwrap();
    let (Reply::Answer { response, .. }, _) = cloud.handle(&request, now) else {
        panic!("no answer")
    };
    response.headers()["x-subject-token"]
        .to_str()
        .unwrap()
        .to_owned()
}

fn mangled(recorded: &Value, token: &str, dice: &mut Dice) -> Option<Request<Bytes>> {
    let prefix = match recorded["service"].as_str().unwrap() {
        "keystone" => "/identity",
        "nova" => "/compute",
        "neutron" => "/networking",
        "glance" => "/image",
        _ => "/volume",
    };
    let methods = ["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD"];
    let method = if one_in(dice, 4) {
        methods[pick(dice, methods.len())]
    } else {
        recorded["request"]["method"].as_str().unwrap()
    };
    let mut path =
        format!("{prefix}{}", recorded["request"]["path"].as_str().unwrap()).replace('^', "%5E");
    if one_in(dice, 3) {
        path.push_str(ODD_ENDS[pick(dice, ODD_ENDS.len())]);
    }
    let body = match &recorded["request"]["body"] {
        Value::Null => Vec::new(),
        body => bent(body.clone(), dice),
    };
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("x-auth-token", token)
        .header(
            "content-type",
            if one_in(dice, 8) {
                "text/plain"
            } else {
                "application/json"
            },
        )
        .header(
            "openstack-api-version",
            format!("compute {}", VERSIONS[pick(dice, VERSIONS.len())]),
        )
        .body(Bytes::from(body));
    request.ok()
}

/// Some value of the body becomes something else; sometimes the bytes themselves break.
fn bent(mut body: Value, dice: &mut Dice) -> Vec<u8> {
    for _ in 0..=pick(dice, 3) {
        let at = pick(dice, 12);
        bend(&mut body, at, dice);
    }
    let mut bytes = body.to_string().into_bytes();
    if one_in(dice, 5) && !bytes.is_empty() {
        let at = pick(dice, bytes.len());
        if one_in(dice, 2) {
            bytes.truncate(at);
        } else {
            bytes[at] = 0xff;
        }
    }
    bytes
}

fn bend(value: &mut Value, depth: usize, dice: &mut Dice) {
    let children: Vec<&mut Value> = match value {
        Value::Object(members) => members.values_mut().collect(),
        Value::Array(items) => items.iter_mut().collect(),
        _ => Vec::new(),
    };
    let count = children.len();
    if count > 0 && depth > 0 {
        let at = pick(dice, count);
        if let Some(child) = children.into_iter().nth(at) {
            return bend(child, depth - 1, dice);
        }
    }
    let odd = [
        Value::Null,
        Value::Bool(true),
        (-1).into(),
        u64::MAX.into(),
        1.5.into(),
        "".into(),
        "x".repeat(300).into(),
        "\u{0}\u{1f4a3}".into(),
        Value::Array(vec![Value::Null]),
        serde_json::json!({"": {"": []}}),
    ];
    *value = odd[pick(dice, odd.len())].clone();
}

fn pick(dice: &mut Dice, count: usize) -> usize {
    usize::try_from(dice.roll() % count as u64).unwrap()
}

fn one_in(dice: &mut Dice, count: u64) -> bool {
    dice.roll().is_multiple_of(count)
}
