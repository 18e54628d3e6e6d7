//! What is left of a cluster when it ends, in whatever way? (Nothing.)

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use e2e::{Binary, Node, Options, need_control_plane, wait};
use xtask::cluster::{Part, Pid};

const SOON: Duration = Duration::from_mins(1);

#[tokio::test]
async fn an_ended_cluster_leaves_no_process_and_no_file() {
    let Some(control_plane) = need_control_plane("cluster: nothing is left") else {
        return;
    };
    let options = Options {
        nodes: vec![Node::named("brief")],
        ..Options::unnamed()
    };
    let cluster = control_plane.private(options).await.unwrap();
    let traces = Traces::of(cluster.local());
    assert_eq!(
        traces.processes.len(),
        6,
        "keeper, four parts, one node: {:?}",
        traces.processes
    );
    assert!(!traces.left().is_empty(), "a running cluster is seen");
    drop(cluster);
    assert_eq!(traces.left(), Vec::<String>::new());
}

#[tokio::test]
async fn an_owner_killed_without_warning_leaves_no_process_and_no_file() {
    if need_control_plane("cluster: a killed owner leaves nothing").is_none() {
        return;
    }
    let mut owner = Command::new(std::env::current_exe().unwrap())
        .args([
            "leftovers::owner_of_a_cluster_that_waits_to_be_killed",
            "--exact",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(DOOMED, "yes")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(owner.stdout.take().unwrap())
        .lines()
        .map(|line| line.unwrap());
    let line = said
        .find_map(|line| {
            line.split_once("traces: ")
                .map(|(_, traces)| traces.to_owned())
        })
        .unwrap();
    let traces = Traces::parse(&line);
    assert!(!traces.left().is_empty(), "a running cluster is seen");
    owner.kill().unwrap();
    owner.wait().unwrap();
    wait::succeeds(
        "the killed owner's cluster to vanish",
        SOON,
        async || match traces.left() {
            left if left.is_empty() => Ok(()),
            left => anyhow::bail!("left: {left:?}"),
        },
    )
    .await
    .unwrap();
}

/// Set for the process that the test above starts and kills.
const DOOMED: &str = "JOINER_TEST_DOOMED_OWNER";

/// Not a test by itself: in the process that the test above starts it owns a cluster, elsewhere it does nothing.
#[tokio::test]
async fn owner_of_a_cluster_that_waits_to_be_killed() {
    if std::env::var_os(DOOMED).is_none() {
        return;
    }
    let Some(control_plane) = need_control_plane("cluster: owner") else {
        return;
    };
    let options = Options {
        nodes: vec![Node::named("doomed")],
        ..Options::unnamed()
    };
    let cluster = control_plane.private(options).await.unwrap();
    println!("traces: {}", Traces::of(cluster.local()).print());
    tokio::time::sleep(Duration::from_mins(2)).await; // ends by itself, should the killer die first
}

#[tokio::test]
async fn a_killed_keeper_takes_its_processes_along_and_the_next_start_removes_its_folders() {
    let Some(control_plane) = need_control_plane("cluster: a killed keeper leaves nothing") else {
        return;
    };
    let options = Options {
        nodes: vec![Node::named("brief")],
        ..Options::unnamed()
    };
    let cluster = control_plane.private(options).await.unwrap();
    let traces = Traces::of(cluster.local());
    traces.processes[0].signal("KILL"); // the keeper is the first
    wait::succeeds("the processes to go with their keeper", SOON, async || {
        anyhow::ensure!(
            !traces.processes.iter().any(Pid::is_alive),
            "left: {:?}",
            traces.left()
        );
        Ok(())
    })
    .await
    .unwrap();
    drop(control_plane.private(Options::unnamed()).await.unwrap());
    assert_eq!(traces.left(), Vec::<String>::new());
}

/// Everything a cluster leaves in the world while it runs.
struct Traces {
    folders: Vec<PathBuf>,
    processes: Vec<Pid>,
}

impl Traces {
    fn of(cluster: &xtask::cluster::Cluster) -> Self {
        let folders = vec![cluster.home().to_owned(), cluster.scratch().to_owned()];
        Self {
            folders,
            processes: cluster
                .pids()
                .into_iter()
                .map(|(_, pid)| Pid::of(pid).unwrap())
                .collect(),
        }
    }

    fn print(&self) -> String {
        serde_json::to_string(&(&self.folders, &self.processes)).unwrap()
    }

    fn parse(line: &str) -> Self {
        let (folders, processes) = serde_json::from_str(line).unwrap();
        Self { folders, processes }
    }

    /// What is still there: processes by identity and by what their command lines mention, folders, stray temporary files.
    fn left(&self) -> Vec<String> {
        let alive = self
            .processes
            .iter()
            .filter(|pid| pid.is_alive())
            .map(|pid| format!("process {}", pid.pid));
        let folders = self
            .folders
            .iter()
            .filter(|folder| folder.exists())
            .map(|folder| folder.display().to_string());
        alive.chain(folders).chain(self.mentions()).collect()
    }

    fn mentions(&self) -> Vec<String> {
        let processes = std::fs::read_dir("/proc")
            .unwrap()
            .map_while(Result::ok)
            .map(|entry| entry.path().join("cmdline"));
        let lines = processes.filter_map(|path| String::from_utf8(std::fs::read(path).ok()?).ok());
        lines
            .filter(|line| {
                self.folders
                    .iter()
                    .any(|folder| line.contains(&*folder.to_string_lossy()))
            })
            .collect()
    }
}

#[tokio::test]
async fn a_stopped_node_leaves_no_socket_and_nothing_in_the_temporary_folder() {
    let Some(control_plane) = need_control_plane("cluster: a stopped node leaves nothing") else {
        return;
    };
    let cluster = control_plane.private(Options::unnamed()).await.unwrap();
    let scratch = cluster.local().scratch().to_owned();
    cluster.join_node(Node::named("tidy")).await.unwrap();
    assert!(
        !folders_in(&scratch).is_empty(),
        "a running node has a folder"
    );
    cluster.stop_node("tidy").await.unwrap();
    assert_eq!(folders_in(&scratch), Vec::<PathBuf>::new());
    assert!(
        matches!(cluster.local().node_part("tidy"), Some(Part::Exited { said }) if said == "exit status 0")
    );
    // The stock hollow node makes a folder in /tmp, says so, and never removes it.
    let log = cluster.local().node_log("tidy");
    let made = log
        .split_whitespace()
        .find(|word| word.starts_with("/tmp/hollow-kubelet."));
    assert!(
        !Path::new(made.expect("its log names the folder")).exists(),
        "{log}"
    );
}

fn folders_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    entries.filter(|path| path.is_dir()).collect()
}

/// A name for `cargo xtask cluster` that no other test has, and its folder.
fn named(what: &str) -> (String, PathBuf) {
    let name = format!("test-{what}-{}", std::process::id());
    let home = xtask::tools::cache_root()
        .unwrap()
        .join("clusters")
        .join(&name);
    (name, home)
}

/// Ends a cluster that a failed test would leave.
struct Ends(String);

impl Drop for Ends {
    fn drop(&mut self) {
        let home = xtask::tools::cache_root()
            .unwrap()
            .join("clusters")
            .join(&self.0);
        if home.exists() {
            let _ = xtask(&["cluster", "down", "--name", &self.0])
                .start()
                .map(|mut down| down.wait());
        }
    }
}

fn xtask(args: &[&str]) -> Binary {
    args.iter()
        .fold(Binary::named("xtask").unwrap(), |binary, arg| {
            binary.arg(arg)
        })
}

#[tokio::test]
async fn a_cluster_started_by_hand_outlives_its_starter_until_down() {
    if need_control_plane("cluster: up, status, down").is_none() {
        return;
    }
    let (name, home) = named("hand");
    let _ends = Ends(name.clone());
    let mut up = xtask(&["cluster", "up", "--name", &name]).start().unwrap();
    assert!(up.ended(SOON).await.unwrap().success(), "{}", up.log());
    let export = format!(
        "export KUBECONFIG={}",
        home.join("admin.kubeconfig").display()
    );
    assert!(up.log().lines().any(|line| line == export), "{}", up.log());
    let state: xtask::cluster::State =
        serde_json::from_str(&std::fs::read_to_string(home.join("state.json")).unwrap()).unwrap();
    let processes = state
        .parts
        .values()
        .cloned()
        .chain([state.keeper.clone()])
        .collect();
    let traces = Traces {
        folders: vec![home, state.scratch],
        processes,
    };
    assert_eq!(traces.processes.len(), 6);
    assert!(
        traces.processes.iter().all(Pid::is_alive),
        "it outlives `up`"
    );

    let mut status = xtask(&["cluster", "status"]).start().unwrap();
    assert!(status.ended(SOON).await.unwrap().success());
    let line = status.line_with(&name, SOON).await.unwrap();
    assert!(
        line.contains(&state.api) && line.contains("5 alive") && line.contains("1 of 1"),
        "{line}"
    );

    let mut down = xtask(&["cluster", "down", "--name", &name])
        .start()
        .unwrap();
    assert!(down.ended(SOON).await.unwrap().success(), "{}", down.log());
    assert_eq!(traces.left(), Vec::<String>::new());
}

#[tokio::test]
async fn a_start_that_is_interrupted_leaves_nothing() {
    if need_control_plane("cluster: an interrupted up").is_none() {
        return;
    }
    let (name, home) = named("interrupted");
    let _ends = Ends(name.clone());
    let mut up = xtask(&["cluster", "up", "--name", &name]).start().unwrap();
    up.line_with("etcd", SOON).await.unwrap(); // etcd is up, the API server is starting
    let state: xtask::cluster::State =
        serde_json::from_str(&std::fs::read_to_string(home.join("state.json")).unwrap()).unwrap();
    let traces = Traces {
        folders: vec![home, state.scratch],
        processes: vec![state.keeper],
    };
    assert!(!traces.left().is_empty());
    // SIGTERM where a terminal sends SIGINT: shells make background jobs deaf to the latter.
    Pid::of(up.pid()).unwrap().signal("TERM");
    assert!(!up.ended(SOON).await.unwrap().success());
    wait::succeeds(
        "the interrupted cluster to vanish",
        SOON,
        async || match traces.left() {
            left if left.is_empty() => Ok(()),
            left => anyhow::bail!("left: {left:?}"),
        },
    )
    .await
    .unwrap();
}
