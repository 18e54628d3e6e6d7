//! Does everything hold, on this machine, right now?
//!
//! Parts run one after the other, each with its time; what could not run is named, never silently left out.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::tools;

#[derive(Debug, Default, clap::Args)]
pub struct Options {
    /// Leaves out formatting and clippy; for a quick local turn.
    #[arg(long)]
    no_lint: bool,
    /// Only tests whose name contains this, as `cargo test` takes it.
    filter: Vec<String>,
}

/// What the test binaries reported.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Tally {
    pub passed: usize,
    pub failed: usize,
    pub ignored: usize,
}

pub fn run(options: &Options) -> Result<()> {
    let mut parts = Parts::default();
    let skips = Skips::new()?;
    let go = parts.time("control plane", control_plane)?;
    if !options.no_lint {
        parts.time("lint", lint)?;
    }
    parts.time("build", || {
        cargo(&["build", "--workspace", "--bins", "--locked"])
    })?;
    let tally = parts.time("tests", || tests(options, &skips))?;
    parts.print();
    conclude(tally, &skips.named()?, go)
}

/// The verdict: its last line is what CI and people read.
fn conclude(tally: Tally, skipped: &[String], go: bool) -> Result<()> {
    for name in skipped {
        println!("skipped: {name}");
    }
    if !go {
        println!("skipped tests need Go 1.26 or newer on PATH; everything else ran");
    }
    let ci = std::env::var("CI").is_ok_and(|value| value == "true");
    let (passed, failed) = (tally.passed.saturating_sub(skipped.len()), tally.failed);
    let left_out = skipped.len() + tally.ignored;
    println!("{passed} passed, {failed} failed, {left_out} skipped");
    if failed > 0 {
        bail!("{failed} tests failed");
    }
    if ci && left_out > 0 {
        bail!("with CI=true a skip is a failure: {left_out} skipped");
    }
    Ok(())
}

/// Builds the control plane into the cache; `false` (and a named skip by each test) where there is no Go toolchain.
fn control_plane() -> Result<bool> {
    match tools::control_plane() {
        Ok(_) => Ok(true),
        Err(tools::Error::NoGo(why)) => {
            println!("no real control plane: {why}");
            Ok(false)
        }
        Err(other) => Err(other.into()),
    }
}

fn lint() -> Result<()> {
    cargo(&["fmt", "--all", "--check"]).context("run `cargo fmt --all`")?;
    cargo(&[
        "clippy",
        "--workspace",
        "--all-targets",
        "--locked",
        "--quiet",
        "--",
        "-D",
        "warnings",
    ])
}

fn tests(options: &Options, skips: &Skips) -> Result<Tally> {
    let mut command = Command::new(env!("CARGO"));
    command
        .args(["test", "--workspace", "--no-fail-fast", "--locked", "--"])
        .args(&options.filter);
    command
        .env("JOINER_SKIPS", &skips.path)
        .current_dir(crate::root())
        .stdout(Stdio::piped());
    let mut child = command.spawn().context("running cargo test")?;
    let out = child.stdout.take().context("cargo test has no output")?;
    let mut tally = Tally::default();
    for line in BufReader::new(out).lines() {
        let line = line.context("reading cargo test")?;
        println!("{line}");
        tally.add(&line);
    }
    let status = child.wait().context("waiting for cargo test")?;
    if !status.success() && tally.failed == 0 {
        bail!("cargo test could not build or run the tests ({status})");
    }
    Ok(tally)
}

impl Tally {
    /// Reads libtest's closing line: `test result: ok. 12 passed; 0 failed; 1 ignored; …`.
    fn add(&mut self, line: &str) {
        let Some(counts) = line.strip_prefix("test result: ") else {
            return;
        };
        let count = |word: &str| {
            let part = counts
                .split([';', '.'])
                .find(|part| part.trim_end().ends_with(word));
            part.and_then(|part| part.trim().split(' ').next()?.parse::<usize>().ok())
                .unwrap_or(0)
        };
        self.passed += count("passed");
        self.failed += count("failed");
        self.ignored += count("ignored");
    }
}

/// The file into which a test that cannot run here writes its name and the reason.
struct Skips {
    path: PathBuf,
}

impl Skips {
    fn new() -> Result<Self> {
        let path = crate::root().join("target/skipped-tests");
        fs::create_dir_all(crate::root().join("target")).context("creating target")?;
        fs::write(&path, "").with_context(|| format!("writing {}", path.display()))?;
        Ok(Self { path })
    }

    fn named(&self) -> Result<Vec<String>> {
        let text = fs::read_to_string(&self.path)
            .with_context(|| format!("reading {}", self.path.display()))?;
        Ok(text.lines().map(str::to_owned).collect())
    }
}

#[derive(Default)]
struct Parts {
    done: Vec<(&'static str, Duration)>,
}

impl Parts {
    fn time<T>(&mut self, name: &'static str, work: impl FnOnce() -> Result<T>) -> Result<T> {
        println!("== {name}");
        let start = Instant::now();
        let outcome = work().with_context(|| format!("part `{name}`"));
        self.done.push((name, start.elapsed()));
        outcome
    }

    fn print(&self) {
        println!("\npart            time");
        for (name, took) in &self.done {
            println!(
                "{name:<14} {:>4}m{:02}s",
                took.as_secs() / 60,
                took.as_secs() % 60
            );
        }
    }
}

fn cargo(args: &[&str]) -> Result<()> {
    let status = Command::new(env!("CARGO"))
        .args(args)
        .current_dir(crate::root())
        .status()
        .context("running cargo")?;
    if !status.success() {
        bail!("cargo {} failed ({status})", args.join(" "));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_lines_of_several_binaries_add_up() {
        let mut tally = Tally::default();
        tally.add("test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.01s");
        tally.add("test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s");
        tally.add("test other ... ok");
        assert_eq!(
            tally,
            Tally {
                passed: 15,
                failed: 2,
                ignored: 1
            }
        );
    }

    #[test]
    fn a_failed_test_fails_the_run() {
        assert!(
            conclude(
                Tally {
                    passed: 1,
                    failed: 1,
                    ignored: 0
                },
                &[],
                true
            )
            .is_err()
        );
        assert!(
            conclude(
                Tally {
                    passed: 1,
                    failed: 0,
                    ignored: 0
                },
                &[],
                true
            )
            .is_ok()
        );
    }
}
