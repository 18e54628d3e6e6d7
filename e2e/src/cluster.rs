//! How does a test get a real cluster, and speak to it as whom?

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use kube::api::{ObjectMeta, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config, ResourceExt};
use tokio::io::AsyncWriteExt;
use tokio::sync::OnceCell;
use tokio::task::spawn_blocking;
use xtask::cluster::{self as local, Credential, Node, Options};

/// Proof that the control plane's programs are there; see [`crate::need_control_plane`].
pub struct ControlPlane(());

/// A running control plane. A private one ends when dropped, the shared one with the test binary.
#[derive(Clone)]
pub struct Cluster {
    local: Arc<local::Cluster>,
}

/// What a command printed, and whether it succeeded.
#[derive(Debug, Clone)]
pub struct Ran {
    pub ok: bool,
    pub stdout: String,
    pub stderr: String,
}

impl ControlPlane {
    pub(crate) fn ready() -> Self {
        Self(())
    }

    /// One control plane for all tests of this binary: keep to a namespace of your own, and to cluster-wide objects
    /// whose names nobody else uses. It has no nodes until a test starts one.
    pub async fn shared(&self) -> Result<Cluster> {
        static SHARED: OnceCell<Cluster> = OnceCell::const_new();
        SHARED
            .get_or_try_init(|| self.private(Options::unnamed()))
            .await
            .cloned()
    }

    /// A control plane of your own.
    pub async fn private(&self, options: Options) -> Result<Cluster> {
        let local = spawn_blocking(move || local::Cluster::start(options)).await??;
        Ok(Cluster {
            local: Arc::new(local),
        })
    }
}

impl Cluster {
    /// The blocking cluster beneath: pids, folders, phases, API server down and up.
    pub fn local(&self) -> &Arc<local::Cluster> {
        &self.local
    }

    /// A client with all rights. Make one per test: a client lives in the runtime it was made in.
    pub async fn client(&self) -> Result<Client> {
        client(&std::fs::read_to_string(self.local.kubeconfig())?).await
    }

    /// A client with exactly the rights of a ServiceAccount.
    pub async fn client_as(&self, namespace: &str, account: &str) -> Result<Client> {
        client(&self.kubeconfig_as(namespace, account).await?).await
    }

    /// The administrator's kubeconfig file.
    pub fn kubeconfig(&self) -> PathBuf {
        self.local.kubeconfig()
    }

    /// The text of a kubeconfig that speaks as a ServiceAccount: for our own processes under their own rights.
    pub async fn kubeconfig_as(&self, namespace: &str, account: &str) -> Result<String> {
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client().await?, namespace);
        let two_hours = TokenRequestSpec {
            expiration_seconds: Some(7200),
            ..TokenRequestSpec::default()
        };
        let wish = TokenRequest {
            spec: Some(two_hours),
            ..TokenRequest::default()
        };
        let given = accounts
            .create_token_request(account, &PostParams::default(), &wish)
            .await
            .with_context(|| format!("no token for ServiceAccount {namespace}/{account}"))?;
        let token = given
            .status
            .and_then(|status| status.token)
            .context("the server answered without a token")?;
        Ok(local::kubeconfig(
            &self.local.api_address(),
            self.local.ca(),
            Credential::Token(&token),
        ))
    }

    /// A namespace no other test has.
    pub async fn fresh_namespace(&self, prefix: &str) -> Result<String> {
        let namespaces: Api<Namespace> = Api::all(self.client().await?);
        let metadata = ObjectMeta {
            generate_name: Some(format!("{prefix}-")),
            ..ObjectMeta::default()
        };
        let made = namespaces
            .create(
                &PostParams::default(),
                &Namespace {
                    metadata,
                    ..Namespace::default()
                },
            )
            .await?;
        Ok(made.name_any())
    }

    /// kubectl as administrator.
    pub async fn kubectl(&self, args: &[&str]) -> Result<Ran> {
        self.kubectl_with(args, "").await
    }

    /// kubectl as administrator, with something on stdin (`apply -f -`).
    pub async fn kubectl_with(&self, args: &[&str], stdin: &str) -> Result<Ran> {
        let mut command = self.local.kubectl();
        command.args(args).stdin(Stdio::piped());
        let mut child = tokio::process::Command::from(command)
            .kill_on_drop(true)
            .spawn()
            .context("cannot start kubectl")?;
        let mut pipe = child.stdin.take().context("kubectl has a stdin")?;
        // kubectl may end without reading; its answer says why.
        let _ = pipe.write_all(stdin.as_bytes()).await;
        drop(pipe);
        let output = child.wait_with_output().await?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok(Ran {
            ok: output.status.success(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        })
    }

    /// Starts a hollow kubelet and does not wait for the node.
    pub async fn start_node(&self, node: Node) -> Result<()> {
        let local = Arc::clone(&self.local);
        spawn_blocking(move || local.start_node(&node)).await?
    }

    /// Starts a hollow kubelet and waits until its node is Ready.
    pub async fn join_node(&self, node: Node) -> Result<()> {
        let local = Arc::clone(&self.local);
        spawn_blocking(move || {
            local.start_node(&node)?;
            local.await_node(&node.name, Duration::from_mins(1))
        })
        .await?
    }

    /// Ends a node's kubelet; the Node object stays.
    pub async fn stop_node(&self, name: &str) -> Result<()> {
        let (local, name) = (Arc::clone(&self.local), name.to_owned());
        spawn_blocking(move || local.stop_node(&name)).await?
    }
}

impl Ran {
    /// Stdout, or an error with what stderr said.
    pub fn success(self) -> Result<String> {
        if !self.ok {
            bail!("the command failed: {}{}", self.stderr, self.stdout);
        }
        Ok(self.stdout)
    }
}

/// A client of whoever the kubeconfig names.
pub async fn client(kubeconfig: &str) -> Result<Client> {
    let config = Config::from_custom_kubeconfig(
        Kubeconfig::from_yaml(kubeconfig)?,
        &KubeConfigOptions::default(),
    )
    .await?;
    Ok(Client::try_from(config)?)
}
