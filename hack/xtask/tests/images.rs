//! Can every program of ours become an image, as far as can be told without a container runtime?
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Programs for contributors, which nobody runs in a cluster: `cargo xtask` starts them.
const AT_HOME: [&str; 3] = ["xtask", "joiner-demo", "joiner-sim"];

fn programs() -> Vec<(String, String)> {
    let said = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version=1", "--offline"])
        .current_dir(xtask::root())
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&said.stdout).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let mut found = Vec::new();
    for package in metadata["packages"].as_array().unwrap() {
        for target in package["targets"].as_array().unwrap() {
            let name = text(&target["name"]);
            if target["kind"][0] == "bin" && !AT_HOME.contains(&name.as_str()) {
                found.push((text(&package["name"]), name));
            }
        }
    }
    assert!(found.len() >= 3, "{found:?}");
    found
}

fn file(program: &str) -> PathBuf {
    xtask::root().join(format!("hack/images/{program}.Containerfile"))
}

/// Instructions with their arguments; continued lines are one.
fn instructions(program: &str) -> Vec<(String, String)> {
    let text = fs::read_to_string(file(program)).unwrap_or_else(|error| {
        panic!(
            "{program} has no Containerfile ({}): {error}",
            file(program).display()
        )
    });
    let joined = text.replace("\\\n", " ");
    let lines = joined
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let (word, rest) = line.split_once(' ').unwrap();
            (word.to_owned(), rest.trim().to_owned())
        })
        .collect()
}

fn all<'a>(of: &'a [(String, String)], word: &'a str) -> impl Iterator<Item = &'a str> {
    of.iter()
        .filter(move |(own, _)| own == word)
        .map(|(_, rest)| rest.as_str())
}

#[test]
fn every_program_is_built_and_started_by_its_containerfile() {
    for (package, program) in programs() {
        let said = instructions(&program);
        let build = all(&said, "RUN").next().unwrap();
        assert!(
            build.contains(&format!("--package {package} --bin {program} ")),
            "{build}"
        );
        assert!(build.contains("--locked") && build.contains("--release"));
        let started = all(&said, "ENTRYPOINT").next().unwrap();
        assert_eq!(started, format!("[\"/{program}\"]"));
        let copied =
            all(&said, "COPY").any(|copy| copy.ends_with(&format!("/out/{program} /{program}")));
        assert!(copied, "{program} is not copied to where it is started");
    }
}

#[test]
fn everything_a_containerfile_copies_is_there_and_so_is_every_member_of_the_workspace() {
    let root = xtask::root();
    for (_, program) in programs() {
        let said = instructions(&program);
        let mut sources: Vec<&str> = Vec::new();
        for copy in all(&said, "COPY").filter(|copy| !copy.starts_with("--from")) {
            let words: Vec<&str> = copy.split(' ').collect();
            sources.extend(&words[..words.len() - 1]);
        }
        for source in &sources {
            assert!(
                root.join(source).exists(),
                "{program}: {source} does not exist"
            );
        }
        let manifest = fs::read_to_string(root.join("Cargo.toml")).unwrap();
        let members = manifest.split("members = [").nth(1).unwrap();
        for member in members
            .split(']')
            .next()
            .unwrap()
            .split('"')
            .skip(1)
            .step_by(2)
        {
            let top = Path::new(member).iter().next().unwrap().to_str().unwrap();
            assert!(
                sources.contains(&top),
                "{program}: cargo wants {top}, and it is not copied"
            );
        }
    }
}

#[test]
fn no_image_runs_as_root_and_none_names_a_registry() {
    for (_, program) in programs() {
        let said = instructions(&program);
        let user = all(&said, "USER").last().unwrap();
        assert!(
            user.starts_with(|first: char| ('1'..='9').contains(&first)),
            "{user}"
        );
        for base in all(&said, "FROM") {
            assert!(
                base.starts_with("${"),
                "{program}: {base} is not an argument"
            );
        }
        for argument in all(&said, "ARG") {
            let (_, default) = argument.split_once('=').unwrap();
            assert!(
                !default.contains('/'),
                "{program}: {argument} names a registry"
            );
        }
    }
}
