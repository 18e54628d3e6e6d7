//! How much room and time do many nodes and pods take, with watchers who keep up? Figures are printed, never asserted.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::time::{Duration, Instant};

use bytes::Bytes;
use emulators::kubernetes::Kubernetes;
use emulators::kubernetes::users::User;
use emulators::kubernetes::watch::Watch;
use emulators::machine::{Machine, Reply};
use http::{Request, Response};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

const WATCHERS: usize = 10;

struct Bench {
    cluster: Kubernetes,
    now: Timestamp,
    watches: Vec<Watch>,
    told: usize,
    /// From a write until every watcher had it.
    slowest: Duration,
}

fn main() {
    let mut args = std::env::args().skip(1).filter_map(|arg| arg.parse().ok());
    let nodes: usize = args.next().unwrap_or(5_000);
    let pods: usize = args.next().unwrap_or(50_000);
    let started = Instant::now();
    let now = Timestamp::now();
    let mut bench = Bench {
        cluster: Kubernetes::new(1, now),
        now,
        watches: Vec::new(),
        told: 0,
        slowest: Duration::ZERO,
    };
    println!("ready in {:?}", started.elapsed());
    for _ in 0..WATCHERS {
        for path in ["/api/v1/pods?watch=1", "/api/v1/nodes?watch=1"] {
            let mut response = bench.call("GET", path, &Value::Null);
            bench
                .watches
                .push(response.extensions_mut().remove().unwrap());
        }
    }
    bench.fill("nodes", nodes, node);
    bench.fill("pods", pods, |at| pod(at, nodes));
    let started = Instant::now();
    let list = bench.call("GET", "/api/v1/pods", &Value::Null);
    println!(
        "list of all pods: {:?}, {} MB",
        started.elapsed(),
        list.body().len() >> 20
    );
    println!(
        "events told: {}, slowest turn of all watchers: {:?}",
        bench.told, bench.slowest
    );
    println!("memory: {} MB", resident_kb() / 1024);
}

impl Bench {
    fn fill(&mut self, what: &str, count: usize, make: impl Fn(usize) -> Value) {
        let path = if what == "pods" {
            "/api/v1/namespaces/default/pods"
        } else {
            "/api/v1/nodes"
        };
        let started = Instant::now();
        for at in 0..count {
            let response = self.call("POST", path, &make(at));
            assert!(response.status().is_success(), "{response:?}");
            if at % 100 == 0 {
                self.now += SignedDuration::from_millis(10);
                self.turn();
            }
        }
        self.turn();
        println!(
            "{count} {what}: {:?} ({:?} each)",
            started.elapsed(),
            started.elapsed() / u32::try_from(count.max(1)).unwrap()
        );
    }

    fn turn(&mut self) {
        let started = Instant::now();
        for watch in &mut self.watches {
            loop {
                let told = self.cluster.pull(watch, self.now).bytes.len();
                self.told += told;
                if told == 0 {
                    break;
                }
            }
        }
        self.slowest = self.slowest.max(started.elapsed());
    }

    fn call(&mut self, method: &str, path: &str, body: &Value) -> Response<Bytes> {
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .body(Bytes::from(body))
            .unwrap();
        request.extensions_mut().insert(User::admin());
        match self.cluster.handle(&request, self.now).0 {
            Reply::Answer { response, .. } => response,
            other => panic!("{other:?}"),
        }
    }
}

fn node(at: usize) -> Value {
    json!({"metadata": {"name": format!("node-{at}"), "labels": {"kubernetes.io/hostname": format!("node-{at}"),
            "topology.kubernetes.io/zone": format!("zone-{}", at % 3), "karpenter.sh/nodepool": "default"}},
        "spec": {"providerID": format!("openstack:///{at}")},
        "status": {"capacity": {"cpu": "8", "memory": "32Gi", "pods": "110"}, "allocatable": {"cpu": "7800m", "memory": "31Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": null}]}})
}

fn pod(at: usize, nodes: usize) -> Value {
    json!({"metadata": {"name": format!("pod-{at}"), "labels": {"app": format!("app-{}", at % 500), "pod-template-hash": "abcdef"}},
        "spec": {"nodeName": format!("node-{}", at % nodes.max(1)), "containers": [{"name": "main", "image": "registry/app:1",
            "resources": {"requests": {"cpu": "100m", "memory": "256Mi"}, "limits": {"memory": "256Mi"}},
            "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}], "ports": [{"containerPort": 8080}]}]}})
}

fn resident_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok())
        .unwrap_or(0)
}
