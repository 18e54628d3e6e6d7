//! In which order does a cluster come up, and what if a part of it does not?

use std::fs;
use std::path::Path;
use std::process;
use std::sync::atomic::AtomicU32;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::files::Files;
use super::keeper::{Keeper, Part};
use super::parts::{self, Recipe};
use super::phases::Phases;
use super::pki::{self, Pki};
use super::ports::{self, Ports};
use super::{Cluster, Options, State, host, kubectl, objects, options, state};
use crate::tools::{self, ControlPlane};

/// A port may be taken between choosing and listening; three times in a row is no accident.
const TRIES: u32 = 3;

pub(super) fn start(options: Options) -> Result<Cluster> {
    options.check()?;
    let tools = tools::control_plane()?;
    let mut phases = Phases::begin(options.print);
    let (files, keeper) = found(&options, &tools)?;
    let host = host::address().ok().map(|address| address.to_string());
    let pki = pki::make(&files.home.join("pki"), parts::SERVICE_IP, host.as_deref())?;
    if let Some(policy) = &options.audit_policy {
        fs::write(files.audit_policy(), policy)?;
    }
    phases.mark("folders, keeper, certificates");

    let ports = control_plane(&options, &tools, &files, &keeper, (&pki, &mut phases))?;
    let mut cluster = Cluster {
        options,
        tools,
        files,
        ports,
        ca: pki.ca,
        keeper,
        phases,
        nodes_started: AtomicU32::new(1),
    };
    cluster.remember()?;
    for node in &cluster.options.nodes {
        cluster.start_node(node)?;
    }
    await_default_account(&cluster)?;
    cluster.phases.mark("default ServiceAccount");
    for node in &cluster.options.nodes {
        cluster.await_node(&node.name, Duration::from_mins(1))?;
    }
    if !cluster.options.nodes.is_empty() {
        cluster.phases.mark("nodes joined and Ready");
    }
    Ok(cluster)
}

/// Takes the name, makes the folders, and puts a keeper in charge of them before anything else happens.
fn found(options: &Options, tools: &ControlPlane) -> Result<(Files, Keeper)> {
    let clusters = state::clusters()?;
    let _held = state::lock(&clusters)?;
    let home = state::claim(&clusters, &options.name)?;
    let scratch = state::scratch(process::id(), options::next());
    let files = Files { home, scratch };
    files.create_folders()?;
    let keeper = Keeper::start(
        &tools.keeper,
        &[&files.home, &files.scratch],
        &files.log("keeper"),
    )?;
    let first = State {
        name: options.name.clone(),
        keeper: keeper.pid.clone(),
        parts: std::collections::BTreeMap::new(),
        scratch: files.scratch.clone(),
        api: String::new(),
        kubeconfig: files.kubeconfig("admin"),
        kubectl: tools.kubectl.clone(),
    };
    first.write(&files.home)?;
    Ok((files, keeper))
}

fn control_plane(
    options: &Options,
    tools: &ControlPlane,
    files: &Files,
    keeper: &Keeper,
    (pki, phases): (&Pki, &mut Phases),
) -> Result<Ports> {
    for attempt in 1.. {
        let ports = Ports::choose(options.api_port)?;
        let recipe = Recipe {
            tools,
            files,
            ports,
            options,
        };
        files.write_kubeconfigs(pki, &recipe.api_address())?;
        match bring_up(&recipe, keeper, pki, phases) {
            Ok(()) => return Ok(ports),
            Err(Down { part, error }) => {
                let clash = part.is_some_and(|part| ports::clash(&files.last_lines(part, 200)));
                if !clash {
                    return Err(error);
                }
                if attempt == TRIES {
                    return Err(
                        error.context(format!("a port was busy in each of {TRIES} attempts"))
                    );
                }
                clear(keeper, files)?;
                phases.mark("a port was taken meanwhile: once more");
            }
        }
    }
    bail!("no attempt was made")
}

/// The part that did not come up, and what it said.
struct Down {
    part: Option<&'static str>,
    error: anyhow::Error,
}

impl From<anyhow::Error> for Down {
    fn from(error: anyhow::Error) -> Self {
        Self { part: None, error }
    }
}

fn bring_up(
    recipe: &Recipe<'_>,
    keeper: &Keeper,
    pki: &Pki,
    phases: &mut Phases,
) -> Result<(), Down> {
    let ready = |name| {
        await_part(keeper, recipe.files, name).map_err(|error| Down {
            part: Some(name),
            error,
        })
    };
    keeper.launch(&recipe.etcd())?;
    ready(parts::ETCD)?;
    phases.mark("etcd");
    keeper.launch(&recipe.api_server())?;
    ready(parts::API_SERVER)?;
    phases.mark("kube-apiserver");
    keeper.launch(&recipe.controllers())?;
    keeper.launch(&recipe.scheduler())?;
    apply_bootstrap(recipe, pki)?; // while the two are starting
    phases.mark("bootstrap objects");
    ready(parts::CONTROLLERS)?;
    ready(parts::SCHEDULER)?;
    phases.mark("kube-controller-manager, kube-scheduler");
    Ok(())
}

/// Waits until a part answers its probe; a part that died shows the end of its log.
pub(super) fn await_part(keeper: &Keeper, files: &Files, name: &str) -> Result<()> {
    let outcome = keeper.until(name, Duration::from_mins(2), |part| match part {
        Part::Asked | Part::Running { .. } => None,
        Part::Ready { .. } => Some(Ok(())),
        Part::Late { said, .. } | Part::Refused { said } => Some(Err(said.clone())),
        Part::Exited { said } => Some(Err(format!("died: {said}"))),
    })?;
    outcome.map_err(|said| {
        let log = files.last_lines(name, 20);
        let port = if ports::clash(&log) {
            " (a port it needs is busy)"
        } else {
            ""
        };
        anyhow::anyhow!("{name} did not come up{port}: {said}; the last lines of its log:\n{log}")
    })
}

/// kube-public is made by the API server itself, a moment after it calls itself ready.
fn apply_bootstrap(recipe: &Recipe<'_>, pki: &Pki) -> Result<()> {
    let yaml = objects::bootstrap(&recipe.api_address(), &pki.ca);
    let kubeconfig = recipe.files.kubeconfig("admin");
    retry(Duration::from_secs(30), || {
        kubectl::apply(&recipe.tools.kubectl, &kubeconfig, &yaml)
    })
    .context("the bootstrap objects could not be applied")
}

/// No pod can be created before it exists.
fn await_default_account(cluster: &Cluster) -> Result<()> {
    let path = "/api/v1/namespaces/default/serviceaccounts/default";
    retry(Duration::from_mins(1), || {
        kubectl::get(cluster.kubectl_path(), &cluster.kubeconfig(), path)
    })
    .map(drop)
    .context("the default ServiceAccount was not created: is kube-controller-manager working?")
}

fn retry<T>(within: Duration, attempt: impl Fn() -> Result<T>) -> Result<T> {
    let deadline = Instant::now() + within;
    loop {
        match attempt() {
            Err(_) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(100)),
            answer => return answer,
        }
    }
}

fn clear(keeper: &Keeper, files: &Files) -> Result<()> {
    for part in [
        parts::SCHEDULER,
        parts::CONTROLLERS,
        parts::API_SERVER,
        parts::ETCD,
    ] {
        keeper.stop(part, Duration::ZERO)?;
        forget(&files.log(part))?;
    }
    fs::remove_dir_all(files.etcd())?;
    Ok(fs::create_dir_all(files.etcd())?)
}

/// The log of a failed attempt must not be taken for one of the next.
fn forget(log: &Path) -> Result<()> {
    match fs::remove_file(log) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}
