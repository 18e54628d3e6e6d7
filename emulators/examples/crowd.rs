//! How long do the actors of the embedded Kubernetes take with a full cluster, and how much room?
//!
//! `cargo run --release -p emulators --example crowd -- 5000 50000`: nodes and pods. Virtual time, one thread.

use std::time::Instant;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use emulators::kubernetes::cast::Cast;
use emulators::kubernetes::fresh;
use emulators::kubernetes::pace::Pace;
use emulators::kubernetes::world::World;
use emulators::machine::{Boot, Effect, Size};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

const USER_DATA: &str = r#"#cloud-config
write_files:
- path: /etc/kubernetes/bootstrap-kubelet.conf
  content: |
    clusters: [{name: c, cluster: {server: "https://api"}}]
    contexts: [{name: x, context: {cluster: c, user: u}}]
    current-context: x
    users: [{name: u, user: {token: abcdef.0123456789abcdef}}]
- path: /etc/kubernetes/kubelet.env
  content: |
    KUBELET_EXTRA_ARGS="--max-pods=50"
"#;

#[allow(clippy::too_many_lines, reason = "one measurement, told in order")]
fn main() -> anyhow::Result<()> {
    let mut numbers = std::env::args()
        .skip(1)
        .filter_map(|word| word.parse().ok());
    let nodes: usize = numbers.next().unwrap_or(500);
    let pods: usize = numbers.next().unwrap_or(5000);
    let cast = Cast {
        pace: Pace {
            events: SignedDuration::ZERO,
            ..Pace::default()
        },
        ..Cast::default()
    };
    let (hand, _lines) = cast.machines.hand();
    let mut now: Timestamp = "2026-01-01T00:00:00Z".parse()?;
    let mut world = World::new(fresh(1, now), cast.actors());
    let encoded = |text: &str| STANDARD.encode(text);
    let token = json!({"metadata": {"namespace": "kube-system", "name": "bootstrap-token-abcdef"},
        "type": "bootstrap.kubernetes.io/token", "data": {"token-id": encoded("abcdef"),
            "token-secret": encoded("0123456789abcdef"), "usage-bootstrap-authentication": encoded("true")}});
    world.store.create("secrets", token, now)?;
    let mut step = |world: &mut World, what: &str, seconds: i64| {
        let began = Instant::now();
        world.stir(now);
        now += SignedDuration::from_secs(seconds);
        world.tick(now);
        println!(
            "{what}: {seconds} s of cluster time in {:.2?}; {} objects; {}",
            began.elapsed(),
            world.store.len(),
            room()
        );
        now
    };
    for number in 0..nodes {
        let name = format!("node-{number:05}");
        hand(Effect::Boot(Boot {
            machine: name.clone(),
            hostname: name,
            zone: "z".into(),
            region: "r".into(),
            user_data: Some(encoded(USER_DATA)),
            size: Size {
                cpus: 16,
                memory_mib: 65536,
                disk_gib: 100,
                gpus: 0,
            },
        }));
    }
    let now = step(&mut world, "nodes join", 5);
    let each = pods / 10;
    for number in 0..10 {
        let name = format!("web-{number}");
        let container = json!({"name": "c", "image": "x", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}});
        let deployment = json!({"metadata": {"namespace": "default", "name": name},
            "spec": {"replicas": each, "selector": {"matchLabels": {"app": name}},
                "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}}}});
        world.store.create("deployments.apps", deployment, now)?;
    }
    step(&mut world, "pods run", 5);
    let running = world
        .store
        .list("pods", None)
        .filter(|pod| pod.meta.phase == "Running");
    println!("{} pods run", running.count());
    step(&mut world, "a quiet minute", 60);
    Ok(())
}

/// Resident memory, as the kernel counts it.
fn room() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS"));
    line.unwrap_or("VmRSS unknown")
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}
