//! How are processes started so that none survives its owner?
//!
//! A small program, `keeper`, starts them on our request. While we live we hold the pipe to its stdin; when we die, in
//! whatever way, the pipe closes and keeper kills its children and removes the cluster's folders.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use super::pid::Pid;

/// A process to start.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Launch {
    pub(super) name: String,
    pub(super) argv: Vec<String>,
    pub(super) log: PathBuf,
    pub(super) ready: Option<Probe>,
}

/// The address that answers 200 once the process is ready.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Probe {
    pub(super) url: String,
    pub(super) ca: String,
    pub(super) cert: String,
    pub(super) key: String,
    pub(super) within_millis: u64,
}

/// What is known about a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    Asked,
    Running {
        pid: u32,
    },
    Ready {
        pid: u32,
    },
    /// It runs, but does not answer its probe.
    Late {
        pid: u32,
        said: String,
    },
    Refused {
        said: String,
    },
    Exited {
        said: String,
    },
}

pub(super) struct Keeper {
    child: Child,
    orders: Mutex<Option<ChildStdin>>,
    board: Arc<Board>,
    pub(super) pid: Pid,
}

#[derive(Serialize)]
#[serde(tag = "do", rename_all = "lowercase")]
enum Order<'a> {
    Start(&'a Launch),
    #[serde(rename_all = "camelCase")]
    Stop {
        name: &'a str,
        grace_millis: u128,
    },
    Stay,
    End,
}

impl Keeper {
    /// `sweep`: the folders to remove when all is over.
    pub(super) fn start(binary: &Path, sweep: &[&Path], log: &Path) -> Result<Self> {
        let folders: Vec<String> = sweep
            .iter()
            .map(|folder| folder.display().to_string())
            .collect();
        let mut child = Command::new(binary)
            .arg(format!("-sweep={}", folders.join(",")))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(log)?)
            .spawn()
            .with_context(|| format!("cannot start {}", binary.display()))?;
        let (orders, events) = (
            child.stdin.take(),
            child.stdout.take().context("keeper has a stdout")?,
        );
        let board = Arc::new(Board::default());
        let written = Arc::clone(&board);
        std::thread::spawn(move || written.follow(events));
        let pid = Pid::of(child.id()).context("keeper died at once")?;
        Ok(Self {
            child,
            orders: Mutex::new(orders),
            board,
            pid,
        })
    }

    pub(super) fn launch(&self, launch: &Launch) -> Result<()> {
        lock(&self.board.notes)
            .parts
            .insert(launch.name.clone(), Part::Asked);
        self.order(&Order::Start(launch))
    }

    pub(super) fn part(&self, name: &str) -> Option<Part> {
        lock(&self.board.notes).parts.get(name).cloned()
    }

    pub(super) fn parts(&self) -> BTreeMap<String, Part> {
        lock(&self.board.notes).parts.clone()
    }

    /// Waits until `enough` says something about the named process.
    pub(super) fn until<T>(
        &self,
        name: &str,
        within: Duration,
        enough: impl Fn(&Part) -> Option<T>,
    ) -> Result<T> {
        let deadline = Instant::now() + within;
        let mut notes = lock(&self.board.notes);
        loop {
            let seen = notes
                .parts
                .get(name)
                .with_context(|| format!("{name} was never started"))?;
            if let Some(answer) = enough(seen) {
                return Ok(answer);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if notes.gone || left.is_zero() {
                let why = if notes.gone {
                    "keeper ended"
                } else {
                    "the time is up"
                };
                bail!("waiting for {name}: {why}, last seen {seen:?}");
            }
            notes = self
                .board
                .changed
                .wait_timeout(notes, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    /// Asks a process to end, kills it after `grace`, and waits until it is gone.
    pub(super) fn stop(&self, name: &str, grace: Duration) -> Result<()> {
        if !matches!(
            self.part(name),
            Some(Part::Running { .. } | Part::Ready { .. } | Part::Late { .. } | Part::Asked)
        ) {
            return Ok(());
        }
        self.order(&Order::Stop {
            name,
            grace_millis: grace.as_millis(),
        })?;
        self.until(name, grace + Duration::from_secs(10), |part| {
            matches!(part, Part::Exited { .. } | Part::Refused { .. }).then_some(())
        })
    }

    /// From now on the keeper outlives us.
    pub(super) fn stay(&self) -> Result<()> {
        self.order(&Order::Stay)?;
        let deadline = Instant::now() + Duration::from_secs(10);
        let mut notes = lock(&self.board.notes);
        while !notes.staying {
            let left = deadline.saturating_duration_since(Instant::now());
            if notes.gone || left.is_zero() {
                bail!("keeper did not agree to stay");
            }
            notes = self
                .board
                .changed
                .wait_timeout(notes, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        drop(lock(&self.orders).take());
        Ok(())
    }

    fn order(&self, order: &Order<'_>) -> Result<()> {
        let mut line = serde_json::to_string(order)?;
        line.push('\n');
        let mut orders = lock(&self.orders);
        let pipe = orders
            .as_mut()
            .context("this cluster is no longer ours to command")?;
        pipe.write_all(line.as_bytes())
            .context("keeper is gone; its processes are, too")
    }
}

/// Kills all, sweeps, and waits until that is done. Does nothing after [`Keeper::stay`].
impl Drop for Keeper {
    fn drop(&mut self) {
        if self.order(&Order::End).is_ok() {
            drop(lock(&self.orders).take());
            let _ = self.child.wait();
        }
    }
}

#[derive(Default)]
struct Board {
    notes: Mutex<Notes>,
    changed: Condvar,
}

#[derive(Default)]
struct Notes {
    parts: BTreeMap<String, Part>,
    staying: bool,
    gone: bool,
}

#[derive(Deserialize)]
struct Event {
    #[serde(rename = "event")]
    what: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    pid: u32,
    #[serde(default)]
    said: String,
}

impl Board {
    fn follow(&self, events: ChildStdout) {
        for line in BufReader::new(events).lines().map_while(Result::ok) {
            if let Ok(event) = serde_json::from_str(&line) {
                lock(&self.notes).take(event);
                self.changed.notify_all();
            }
        }
        lock(&self.notes).gone = true;
        self.changed.notify_all();
    }
}

impl Notes {
    fn take(&mut self, event: Event) {
        let known = match self.parts.get(&event.name) {
            Some(Part::Running { pid } | Part::Ready { pid } | Part::Late { pid, .. }) => *pid,
            _ => event.pid,
        };
        let part = match event.what.as_str() {
            "started" => Part::Running { pid: event.pid },
            "ready" => Part::Ready { pid: known },
            "late" => Part::Late {
                pid: known,
                said: event.said,
            },
            "refused" => Part::Refused { said: event.said },
            "exited" => Part::Exited { said: event.said },
            "staying" => {
                self.staying = true;
                return;
            }
            _ => return,
        };
        self.parts.insert(event.name, part);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
