//! How fast is it, here and now? Figures are printed, never asserted.

pub mod fuzz;
pub mod instructions;
pub mod schedule;

use std::process::Command as Run;

use anyhow::{Context, Result, bail};

#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// The webhook server under load: requests per second, p50/p99, memory, one LIST of 5,000 objects.
    Webhook {
        /// How many reviews to send.
        #[arg(long, default_value_t = 100_000)]
        reviews: u64,
    },
    /// From the creation of a pod to the create call in the cloud: p50, p99, and what the time consists of.
    ///
    /// On a real control plane with the emulated OpenStack; needs Go.
    Path {
        /// How many pods come alone, one after the other.
        #[arg(long, default_value_t = 50)]
        lone: u32,
        /// How many pods come at once.
        #[arg(long, default_value_t = 50)]
        burst: u32,
        /// Measures the development build: quicker to make, slower to run.
        #[arg(long)]
        dev: bool,
    },
    /// The embedded Kubernetes with many nodes and pods: time, memory, watchers.
    Emulators {
        #[arg(long, default_value_t = 5_000)]
        nodes: u64,
        #[arg(long, default_value_t = 50_000)]
        pods: u64,
    },
    /// What planning starts from, frozen from a large mirror: the first time, with nothing changed, with few pods changed.
    Freeze {
        /// How many pods run, on 5,000 nodes; 1,000 more wait.
        #[arg(long, default_value_t = 100_000)]
        pods: u64,
    },
    /// Conversion there and back of random objects of every kind; counts what was lost (nothing should be).
    Roundtrip {
        /// How many objects per kind.
        #[arg(long, default_value_t = 100_000)]
        objects: u64,
    },
    /// Planning: time, pods per second, memory, nodes and price per hour; every plan is checked in the same run.
    Schedule(schedule::Options),
    /// Questions as consolidation asks them by the thousand: what if this node were gone? Time for each, on 5,000 nodes.
    WhatIfs,
    /// Instructions that planning takes, compared with those recorded; needs valgrind.
    Instructions(instructions::Options),
    /// Files that were cut, swapped and scribbled over, for as long as asked: none may make `joiner plan` panic.
    Fuzz(fuzz::Options),
}

pub fn run(command: &Command) -> Result<()> {
    match command {
        Command::Webhook { reviews } => cargo(&[
            "bench",
            "--package",
            "webhook",
            "--bench",
            "reviews",
            "--",
            &reviews.to_string(),
        ]),
        Command::Path { lone, burst, dev } => path(*lone, *burst, *dev),
        Command::Emulators { nodes, pods } => cargo(&[
            "run",
            "--profile=quick",
            "--package",
            "emulators",
            "--example",
            "many",
            "--",
            &nodes.to_string(),
            &pods.to_string(),
        ]),
        Command::Freeze { pods } => cargo(&[
            "run",
            "--profile=quick",
            "--package",
            "operator",
            "--example",
            "freeze",
            "--",
            &pods.to_string(),
        ]),
        Command::Roundtrip { objects } => cargo(&[
            "run",
            "--release",
            "--package",
            "crds",
            "--example",
            "roundtrip",
            "--",
            &objects.to_string(),
        ]),
        Command::Schedule(options) => schedule::run(options),
        Command::WhatIfs => cargo(&[
            "run",
            "--release",
            "--package",
            "planner",
            "--example",
            "solve",
            "--",
            "what-ifs",
        ]),
        Command::Instructions(options) => instructions::run(*options),
        Command::Fuzz(options) => fuzz::run(*options),
    }
}

/// Built as one workspace, so that the programs are those that the tests use, then run beside them.
fn path(lone: u32, burst: u32, dev: bool) -> Result<()> {
    let mut build = vec!["build", "--workspace", "--bins", "--example", "path"];
    if !dev {
        build.push("--profile=quick");
    }
    cargo(&build)?;
    let own = std::env::current_exe().context("where is this program?")?;
    let target = own
        .ancestors()
        .nth(2)
        .context("this program is in no target folder")?;
    let profile = if dev { "debug" } else { "quick" };
    let program = target.join(profile).join("examples/path");
    let status = Run::new(&program)
        .args([lone.to_string(), burst.to_string()])
        .status()
        .with_context(|| program.display().to_string())?;
    if !status.success() {
        bail!("the measurement failed ({status})");
    }
    Ok(())
}

fn cargo(args: &[&str]) -> Result<()> {
    let status = Run::new(env!("CARGO"))
        .args(args)
        .current_dir(crate::root())
        .status()
        .context("running cargo")?;
    if !status.success() {
        bail!("cargo {} failed ({status})", args.join(" "));
    }
    Ok(())
}
