//! What is really linked or run when our crates are built without their tests?
//!
//! `cargo metadata` unites the features of tests and everything else; `cargo tree` tells them apart.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// One crate in a closure.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Package {
    pub name: String,
    pub version: String,
    pub licence: String,
}

/// The closure of one crate, or of the whole workspace.
pub fn read(root: &Path, of: Option<&str>) -> Result<Vec<Package>> {
    let mut command = Command::new(env!("CARGO"));
    command.args([
        "tree",
        "--locked",
        "--target=x86_64-unknown-linux-gnu",
        "--edges=normal,build",
    ]);
    command.args(["--prefix=none", "--no-dedupe", "--format={p}|{l}"]);
    match of {
        Some(package) => command.args(["--package", package]),
        None => command.arg("--workspace"),
    };
    let out = command
        .current_dir(root)
        .output()
        .context("running cargo tree")?;
    ensure!(
        out.status.success(),
        "cargo tree: {}",
        String::from_utf8_lossy(&out.stderr)
    );
    Ok(parse(&String::from_utf8_lossy(&out.stdout)))
}

/// Lines such as `serde v1.0.229|MIT OR Apache-2.0` or `planner v0.1.0 (/path)|Apache-2.0`.
pub fn parse(text: &str) -> Vec<Package> {
    let mut packages: Vec<Package> = text
        .lines()
        .filter_map(|line| {
            let (package, licence) = line.split_once('|')?;
            let (name, rest) = package.split_once(" v")?;
            let version = rest.split(' ').next()?;
            Some(Package {
                name: name.into(),
                version: version.into(),
                licence: licence.into(),
            })
        })
        .collect();
    packages.sort();
    packages.dedup();
    packages
}
