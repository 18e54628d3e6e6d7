//! Where is each file of a cluster?
//!
//! All of them are below `<cache>/clusters/<name>`, except the nodes' scratch folders: sockets live there, and a socket's
//! path must be short. Both folders are removed together.

use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::pki::{Pair, Pki};

#[derive(Debug, Clone)]
pub(super) struct Files {
    pub(super) home: PathBuf,
    pub(super) scratch: PathBuf,
}

impl Files {
    pub(super) fn create_folders(&self) -> Result<()> {
        for folder in [
            self.home.join("log"),
            self.home.join("etcd"),
            self.scratch.clone(),
        ] {
            fs::create_dir_all(&folder)
                .with_context(|| format!("cannot create {}", folder.display()))?;
        }
        Ok(())
    }

    pub(super) fn pki(&self, name: &str) -> String {
        self.home.join("pki").join(name).display().to_string()
    }

    pub(super) fn kubeconfig(&self, who: &str) -> PathBuf {
        self.home.join(format!("{who}.kubeconfig"))
    }

    pub(super) fn log(&self, part: &str) -> PathBuf {
        self.home.join("log").join(format!("{part}.log"))
    }

    pub(super) fn etcd(&self) -> PathBuf {
        self.home.join("etcd")
    }

    pub(super) fn audit_log(&self) -> PathBuf {
        self.home.join("audit.log")
    }

    pub(super) fn audit_policy(&self) -> PathBuf {
        self.home.join("audit-policy.yaml")
    }

    /// The last lines of a part's log: what it said before it died.
    pub(super) fn last_lines(&self, part: &str, count: usize) -> String {
        let bytes = fs::read(self.log(part)).unwrap_or_default();
        let log = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(count)..].join("\n")
    }

    pub(super) fn write_kubeconfigs(&self, pki: &Pki, server: &str) -> Result<()> {
        for (who, pair) in [
            ("admin", &pki.admin),
            ("controllers", &pki.controllers),
            ("scheduler", &pki.scheduler),
        ] {
            write_private(
                &self.kubeconfig(who),
                &kubeconfig(server, &pki.ca, Credential::Certificate(pair)),
            )?;
        }
        Ok(())
    }
}

/// How a kubeconfig proves who it speaks for.
#[derive(Debug, Clone, Copy)]
pub enum Credential<'a> {
    Certificate(&'a Pair),
    Token(&'a str),
}

/// A kubeconfig with everything inside, no file references.
pub fn kubeconfig(server: &str, ca: &str, credential: Credential<'_>) -> String {
    let user = match credential {
        Credential::Certificate(pair) => {
            format!(
                "client-certificate-data: {}\n    client-key-data: {}",
                base64(&pair.certificate),
                base64(&pair.key)
            )
        }
        Credential::Token(token) => format!("token: {token:?}"),
    };
    format!(
        "apiVersion: v1
kind: Config
clusters:
- name: local
  cluster:
    server: {server}
    certificate-authority-data: {ca}
users:
- name: user
  user:
    {user}
contexts:
- name: local
  context: {{cluster: local, user: user}}
current-context: local
",
        ca = base64(ca)
    )
}

pub fn base64(text: &str) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(text)
}

/// Writes a file nobody else may read.
pub(super) fn write_private(path: &Path, content: &str) -> Result<()> {
    let written = || {
        let mut file = fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(path)?;
        file.write_all(content.as_bytes())
    };
    written().with_context(|| format!("cannot write {}", path.display()))
}
