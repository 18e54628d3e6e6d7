//! How fast is it, here and now? Figures are printed, never asserted.

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
    /// The embedded Kubernetes with many nodes and pods: time, memory, watchers.
    Emulators {
        #[arg(long, default_value_t = 5_000)]
        nodes: u64,
        #[arg(long, default_value_t = 50_000)]
        pods: u64,
    },
    /// Conversion there and back of random objects of every kind; counts what was lost (nothing should be).
    Roundtrip {
        /// How many objects per kind.
        #[arg(long, default_value_t = 100_000)]
        objects: u64,
    },
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
        Command::Emulators { nodes, pods } => cargo(&[
            "run",
            "--release",
            "--package",
            "emulators",
            "--example",
            "many",
            "--",
            &nodes.to_string(),
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
    }
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
