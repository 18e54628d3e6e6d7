//! Does the real binary start, answer, refuse and stop as its users expect?

use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, TcpListener};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::kit::{Authority, Folder, admission, client, conversion};

const LONG: Duration = Duration::from_mins(1);

fn command(folder: &Folder) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_joiner-webhook"));
    command
        .env_clear()
        .args([
            "--listen",
            "127.0.0.1:0",
            "--admin",
            "127.0.0.1:0",
            "--drain-notice",
            "0s",
        ])
        .arg("--tls-cert")
        .arg(folder.files().certificate)
        .arg("--tls-key")
        .arg(folder.files().key)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// What a webhook that cannot start says, and how it ends.
fn refusal(command: &mut Command) -> (ExitStatus, String) {
    let output = command.output().unwrap();
    (
        output.status,
        String::from_utf8_lossy(&output.stderr).into_owned(),
    )
}

/// A running process, killed if the test forgets it.
struct Process {
    child: Child,
    lines: mpsc::Receiver<Value>,
    https: SocketAddr,
    admin: SocketAddr,
}

impl Process {
    fn start(command: &mut Command) -> Self {
        let mut child = command.spawn().unwrap();
        let (tell, lines) = mpsc::channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let _ = tell.send(serde_json::from_str(&line).expect("every log line is JSON"));
            }
        });
        let any = SocketAddr::from(([0, 0, 0, 0], 0));
        let mut process = Process {
            child,
            lines,
            https: any,
            admin: any,
        };
        let line = process.line("listening");
        process.https = line["https"].as_str().unwrap().parse().unwrap();
        process.admin = line["admin"].as_str().unwrap().parse().unwrap();
        process
    }

    /// The next log line with this message.
    fn line(&mut self, message: &str) -> Value {
        loop {
            match self.lines.recv_timeout(LONG) {
                Ok(line) if line["message"] == message => return line,
                Ok(_) => {}
                Err(why) => panic!("no line {message:?} ({why}); stderr: {}", self.last_words()),
            }
        }
    }

    fn last_words(&mut self) -> String {
        let _ = self.child.kill();
        let mut said = String::new();
        if let Some(stderr) = &mut self.child.stderr {
            let _ = stderr.read_to_string(&mut said);
        }
        said
    }

    fn terminate(&self) {
        let killed = Command::new("kill")
            .args(["-TERM", &self.child.id().to_string()])
            .status()
            .unwrap();
        assert!(killed.success());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn an_expired_certificate_ends_the_start_with_its_date() {
    let folder = Folder::new();
    folder.write(&Authority::new("one").sign(2020));
    let (status, said) = refusal(&mut command(&folder));
    assert_eq!(status.code(), Some(1));
    assert!(
        said.contains("tls.crt expired at 2020-01-01T00:00:00Z; renew it"),
        "{said}"
    );
}

#[test]
fn a_missing_certificate_ends_the_start_with_its_path_and_flag() {
    let (status, said) = refusal(&mut command(&Folder::new()));
    assert_eq!(status.code(), Some(1));
    assert!(
        said.contains("tls.crt: No such file") && said.contains("--tls-cert"),
        "{said}"
    );
}

#[test]
fn a_busy_port_ends_the_start_with_its_address_and_flag() {
    let folder = Folder::new();
    folder.write(&Authority::new("one").sign(2099));
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for flag in ["--listen", "--admin"] {
        let mut command = command(&folder);
        command.args([flag, &address]);
        let (status, said) = refusal(&mut command);
        assert_eq!(status.code(), Some(1));
        assert!(
            said.contains(&format!("{address} is in use")) && said.contains(flag),
            "{said}"
        );
    }
}

#[test]
fn wrong_flags_are_explained() {
    let folder = Folder::new();
    for (flag, value, hint) in [
        ("--max-body", "64MB", "a size like 512Ki"),
        ("--patience", "soon", "a duration like 500ms"),
        ("--max-connections", "0", "invalid value '0'"),
        ("--log-format", "xml", "json, pretty"),
    ] {
        let (status, said) = refusal(command(&folder).args([flag, value]));
        assert_eq!(status.code(), Some(2), "{said}");
        assert!(said.contains(flag) && said.contains(hint), "{said}");
    }
    let (status, said) = refusal(command(&folder).args(["--log-level", "verbose"]));
    assert_eq!(status.code(), Some(1));
    assert!(
        said.contains("log filter \"verbose\": no such level"),
        "{said}"
    );
}

#[test]
fn the_help_teaches() {
    let output = Command::new(env!("CARGO_BIN_EXE_joiner-webhook"))
        .arg("--help")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    for words in [
        "POST /convert",
        "/readyz",
        "[env: JOINER_WEBHOOK_MAX_BODY=]",
        "5000 objects",
        "terminationGracePeriodSeconds",
    ] {
        assert!(said.contains(words), "{words} is not in\n{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn it_answers_reviews_changes_its_log_level_and_stops_when_told() {
    let folder = Folder::new();
    let authority = Authority::new("one");
    folder.write(&authority.sign(2099));
    let mut process = Process::start(&mut command(&folder));
    let admin = format!("http://{}", process.admin);
    let client = client([&authority]).build().unwrap();

    for (path, review) in [
        ("/convert", conversion("u1", 2)),
        ("/validate", admission("u1")),
    ] {
        let url = format!("https://{}{path}", process.https);
        let said = client.post(url).json(&review).send().await.unwrap();
        let said: Value = said.json().await.unwrap();
        assert_eq!(said["kind"], review["kind"]);
        assert_eq!(said["response"]["uid"], "u1", "{said}");
    }
    let ready = client.get(format!("{admin}/readyz")).send().await.unwrap();
    assert_eq!(ready.status(), 200);

    let level = |filter: &str| {
        client
            .put(format!("{admin}/log-level?filter={filter}"))
            .send()
    };
    let changed = level("info,webhook=debug").await.unwrap();
    assert_eq!(changed.text().await.unwrap(), "info,webhook=debug\n");
    assert_eq!(
        process.line("log filter changed")["filter"],
        "info,webhook=debug"
    );
    let refused = level("verbose").await.unwrap();
    assert_eq!(refused.status(), 400);
    assert!(refused.text().await.unwrap().contains("no such level"));

    process.terminate();
    let stopping = process.line("stopping; a second signal ends the process at once");
    assert_eq!(stopping["signal"], "SIGTERM");
    process.line("stopped");
    assert_eq!(process.child.wait().unwrap().code(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_signal_ends_it_at_once() {
    let folder = Folder::new();
    folder.write(&Authority::new("one").sign(2099));
    let mut process =
        Process::start(command(&folder).args(["--drain-grace", "1h", "--header-timeout", "1h"]));
    // A connection in the middle of its handshake keeps the drain waiting.
    let half = tokio::net::TcpStream::connect(process.https).await.unwrap();
    process.terminate();
    process.line("draining");
    process.terminate();
    assert_eq!(process.child.wait().unwrap().code(), Some(130));
    drop(half);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_five_thousand_objects_is_one_review_and_fits() {
    let folder = Folder::new();
    let authority = Authority::new("one");
    folder.write(&authority.sign(2099));
    let process = Process::start(&mut command(&folder));
    let client = client([&authority]).build().unwrap();
    let review = conversion("u1", 5000);
    let said = client
        .post(format!("https://{}/convert", process.https))
        .json(&review)
        .send()
        .await
        .unwrap();
    assert_eq!(said.status(), 200);
    let said: Value = said.json().await.unwrap();
    assert_eq!(said["response"]["uid"], "u1");
    // Whatever the verdict is, it is all or nothing.
    let converted = said["response"]["convertedObjects"]
        .as_array()
        .map_or(0, Vec::len);
    let expected = if said["response"]["result"]["status"] == json!("Success") {
        5000
    } else {
        0
    };
    assert_eq!(converted, expected, "{}", said["response"]["result"]);
}

#[test]
fn the_real_reviewers_are_wired_to_their_paths() {
    let reviewers = webhook::Reviewers::of_crds();
    let said = (reviewers.convert)(&conversion("u1", 1));
    assert_eq!(said["response"]["result"]["status"], "Success", "{said}");
    assert_eq!(
        said["response"]["convertedObjects"][0]["apiVersion"],
        "karpenter.k8s.openstack/v1"
    );
    assert_eq!(
        (reviewers.validate)(&admission("u1"))["response"]["allowed"],
        true
    );
}
