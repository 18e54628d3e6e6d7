//! How does somebody see the main job with one command?
//!
//! Builds the programs, then hands over to `joiner-demo` (package e2e), which knows worlds and emulators.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

#[derive(Debug, clap::Args)]
pub struct Options {
    /// Where it plays: `embedded` needs nothing, `local` is a real control plane and needs Go for its first build
    #[arg(long, default_value = "embedded", value_parser = ["embedded", "local"])]
    world: String,
    /// Leaves everything running at the end and prints commands to play with; Ctrl-C ends it
    #[arg(long)]
    keep: bool,
    /// Where the timeline goes as a picture
    #[arg(long, default_value = "demo.html", value_name = "FILE")]
    page: PathBuf,
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
    let program = std::env::current_exe()?.with_file_name("joiner-demo");
    let mut demo = Command::new(&program);
    demo.arg("--world").arg(&options.world);
    demo.arg("--page").arg(&options.page);
    if options.keep {
        demo.arg("--keep");
    }
    let status = demo
        .status()
        .with_context(|| format!("running {}", program.display()))?;
    if !status.success() {
        bail!("the demo failed");
    }
    Ok(())
}
