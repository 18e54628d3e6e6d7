//! Does a booted machine run a kubelet with what its user data says, and does the kubelet end with it?
//!
//! The kubelet here is a script that writes down its arguments; the real one runs in the local world.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use emulators::boot::kubelet::Booter;
use emulators::fronts::engine::{Clock, Engine};
use emulators::machine::{Boot, Effect, Size};
use emulators::openstack::world::{Phase, World};
use emulators::openstack::{OpenStack, Settings, default_world};

const USER_DATA: &str = r#"## template: jinja
#cloud-config
write_files:
- path: /etc/kubernetes/bootstrap-kubelet.conf
  content: |
    clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
    contexts: [{name: x, context: {cluster: c, user: u}}]
    current-context: x
    users: [{name: u, user: {token: abc.def}}]
- path: /etc/kubernetes/kubelet.env
  content: |
    KUBELET_EXTRA_ARGS="--provider-id=openstack:///{{ v1.instance_id }} --node-labels=a=b,c=d --max-pods=50"
"#;

/// It says hello, notes its arguments and its end, and stubborn ones ignore TERM.
const SCRIPT: &str = r#"#!/bin/sh
echo "hello from the kubelet" >&2
[ -e "$TMPDIR/../hopeless" ] && { echo "cannot join" >&2; exit 3; }
printf '%s\n' "$@" > "$TMPDIR/../arguments"
[ -e "$TMPDIR/../stubborn" ] && trap '' TERM || trap 'echo ended > "$TMPDIR/../ended"; exit 0' TERM
echo $$ > "$TMPDIR/../pid.draft"; mv "$TMPDIR/../pid.draft" "$TMPDIR/../pid"
while :; do sleep 0.05; done
"#;

struct Place {
    dir: PathBuf,
    engine: Arc<Engine<OpenStack>>,
    tell: tokio::sync::mpsc::UnboundedSender<Effect>,
    quit: Option<tokio::sync::oneshot::Sender<()>>,
    booting: tokio::task::JoinHandle<()>,
    machine: String,
}

/// One running server and a booter for it.
fn place(name: &str) -> Place {
    let dir = std::env::temp_dir().join(format!("jb-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let kubelet = dir.join("kubelet");
    std::fs::write(&kubelet, SCRIPT).unwrap();
    std::fs::set_permissions(&kubelet, std::fs::Permissions::from_mode(0o755)).unwrap();
    let (world, _) = default_world(1, Clock::Wall.now());
    let (tell, machine) = (
        tokio::sync::mpsc::unbounded_channel(),
        "0123456789".to_owned(),
    );
    let engine = Engine::new(with_server(world, &machine), Clock::Wall, Box::new(|_| {}));
    let booter = Booter {
        kubelet: Some(kubelet),
        dir: dir.clone(),
    };
    let (quit, stop) = tokio::sync::oneshot::channel::<()>();
    let run = booter.run(Arc::clone(&engine), tell.1, async {
        let _ = stop.await;
    });
    let booting = tokio::spawn(run);
    Place {
        dir,
        engine,
        tell: tell.0,
        quit: Some(quit),
        booting,
        machine,
    }
}

/// A world whose only server exists for its console.
fn with_server(world: World, id: &str) -> OpenStack {
    let mut cloud = OpenStack::new(world, Settings::default(), 1);
    let flavor = cloud.world.flavors[0].clone();
    let now = Clock::Wall.now();
    let server = emulators::openstack::world::Server::running(id, flavor, now);
    assert_eq!(server.phase, Phase::Active);
    cloud.world.servers.insert(id.to_owned(), server);
    cloud
}

impl Place {
    fn boot(&self, user_data: Option<String>) {
        let size = Size {
            cpus: 4,
            memory_mib: 8192,
            disk_gib: 80,
            gpus: 1,
        };
        let boot = Boot {
            machine: self.machine.clone(),
            hostname: "pool-1".into(),
            zone: "az-a".into(),
            region: "RegionOne".into(),
            user_data,
            size,
        };
        self.tell.send(Effect::Boot(boot)).unwrap();
    }

    fn console(&self) -> String {
        self.engine
            .with(|cloud| cloud.world.servers[&self.machine].console.clone())
    }

    async fn until(&self, what: &str, check: impl Fn(&Self) -> bool) {
        for _ in 0..3000 {
            if check(self) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("never: {what}; console: {}", self.console());
    }

    async fn started(&self) -> String {
        self.until("the kubelet starts", |place| place.dir.join("pid").exists())
            .await;
        std::fs::read_to_string(self.dir.join("pid"))
            .unwrap()
            .trim()
            .to_owned()
    }

    async fn ended(&self, pid: &str) {
        let proc = Path::new("/proc").join(pid);
        self.until("the kubelet ends", |_| !proc.exists()).await;
    }

    async fn close(mut self) {
        drop(self.quit.take());
        (&mut self.booting).await.unwrap();
        std::fs::remove_dir_all(&self.dir).unwrap();
    }
}

#[tokio::test]
async fn a_kubelet_runs_with_what_the_user_data_says_until_the_machine_halts() {
    let place = place("flags");
    place.boot(Some(STANDARD.encode(USER_DATA)));
    let pid = place.started().await;
    let arguments = std::fs::read_to_string(place.dir.join("arguments")).unwrap();
    for wanted in [
        "--name=pool-1",
        "--provider-id=openstack:///0123456789",
        "--node-labels=a=b,c=d",
        "--max-pods=50",
        "--cpus=4",
        "--memory=8192Mi",
        "--ephemeral-storage=80Gi",
        "--extended-resources=nvidia.com/gpu=1",
    ] {
        assert!(
            arguments.lines().any(|line| line == wanted),
            "{wanted} is not in {arguments}"
        );
    }
    place
        .until("its words are on the console", |place| {
            place.console().contains("hello from the kubelet")
        })
        .await;
    place
        .tell
        .send(Effect::Halt {
            machine: place.machine.clone(),
        })
        .unwrap();
    place.ended(&pid).await;
    assert!(
        place.dir.join("ended").exists(),
        "it was not asked to end by TERM"
    );
    place.close().await;
}

#[tokio::test]
async fn a_kubelet_that_ignores_the_request_is_killed_when_the_emulator_stops() {
    let place = place("stubborn");
    std::fs::write(place.dir.join("stubborn"), "").unwrap();
    place.boot(Some(STANDARD.encode(USER_DATA)));
    let pid = place.started().await;
    let proc = Path::new("/proc").join(pid);
    place.close().await;
    assert!(!proc.exists(), "the kubelet outlived the emulator");
}

#[tokio::test]
async fn a_kubelet_that_gives_up_has_its_last_words_on_the_console() {
    let place = place("hopeless");
    std::fs::write(place.dir.join("hopeless"), "").unwrap();
    place.boot(Some(STANDARD.encode(USER_DATA)));
    place
        .until("its end is on the console", |place| {
            place
                .console()
                .ends_with("cannot join\nkubelet: ended (exit status: 3)\n")
        })
        .await;
    place.close().await;
}

#[tokio::test]
async fn a_machine_without_user_data_says_so_on_its_console() {
    let place = place("none");
    place.boot(None);
    place
        .until("the console says why", |place| {
            place.console().contains("no user data")
        })
        .await;
    assert!(!place.dir.join("pid").exists());
    place.close().await;
}
