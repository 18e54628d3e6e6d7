//! How does somebody try the whole operator against chance, and see a bad day again?
//!
//! Builds, then hands over to `joiner-sim` (package e2e), which knows worlds and emulators.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

const EXAMPLES: &str = "\
Examples:
  cargo xtask sim                  200 seeds, each twice; the planted bugs must be found
  cargo xtask sim --seeds 2000     more of them
  cargo xtask sim --seed 17        seed 17 again, call by call
  cargo xtask sim --crashes        the operator dies before and after each outbound call

A seed that fails prints what went wrong, its last calls and the command that shows it again.
See docs/guides/simulation.md.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// How many seeds
    #[arg(long, default_value_t = 200, value_name = "N")]
    seeds: u64,
    /// The first of them
    #[arg(long, default_value_t = 0, value_name = "X")]
    first: u64,
    /// Only this seed, with what went out
    #[arg(long, value_name = "X", conflicts_with_all = ["seeds", "first"])]
    seed: Option<u64>,
    /// With --seed: also questions that were answered, and the lease
    #[arg(long, requires = "seed")]
    whole: bool,
    /// Instead: one story, with the operator's death before and after each of its outbound calls
    #[arg(long, conflicts_with_all = ["seeds", "first", "seed"])]
    crashes: bool,
}

pub fn run(options: &Options) -> Result<()> {
    let program = build()?;
    let mut sim = Command::new(&program);
    if options.crashes {
        sim.arg("--crashes");
    } else if let Some(seed) = options.seed {
        sim.args(["--seed", &seed.to_string()]);
        sim.args(options.whole.then_some("--whole"));
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

/// With a profile of its own: see `profile.sim` in the root manifest.
fn build() -> Result<PathBuf> {
    eprintln!("building (the first time takes some minutes)");
    let built = Command::new(env!("CARGO"))
        .args(["build", "--package", "e2e", "--bin", "joiner-sim"])
        .args(["--profile", "sim", "--locked"])
        .current_dir(crate::root())
        .status()
        .context("running cargo")?;
    if !built.success() {
        bail!("the simulation could not be built");
    }
    // Beside the folder of this very program, whatever the target folder is called.
    let own = std::env::current_exe()?;
    let target = own.parent().and_then(|profile| profile.parent());
    let target = target.with_context(|| format!("{} is in no target folder", own.display()))?;
    Ok(target.join("sim").join("joiner-sim"))
}
