//! Does a client that knows nothing of us, openstacksdk, work against the emulator?
//!
//! Its virtual environment is made once, in the cache, from pinned requirements. Without python3 the test is skipped,
//! and says so in the file that `JOINER_SKIPS` names.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fs::File;
use std::hash::{Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const SKIP: &str = "openstacksdk: no python3";

#[test]
fn openstacksdk_lists_creates_waits_tags_pages_and_deletes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../hack/foreign/openstacksdk");
    let Some(python) = environment(&folder.join("requirements.txt")) else {
        return skip();
    };
    let out = Scratch::new();
    let _emulator = Emulator::start(&out.0);
    let status = Command::new(python)
        .arg(folder.join("check.py"))
        .env("OS_CLIENT_CONFIG_FILE", out.0.join("clouds.yaml"))
        .env_remove("OS_CLOUD")
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("HOME", &out.0)
        .status()
        .unwrap();
    assert!(status.success(), "check.py: {status}");
}

fn skip() {
    println!("{SKIP}");
    if let Some(path) = std::env::var_os("JOINER_SKIPS") {
        let mut file = File::options()
            .create(true)
            .append(true)
            .open(path)
            .unwrap();
        writeln!(file, "{SKIP}").unwrap();
    }
}

/// The interpreter of an environment with exactly these requirements; `None` without python3.
fn environment(requirements: &Path) -> Option<PathBuf> {
    let version = Command::new("python3")
        .arg("--version")
        .output()
        .ok()
        .filter(|out| out.status.success())?;
    let pinned = std::fs::read(requirements).unwrap();
    let mut hash = std::hash::DefaultHasher::new();
    (&pinned, &version.stdout).hash(&mut hash);
    let shelf = cache().join("openstacksdk");
    std::fs::create_dir_all(&shelf).unwrap();
    let home = shelf.join(format!("{:016x}", hash.finish()));
    let python = home.join("bin/python");
    let lock = File::create(shelf.join("lock")).unwrap();
    lock.lock().unwrap();
    // a complete environment has its mark; anything else is made anew
    let mark = home.join("complete");
    if !mark.exists() {
        let _ = std::fs::remove_dir_all(&home);
        // scripts in an environment know their own path, so it is made in place and marked last
        run(Command::new("python3").args(["-m", "venv"]).arg(&home));
        run(Command::new(&python)
            .args([
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
                "-r",
            ])
            .arg(requirements));
        std::fs::write(&mark, "").unwrap();
    }
    lock.unlock().unwrap();
    Some(python)
}

fn cache() -> PathBuf {
    let var = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let user = || var("XDG_CACHE_HOME").or_else(|| Some(var("HOME")?.join(".cache")));
    var("JOINER_CACHE").unwrap_or_else(|| user().unwrap_or_else(std::env::temp_dir).join("joiner"))
}

fn run(command: &mut Command) {
    let status = command.status().unwrap();
    assert!(status.success(), "{command:?}: {status}");
}

/// A directory that goes with the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        let dir = std::env::temp_dir().join(format!("joiner-openstacksdk-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        Self(dir)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The real binary, on a free port.
struct Emulator(Child);

impl Emulator {
    fn start(out: &Path) -> Self {
        let child = Command::new(env!("CARGO_BIN_EXE_joiner-emulators"))
            .args([
                "serve",
                "--openstack",
                "127.0.0.1:0",
                "--boot-seconds",
                "0.3",
                "--out",
            ])
            .arg(out)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let deadline = Instant::now() + Duration::from_mins(1);
        while !out.join("openstack.env").exists() {
            assert!(
                Instant::now() < deadline,
                "the emulator wrote no openstack.env"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        Self(child)
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
