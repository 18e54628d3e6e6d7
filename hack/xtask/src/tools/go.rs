//! Is there a Go toolchain that can build what `go.mod` asks for?

use std::path::{Path, PathBuf};
use std::process::Command;

use super::Toolchain;

/// No usable Go toolchain on this machine: what needs it is skipped, by name.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum NoGo {
    #[error(
        "no Go toolchain: `go` is not on the PATH; install Go {needed} or newer (https://go.dev/dl)"
    )]
    Absent { needed: String },
    #[error(
        "no Go toolchain: found Go {found}, but {needed} or newer is needed; install it (https://go.dev/dl)"
    )]
    TooOld { found: String, needed: String },
}

/// The `go` command, fit for the go.mod in `folder`.
pub(super) fn find(folder: &Path, toolchain: Toolchain) -> Result<PathBuf, super::Error> {
    let lock = std::fs::read_to_string(folder.join("go.mod")).map_err(anyhow::Error::from)?;
    let needed = match toolchain {
        Toolchain::Local => wanted(&lock).unwrap_or("1").to_owned(),
        // The first one that fetches others.
        Toolchain::Fetched => "1.21".to_owned(),
    };
    let said = Command::new("go")
        .args(["env", "GOVERSION"])
        .env("GOTOOLCHAIN", "local")
        .current_dir(std::env::temp_dir())
        .output();
    match said {
        Ok(answer) if answer.status.success() => {
            judge(String::from_utf8_lossy(&answer.stdout).trim(), &needed)?;
            Ok(PathBuf::from("go"))
        }
        _ => Err(NoGo::Absent { needed }.into()),
    }
}

fn judge(said: &str, needed: &str) -> Result<(), NoGo> {
    let found = said.strip_prefix("go").unwrap_or(said);
    if numbers(found) >= numbers(needed) {
        return Ok(());
    }
    Err(NoGo::TooOld {
        found: found.to_owned(),
        needed: needed.to_owned(),
    })
}

/// The version on the `go` line.
fn wanted(lock: &str) -> Option<&str> {
    lock.lines()
        .find_map(|line| line.strip_prefix("go "))
        .map(str::trim)
}

/// `1.26.8` → [1, 26, 8]; what follows a number (`rc1`, ` X:…`) does not matter here.
fn numbers(version: &str) -> Vec<u32> {
    version
        .split('.')
        .map(|part| {
            part.chars()
                .take_while(char::is_ascii_digit)
                .collect::<String>()
        })
        .map_while(|digits| digits.parse().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newer_go_is_taken_and_an_older_one_is_named() {
        assert_eq!(judge("go1.26.8", "1.26"), Ok(()));
        assert_eq!(judge("go1.27rc1", "1.26"), Ok(()));
        assert_eq!(judge("go2.0", "1.26.1"), Ok(()));
        let refused = judge("go1.9.7", "1.26").unwrap_err();
        assert!(
            refused
                .to_string()
                .starts_with("no Go toolchain: found Go 1.9.7, but 1.26"),
            "{refused}"
        );
    }

    #[test]
    fn the_needed_version_is_the_one_on_the_go_line() {
        assert_eq!(
            wanted("module x\n\ngo 1.26\n\ngodebug default=go1.25\n"),
            Some("1.26")
        );
    }
}
