//! How fast is it, here and now? Figures are printed, never asserted.

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
    /// Conversion there and back of random objects of every kind; counts what was lost (nothing should be).
    Roundtrip {
        /// How many objects per kind.
        #[arg(long, default_value_t = 100_000)]
        objects: u64,
    },
    /// Planning: time, pods per second, memory, nodes and price per hour; every plan is checked in the same run.
    Schedule(schedule::Options),
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
