//! How does a real Kubernetes control plane start on this host without containers, and how does it go without a trace?
//!
//! etcd, kube-apiserver, kube-controller-manager and kube-scheduler as plain processes on loopback and free ports, in
//! kubeadm's layout; nodes are hollow kubelets that join by bootstrap token. Blocking code: a cluster is started a few
//! times per run. [`Cluster`] stops everything when dropped, and `keeper` does so when we are killed.

mod command;
mod files;
mod host;
mod keeper;
mod kubectl;
mod node;
mod objects;
mod options;
mod parts;
mod phases;
mod pid;
mod pki;
mod ports;
mod start;
mod state;

use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

pub use command::{Command, run};
pub use files::{Credential, base64, kubeconfig};
pub use host::address as host_address;
pub use keeper::Part;
pub use node::{Join, Node};
pub use objects::BOOTSTRAP_TOKEN;
pub use options::{AUDIT_METADATA, Options};
pub use pid::Pid;
pub use pki::{Authority, Pair, Subject};
pub use state::{State, all};

use crate::tools::ControlPlane;
use files::{Files, write_private};
use keeper::{Keeper, Launch};
use parts::Recipe;
use phases::Phases;
use ports::Ports;

/// A running control plane with its nodes.
pub struct Cluster {
    options: Options,
    tools: ControlPlane,
    files: Files,
    ports: Ports,
    ca: String,
    keeper: Keeper,
    phases: Phases,
    nodes_started: AtomicU32,
}

impl Cluster {
    /// Starts a cluster and returns when it takes pods and all of `options.nodes` are Ready.
    pub fn start(options: Options) -> Result<Self> {
        start::start(options)
    }

    pub fn name(&self) -> &str {
        &self.options.name
    }

    /// `https://127.0.0.1:<port>`.
    pub fn api_address(&self) -> String {
        self.recipe().api_address()
    }

    /// The CA that signed the API server's certificate, PEM.
    pub fn ca(&self) -> &str {
        &self.ca
    }

    /// The administrator's kubeconfig.
    pub fn kubeconfig(&self) -> PathBuf {
        self.files.kubeconfig("admin")
    }

    /// The folder with logs, certificates and kubeconfigs; it goes with the cluster.
    pub fn home(&self) -> &Path {
        &self.files.home
    }

    /// The folder outside the cache that holds the nodes' sockets; it goes with the cluster.
    pub fn scratch(&self) -> &Path {
        &self.files.scratch
    }

    /// Where the API server writes its audit log, if the options asked for one.
    pub fn audit_log(&self) -> Option<PathBuf> {
        self.options
            .audit_policy
            .is_some()
            .then(|| self.files.audit_log())
    }

    pub fn kubectl_path(&self) -> &Path {
        &self.tools.kubectl
    }

    /// kubectl as administrator; leaves nothing in the user's home. Add arguments and run it.
    pub fn kubectl(&self) -> process::Command {
        kubectl::command(&self.tools.kubectl, &self.kubeconfig())
    }

    /// What each phase of the start took.
    pub fn phases(&self) -> &[(String, Duration)] {
        self.phases.list()
    }

    /// Every process of the cluster that has a pid now, the keeper first.
    pub fn pids(&self) -> Vec<(String, u32)> {
        let parts = self
            .keeper
            .parts()
            .into_iter()
            .filter_map(|(name, part)| Some((name, pid_of(&part)?)));
        std::iter::once(("keeper".to_owned(), self.keeper.pid.pid))
            .chain(parts)
            .collect()
    }

    /// What is known about the kubelet process of a node.
    pub fn node_part(&self, node: &str) -> Option<Part> {
        self.keeper.part(&node::part(node))
    }

    pub fn node_log(&self, node: &str) -> String {
        self.files.last_lines(&node::part(node), 400)
    }

    /// Starts a hollow kubelet; does not wait for the node.
    pub fn start_node(&self, node: &Node) -> Result<()> {
        let number = self.nodes_started.fetch_add(1, Ordering::Relaxed);
        let place = node::Place {
            root: self.files.scratch.join(number.to_string()),
            bootstrap: self.files.scratch.join(format!("{number}.bootstrap")),
            address: host::address().ok().map(|address| address.to_string()),
        };
        let bootstrap = match &node.join {
            Join::ClusterToken => kubeconfig(
                &self.api_address(),
                &self.ca,
                Credential::Token(BOOTSTRAP_TOKEN),
            ),
            Join::Token(token) => {
                kubeconfig(&self.api_address(), &self.ca, Credential::Token(token))
            }
            Join::Kubeconfig(text) => text.clone(),
        };
        write_private(&place.bootstrap, &bootstrap)?;
        let argv = node.argv(&self.tools.hollow_kubelet, &place);
        let launch = Launch {
            name: node.part(),
            argv,
            log: self.files.log(&node.part()),
            ready: None,
        };
        self.keeper.launch(&launch)?;
        self.keeper
            .until(&launch.name, Duration::from_secs(10), |part| match part {
                Part::Asked => None,
                Part::Refused { said } => Some(Err(anyhow::anyhow!(
                    "node {:?} cannot start: {said}",
                    node.name
                ))),
                _ => Some(Ok(())),
            })??;
        self.remember()
    }

    /// Ends a node's kubelet. The Node object stays, as with a machine that lost power.
    pub fn stop_node(&self, node: &str) -> Result<()> {
        self.keeper
            .stop(&node::part(node), Duration::from_secs(3))?;
        self.remember()
    }

    /// Waits until the node is Ready; a kubelet that died says why.
    pub fn await_node(&self, node: &str, within: Duration) -> Result<()> {
        let deadline = Instant::now() + within;
        loop {
            let seen = kubectl::get(
                &self.tools.kubectl,
                &self.kubeconfig(),
                &format!("/api/v1/nodes/{node}"),
            );
            if seen.as_ref().is_ok_and(kubectl::is_ready) {
                return Ok(());
            }
            let log = || self.files.last_lines(&node::part(node), 20);
            if let Some(Part::Exited { said } | Part::Refused { said }) = self.node_part(node) {
                bail!(
                    "node {node:?} ended ({said}) before it was Ready; the last lines of its log:\n{}",
                    log()
                );
            }
            if Instant::now() >= deadline {
                let state = seen.map_or_else(
                    |error| error.to_string(),
                    |node| node["status"]["conditions"].to_string(),
                );
                bail!(
                    "node {node:?} was not Ready within {within:?}: {state}; the last lines of its log:\n{}",
                    log()
                );
            }
            std::thread::sleep(Duration::from_millis(150));
        }
    }

    /// Kills the API server, as a failing machine would: no goodbye to anybody.
    pub fn stop_api_server(&self) -> Result<()> {
        self.keeper.stop(parts::API_SERVER, Duration::ZERO)?;
        self.remember()
    }

    /// Starts the API server again, on the same port and data, and waits until it is ready.
    pub fn start_api_server(&self) -> Result<()> {
        self.keeper.launch(&self.recipe().api_server())?;
        self.await_part(parts::API_SERVER)?;
        self.remember()
    }

    /// Lets the cluster outlive this process; `cargo xtask cluster down` ends it.
    pub fn detach(self) -> Result<State> {
        self.remember()?;
        self.keeper.stay()?;
        Ok(self.state())
    }

    fn recipe(&self) -> Recipe<'_> {
        Recipe {
            tools: &self.tools,
            files: &self.files,
            ports: self.ports,
            options: &self.options,
        }
    }

    fn await_part(&self, name: &str) -> Result<()> {
        start::await_part(&self.keeper, &self.files, name)
    }

    fn state(&self) -> State {
        let parts = self
            .keeper
            .parts()
            .into_iter()
            .filter_map(|(name, part)| Some((name, Pid::of(pid_of(&part)?)?)));
        State {
            name: self.options.name.clone(),
            keeper: self.keeper.pid.clone(),
            parts: parts.collect(),
            scratch: self.files.scratch.clone(),
            api: self.api_address(),
            kubeconfig: self.kubeconfig(),
            kubectl: self.tools.kubectl.clone(),
        }
    }

    fn remember(&self) -> Result<()> {
        self.state()
            .write(&self.files.home)
            .context("the cluster's state")
    }
}

fn pid_of(part: &Part) -> Option<u32> {
    match part {
        Part::Running { pid } | Part::Ready { pid } | Part::Late { pid, .. } => Some(*pid),
        Part::Asked | Part::Refused { .. } | Part::Exited { .. } => None,
    }
}
