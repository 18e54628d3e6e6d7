//! Where is a built tool kept, and when may it be used again?
//!
//! `<cache>/<tool>/<hash of lock and sources>`: filled by one process at a time (file lock), through a temporary folder
//! and a rename, so an entry is whole or absent. An entry that lost a binary, or whose binary was cut short, is rebuilt.

use std::fmt::Write;
use std::fs::{self, File, TryLockError};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::progress::Step;

/// Written last into an entry: one line per binary, name and size.
const CONTENTS: &str = "contents";

/// `${JOINER_CACHE:-${XDG_CACHE_HOME:-~/.cache}/joiner}`.
pub fn root() -> Result<PathBuf> {
    root_from(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
        .context("no place for the cache: set JOINER_CACHE, or HOME")
}

fn root_from(env: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let own = env("JOINER_CACHE").map(PathBuf::from);
    let shared = || {
        env("XDG_CACHE_HOME")
            .map(PathBuf::from)
            .or_else(|| Some(PathBuf::from(env("HOME")?).join(".cache")))
    };
    own.or_else(|| Some(shared()?.join("joiner")))
}

/// The files that decide what is built, sorted: lock first, then our own sources.
pub(super) fn inputs(group: &Path, sources: Option<&str>) -> Result<Vec<(String, Vec<u8>)>> {
    let mut paths = vec![group.join("go.mod"), group.join("go.sum")];
    if let Some(folder) = sources {
        let mut own = Vec::new();
        for entry in
            fs::read_dir(group.join(folder)).with_context(|| format!("sources of {folder}"))?
        {
            own.push(entry?.path());
        }
        own.retain(|path| path.extension().is_some_and(|kind| kind == "go"));
        own.sort();
        paths.extend(own);
    }
    let named = |path: PathBuf| {
        let content = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok((
            path.file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
            content,
        ))
    };
    paths.into_iter().map(named).collect()
}

/// A name for exactly these inputs on this kind of machine (FNV-1a, 128 bits: no adversary, only accidents).
pub(super) fn hash(files: &[(String, Vec<u8>)], packages: &[&str]) -> String {
    let mut state: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    let mut eat = |bytes: &[u8]| {
        for &byte in bytes.len().to_le_bytes().iter().chain(bytes) {
            state =
                (state ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        }
    };
    for (name, content) in files {
        eat(name.as_bytes());
        eat(content);
    }
    for package in packages {
        eat(package.as_bytes());
    }
    eat(std::env::consts::ARCH.as_bytes());
    format!("{state:032x}")
}

/// Does the entry hold every binary, executable and as long as it was when built?
pub(super) fn is_whole(entry: &Path, binaries: &[&str]) -> bool {
    let Ok(contents) = fs::read_to_string(entry.join(CONTENTS)) else {
        return false;
    };
    binaries.iter().all(|name| {
        let line = fs::metadata(entry.join(name))
            .ok()
            .filter(|meta| meta.is_file() && meta.permissions().mode() & 0o100 != 0)
            .map(|meta| format!("{name} {}", meta.len()));
        line.is_some_and(|line| contents.lines().any(|written| written == line))
    })
}

/// Fills the entry unless another process does so first. `build` gets an empty folder.
pub(super) fn fill(
    entry: &Path,
    binaries: &[&str],
    build: impl FnOnce(&Path) -> Result<()>,
) -> Result<()> {
    let home = entry.parent().context("a cache entry has a parent")?;
    fs::create_dir_all(home)
        .with_context(|| format!("cannot create the cache {}", home.display()))?;
    let _held = lock(&home.join(".lock"), home)?;
    if is_whole(entry, binaries) {
        return Ok(()); // built while we waited
    }
    let scratch = home.join(".building"); // ours alone while we hold the lock; a leftover is from a killed build
    remove(&scratch)?;
    fs::create_dir_all(&scratch)?;
    build(&scratch).inspect_err(|_| drop(remove(&scratch)))?;

    let mut contents = String::new();
    for name in binaries {
        let size = fs::metadata(scratch.join(name))
            .with_context(|| format!("the build made no {name}"))?
            .len();
        let _ = writeln!(contents, "{name} {size}");
    }
    fs::write(scratch.join(CONTENTS), contents)?;
    remove(entry)?;
    fs::rename(&scratch, entry)
        .with_context(|| format!("cannot move the build to {}", entry.display()))
}

fn lock(path: &Path, home: &Path) -> Result<File> {
    let file = File::create(path).with_context(|| format!("cannot open {}", path.display()))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let step = Step::start(format!(
                "waiting for another process that builds into {}",
                home.display()
            ));
            file.lock()?;
            step.done();
        }
        Err(TryLockError::Error(error)) => {
            return Err(error).with_context(|| format!("cannot lock {}", path.display()));
        }
    }
    Ok(file)
}

fn remove(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", folder.display()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Scratch(PathBuf);
    impl Scratch {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir()
                .join(format!("joiner-cache-test-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            Self(path)
        }
    }
    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn built(into: &Path, text: &str) -> Result<()> {
        fs::write(into.join("tool"), text)?;
        Ok(fs::set_permissions(
            into.join("tool"),
            fs::Permissions::from_mode(0o755),
        )?)
    }

    #[test]
    fn the_cache_is_where_the_environment_says() {
        let with = |pairs: &'static [(&str, &str)]| {
            root_from(move |name| {
                pairs
                    .iter()
                    .find(|(key, _)| *key == name)
                    .map(|(_, value)| (*value).to_owned())
            })
        };
        assert_eq!(
            with(&[("JOINER_CACHE", "/a"), ("HOME", "/h")]),
            Some("/a".into())
        );
        assert_eq!(
            with(&[("XDG_CACHE_HOME", "/x"), ("HOME", "/h")]),
            Some("/x/joiner".into())
        );
        assert_eq!(with(&[("HOME", "/h")]), Some("/h/.cache/joiner".into()));
        assert_eq!(with(&[]), None);
    }

    #[test]
    fn a_changed_source_or_lock_gets_another_entry() {
        let one = hash(
            &[
                ("go.mod".into(), b"a".to_vec()),
                ("go.sum".into(), b"b".to_vec()),
            ],
            &["p"],
        );
        let moved = hash(
            &[
                ("go.mod".into(), b"ab".to_vec()),
                ("go.sum".into(), b"".to_vec()),
            ],
            &["p"],
        );
        let other = hash(
            &[
                ("go.mod".into(), b"a".to_vec()),
                ("go.sum".into(), b"b".to_vec()),
            ],
            &["q"],
        );
        assert!(one != moved && one != other, "{one} {moved} {other}");
    }

    #[test]
    fn a_whole_entry_is_not_built_again_and_a_damaged_one_is() {
        let scratch = Scratch::new("damaged");
        let entry = scratch.0.join("hash");
        fill(&entry, &["tool"], |into| built(into, "first")).unwrap();
        fill(&entry, &["tool"], |_| panic!("built twice")).unwrap();

        fs::write(entry.join("tool"), "cut").unwrap();
        fill(&entry, &["tool"], |into| built(into, "second")).unwrap();
        assert_eq!(fs::read_to_string(entry.join("tool")).unwrap(), "second");

        fs::set_permissions(entry.join("tool"), fs::Permissions::from_mode(0o644)).unwrap();
        assert!(
            !is_whole(&entry, &["tool"]),
            "a binary that cannot be run is no binary"
        );
    }

    #[test]
    fn a_failed_build_leaves_no_entry() {
        let scratch = Scratch::new("failed");
        let entry = scratch.0.join("hash");
        let error = fill(&entry, &["tool"], |into| {
            built(into, "half")?;
            anyhow::bail!("compiler said no")
        });
        assert_eq!(error.unwrap_err().to_string(), "compiler said no");
        assert!(!entry.exists());
        let left: Vec<_> = fs::read_dir(&scratch.0)
            .unwrap()
            .map(|e| e.unwrap().file_name())
            .collect();
        assert_eq!(left, [".lock"]);
    }

    #[test]
    fn a_second_builder_waits_and_finds_the_work_done() {
        let scratch = Scratch::new("second");
        let entry = scratch.0.join("hash");
        let (inside, entered) = std::sync::mpsc::channel();
        let (go_on, told) = std::sync::mpsc::channel::<()>();
        std::thread::scope(|scope| {
            let first = entry.clone();
            scope.spawn(move || {
                fill(&first, &["tool"], |into| {
                    inside.send(()).unwrap();
                    told.recv().unwrap();
                    built(into, "first")
                })
                .unwrap();
            });
            entered.recv().unwrap();
            let second = entry.clone();
            let waiting = scope.spawn(move || fill(&second, &["tool"], |_| panic!("built twice")));
            go_on.send(()).unwrap();
            waiting.join().unwrap().unwrap();
        });
    }
}
