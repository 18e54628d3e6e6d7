//! What can be asked of clusters on the command line?

use anyhow::Result;

use super::options::check_name;
use super::{AUDIT_METADATA, Cluster, Node, Options, State, kubectl, state};
use crate::progress::seconds;

#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Start a real Kubernetes control plane on this host and leave it running
    ///
    /// etcd, kube-apiserver, kube-controller-manager, kube-scheduler and hollow nodes (real kubelet code without
    /// containers) as plain processes on loopback and free ports: no Docker, no root. The first start builds them with
    /// Go into the cache (about ten minutes on two cores); later ones take seconds.
    ///
    /// Example:
    ///   cargo xtask cluster up --nodes 2
    ///   eval "$(cargo xtask cluster up --name other)"    # stdout holds only the exports
    #[command(verbatim_doc_comment)]
    Up {
        /// Several clusters may run side by side under different names
        #[arg(long, default_value = "default")]
        name: String,
        /// How many hollow nodes join by bootstrap token
        #[arg(long, default_value_t = 1)]
        nodes: u32,
        /// Port of the API server on 127.0.0.1 (default: a free one)
        #[arg(long)]
        api_port: Option<u16>,
        /// Write an audit log of every request (who, what, answer; no bodies) into the cluster's folder
        #[arg(long)]
        audit: bool,
        /// A flag for kube-apiserver, may be repeated: --apiserver-flag=--default-not-ready-toleration-seconds=5
        #[arg(
            long = "apiserver-flag",
            value_name = "FLAG",
            allow_hyphen_values = true
        )]
        api_server_flags: Vec<String>,
        /// A flag for kube-controller-manager, may be repeated: --controller-flag=--node-monitor-grace-period=8s
        #[arg(
            long = "controller-flag",
            value_name = "FLAG",
            allow_hyphen_values = true
        )]
        controller_flags: Vec<String>,
    },
    /// End a cluster and remove everything it left: processes, sockets, files
    ///
    /// Processes are recognised by pid, start time and boot, so a pid that meanwhile belongs to somebody else is never
    /// killed. Built tools stay in the cache.
    Down {
        #[arg(long, default_value = "default")]
        name: String,
        /// End every cluster of this cache, also those of running tests
        #[arg(long, conflicts_with = "name")]
        all: bool,
    },
    /// Print the exports of a running cluster again, for another shell: eval "$(cargo xtask cluster env)"
    Env {
        #[arg(long, default_value = "default")]
        name: String,
    },
    /// Show the clusters of this host: address, processes, nodes, kubeconfig
    Status,
}

pub fn run(command: Command) -> Result<()> {
    match command {
        Command::Up {
            name,
            nodes,
            api_port,
            audit,
            api_server_flags,
            controller_flags,
        } => up(Options {
            nodes: (1..=nodes)
                .map(|number| Node::named(format!("hollow-{number}")))
                .collect(),
            api_port,
            audit_policy: audit.then(|| AUDIT_METADATA.to_owned()),
            api_server_flags,
            controller_flags,
            print: true,
            ..Options::named(name)
        }),
        Command::Down { all: true, .. } => {
            for state in state::all()? {
                down(&state.name)?;
            }
            Ok(())
        }
        Command::Down { name, all: false } => down(&name),
        Command::Env { name } => env(&name),
        Command::Status => status(),
    }
}

fn up(options: Options) -> Result<()> {
    eprintln!("starting cluster {:?}", options.name);
    let cluster = Cluster::start(options)?;
    let total = cluster.phases().iter().map(|(_, took)| *took).sum();
    let audit = cluster.audit_log();
    let state = cluster.detach()?;
    eprintln!(
        "cluster {:?} is up after {} at {}",
        state.name,
        seconds(total),
        state.api
    );
    if let Some(audit) = audit {
        eprintln!("audit log: {}", audit.display());
    }
    eprintln!("kubectl of the same version: {}", state.kubectl.display());
    eprintln!(
        "end it with: cargo xtask cluster down --name {}",
        state.name
    );
    exports(&state)
}

/// Prints how a shell gets at a cluster that runs.
fn env(name: &str) -> Result<()> {
    let mut running = state::all()?.into_iter().filter(State::is_running);
    let Some(state) = running.find(|state| state.name == name) else {
        anyhow::bail!(
            "no cluster {name:?} is running; start it with `cargo xtask cluster up --name {name}`"
        );
    };
    exports(&state)
}

fn exports(state: &State) -> Result<()> {
    println!("export KUBECONFIG={}", state.kubeconfig.display());
    if let Some(folder) = state.kubectl.parent() {
        println!("export PATH={}:$PATH", folder.display());
    }
    // Emulated machines of `joiner-emulators serve` join this cluster with it.
    let kubelet = crate::tools::control_plane()?.hollow_kubelet;
    println!("export JOINER_HOLLOW_KUBELET={}", kubelet.display());
    Ok(())
}

fn down(name: &str) -> Result<()> {
    check_name(name)?;
    let home = state::clusters()?.join(name);
    if !home.exists() {
        eprintln!("cluster {name:?} is not running");
        return Ok(());
    }
    state::end(&home)?;
    eprintln!("cluster {name:?} is gone");
    Ok(())
}

fn status() -> Result<()> {
    let found = state::all()?;
    if found.is_empty() {
        println!("no cluster; start one with `cargo xtask cluster up`");
        return Ok(());
    }
    let head = ["NAME", "API", "PROCESSES", "NODES READY", "KUBECONFIG"].map(str::to_owned);
    let rows: Vec<[String; 5]> = std::iter::once(head).chain(found.iter().map(row)).collect();
    print!("{}", table(&rows));
    Ok(())
}

fn row(state: &State) -> [String; 5] {
    let alive = state.parts.values().filter(|part| part.is_alive()).count();
    let processes = match (state.is_running(), alive == state.parts.len()) {
        (false, _) => "dead (down removes it)".to_owned(),
        (true, true) => format!("{alive} alive"),
        (true, false) => format!("{alive} of {} alive", state.parts.len()),
    };
    let nodes = match kubectl::get(&state.kubectl, &state.kubeconfig, "/api/v1/nodes") {
        Ok(list) => {
            let (ready, all) = kubectl::count_ready(&list);
            format!("{ready} of {all}")
        }
        Err(_) => "no answer".to_owned(),
    };
    let api = if state.api.is_empty() {
        "starting"
    } else {
        &state.api
    };
    [
        state.name.clone(),
        api.to_owned(),
        processes,
        nodes,
        state.kubeconfig.display().to_string(),
    ]
}

/// Columns as wide as their widest cell, two blanks between them, none at the end of a line.
fn table(rows: &[[String; 5]]) -> String {
    let widths: Vec<usize> = (0..5)
        .map(|column| rows.iter().map(|row| row[column].len()).max().unwrap_or(0))
        .collect();
    let mut text = String::new();
    for row in rows {
        let cells: Vec<String> = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:<width$}"))
            .collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_is_a_table_with_aligned_columns() {
        let cell = |text: &str| text.to_owned();
        let rows = [
            [
                cell("NAME"),
                cell("API"),
                cell("PROCESSES"),
                cell("NODES READY"),
                cell("KUBECONFIG"),
            ],
            [
                cell("default"),
                cell("x"),
                cell("5 alive"),
                cell("1 of 1"),
                cell("/k"),
            ],
        ];
        assert_eq!(
            table(&rows),
            "NAME     API  PROCESSES  NODES READY  KUBECONFIG\ndefault  x    5 alive    1 of 1       /k\n"
        );
    }
}
