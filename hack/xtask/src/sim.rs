//! How does somebody try the whole operator against chance, and see a bad day again?
//!
//! Builds, then hands over to `joiner-sim` (package e2e), which knows worlds and emulators.

use std::process::Command;

use anyhow::{Context, Result, bail};

#[derive(Debug, clap::Args)]
pub struct Options {
    /// How many seeds
    #[arg(long, default_value_t = 200, value_name = "N")]
    seeds: u64,
    /// The first of them
    #[arg(long, default_value_t = 0, value_name = "X")]
    first: u64,
    /// Only this seed, with everything that went out
    #[arg(long, value_name = "X")]
    seed: Option<u64>,
    /// Instead: one story, with the operator's death before and after each of its outbound calls
    #[arg(long)]
    crashes: bool,
}

pub fn run(options: &Options) -> Result<()> {
    eprintln!("building (the first time takes some minutes)");
    let built = Command::new(env!("CARGO"))
        .args(["build", "--workspace", "--bins", "--locked"])
        .current_dir(crate::root())
        .status()
        .context("running cargo")?;
    if !built.success() {
        bail!("the programs could not be built");
    }
    // Built beside this very program, whatever the target folder is called.
    let program = std::env::current_exe()?.with_file_name("joiner-sim");
    let mut sim = Command::new(&program);
    if options.crashes {
        sim.arg("--crashes");
    } else if let Some(seed) = options.seed {
        sim.args(["--seed", &seed.to_string()]);
    } else {
        sim.args(["--seeds", &options.seeds.to_string()]);
        sim.args(["--first", &options.first.to_string()]);
    }
    let status = sim
        .status()
        .with_context(|| format!("running {}", program.display()))?;
    if !status.success() {
        bail!("the simulation failed");
    }
    Ok(())
}
