//! How does a test run one of our own programs, and what did the program say?

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::time::{Instant, sleep};
use xtask::cluster::Pid;

/// A program of this workspace, about to be started.
pub struct Binary {
    name: String,
    command: Command,
}

/// A started program. Killed when dropped; its log is shown if the test fails then.
pub struct Running {
    name: String,
    child: Child,
    log: Arc<Mutex<String>>,
}

impl Binary {
    /// Finds `target/<profile>/<name>` beside the test binary.
    pub fn named(name: &str) -> Result<Self> {
        let own = std::env::current_exe()?;
        let path = beside(&own, name)
            .with_context(|| format!("{} is in no target folder", own.display()))?;
        if !path.is_file() {
            bail!(
                "{} does not exist; build it with: cargo build --workspace --bins",
                path.display()
            );
        }
        let mut command = Command::new(path);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Ok(Self {
            name: name.to_owned(),
            command,
        })
    }

    #[must_use]
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.command.arg(arg.into());
        self
    }

    #[must_use]
    pub fn env(mut self, key: &str, value: impl Into<OsString>) -> Self {
        self.command.env(key, value.into());
        self
    }

    pub fn start(mut self) -> Result<Running> {
        let mut child = self
            .command
            .spawn()
            .with_context(|| format!("cannot start {}", self.name))?;
        let log = Arc::new(Mutex::new(String::new()));
        let pipes: [Option<Box<dyn Read + Send>>; 2] = [
            child.stdout.take().map(|pipe| Box::new(pipe) as _),
            child.stderr.take().map(|pipe| Box::new(pipe) as _),
        ];
        for pipe in pipes.into_iter().flatten() {
            let log = Arc::clone(&log);
            std::thread::spawn(move || follow(pipe, &log));
        }
        Ok(Running {
            name: self.name,
            child,
            log,
        })
    }
}

impl Running {
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Everything it printed so far, both streams.
    pub fn log(&self) -> String {
        self.log
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Waits for a line that contains `text` and returns it, e.g. to learn the port it listens on.
    pub async fn line_with(&mut self, text: &str, within: Duration) -> Result<String> {
        let deadline = Instant::now() + within;
        loop {
            let log = self.log();
            if let Some(line) = log.lines().find(|line| line.contains(text)) {
                return Ok(line.to_owned());
            }
            if let Some(status) = self.child.try_wait()? {
                bail!(
                    "{} ended ({status}) before it said {text:?}; it said:\n{}",
                    self.name,
                    self.log()
                );
            }
            if Instant::now() >= deadline {
                bail!(
                    "{} did not say {text:?} within {within:?}; it said:\n{log}",
                    self.name
                );
            }
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// Asks it to end (SIGTERM) and waits.
    pub async fn terminate(&mut self, within: Duration) -> Result<ExitStatus> {
        if let Some(pid) = Pid::of(self.child.id()) {
            pid.signal("TERM");
        }
        self.ended(within).await
    }

    /// Kills it (SIGKILL) and waits.
    pub async fn kill(&mut self) -> Result<ExitStatus> {
        self.child.kill()?;
        self.ended(Duration::from_secs(10)).await
    }

    /// Waits until it ends by itself.
    pub async fn ended(&mut self, within: Duration) -> Result<ExitStatus> {
        let deadline = Instant::now() + within;
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            if Instant::now() >= deadline {
                bail!(
                    "{} did not end within {within:?}; it said:\n{}",
                    self.name,
                    self.log()
                );
            }
            sleep(Duration::from_millis(20)).await;
        }
    }
}

impl Running {
    /// Blocks until it ends, where nothing can be awaited (in `drop`).
    pub fn wait(&mut self) -> Result<ExitStatus> {
        Ok(self.child.wait()?)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("{} said:\n{}", self.name, self.log());
        }
    }
}

fn follow(pipe: Box<dyn Read + Send>, log: &Mutex<String>) {
    let mut lines = BufReader::new(pipe);
    let mut line = Vec::new();
    while lines
        .read_until(b'\n', &mut line)
        .is_ok_and(|count| count > 0)
    {
        log.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push_str(&String::from_utf8_lossy(&line));
        line.clear();
    }
}

/// Test binaries are in `target/<profile>/deps`, examples in `examples`, programs one above.
fn beside(test: &Path, name: &str) -> Option<PathBuf> {
    let folder = test.parent()?;
    let profile = if folder.ends_with("deps") || folder.ends_with("examples") {
        folder.parent()?
    } else {
        folder
    };
    Some(profile.join(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_beside_the_test_binary() {
        assert_eq!(
            beside(Path::new("/t/debug/deps/local-12"), "joiner"),
            Some("/t/debug/joiner".into())
        );
        assert_eq!(
            beside(Path::new("/t/debug/examples/path"), "joiner"),
            Some("/t/debug/joiner".into())
        );
        assert_eq!(
            beside(Path::new("/t/debug/xtask"), "joiner"),
            Some("/t/debug/joiner".into())
        );
    }

    #[test]
    fn a_missing_program_says_how_to_build_it() {
        let error = Binary::named("no-such-program").err().unwrap().to_string();
        assert!(error.contains("cargo build --workspace --bins"), "{error}");
    }
}
