//! Does anything a caller sends make the embedded Kubernetes fall over, or answer with something that is no Status?
#![allow(clippy::unwrap_used, clippy::expect_used)]

use bytes::Bytes;
use emulators::dice::Dice;
use emulators::kubernetes::Kubernetes;
use emulators::kubernetes::users::User;
use emulators::kubernetes::watch::Watch;
use emulators::machine::{Machine, Reply};
use http::Request;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

const ROUNDS: u64 = 30_000;

const ODD_ENDS: &[&str] = &[
    "/",
    "//",
    "%",
    "%ff",
    "?limit=-1",
    "?limit=1",
    "?limit=2&continue=eyJydiI6NSwiYWZ0ZXIiOiJhL2IifQ",
    "?continue=x",
    "?watch=1",
    "?watch=true&resourceVersion=3",
    "?watch=1&resourceVersion=x",
    "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=1",
    "?resourceVersion=99999999&resourceVersionMatch=Exact",
    "?resourceVersion=5&resourceVersionMatch=Exact",
    "?labelSelector=a%20in%20(b",
    "?labelSelector=app%3Dx,!y",
    "?fieldSelector=metadata.name%3Dx,spec.nodeName!%3Dn",
    "?fieldSelector=%3D",
    "?dryRun=All",
    "?dryRun=x",
    "?fieldManager=m",
    "?fieldManager=m&force=true",
    "?fieldValidation=Strict",
    "?propagationPolicy=Foreground",
    "?propagationPolicy=x",
    "?gracePeriodSeconds=x",
    "/status",
    "/scale",
    "/eviction",
    "/binding",
    "/token",
    "/log",
    "/x/y/z",
];

const KINDS: &[&str] = &[
    "application/json",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
    "text/plain",
];

const ACCEPTS: &[&str] = &[
    "application/json",
    "application/json;as=Table;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
];

#[test]
fn a_mangled_request_gets_a_status_and_never_a_panic() {
    let mut now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    let mut cluster = Kubernetes::new(1, now);
    let mut dice = Dice::new(5);
    let samples = samples();
    let (mut refused, mut done) = (0, 0);
    let mut watches: Vec<Watch> = Vec::new();
    for round in 0..ROUNDS {
        let Some(request) = mangled(&samples, &mut dice) else {
            continue;
        };
        let (reply, _) = cluster.handle(&request, now);
        let Reply::Answer { mut response, .. } = reply else {
            panic!("{reply:?}")
        };
        if let Some(watch) = response.extensions_mut().remove::<Watch>() {
            watches.push(watch);
        }
        if response.status().is_success() {
            done += 1;
        } else {
            refused += 1;
            let body: Value = serde_json::from_slice(response.body()).unwrap_or_default();
            let shaped = body["kind"] == "Status"
                && body["status"] == "Failure"
                && body["code"] == response.status().as_u16();
            assert!(shaped, "{request:?}: {response:?}");
        }
        assert_ne!(response.status().as_u16(), 500, "{request:?}: {response:?}");
        if round % 10 == 0 {
            now += SignedDuration::from_millis(700);
            for watch in &mut watches {
                let _ = cluster.pull(watch, now);
            }
            watches.truncate(50);
        }
    }
    println!("mangled: {done} done, {refused} refused, none fell over");
    assert!(
        done > 2000 && refused > 2000,
        "{done} done, {refused} refused"
    );
}

/// (collection, object) to start from.
fn samples() -> Vec<(&'static str, Value)> {
    include_str!("samples_kubernetes.jsonl")
        .lines()
        .map(|line| {
            let (collection, object) = line.split_once(' ').unwrap();
            (collection, serde_json::from_str(object).unwrap())
        })
        .collect()
}

fn mangled(samples: &[(&str, Value)], dice: &mut Dice) -> Option<Request<Bytes>> {
    let (collection, object) = &samples[pick(dice, samples.len())];
    let methods = [
        "POST", "POST", "GET", "PUT", "PATCH", "PATCH", "DELETE", "HEAD", "OPTIONS",
    ];
    let method = methods[pick(dice, methods.len())];
    let mut path = (*collection).to_owned();
    if method != "POST" && !one_in(dice, 4) || one_in(dice, 10) {
        path = format!(
            "{path}/{}",
            object["metadata"]["name"].as_str().unwrap_or("x")
        );
    }
    if one_in(dice, 2) {
        path.push_str(ODD_ENDS[pick(dice, ODD_ENDS.len())]);
    }
    let mut kind = if method == "PATCH" {
        KINDS[1 + pick(dice, 4)]
    } else {
        KINDS[0]
    };
    if one_in(dice, 12) {
        kind = KINDS[pick(dice, KINDS.len())];
    }
    let body = match (object, kind) {
        (Value::Null, _) => Vec::new(),
        (_, "application/json-patch+json") => bent(
            json!([
                {"op": "add", "path": "/metadata/labels", "value": {"a": "b"}},
                {"op": "replace", "path": "/spec/size", "value": 5},
            ]),
            dice,
        ),
        (object, _) => bent(complete(collection, object.clone()), dice),
    };
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", kind)
        .header(
            "accept",
            ACCEPTS[pick(dice, ACCEPTS.len() + 8).min(ACCEPTS.len() - 1) % ACCEPTS.len()],
        )
        .body(Bytes::from(body))
        .ok()?;
    if !one_in(dice, 40) {
        request.extensions_mut().insert(User::admin());
    }
    Some(request)
}

/// With apiVersion and kind, which an apply needs.
fn complete(collection: &str, mut object: Value) -> Value {
    let parts: Vec<&str> = collection
        .split('/')
        .filter(|part| !part.is_empty())
        .collect();
    let version = match parts.as_slice() {
        ["apis", group, version, ..] => format!("{group}/{version}"),
        _ => "v1".to_owned(),
    };
    let kind = match *parts.last().unwrap() {
        "configmaps" => "ConfigMap",
        "pods" => "Pod",
        "nodes" => "Node",
        "deployments" => "Deployment",
        "daemonsets" => "DaemonSet",
        "replicasets" => "ReplicaSet",
        "secrets" => "Secret",
        "services" => "Service",
        "things" => "Thing",
        _ => return object,
    };
    object["apiVersion"] = version.into();
    object["kind"] = kind.into();
    object
}

/// Half of them stay as they are; in the others some value becomes something else, or the bytes themselves break.
fn bent(mut body: Value, dice: &mut Dice) -> Vec<u8> {
    if one_in(dice, 2) {
        for _ in 0..=pick(dice, 3) {
            let depth = pick(dice, 9);
            bend(&mut body, depth, dice);
        }
    }
    let mut bytes = body.to_string().into_bytes();
    if one_in(dice, 12) && !bytes.is_empty() {
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
        json!([1, "a", {"$patch": "delete"}]),
        json!({"": {"": []}}),
        json!({"$patch": "replace", "name": "c"}),
        "\u{e9}\u{e9}".into(),
    ];
    *value = odd[pick(dice, odd.len())].clone();
}

fn pick(dice: &mut Dice, count: usize) -> usize {
    usize::try_from(dice.roll() % count as u64).unwrap()
}

fn one_in(dice: &mut Dice, count: u64) -> bool {
    dice.roll().is_multiple_of(count)
}
