//! What does the API server answer? (Asked with the kubectl of the same build.)

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// A kubectl command that reads and leaves nothing in the user's home.
pub(super) fn command(kubectl: &Path, kubeconfig: &Path) -> Command {
    let cache = kubeconfig.with_file_name("kubectl-cache");
    let mut command = Command::new(kubectl);
    command
        .arg(format!("--kubeconfig={}", kubeconfig.display()))
        .arg(format!("--cache-dir={}", cache.display()))
        .env("KUBERC", "off") // the user's own kubectl preferences
        .env_remove("KUBECONFIG")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// The JSON below an API path, e.g. `/api/v1/nodes`.
pub(super) fn get(kubectl: &Path, kubeconfig: &Path, path: &str) -> Result<serde_json::Value> {
    let answer = command(kubectl, kubeconfig)
        .args(["get", "--request-timeout=5s", "--raw", path])
        .output()?;
    if !answer.status.success() {
        bail!(
            "GET {path}: {}",
            String::from_utf8_lossy(&answer.stderr).trim()
        );
    }
    serde_json::from_slice(&answer.stdout).with_context(|| format!("GET {path}: no JSON"))
}

/// Applies a YAML stream, server side.
pub(super) fn apply(kubectl: &Path, kubeconfig: &Path, yaml: &str) -> Result<()> {
    let mut child = command(kubectl, kubeconfig)
        .args([
            "apply",
            "--server-side",
            "--force-conflicts",
            "--validate=false",
            "-f",
            "-",
        ])
        .stdin(Stdio::piped())
        .spawn()
        .context("cannot start kubectl")?;
    child
        .stdin
        .take()
        .context("kubectl has a stdin")?
        .write_all(yaml.as_bytes())?;
    let answer = child.wait_with_output()?;
    if !answer.status.success() {
        bail!(
            "kubectl apply: {}",
            String::from_utf8_lossy(&answer.stderr).trim()
        );
    }
    Ok(())
}

/// (ready, all) of a NodeList.
pub(super) fn count_ready(nodes: &serde_json::Value) -> (usize, usize) {
    let all = nodes["items"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    (all.iter().filter(|node| is_ready(node)).count(), all.len())
}

pub(super) fn is_ready(node: &serde_json::Value) -> bool {
    let conditions = node["status"]["conditions"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    conditions
        .iter()
        .any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
}
