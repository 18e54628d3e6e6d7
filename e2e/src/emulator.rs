//! Where does a test get an emulated OpenStack from: in its own process, or as one beside it?

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use cloud::transport::wire::{Trust, Wire};
use cloud::{Clock, Http};
use emulators::fronts::engine::{self, Engine};
use emulators::fronts::inprocess::InProcess;
use emulators::machine::Machine;
use emulators::openstack::world::World;
use emulators::openstack::{Access, OpenStack, Settings, default_world};
use jiff::Timestamp;
use openstack::Credentials;
use serde_json::Value;

use crate::adapter::Wired;
use crate::binary::{Binary, Running};
use crate::scratch::Scratch;

/// Of all ids and passwords, so that two runs are the same.
const SEED: u64 = 7;
/// The address of a cloud that has none.
const NOWHERE: &str = "http://cloud";

/// An emulated OpenStack in this process.
#[derive(Clone)]
pub struct Emulated {
    pub engine: Arc<Engine<OpenStack>>,
    pub access: Access,
}

/// `joiner-emulators serve` as a process of its own, with its files. Ends with this value.
pub struct Emulator {
    process: Running,
    env: BTreeMap<String, String>,
    out: Scratch,
}

impl Emulated {
    /// In tokio's time, which a test may pause. Must be called inside a runtime.
    pub fn in_virtual_time(settings: Settings) -> Self {
        let start = Timestamp::UNIX_EPOCH + Duration::from_hours(24 * 365 * 56);
        Self::at(settings, engine::Clock::tokio(start))
    }

    /// In the time of the wall clock, for fronts on sockets.
    pub fn in_real_time(settings: Settings) -> Self {
        Self::at(settings, engine::Clock::Wall)
    }

    fn at(settings: Settings, clock: engine::Clock) -> Self {
        let (world, access) = default_world(SEED, clock.now());
        let cloud = OpenStack::new(world, settings, SEED);
        Self {
            engine: Engine::new(cloud, clock, Box::new(|_| {})),
            access,
        }
    }

    pub fn http(&self) -> Arc<dyn Http> {
        Arc::new(Wired::new(InProcess::new(Arc::clone(&self.engine))))
    }

    pub fn clock(&self) -> Arc<dyn Clock> {
        let engine = Arc::clone(&self.engine);
        Arc::new(move || engine.now())
    }

    /// What is there now; what was due has happened.
    pub fn world<T>(&self, look: impl FnOnce(&mut World) -> T) -> T {
        let now = self.engine.now();
        self.engine.with(|cloud| {
            cloud.pass(now);
            look(&mut cloud.world)
        })
    }

    /// Credentials for the in-process front.
    pub fn credentials(&self) -> Result<Credentials> {
        self.credentials_at(NOWHERE)
    }

    /// Credentials for a front with an address.
    pub fn credentials_at(&self, url: &str) -> Result<Credentials> {
        let auth_url = format!("{url}/identity/v3");
        let env = [
            ("OS_AUTH_URL", auth_url.as_str()),
            ("OS_USERNAME", &self.access.user),
            ("OS_PASSWORD", &self.access.password),
            ("OS_PROJECT_NAME", &self.access.project),
            ("OS_REGION_NAME", &self.access.region),
        ];
        let env = env.map(|(key, value)| (key.to_owned(), value.to_owned()));
        Ok(openstack::credentials::from_env(&env.into())?)
    }
}

impl Emulator {
    /// Starts it and waits until it listens. Servers boot in half a second, with this kubelet on them.
    pub async fn start(kubelet: Option<&Path>) -> Result<Self> {
        let kubelet = kubelet.map(|path| format!("--hollow-kubelet={}", path.display()));
        Self::serve(kubelet.as_deref()).await
    }

    /// The same with an embedded Kubernetes in it, which the servers join.
    pub async fn with_kubernetes() -> Result<Self> {
        Self::serve(Some("--kubernetes=127.0.0.1:0")).await
    }

    async fn serve(more: Option<&str>) -> Result<Self> {
        let out = Scratch::new()?;
        let mut binary = Binary::named("joiner-emulators")?
            .arg("serve")
            .arg("--openstack=127.0.0.1:0")
            .arg("--boot-seconds=0.5")
            .arg("--out")
            .arg(out.path());
        if let Some(more) = more {
            binary = binary.arg(more);
        }
        let mut process = binary.start()?;
        process
            .line_with("openstack: http", Duration::from_secs(10))
            .await?;
        let written = std::fs::read_to_string(out.path().join("openstack.env"))?;
        Ok(Self {
            process,
            env: variables(&written),
            out,
        })
    }

    /// What a client sources: `OS_*`.
    pub fn env(&self) -> impl Iterator<Item = (&String, &String)> {
        self.env.iter()
    }

    pub fn credentials(&self) -> Result<Credentials> {
        Ok(openstack::credentials::from_env(&self.env)?)
    }

    /// HTTP over real sockets.
    pub fn http(&self) -> Result<Arc<dyn Http>> {
        Ok(Arc::new(Wire::new(&Trust::default())?))
    }

    /// The folder with its files; those of booted machines are below.
    pub fn folder(&self) -> &Path {
        self.out.path()
    }

    /// Where tests and people look behind the curtain.
    pub fn admin_url(&self) -> Result<&str> {
        let url = self.env.get("EMULATED_ADMIN_URL");
        Ok(url.context("openstack.env does not say EMULATED_ADMIN_URL")?)
    }

    /// The administrator's kubeconfig of the embedded Kubernetes.
    pub fn kubeconfig(&self) -> PathBuf {
        self.out.path().join("kubeconfig")
    }

    /// `GET /admin/<what>`: `state`, `log`, `calls`, `held`.
    pub async fn admin(&self, what: &str) -> Result<Value> {
        let url = self.admin_url()?;
        let answer = reqwest::get(format!("{url}/{what}")).await?;
        Ok(answer.error_for_status()?.json().await?)
    }

    /// Processes of the machines it has booted.
    pub fn kubelets(&self) -> Vec<u32> {
        let below = self.out.path().join("k").display().to_string();
        let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter(|pid: &u32| {
            let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&words).contains(&below)
        })
        .collect()
    }

    /// Asks it to end; its machines end before.
    pub async fn stop(mut self) -> Result<()> {
        let status = self.process.terminate(Duration::from_secs(20)).await?;
        anyhow::ensure!(status.success(), "joiner-emulators ended with {status}");
        let left = self.kubelets();
        anyhow::ensure!(left.is_empty(), "kubelets outlive the emulator: {left:?}");
        Ok(())
    }
}

/// `export NAME='value'` lines.
fn variables(written: &str) -> BTreeMap<String, String> {
    let lines = written.lines().filter_map(|line| {
        let (name, value) = line.strip_prefix("export ")?.split_once('=')?;
        Some((name.to_owned(), value.trim_matches('\'').to_owned()))
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_read_without_their_quotes() {
        let read = variables("# a file\nexport OS_CLOUD='emulated'\nexport A='b=c'\n");
        assert_eq!(read["OS_CLOUD"], "emulated");
        assert_eq!(read["A"], "b=c");
    }
}
