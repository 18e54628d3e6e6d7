//! Does the whole operator run in virtual time, and does the same seed give the same calls?
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use cloud::Provider;
use crds::openstack::v1::OpenStackNodeClass;
use http::{Request, Response};
use jiff::{SignedDuration, Timestamp};
use kube::Client;
use kube::client::Body;
use operator::bootstrap::Reach;
use operator::{CannotOpen, ClassSecrets, Open, Settings, World};
use planner::ClusterId;
use planner::batch::{BatchSettings, Idle};
use planner::lifecycle::liveness::Patience;
use planner::snapshot::Options;
use runtime::lease::Timings;
use runtime::metrics::Metrics;
use runtime::readiness::Readiness;
use runtime::{Clock, Dice};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

const START: &str = "2026-11-18T00:00:00Z";

/// The smallest API server: one pod that nobody can place, a lease, and nothing else. Watches bring no news.
#[derive(Clone, Default)]
struct Api(Arc<Mutex<Seen>>);

#[derive(Default)]
struct Seen {
    lease: Option<Value>,
    version: u64,
    calls: Vec<String>,
    events: Vec<Value>,
}

impl Api {
    fn answer(&self, method: &str, path: &str, body: &[u8]) -> (u16, Value) {
        let mut seen = self.0.lock().unwrap();
        let sent: Value = serde_json::from_slice(body).unwrap_or_default();
        seen.calls.push(format!("{method} {path} {sent}"));
        let name = path.rsplit('/').next().unwrap_or_default();
        if path.contains("/leases") {
            return seen.lease(method, sent);
        }
        if path.contains("/events") {
            seen.events.push(sent.clone());
            return (201, sent);
        }
        match name {
            "kube-system" => (
                200,
                json!({ "metadata": { "name": name, "uid": "cluster" } }),
            ),
            "pods" => (200, list(&[pending()])),
            "joiner" | "cluster-info" => (404, status(404, "NotFound")),
            _ => (200, list(&[])),
        }
    }
}

impl Seen {
    fn lease(&mut self, method: &str, mut sent: Value) -> (u16, Value) {
        if method == "GET" {
            let there = self.lease.clone();
            return there.map_or((404, status(404, "NotFound")), |lease| (200, lease));
        }
        self.version += 1;
        sent["metadata"]["resourceVersion"] = json!(self.version.to_string());
        sent["metadata"]["uid"] = json!("lease");
        self.lease = Some(sent.clone());
        (200, sent)
    }
}

fn status(code: u16, reason: &str) -> Value {
    json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": reason, "code": code })
}

fn list(items: &[Value]) -> Value {
    json!({ "kind": "List", "apiVersion": "v1", "metadata": { "resourceVersion": "1" }, "items": items })
}

fn pending() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": { "name": "web", "namespace": "default", "uid": "pod", "resourceVersion": "1", "creationTimestamp": START },
        "spec": { "containers": [{ "name": "c" }] },
        "status": { "phase": "Pending", "conditions": [{ "type": "PodScheduled", "status": "False", "reason": "Unschedulable" }] },
    })
}

impl tower::Service<Request<Body>> for Api {
    type Response = Response<Body>;
    type Error = std::convert::Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let api = self.clone();
        Box::pin(async move {
            let (head, body) = request.into_parts();
            if head
                .uri
                .query()
                .is_some_and(|query| query.contains("watch=true"))
            {
                return std::future::pending().await;
            }
            let body = body.collect_bytes().await.unwrap_or_default();
            let (code, answer) = api.answer(head.method.as_str(), head.uri.path(), &body);
            let mut response = Response::new(Body::from(answer.to_string().into_bytes()));
            *response.status_mut() = code.try_into().unwrap();
            Ok(response)
        })
    }
}

struct NoCloud;

impl Open for NoCloud {
    fn open(
        &self,
        _: &OpenStackNodeClass,
        _: &ClassSecrets,
        _: &ClusterId,
    ) -> Result<Box<dyn Provider>, CannotOpen> {
        Err(CannotOpen {
            condition: "CredentialsReady",
            reason: "NoCloud",
            message: "there is no cloud here".to_owned(),
        })
    }
}

fn settings() -> Settings {
    Settings {
        cluster_name: String::new(),
        namespace: "joiner".to_owned(),
        secret_namespaces: Vec::new(),
        lease_namespace: "joiner".to_owned(),
        lease_name: "joiner".to_owned(),
        timings: Timings::default(),
        batch: BatchSettings {
            idle: Idle::UpTo(SignedDuration::from_secs(1)),
            max: SignedDuration::from_secs(10),
        },
        min_values: Options::default().min_values,
        preferences: Options::default().preferences,
        spreads: Vec::new(),
        paused: false,
        sweep_report_only: false,
        sweep_interval: Duration::from_mins(2),
        sweep_longest_create: Duration::from_mins(15),
        patience: Patience {
            launch_within: SignedDuration::from_mins(5),
            register_within: SignedDuration::from_mins(15),
        },
        reach: Reach::default(),
    }
}

/// Calls and events of ten minutes, and what a scraper would have seen at their end.
fn ten_minutes(seed: u64) -> (Vec<String>, Vec<Value>, String) {
    let virtual_time = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    virtual_time.block_on(async {
        let api = Api::default();
        let client = Client::new(api.clone(), "default");
        let metrics = Metrics::default();
        let world = World {
            client: client.clone(),
            lease: client,
            open: Arc::new(NoCloud),
            clock: Clock::starting_at(START.parse::<Timestamp>().unwrap()),
            dice: Dice::seeded(seed),
            settings: settings(),
            readiness: Readiness::default(),
            metrics: metrics.clone(),
        };
        let stop = CancellationToken::new();
        let later = async {
            tokio::time::sleep(Duration::from_mins(10)).await;
            stop.cancel();
        };
        let (ended, ()) = tokio::join!(operator::run(world, stop.clone()), later);
        ended.unwrap();
        let all = std::mem::take(&mut *api.0.lock().unwrap());
        (all.calls, all.events, metrics.text())
    })
}

#[test]
fn the_same_seed_gives_the_same_calls_in_the_same_order() {
    let (first, _, _) = ten_minutes(7);
    let (second, _, _) = ten_minutes(7);
    assert!(first.len() > 300, "{}", first.len());
    assert_eq!(first, second);
    assert_ne!(first, ten_minutes(8).0, "the seed decides who we are");
}

#[test]
fn a_refusal_is_told_once_at_the_virtual_time_of_the_plan() {
    let (_, events, metrics) = ten_minutes(7);
    // The reason never changes, so ten minutes of looking again say nothing more.
    assert_eq!(events.len(), 1, "{events:#?}");
    let event = &events[0];
    assert_eq!(event["reason"], "FailedScheduling");
    assert_eq!(event["regarding"]["name"], "web");
    let told: Timestamp = event["eventTime"].as_str().unwrap().parse().unwrap();
    let start: Timestamp = START.parse().unwrap();
    assert!(
        told.duration_since(start) < SignedDuration::from_secs(30),
        "{told}"
    );
    let waits = "karpenter_scheduler_unschedulable_pods_count{controller=\"provisioner\"} 1\n";
    assert!(metrics.contains(waits), "{metrics}");
}
