//! How is one tool built, and what does a failed build say?

use std::collections::VecDeque;
use std::fmt::Write;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use super::{Stamp, Tool, Toolchain};
use crate::progress::Step;

/// The commit and day of the Kubernetes release in go.mod; they only show in `kubectl version`.
const KUBERNETES_COMMIT: &str = "1c2e10a409eb1b03f2f28f401ce935312e20d9fb";
const KUBERNETES_DATE: &str = "2026-08-20T00:00:00Z";

pub(super) fn run(go: &Path, tool: &Tool, into: &Path) -> Result<()> {
    let folder = tool.folder();
    let lock = std::fs::read_to_string(folder.join("go.mod"))?;
    // One package goes to a named file (etcd's would be called `server`), several go to a folder.
    let output = match tool.binaries {
        [only] => into.join(only),
        _ => into.join(""),
    };
    let mut command = Command::new(go);
    command
        .args([
            "build",
            "-v",
            "-trimpath",
            "-mod=readonly",
            "-p",
            &parallel().to_string(),
        ])
        .args(["-ldflags", &link_flags(tool.stamp, &lock)])
        .arg("-o")
        .arg(output)
        .args(tool.packages)
        .current_dir(folder)
        .envs([
            ("GOTOOLCHAIN", toolchain(tool.toolchain)),
            ("CGO_ENABLED", "0"),
            ("GOWORK", "off"),
        ])
        .stdin(Stdio::null())
        .stderr(Stdio::piped());

    let step = Step::start(format!("building {} (once, into the cache)", tool.name));
    let mut child = command.spawn().context("cannot start `go build`")?;
    let mut last = VecDeque::new();
    let lines = BufReader::new(child.stderr.take().context("go build has a stderr")?).lines();
    for (packages, line) in lines.map_while(Result::ok).enumerate() {
        step.now(format!("{} packages, {line}", packages + 1));
        last.push_back(line);
        if last.len() > 30 {
            last.pop_front();
        }
    }
    if !child.wait()?.success() {
        let said: Vec<_> = last.into();
        bail!(
            "building {} failed; go build said:\n{}",
            tool.name,
            said.join("\n")
        );
    }
    step.done();
    Ok(())
}

fn toolchain(wanted: Toolchain) -> &'static str {
    match wanted {
        Toolchain::Local => "local",
        Toolchain::Fetched => "auto",
    }
}

fn link_flags(stamp: Stamp, lock: &str) -> String {
    let mut flags = "-s -w".to_owned();
    if matches!(stamp, Stamp::KubernetesVersion) {
        let version = kubernetes_version(lock);
        let minor = version.split('.').nth(1).unwrap_or_default();
        for package in [
            "k8s.io/component-base/version",
            "k8s.io/client-go/pkg/version",
        ] {
            for (name, value) in [
                ("gitVersion", version),
                ("gitMajor", "1"),
                ("gitMinor", minor),
                ("gitTreeState", "clean"),
                ("gitCommit", KUBERNETES_COMMIT),
                ("buildDate", KUBERNETES_DATE),
            ] {
                let _ = write!(flags, " -X {package}.{name}={value}");
            }
        }
    }
    flags
}

fn kubernetes_version(lock: &str) -> &str {
    lock.lines()
        .find_map(|line| line.trim().strip_prefix("k8s.io/kubernetes "))
        .unwrap_or("v0.0.0")
        .trim()
}

/// One link of Kubernetes takes about 2 GiB: never more at once than fit into memory.
fn parallel() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let meminfo = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let available_kib: Option<usize> = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))
        .and_then(|rest| rest.trim().trim_end_matches(" kB").parse().ok());
    available_kib.map_or(cores, |kib| cores.min(kib / (2 << 20)).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kubernetes_binaries_carry_the_version_of_the_lock() {
        let flags = link_flags(
            Stamp::KubernetesVersion,
            "require (\n\tk8s.io/kubernetes v1.35.8\n)\n",
        );
        assert!(
            flags.contains("-X k8s.io/client-go/pkg/version.gitVersion=v1.35.8"),
            "{flags}"
        );
        assert!(
            flags.contains("-X k8s.io/component-base/version.gitMinor=35"),
            "{flags}"
        );
        assert_eq!(link_flags(Stamp::Nothing, ""), "-s -w");
    }
}
