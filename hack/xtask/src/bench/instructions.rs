//! How many instructions does planning take? The same on every quiet or busy machine, so a pull request can be judged by it.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// Workloads of the planner's example `solve`, with how many pods.
const WORKLOADS: &[(&str, &str)] = &[
    ("diverse", "2000"),
    ("preferences", "4000"),
    ("headline", "10000"),
];

/// So much more, in hundredths, before somebody has to look: compilers and libraries differ a little.
const SLACK: u64 = 5;

#[derive(Debug, Clone, Copy, clap::Args)]
pub struct Options {
    /// Write the counts down as those to compare with.
    #[arg(long)]
    accept: bool,
}

pub fn run(options: Options) -> Result<()> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("skipped: valgrind is not installed; install it to count instructions.");
        println!("The planner's own steps are counted in operator/tests/plan_recorded.rs.");
        return Ok(());
    }
    super::cargo(&[
        "build",
        "--release",
        "--package",
        "planner",
        "--example",
        "solve",
    ])?;
    let program = crate::root().join("target/release/examples/solve");
    let mut now = Vec::new();
    for (name, pods) in WORKLOADS {
        // What it takes to make up the pods is no part of planning.
        let made = counted(&program, &["make", name, pods])?;
        let solved = counted(&program, &["once", name, pods])?;
        now.push((format!("{name}-{pods}"), solved.saturating_sub(made)));
    }
    let path = crate::root().join("hack/xtask/src/bench/instructions.txt");
    let before = read(&path)?;
    let worse = told(&now, &before);
    if options.accept {
        let lines: String = now.iter().fold(String::new(), |mut text, (name, count)| {
            let _ = writeln!(text, "{name} {count}");
            text
        });
        std::fs::write(&path, lines).with_context(|| path.display().to_string())?;
    } else if !worse.is_empty() {
        let names = worse.join(", ");
        bail!(
            "{names}: more than {SLACK} % above the recorded count; make it cheaper, or --accept"
        );
    }
    Ok(())
}

/// Prints both counts; returns the names of those that grew too much.
fn told(now: &[(String, u64)], before: &[(String, u64)]) -> Vec<String> {
    let mut worse = Vec::new();
    for (name, count) in now {
        let known = before.iter().find(|(known, _)| known == name);
        let recorded = known.map_or_else(|| "none".to_owned(), |(_, count)| count.to_string());
        println!("{name:20} {count:>14} instructions, recorded {recorded}");
        if known.is_some_and(|(_, known)| *count > known + known * SLACK / 100) {
            worse.push(name.clone());
        }
    }
    worse
}

fn read(path: &PathBuf) -> Result<Vec<(String, u64)>> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let line = |line: &str| {
        let (name, count) = line.split_once(' ')?;
        Some((name.to_owned(), count.trim().parse().ok()?))
    };
    let lines: Option<Vec<_>> = text.lines().map(line).collect();
    lines.with_context(|| format!("{}: each line is a name and a count", path.display()))
}

/// Instructions of one run of the program.
fn counted(program: &Path, words: &[&str]) -> Result<u64> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args(words)
        .output()
        .context("running valgrind")?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        bail!("valgrind failed ({}): {said}", output.status);
    }
    let count = said
        .lines()
        .find_map(|line| line.split("Collected :").nth(1));
    count
        .and_then(|count| count.trim().parse().ok())
        .with_context(|| format!("valgrind told no count: {said}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_count_that_grew_beyond_the_slack_is_worse() {
        let count = |count| vec![("w".to_owned(), count)];
        assert!(told(&count(105), &count(100)).is_empty());
        assert_eq!(told(&count(106), &count(100)), ["w"]);
        assert!(told(&count(106), &[]).is_empty());
    }
}
