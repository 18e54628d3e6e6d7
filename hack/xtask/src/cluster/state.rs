//! Which clusters are on this host, and what is left of those whose owner died?
//!
//! `<cache>/clusters/<name>/state.json` says which processes belong to a cluster. It is written before the first one
//! starts and read by `down` and `status`, possibly long after the writer ended.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use super::pid::Pid;
use crate::tools::cache_root;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct State {
    pub name: String,
    pub keeper: Pid,
    pub parts: BTreeMap<String, Pid>,
    /// Folder outside `clusters/<name>` that belongs to the cluster.
    pub scratch: PathBuf,
    pub api: String,
    pub kubeconfig: PathBuf,
    pub kubectl: PathBuf,
}

impl State {
    pub(super) fn write(&self, home: &Path) -> Result<()> {
        let (file, draft) = (home.join("state.json"), home.join("state.json.new"));
        fs::write(&draft, serde_json::to_string_pretty(self)?)
            .and_then(|()| fs::rename(&draft, &file))
            .with_context(|| format!("cannot write {}", file.display()))
    }

    pub(super) fn read(home: &Path) -> Option<Self> {
        serde_json::from_str(&fs::read_to_string(home.join("state.json")).ok()?).ok()
    }

    pub fn is_running(&self) -> bool {
        self.keeper.is_alive()
    }
}

/// `<cache>/clusters`.
pub(super) fn clusters() -> Result<PathBuf> {
    Ok(cache_root()?.join("clusters"))
}

/// Held while deciding who owns a name; also keeps two starts from sweeping each other's folder.
pub(super) fn lock(clusters: &Path) -> Result<File> {
    fs::create_dir_all(clusters)
        .with_context(|| format!("cannot create {}", clusters.display()))?;
    let file = File::create(clusters.join(".lock"))?;
    file.lock()?;
    Ok(file)
}

/// Every cluster that has a state file, by name.
pub fn all() -> Result<Vec<State>> {
    let mut found: Vec<State> = folders(&clusters()?)
        .iter()
        .filter_map(|home| State::read(home))
        .collect();
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

fn folders(clusters: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(clusters)
        .into_iter()
        .flatten()
        .map_while(Result::ok);
    entries
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect()
}

/// Makes room for a cluster of that name: refuses while one runs, removes what dead ones left. Call with the lock held.
pub(super) fn claim(clusters: &Path, name: &str) -> Result<PathBuf> {
    for home in folders(clusters) {
        let running = State::read(&home).is_some_and(|state| state.is_running());
        if running && home.file_name().is_some_and(|folder| folder == name) {
            bail!(
                "cluster {name:?} is running already; see `cargo xtask cluster status`, end it with `cargo xtask cluster down --name {name}`"
            );
        }
        if !running {
            remove(&home)?;
        }
    }
    Ok(clusters.join(name))
}

/// Ends a cluster and removes its files. Only processes that are provably the cluster's are touched.
pub(super) fn end(home: &Path) -> Result<()> {
    if let Some(state) = State::read(home) {
        state.keeper.signal("TERM"); // it kills its children and sweeps
        if !state.keeper.is_gone_within(Duration::from_secs(15)) {
            state.keeper.signal("KILL"); // the kernel kills its children
        }
    }
    remove(home)
}

/// What a keeper would have done, for one that was killed itself.
fn remove(home: &Path) -> Result<()> {
    if let Some(state) = State::read(home) {
        for part in state.parts.values() {
            part.signal("KILL");
            if !part.is_gone_within(Duration::from_secs(5)) {
                bail!(
                    "process {} of cluster {:?} does not end",
                    part.pid,
                    state.name
                );
            }
        }
        // Never follow a damaged file to somebody else's folder.
        if is_scratch(&state.scratch) {
            remove_folder(&state.scratch)?;
        }
    }
    remove_folder(home)
}

/// A fresh folder for sockets; its path is short because a socket's path must be.
pub(super) fn scratch(owner: u32, number: u32) -> PathBuf {
    std::env::temp_dir().join(format!("{SCRATCH}{owner}-{number}"))
}

const SCRATCH: &str = "joiner-";

fn is_scratch(folder: &Path) -> bool {
    let named = folder
        .file_name()
        .is_some_and(|name| name.to_string_lossy().starts_with(SCRATCH));
    named && folder.parent() == Some(&std::env::temp_dir())
}

fn remove_folder(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", folder.display()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    fn state(name: &str, keeper: Pid, part: Pid) -> State {
        State {
            name: name.into(),
            keeper,
            parts: BTreeMap::from([("etcd".into(), part)]),
            scratch: scratch(std::process::id(), 0),
            api: String::new(),
            kubeconfig: PathBuf::new(),
            kubectl: PathBuf::new(),
        }
    }

    #[test]
    fn down_kills_its_own_processes_but_never_a_recycled_pid() {
        let clusters =
            std::env::temp_dir().join(format!("joiner-state-test-{}", std::process::id()));
        let home = clusters.join("x");
        fs::create_dir_all(&home).unwrap();
        let sleeper = || {
            Command::new("sleep")
                .arg("60")
                .stdout(Stdio::null())
                .spawn()
                .unwrap()
        };
        let (mut ours, mut stranger) = (sleeper(), sleeper());
        let ours_id = Pid::of(ours.id()).unwrap();
        let stranger_now = Pid::of(stranger.id()).unwrap();
        let recycled = Pid {
            started: stranger_now.started - 1,
            ..stranger_now.clone()
        };
        state("x", recycled.clone(), ours_id).write(&home).unwrap();
        // A killed child of ours stays a zombie until waited for; is_alive counts it as gone.
        end(&home).unwrap();
        assert!(stranger_now.is_alive(), "the stranger must live");
        assert!(!home.exists());
        assert!(!ours.wait().unwrap().success(), "ours was killed");
        stranger.kill().unwrap();
        stranger.wait().unwrap();
        fs::remove_dir_all(&clusters).unwrap();
    }

    #[test]
    fn only_our_own_scratch_folder_is_ever_removed() {
        assert!(is_scratch(&scratch(1, 7)));
        assert!(!is_scratch(Path::new("/home/joiner-a")));
        assert!(!is_scratch(&std::env::temp_dir()));
    }
}
