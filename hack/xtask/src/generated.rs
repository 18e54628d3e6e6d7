//! Which files are written by code, and do those on disk still say what the code says?

mod install;
pub mod reference;
mod roles;
mod tables;
mod workloads;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use crds::admission::validating_webhook;
use crds::generate;
use serde::Serialize;

use reference::Reference;

/// One generated file: its path below the root and its whole text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    pub path: PathBuf,
    pub text: String,
}

/// Folders in which nothing lies that code did not write.
const FOLDERS: [&str; 3] = ["crds/generated", "docs/reference", "examples/install"];

/// Every generated file, as it should be now.
pub fn files(said: &Reference) -> Vec<File> {
    let mut files: Vec<File> = generate::all()
        .iter()
        .map(|crd| manifest(crd.metadata.name.as_deref(), crd))
        .collect();
    files.push(manifest(Some("validating-webhook"), &validating_webhook()));
    files.extend(tables::pages(said));
    files.push(install::manifest(&said.grants));
    files
}

fn manifest(name: Option<&str>, object: &impl Serialize) -> File {
    File {
        path: Path::new("crds/generated").join(format!("{}.yaml", name.unwrap_or_default())),
        text: generate::to_yaml(object),
    }
}

/// Which of `wanted` are missing below `root` or differ, and which files lie in a generated folder without being wanted.
pub fn stale(root: &Path, wanted: &[File]) -> Vec<String> {
    let mut findings: Vec<String> = wanted
        .iter()
        .filter(|file| {
            fs::read_to_string(root.join(&file.path)).ok().as_deref() != Some(&file.text)
        })
        .map(|file| format!("{}: stale; run `cargo xtask gen`", file.path.display()))
        .collect();
    findings.extend(leftovers(root, wanted).into_iter().map(|path| {
        format!(
            "{}: no code generates it; run `cargo xtask gen`",
            path.display()
        )
    }));
    findings
}

pub fn run(check: bool) -> Result<()> {
    let (root, wanted) = (crate::root(), files(&Reference::of_a_fresh_build()?));
    let stale = stale(&root, &wanted);
    if check && !stale.is_empty() {
        bail!("{}", stale.join("\n"));
    }
    for path in leftovers(&root, &wanted) {
        fs::remove_file(root.join(&path))
            .with_context(|| format!("removing {}", path.display()))?;
    }
    for file in &wanted {
        write(&root.join(&file.path), &file.text)?;
    }
    println!("{} generated files, {} changed", wanted.len(), stale.len());
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
    }
    fs::write(path, text).with_context(|| format!("writing {}", path.display()))
}

fn leftovers(root: &Path, wanted: &[File]) -> Vec<PathBuf> {
    let inside = |folder: &str| -> Vec<PathBuf> {
        let entries = fs::read_dir(root.join(folder)).into_iter().flatten();
        // The schemas of `joiner plan` are kept fresh by a test of the operator.
        let schema = |path: &Path| path.extension().is_some_and(|what| what == "json");
        let files = entries.flatten().filter(|entry| !schema(&entry.path()));
        files
            .map(|entry| Path::new(folder).join(entry.file_name()))
            .collect()
    };
    let mut paths: Vec<PathBuf> = FOLDERS.iter().flat_map(|folder| inside(folder)).collect();
    paths.retain(|path| wanted.iter().all(|file| &file.path != path));
    paths.sort();
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generated_files_of_this_checkout_are_fresh() {
        let said = Reference::as_built().unwrap();
        assert_eq!(stale(&crate::root(), &files(&said)), Vec::<String>::new());
    }

    #[test]
    fn a_file_that_was_edited_by_hand_is_stale() {
        let root = std::env::temp_dir().join(format!("joiner-stale-{}", std::process::id()));
        let wanted = [File {
            path: "crds/generated/x.yaml".into(),
            text: "a: 1\n".into(),
        }];
        write(&root.join(&wanted[0].path), "a: 2\n").unwrap();
        let findings = stale(&root, &wanted);
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(
            findings,
            ["crds/generated/x.yaml: stale; run `cargo xtask gen`"]
        );
    }

    #[test]
    fn a_file_that_no_code_generates_any_more_is_found() {
        let root = std::env::temp_dir().join(format!("joiner-leftover-{}", std::process::id()));
        write(&root.join("crds/generated/old.yaml"), "").unwrap();
        let findings = stale(&root, &[]);
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(
            findings,
            ["crds/generated/old.yaml: no code generates it; run `cargo xtask gen`"]
        );
    }
}
