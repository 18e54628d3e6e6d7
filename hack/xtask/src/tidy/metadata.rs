//! Which packages does cargo see in this workspace, and which depends on which?

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
pub struct Metadata {
    pub packages: Vec<Package>,
    pub workspace_members: Vec<String>,
    pub resolve: Resolve,
}

#[derive(Debug, Deserialize)]
pub struct Package {
    pub id: String,
    pub name: String,
}

#[derive(Debug, Deserialize)]
pub struct Resolve {
    pub nodes: Vec<Node>,
}

#[derive(Debug, Deserialize)]
pub struct Node {
    pub id: String,
    pub deps: Vec<Edge>,
}

#[derive(Debug, Deserialize)]
pub struct Edge {
    pub pkg: String,
}

pub fn read(root: &Path) -> Result<Metadata> {
    let out = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version=1",
            "--locked",
            "--filter-platform=x86_64-unknown-linux-gnu",
        ])
        .current_dir(root)
        .output()
        .context("running cargo metadata")?;
    ensure!(
        out.status.success(),
        "cargo metadata: {}",
        String::from_utf8_lossy(&out.stderr)
    );
    serde_json::from_slice(&out.stdout).context("reading cargo metadata")
}

impl Metadata {
    pub fn name<'a>(&'a self, id: &'a str) -> &'a str {
        self.packages
            .iter()
            .find(|package| package.id == id)
            .map_or(id, |package| &package.name)
    }

    /// Edges between workspace members, dev-dependencies included: (from, to).
    pub fn inner_edges(&self) -> BTreeSet<(String, String)> {
        let members: BTreeSet<&String> = self.workspace_members.iter().collect();
        let inner = self
            .resolve
            .nodes
            .iter()
            .filter(|node| members.contains(&node.id));
        inner
            .flat_map(|node| node.deps.iter().map(move |edge| (&node.id, &edge.pkg)))
            .filter(|(_, to)| members.contains(to))
            .map(|(from, to)| (self.name(from).to_owned(), self.name(to).to_owned()))
            .collect()
    }
}
