//! Does the process stand on its own: files for tools, a kubelet per server, and none left when it dies?
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

const USER_DATA: &str = r#"#cloud-config
write_files:
- path: /etc/kubernetes/bootstrap-kubelet.conf
  content: |
    clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
    contexts: [{name: x, context: {cluster: c, user: u}}]
    current-context: x
    users: [{name: u, user: {token: abc.def}}]
- path: /etc/kubernetes/kubelet.env
  content: KUBELET_EXTRA_ARGS="--node-labels=a=b"
"#;

const KUBELET: &str = "#!/bin/sh\necho $$ > \"$TMPDIR/pid.draft\"; mv \"$TMPDIR/pid.draft\" \"$TMPDIR/../../pid\"\nwhile :; do sleep 0.05; done\n";

struct Run {
    child: Child,
    out: PathBuf,
    addr: String,
    token: String,
}

impl Run {
    fn start(name: &str) -> Self {
        let out = std::env::temp_dir().join(format!("js-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&out).unwrap();
        let kubelet = out.join("kubelet");
        std::fs::write(&kubelet, KUBELET).unwrap();
        std::fs::set_permissions(&kubelet, std::fs::Permissions::from_mode(0o755)).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_joiner-emulators"))
            .args([
                "serve",
                "--openstack",
                "127.0.0.1:0",
                "--boot-seconds",
                "0.1",
                "--seed",
                "5",
                "--out",
            ])
            .arg(&out)
            .arg("--hollow-kubelet")
            .arg(&kubelet)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let env = out.join("openstack.env");
        until("openstack.env is written", || env.exists());
        let env = std::fs::read_to_string(env).unwrap();
        let var = |name: &str| {
            let start = format!("export {name}='");
            let line = env
                .lines()
                .find_map(|line| line.strip_prefix(&start))
                .unwrap();
            line.trim_end_matches('\'').to_owned()
        };
        let addr = var("OS_AUTH_URL")
            .replace("http://", "")
            .replace("/identity/v3", "");
        let user = json!({"name": var("OS_USERNAME"), "password": var("OS_PASSWORD"), "domain": {"name": "Default"}});
        let scope =
            json!({"project": {"name": var("OS_PROJECT_NAME"), "domain": {"name": "Default"}}});
        let auth = json!({"identity": {"methods": ["password"], "password": {"user": user}}, "scope": scope});
        let mut run = Self {
            child,
            out,
            addr,
            token: String::new(),
        };
        let (head, _) = run.call("POST", "/identity/v3/auth/tokens", &json!({"auth": auth}));
        let header = head
            .lines()
            .find_map(|line| line.strip_prefix("x-subject-token: "))
            .unwrap();
        header.clone_into(&mut run.token);
        run
    }

    fn call(&self, method: &str, path: &str, body: &Value) -> (String, Value) {
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let mut stream = TcpStream::connect(&self.addr).unwrap();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\nx-auth-token: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.addr,
            self.token,
            body.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        (
            head.to_owned(),
            serde_json::from_str(body).unwrap_or_default(),
        )
    }

    /// A server with a kubelet on it; the kubelet's process.
    fn boot(&self) -> PathBuf {
        let (_, state) = self.call("GET", "/admin/state", &Value::Null);
        let flavor = state["flavors"]
            .as_array()
            .unwrap()
            .iter()
            .find(|flavor| flavor["name"] == "m1.small")
            .unwrap();
        let order = json!({"server": {
            "name": "n1", "flavorRef": flavor["id"], "imageRef": state["images"][0]["id"], "networks": [],
            "user_data": STANDARD.encode(USER_DATA),
        }});
        let (head, body) = self.call("POST", "/compute/v2.1/servers", &order);
        assert!(head.starts_with("HTTP/1.1 202"), "{head} {body}");
        let pid = self.out.join("pid");
        until("the kubelet runs", || pid.exists());
        Path::new("/proc").join(std::fs::read_to_string(pid).unwrap().trim())
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.out);
    }
}

fn until(what: &str, check: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_mins(1);
    while !check() {
        assert!(Instant::now() < deadline, "never: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn kubelets_end_with_an_emulator_that_is_killed() {
    let mut run = Run::start("killed");
    let kubelet = run.boot();
    run.child.kill().unwrap();
    run.child.wait().unwrap();
    until("the kubelet ends", || !kubelet.exists());
}

#[test]
fn kubelets_end_before_an_emulator_that_is_asked_to_stop() {
    let mut run = Run::start("stopped");
    let kubelet = run.boot();
    let pid = run.child.id().to_string();
    assert!(
        Command::new("/bin/sh")
            .args(["-c", &format!("kill -TERM {pid}")])
            .status()
            .unwrap()
            .success()
    );
    assert!(run.child.wait().unwrap().success());
    assert!(!kubelet.exists());
    let left: Vec<_> = std::fs::read_dir(run.out.join("k")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn help_teaches_the_first_steps() {
    let out = Command::new(env!("CARGO_BIN_EXE_joiner-emulators"))
        .args(["serve", "--help"])
        .output()
        .unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    for word in [
        "openstack.env",
        "/admin/faults",
        "--hollow-kubelet",
        "never-joins",
    ] {
        assert!(text.contains(word), "{word} is not in the help");
    }
}
