//! Which processes play the demo, and how do they all end?
//!
//! An emulated cloud, a Kubernetes (embedded or real) and the operator, each a process of its own on loopback. Dropping the stage
//! ends them, so Ctrl-C and an error leave nothing behind either.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use kube::Client;

use crate::ground::{files, repository};
use crate::{Binary, Cluster, Emulator, Options, Running, apply, need_control_plane};

/// Where the demo plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum World {
    /// The emulators' own Kubernetes API.
    Embedded,
    /// A real control plane on this host.
    Local,
}

pub struct Stage {
    pub client: Client,
    pub kubeconfig: PathBuf,
    // In the order in which they end.
    operator: Running,
    pub emulator: Emulator,
    cluster: Option<Cluster>,
}

impl Stage {
    /// Starts the world, then the operator in it.
    pub async fn set(world: World) -> Result<Self> {
        let (emulator, cluster) = match world {
            World::Embedded => (Emulator::with_kubernetes().await?, None),
            World::Local => {
                let control_plane = need_control_plane("demo on a real control plane").context(
                    "--world local needs a Go toolchain; without one use --world embedded",
                )?;
                let cluster = control_plane.private(Options::unnamed()).await?;
                let tools = xtask::tools::control_plane()?;
                (
                    Emulator::start(Some(&tools.hollow_kubelet)).await?,
                    Some(cluster),
                )
            }
        };
        let kubeconfig = match &cluster {
            Some(cluster) => cluster.kubeconfig(),
            None => emulator.kubeconfig(),
        };
        let client = crate::cluster::client(&std::fs::read_to_string(&kubeconfig)?).await?;
        install(&client).await?;
        let mut stage = Self {
            operator: operator(&kubeconfig, &emulator)?,
            client,
            kubeconfig,
            emulator,
            cluster,
        };
        stage
            .operator
            .line_with("\"leading\"", Duration::from_secs(30))
            .await?;
        Ok(stage)
    }

    /// What the operator logged.
    pub fn operator_log(&self) -> String {
        self.operator.log()
    }

    /// Ends everything, and says so if something would not.
    pub async fn strike(mut self) -> Result<()> {
        let status = self.operator.terminate(Duration::from_secs(30)).await?;
        ensure!(status.success(), "the operator ended with {status}");
        self.emulator.stop().await?;
        drop(self.cluster);
        Ok(())
    }
}

/// Our kinds and the namespace; without the webhook, which only older versions of the classes need.
pub async fn install(client: &Client) -> Result<()> {
    apply(
        client,
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: joiner}",
    )
    .await?;
    for file in files(&repository().join("crds/generated"))? {
        let manifest = std::fs::read_to_string(&file)?;
        if manifest.contains("kind: CustomResourceDefinition") {
            apply(client, &manifest)
                .await
                .with_context(|| file.display().to_string())?;
        }
    }
    Ok(())
}

fn operator(kubeconfig: &Path, emulator: &Emulator) -> Result<Running> {
    let mut operator = Binary::named("joiner")?
        .arg("run")
        .arg("--kubeconfig")
        .arg(kubeconfig)
        .arg("--namespace=joiner")
        .arg("--cluster-name=demo")
        .arg("--metrics-port=0")
        .arg("--health-probe-port=0")
        .arg("--admin-address=127.0.0.1");
    for (name, value) in emulator.env() {
        operator = operator.env(name, value);
    }
    operator.start()
}
