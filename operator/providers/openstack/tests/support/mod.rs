//! What does a cloud answer in these tests, and what was it asked?
//!
//! A route is a method and the beginning of a path with query. Its answers are given in order, the last one for ever. What
//! no route knows is a failure, so a call nobody expected is seen.

#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test file is a crate of its own and uses its part"
)]
#![allow(clippy::unwrap_used, clippy::needless_pass_by_value)]

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use bytes::Bytes;
use cloud::bootstrap::UserData;
use cloud::transport::Patience;
use cloud::{Chosen, Clock, CloudError, Http, HttpFailure, Order, Provider, Resolved};
use crds::openstack::v1::OpenStackNodeClass;
use http::{Request, Response};
use jiff::{SignedDuration, Timestamp};
use openstack::{Credentials, OpenStack, Opening, open};
use planner::{CapacityType, Identity};
use serde_json::{Value, json};
use tokio::time::Instant;

pub const PASSWORD: &str = "canary-password";
pub const USER_DATA: &str =
    "#cloud-config\n# canary-user-data with a token abcdef.0123456789abcdef\n";

#[derive(Clone)]
pub enum Reply {
    Json(u16, Value),
    Html(u16),
    /// Headers besides the content type.
    With(u16, Value, Vec<(&'static str, String)>),
    /// The connection broke after the request had left.
    Reset,
    Refused,
    Silence,
}

pub struct Cloud {
    routes: Mutex<Vec<(String, VecDeque<Reply>)>>,
    seen: Mutex<Vec<Seen>>,
    pub start: Timestamp,
    begin: Instant,
    /// Lifetime of the tokens it gives out, in seconds.
    pub lifetime: Mutex<i64>,
    /// How long an authentication takes.
    pub slow_auth: Mutex<std::time::Duration>,
    /// How long any other call takes.
    pub slow_calls: Mutex<std::time::Duration>,
    /// Tokens every service refuses.
    pub revoked: Mutex<Vec<&'static str>>,
}

#[derive(Clone, Debug)]
pub struct Seen {
    pub line: String,
    pub token: Option<String>,
    pub microversion: Option<String>,
    pub body: Value,
}

pub fn cloud() -> Arc<Cloud> {
    Arc::new(Cloud {
        routes: Mutex::default(),
        seen: Mutex::default(),
        start: "2026-11-18T03:00:00Z".parse().unwrap(),
        begin: Instant::now(),
        lifetime: Mutex::new(3600),
        slow_auth: Mutex::default(),
        slow_calls: Mutex::default(),
        revoked: Mutex::default(),
    })
}

impl Cloud {
    pub fn on(&self, route: &str, replies: impl IntoIterator<Item = Reply>) -> &Self {
        let mut routes = self.routes.lock().unwrap();
        routes.retain(|(known, _)| known != route);
        routes.push((route.to_owned(), replies.into_iter().collect()));
        // The most particular route wins.
        routes.sort_by_key(|(route, _)| std::cmp::Reverse(route.len()));
        self
    }

    pub fn json(&self, route: &str, body: Value) -> &Self {
        self.on(route, [Reply::Json(200, body)])
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    pub fn count(&self, route: &str) -> usize {
        self.seen()
            .iter()
            .filter(|seen| seen.line.starts_with(route))
            .count()
    }

    pub fn only(&self, route: &str) -> Seen {
        let all: Vec<Seen> = self
            .seen()
            .into_iter()
            .filter(|seen| seen.line.starts_with(route))
            .collect();
        assert_eq!(all.len(), 1, "{route}: {all:?}");
        all[0].clone()
    }

    pub fn now(&self) -> Timestamp {
        self.start + SignedDuration::try_from(self.begin.elapsed()).unwrap()
    }

    fn next(&self, line: &str) -> Option<Reply> {
        let mut routes = self.routes.lock().unwrap();
        let (_, replies) = routes.iter_mut().find(|(route, _)| matches(route, line))?;
        if replies.len() > 1 {
            replies.pop_front()
        } else {
            replies.front().cloned()
        }
    }

    fn token(&self) -> Reply {
        let serial = self.count("POST /v3/auth/tokens");
        let lifetime = SignedDuration::from_secs(*self.lifetime.lock().unwrap());
        let endpoint = |kind: &str, url: &str| {
            let endpoints = json!([{"interface": "public", "region": "RegionOne", "region_id": "RegionOne", "url": url}]);
            json!({"type": kind, "name": kind, "endpoints": endpoints})
        };
        let body = json!({"token": {
            "expires_at": (self.now() + lifetime).to_string(), "issued_at": self.now().to_string(),
            "project": {"id": "p1", "name": "demo"},
            "catalog": [endpoint("compute", "http://cloud/nova/v2.1"), endpoint("network", "http://cloud/neutron"),
                        endpoint("image", "http://cloud/glance")]}});
        Reply::With(
            201,
            body,
            vec![("x-subject-token", format!("canary-token-{serial}"))],
        )
    }
}

#[async_trait]
impl Http for Cloud {
    async fn call(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpFailure> {
        let target = request
            .uri()
            .path_and_query()
            .map(ToString::to_string)
            .unwrap_or_default();
        let line = format!("{} {target}", request.method());
        let header = |name: &str| Some(request.headers().get(name)?.to_str().unwrap().to_owned());
        self.seen.lock().unwrap().push(Seen {
            line: line.clone(),
            token: header("x-auth-token"),
            microversion: header("openstack-api-version"),
            body: serde_json::from_slice(request.body()).unwrap_or(Value::Null),
        });
        let auth = line.starts_with("POST /v3/auth/tokens");
        let pause = if auth {
            &self.slow_auth
        } else {
            &self.slow_calls
        };
        let pause = *pause.lock().unwrap();
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
        let token = header("x-auth-token").unwrap_or_default();
        if self.revoked.lock().unwrap().contains(&token.as_str()) {
            let body = json!({"error": {"code": 401, "title": "Unauthorized", "message": "no"}});
            return Ok(answer(401, &body, &[]));
        }
        let reply = self.next(&line).or_else(|| auth.then(|| self.token()));
        match reply {
            Some(Reply::Json(status, body)) => Ok(answer(status, &body, &[])),
            Some(Reply::With(status, body, headers)) => Ok(answer(status, &body, &headers)),
            Some(Reply::Html(status)) => {
                let page = Bytes::from_static(
                    b"<html><body>This server could not verify that you are allowed</body></html>",
                );
                Ok(Response::builder()
                    .status(status)
                    .header("content-type", "text/html")
                    .body(page)
                    .unwrap())
            }
            Some(Reply::Reset) => Err(HttpFailure::perhaps("connection reset")),
            Some(Reply::Refused) => Err(HttpFailure::never("connection refused")),
            Some(Reply::Silence) => std::future::pending().await,
            None => Ok(answer(418, &json!({"unscripted": {"message": line}}), &[])),
        }
    }
}

/// A route that ends in `$` is the whole line.
fn matches(route: &str, line: &str) -> bool {
    match route.strip_suffix('$') {
        Some(whole) => whole == line,
        None => line.starts_with(route),
    }
}

fn answer(status: u16, body: &Value, headers: &[(&'static str, String)]) -> Response<Bytes> {
    let mut response = Response::builder()
        .status(status)
        .header("content-type", "application/json");
    response = response.header("x-openstack-request-id", "req-1234");
    for (name, value) in headers {
        response = response.header(*name, value);
    }
    let text = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    response.body(Bytes::from(text)).unwrap()
}

pub fn class(spec: Value) -> OpenStackNodeClass {
    let mut whole =
        json!({"imageSelectorTerms": [{"name": "k8s"}], "ports": [{"network": {"name": "k8s"}}]});
    for (key, value) in spec.as_object().unwrap() {
        whole[key] = value.clone();
    }
    let object = json!({"apiVersion": "karpenter.k8s.openstack/v1", "kind": "OpenStackNodeClass",
                        "metadata": {"name": "default"}, "spec": whole});
    serde_json::from_value(object).unwrap()
}

pub fn credentials() -> Credentials {
    let env = [
        ("OS_AUTH_URL", "http://cloud"),
        ("OS_USERNAME", "demo"),
        ("OS_PASSWORD", PASSWORD),
        ("OS_PROJECT_NAME", "demo"),
        ("OS_REGION_NAME", "RegionOne"),
    ];
    let env = env
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    openstack::credentials::from_env(&env).unwrap()
}

pub fn provider(cloud: &Arc<Cloud>, spec: Value) -> OpenStack {
    let clock = cloud.clone();
    let clock: Arc<dyn Clock> = Arc::new(move || clock.now());
    let mut with = Opening::new("c1".into(), cloud.clone(), clock);
    with.patience = Patience {
        repeats: 2,
        ..Patience::default()
    };
    open(&class(spec), credentials(), with).unwrap()
}

pub fn who() -> Identity {
    Identity {
        cluster: "c1".into(),
        claim: "u1".into(),
    }
}

pub fn order(on: Resolved) -> Order {
    Order {
        identity: who(),
        name: "np1-x7k2p".into(),
        offering: Chosen {
            instance_type: "m1.small".into(),
            zone: "az-a".into(),
            capacity_type: CapacityType::OnDemand,
        },
        on: Arc::new(on),
        user_data: UserData::new(USER_DATA),
        marks: [("karpenter.sh/nodepool".to_owned(), "np1".to_owned())].into(),
    }
}

pub fn server(id: &str, status: &str, tags: &[&str]) -> Value {
    json!({"id": id, "name": "n", "status": status, "tags": tags, "metadata": {}, "created": "2026-11-18T02:00:00Z",
           "flavor": {"original_name": "m1.small"}, "image": {"id": "img"}, "addresses": {},
           "OS-EXT-AZ:availability_zone": "az-a", "OS-EXT-STS:task_state": null})
}

pub const OURS: [&str; 2] = ["joiner-cluster=c1", "joiner-claim=u1"];

pub fn servers(list: &[Value]) -> Value {
    json!({"servers": list})
}

pub fn not_found() -> Reply {
    Reply::Json(
        404,
        json!({"itemNotFound": {"code": 404, "message": "Instance could not be found."}}),
    )
}

/// A cloud with one of everything.
pub fn furnished(cloud: &Cloud) {
    cloud.json(
        "GET /nova/v2.1/$",
        json!({"version": {"id": "v2.1", "version": "2.93", "min_version": "2.1"}}),
    );
    cloud.json(
        "GET /nova/v2.1/flavors/detail",
        json!({"flavors": [flavor("f1", "m1.small", 2, 4096, 20)]}),
    );
    cloud.json(
        "GET /nova/v2.1/os-availability-zone",
        json!({"availabilityZoneInfo": [
        {"zoneName": "az-a", "zoneState": {"available": true}, "hosts": null},
        {"zoneName": "az-b", "zoneState": {"available": false}, "hosts": null}]}),
    );
    cloud.json(
        "GET /nova/v2.1/limits",
        json!({"limits": {"rate": [], "absolute": {
        "maxTotalInstances": 10, "totalInstancesUsed": 2, "maxTotalCores": -1, "totalCoresUsed": 4,
        "maxTotalRAMSize": 8192, "totalRAMUsed": 2048}}}),
    );
    cloud.json("GET /glance/v2/images", json!({"images": [
        {"id": "old", "name": "k8s", "status": "active", "created_at": "2025-01-01T00:00:00Z", "tags": [], "min_disk": 10, "min_ram": 0},
        {"id": "img", "name": "k8s", "status": "active", "created_at": "2026-01-01T00:00:00Z", "tags": [], "min_disk": 10, "min_ram": 0,
         "architecture": "x86_64"}]}));
    cloud.json(
        "GET /neutron/v2.0/networks",
        json!({"networks": [{"id": "net", "name": "k8s", "tags": []}]}),
    );
    cloud.json(
        "GET /neutron/v2.0/subnets",
        json!({"subnets": [{"id": "sub", "name": "s", "network_id": "net", "tags": []}]}),
    );
    cloud.json(
        "GET /neutron/v2.0/security-groups",
        json!({"security_groups": [{"id": "sg", "name": "nodes", "tags": []}]}),
    );
    cloud.json("GET /neutron/v2.0/ports", json!({"ports": []}));
}

pub fn flavor(id: &str, name: &str, vcpus: u32, ram: u32, disk: u32) -> Value {
    json!({"id": id, "name": name, "vcpus": vcpus, "ram": ram, "disk": disk, "swap": 0,
           "OS-FLV-EXT-DATA:ephemeral": 0, "extra_specs": {}})
}

/// A furnished cloud, its provider, and an order that could be placed.
pub async fn ready(spec: Value) -> (Arc<Cloud>, OpenStack, Order) {
    let cloud = cloud();
    furnished(&cloud);
    let provider = provider(&cloud, spec);
    let on = provider.resolve().await.unwrap();
    (cloud, provider, order(on))
}

/// The doubt in an outcome.
pub fn is_unknown<T: std::fmt::Debug>(outcome: Result<T, CloudError>) -> String {
    match outcome {
        Err(CloudError::Unknown(why)) => why.to_string(),
        other => panic!("doubt was expected, not {other:?}"),
    }
}
