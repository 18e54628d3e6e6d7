//! What does `joiner reference --json` say about the program it was built from?

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

/// The answer; a field we do not know is a mistake on either side.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reference {
    pub grants: Vec<Grant>,
    pub flags: Vec<Flag>,
    pub metrics: Vec<Metric>,
    pub events: Vec<Event>,
    pub reasons: Vec<Reason>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    pub group: String,
    pub resource: String,
    pub verbs: Vec<String>,
    pub names: Vec<String>,
    pub place: Place,
    pub why: String,
}

/// Where a right holds.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Place {
    Cluster,
    Own,
    SecretNamespaces,
    Namespace(String),
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flag {
    pub flag: String,
    pub env: Option<String>,
    pub default: String,
    pub choices: Vec<String>,
    pub help: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metric {
    pub name: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub help: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    pub reason: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub about: String,
    pub when: String,
    pub fix: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reason {
    pub code: String,
    pub says: String,
    pub fix: String,
}

impl Reference {
    /// Builds the program if need be, and asks it.
    pub fn of_a_fresh_build() -> Result<Self> {
        let status = Command::new(env!("CARGO"))
            // The whole workspace, so that what tests and other commands have built is used.
            .args(["build", "--workspace", "--bins", "--locked", "--quiet"])
            .current_dir(crate::root())
            .status()
            .context("running cargo build")?;
        ensure!(
            status.success(),
            "cargo build --workspace --bins failed ({status})"
        );
        Self::as_built()
    }

    /// Asks the program that is there.
    pub fn as_built() -> Result<Self> {
        let own = std::env::current_exe()?;
        let program =
            beside(&own).with_context(|| format!("{} is in no target folder", own.display()))?;
        Self::of(&program)
    }

    fn of(program: &Path) -> Result<Self> {
        let said = Command::new(program)
            .args(["reference", "--json"])
            .output()
            .with_context(|| {
                format!(
                    "cannot run {}; build it with: cargo build --workspace --bins",
                    program.display()
                )
            })?;
        let errors = String::from_utf8_lossy(&said.stderr);
        ensure!(
            said.status.success(),
            "{} reference --json: {errors}",
            program.display()
        );
        serde_json::from_slice(&said.stdout)
            .with_context(|| format!("what {} reference --json prints", program.display()))
    }
}

/// Tests are in `target/<profile>/deps`, programs one above.
fn beside(own: &Path) -> Option<PathBuf> {
    let folder = own.parent()?;
    let profile = if folder.ends_with("deps") {
        folder.parent()?
    } else {
        folder
    };
    Some(profile.join("joiner"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_says_how_to_build_it() {
        let error = Reference::of(Path::new("/no/such/joiner")).unwrap_err();
        assert!(format!("{error:#}").contains("cargo build --workspace --bins"));
    }

    #[test]
    fn the_program_answers_with_every_table() {
        let said = Reference::as_built().unwrap();
        assert!(!said.grants.is_empty() && !said.flags.is_empty());
        assert!(!said.metrics.is_empty() && !said.events.is_empty() && !said.reasons.is_empty());
    }
}
