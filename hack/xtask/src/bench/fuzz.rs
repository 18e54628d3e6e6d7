//! For how long does `joiner plan` survive files that were scribbled over?
//!
//! The tests mangle a few thousand files; this does it until the time is up, each time with others.

use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};

#[derive(Debug, Clone, Copy, clap::Args)]
pub struct Options {
    #[arg(long, default_value_t = 5)]
    minutes: u64,
    /// Where the rounds begin; absent: somewhere nobody has been. A failure names its round, to be begun with again.
    #[arg(long)]
    first: Option<u64>,
}

pub fn run(options: Options) -> Result<()> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let first = options
        .first
        .or(now.ok().map(|now| now.as_secs() << 20))
        .unwrap_or_default();
    println!("rounds from {first} for {} minutes", options.minutes);
    let status = Command::new(env!("CARGO"))
        .args(["test", "--workspace", "--test", "plan_mangled", "--"])
        .args(["--nocapture", "--test-threads", "2"])
        .env("JOINER_FUZZ_MINUTES", options.minutes.to_string())
        .env("JOINER_FUZZ_FIRST", first.to_string())
        .current_dir(crate::root())
        .status()
        .context("running cargo")?;
    if !status.success() {
        bail!("a mangled file was not survived; see above for its round");
    }
    Ok(())
}
