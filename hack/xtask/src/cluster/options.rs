//! What may be chosen about a cluster, and which choices are refused?

use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Result, bail};

use super::node::Node;

/// Records every request with its user, verb, object and answer, but no bodies.
pub const AUDIT_METADATA: &str = "apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules: [{level: Metadata}]
";

/// How a cluster is started. `Options::unnamed()` is what a test wants.
#[derive(Debug, Clone)]
pub struct Options {
    /// Its folder is `<cache>/clusters/<name>`.
    pub name: String,
    /// Nodes that must be Ready before the start counts as done.
    pub nodes: Vec<Node>,
    /// Free ports are chosen where this is `None`.
    pub api_port: Option<u16>,
    /// An audit policy turns the audit log on; see [`AUDIT_METADATA`].
    pub audit_policy: Option<String>,
    /// Appended to kube-apiserver's flags, so they win.
    pub api_server_flags: Vec<String>,
    /// Appended to kube-controller-manager's flags.
    pub controller_flags: Vec<String>,
    /// Say on stderr what each phase took.
    pub print: bool,
}

impl Options {
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            nodes: Vec::new(),
            api_port: None,
            audit_policy: None,
            api_server_flags: Vec::new(),
            controller_flags: Vec::new(),
            print: false,
        }
    }

    /// A name nobody else has: clusters of several tests and processes live side by side.
    pub fn unnamed() -> Self {
        Self::named(format!("test-{}-{}", std::process::id(), next()))
    }

    pub(super) fn check(&self) -> Result<()> {
        if !cfg!(target_os = "linux") {
            bail!(
                "a local control plane needs Linux; elsewhere use `cargo xtask e2e --world kind`"
            );
        }
        check_name(&self.name)
    }
}

/// A name becomes a folder: nothing that could lead out of the cache.
pub(super) fn check_name(name: &str) -> Result<()> {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.is_empty() || name.len() > 40 || name.starts_with('-') || !name.chars().all(allowed) {
        bail!("cluster name {name:?}: use up to 40 of a-z, 0-9 and '-', not starting with '-'");
    }
    Ok(())
}

/// A number no other cluster of this process has.
pub(super) fn next() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_lead_out_of_the_cache() {
        assert!(check_name("test-1").is_ok());
        for bad in ["", "..", "a/b", "-x", "Über", &"x".repeat(41)] {
            let error = check_name(bad).unwrap_err().to_string();
            assert!(error.contains("use up to 40"), "{error}");
        }
    }
}
