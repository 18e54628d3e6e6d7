//! Do the source files keep the house rules: door signs, lengths, names?

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// Lines of one file before its tests; files that are tests may be longer.
const FILE_LINES: usize = 400;
const FUNCTION_LINES: usize = 60;

/// Files that may be longer, with the reason.
const LONG: &[(&str, &str)] = &[];

/// Functions that may be longer, with the reason.
const LONG_FUNCTIONS: &[(&str, &str, &str)] = &[
    (
        "operator/src/explain.rs",
        "sentence",
        "one arm per fact, and none may be missing",
    ),
    (
        "operator/src/run.rs",
        "lead",
        "everything that leads is put together in one place",
    ),
    (
        "emulators/examples/crowd.rs",
        "main",
        "one measurement, told in order",
    ),
    (
        "operator/planner/examples/solve.rs",
        "headline",
        "one workload, told in order",
    ),
    (
        "hack/xtask/src/bench/schedule/check.rs",
        "opened",
        "one check per line",
    ),
];

const DRAWERS: &[&str] = &[
    "utils", "util", "helpers", "helper", "common", "manager", "process", "data", "info", "misc",
];

/// One tracked source file.
pub struct Source {
    pub path: String,
    pub text: String,
}

/// The Rust and Go files that git knows or would add.
pub fn tracked(root: &Path) -> Result<Vec<Source>> {
    let out = Command::new("git")
        .args([
            "ls-files",
            "--cached",
            "--others",
            "--exclude-standard",
            "*.rs",
            "*.go",
        ])
        .current_dir(root)
        .output()
        .context("running git ls-files")?;
    ensure!(
        out.status.success(),
        "git ls-files: {}",
        String::from_utf8_lossy(&out.stderr)
    );
    let names = String::from_utf8(out.stdout).context("file names are not UTF-8")?;
    let files = names.lines().filter(|name| root.join(name).exists());
    files
        .map(|name| {
            let text =
                fs::read_to_string(root.join(name)).with_context(|| format!("reading {name}"))?;
            Ok(Source {
                path: name.to_owned(),
                text,
            })
        })
        .collect()
}

pub fn untidy(files: &[Source]) -> Vec<String> {
    files
        .iter()
        .flat_map(|file| {
            [sign(file), drawer(file), length(file)]
                .into_iter()
                .flatten()
                .chain(functions(file))
        })
        .collect()
}

fn sign(file: &Source) -> Option<String> {
    let wanted = if is_rust(file) { "//! " } else { "// " };
    (!file.text.starts_with(wanted)).then(|| {
        format!(
            "{}: no door sign; begin the file with `{wanted}` and the question it answers",
            file.path
        )
    })
}

fn drawer(file: &Source) -> Option<String> {
    let mut parts = file
        .path
        .trim_end_matches(".rs")
        .trim_end_matches(".go")
        .split('/');
    let found = parts.find(|part| DRAWERS.contains(part))?;
    Some(format!(
        "{}: `{found}` is a drawer, not a name; say what is inside",
        file.path
    ))
}

fn length(file: &Source) -> Option<String> {
    let lines = before_tests(file).lines().count();
    let excused = LONG.iter().any(|(path, _)| *path == file.path);
    (lines > FILE_LINES && !excused)
        .then(|| format!("{}: {lines} lines before its tests, more than {FILE_LINES}; split it by reason to change", file.path))
}

fn functions(file: &Source) -> Vec<String> {
    if !is_rust(file) {
        return Vec::new();
    }
    let lines: Vec<&str> = before_tests(file).lines().collect();
    let starts = lines
        .iter()
        .enumerate()
        .filter_map(|(at, line)| Some((at, function_name(line)?)));
    starts
        .filter_map(|(at, name)| {
            misnamed(file, at, name).or_else(|| too_long(file, &lines, at, name))
        })
        .collect()
}

fn misnamed(file: &Source, at: usize, name: &str) -> Option<String> {
    let banned = name.starts_with("do_") || name.starts_with("handle_") || DRAWERS.contains(&name);
    banned.then(|| {
        format!(
            "{}:{}: fn {name} says nothing; name what it decides or does",
            file.path,
            at + 1
        )
    })
}

/// A function ends at the first line that closes its own indentation (rustfmt guarantees there is one).
fn too_long(file: &Source, lines: &[&str], at: usize, name: &str) -> Option<String> {
    let indent = lines[at].len() - lines[at].trim_start().len();
    let end = format!("{}}}", " ".repeat(indent));
    let length = lines[at..].iter().position(|line| *line == end)? + 1;
    let excused = |(path, long, _): &(&str, &str, &str)| *path == file.path && *long == name;
    let too_long = length > FUNCTION_LINES && !LONG_FUNCTIONS.iter().any(excused);
    too_long.then(|| {
        format!(
            "{}:{}: fn {name} has {length} lines, more than {FUNCTION_LINES}",
            file.path,
            at + 1
        )
    })
}

fn function_name(line: &str) -> Option<&str> {
    let code = line.trim_start();
    let rest = [
        "fn ",
        "pub fn ",
        "pub(crate) fn ",
        "pub(super) fn ",
        "async fn ",
        "pub async fn ",
        "const fn ",
        "pub const fn ",
    ]
    .iter()
    .find_map(|prefix| code.strip_prefix(prefix))?;
    rest.split(['(', '<']).next()
}

fn before_tests(file: &Source) -> &str {
    if file.path.contains("/tests/") || file.path.ends_with("tests.rs") {
        return "";
    }
    file.text
        .split("\n#[cfg(test)]\n")
        .next()
        .unwrap_or_default()
}

fn is_rust(file: &Source) -> bool {
    Path::new(&file.path)
        .extension()
        .is_some_and(|extension| extension == "rs")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(path: &str, text: &str) -> Vec<String> {
        untidy(&[Source {
            path: path.into(),
            text: text.into(),
        }])
    }

    #[test]
    fn a_file_without_a_door_sign_is_found() {
        assert!(findings("a/src/b.rs", "fn a() {}\n")[0].contains("no door sign"));
        assert!(findings("a/src/b.rs", "//! Why?\n").is_empty());
    }

    #[test]
    fn a_drawer_is_found_by_file_folder_and_function() {
        assert!(findings("a/src/utils.rs", "//! x\n")[0].contains("drawer"));
        assert!(findings("a/helpers/b.rs", "//! x\n")[0].contains("drawer"));
        assert!(findings("a/src/b.rs", "//! x\npub fn do_it() {}\n")[0].contains("fn do_it"));
    }

    #[test]
    fn a_long_file_is_found_but_its_tests_do_not_count() {
        let body = "//! x\n".to_owned() + &"// y\n".repeat(400);
        assert!(findings("a/src/b.rs", &body)[0].contains("401 lines"));
        let tested = "//! x\n\n#[cfg(test)]\n".to_owned() + &"// y\n".repeat(400);
        assert!(findings("a/src/b.rs", &tested).is_empty());
    }

    #[test]
    fn a_long_function_is_found() {
        let body = format!(
            "//! x\npub fn long() {{\n{}}}\n",
            "    work();\n".repeat(60)
        );
        assert!(findings("a/src/b.rs", &body)[0].contains("fn long has 62 lines"));
    }
}
