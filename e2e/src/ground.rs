//! How does a cluster get Joiner's CRDs, and a running `joiner-webhook` behind its Service?
//!
//! What is applied are the files in `crds/generated`, as a user would; only the CA is filled in, which in a real cluster
//! is cert-manager's part.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

use anyhow::{Context, Result};
use kube::api::DynamicObject;
use kube::core::{GroupVersionKind, TypeMeta};
use kube::discovery::ApiResource;
use kube::{Api, Client};
use serde_json::Value;
use tokio::sync::Mutex;

use crate::{Binary, Cluster, ControlPlane, Exposed, Running, Scratch, apply, expose, wait};

/// A cluster with our CRDs and the webhook in front of them.
pub struct Ground {
    pub cluster: Cluster,
    pub webhook: Mutex<Webhook>,
    exposed: Exposed,
    certificate: Scratch,
}

/// The running process, and where its probes and metrics are.
pub struct Webhook {
    pub process: Running,
    port: u16,
    admin: String,
}

impl Ground {
    /// The ground that all tests share which run at this moment; the last one to let go takes it down.
    pub async fn shared(control_plane: &ControlPlane) -> Result<Arc<Self>> {
        static SHARED: Mutex<Weak<Ground>> = Mutex::const_new(Weak::new());
        let mut shared = SHARED.lock().await;
        if let Some(ground) = shared.upgrade() {
            return Ok(ground);
        }
        let ground = Arc::new(Self::private(control_plane).await?);
        *shared = Arc::downgrade(&ground);
        Ok(ground)
    }

    /// A ground of one's own, for tests that break it.
    pub async fn private(control_plane: &ControlPlane) -> Result<Self> {
        Self::with(control_plane, crate::Options::unnamed()).await
    }

    /// The same on a cluster of one's choice.
    pub async fn with(control_plane: &ControlPlane, options: crate::Options) -> Result<Self> {
        let cluster = control_plane.private(options).await?;
        let client = cluster.client().await?;
        apply(
            &client,
            "apiVersion: v1\nkind: Namespace\nmetadata: {name: joiner}",
        )
        .await?;
        let certificate = Scratch::new()?;
        // The port is known once the process listens; until then the Service leads nowhere.
        let exposed = expose(&client, "joiner", "joiner-webhook", 1).await?;
        exposed.write_to(&certificate)?;
        let webhook = start_webhook(&certificate).await?;
        exposed.lead_to(&client, webhook.port).await?;
        let ground = Self {
            cluster,
            webhook: Mutex::new(webhook),
            exposed,
            certificate,
        };
        ground.apply_definitions(&client, |_| ()).await?;
        ground.until_it_converts(&client).await?;
        Ok(ground)
    }

    /// Applies what is in `crds/generated`, each file as `change` leaves it.
    pub async fn apply_definitions(
        &self,
        client: &Client,
        change: impl Fn(&mut Value),
    ) -> Result<()> {
        for file in files(&repository().join("crds/generated"))? {
            let mut manifest = with_ca(&read(&file)?, &self.exposed.ca_bundle());
            change(&mut manifest);
            apply(client, &manifest.to_string())
                .await
                .with_context(|| file.display().to_string())?;
        }
        Ok(())
    }

    /// Starts the webhook anew, after a test has ended it.
    pub async fn restart_webhook(&self, client: &Client) -> Result<()> {
        let webhook = start_webhook(&self.certificate).await?;
        self.exposed.lead_to(client, webhook.port).await?;
        *self.webhook.lock().await = webhook;
        self.until_it_converts(client).await
    }

    /// The API server learns of a new endpoint a moment after it was written.
    async fn until_it_converts(&self, client: &Client) -> Result<()> {
        let probe: DynamicObject = serde_json::from_value(serde_json::json!({
            "apiVersion": "karpenter.k8s.openstack/v1openstack",
            "kind": "OpenStackNodeClass",
            "metadata": {"name": "probe"},
            "spec": {"imageSelectorTerms": [{}], "networks": ["probe"]},
        }))?;
        let api = api(
            client,
            "karpenter.k8s.openstack/v1openstack",
            "OpenStackNodeClass",
        );
        let dry = kube::api::PostParams {
            dry_run: true,
            field_manager: None,
        };
        wait::succeeds(
            "the webhook to convert",
            Duration::from_secs(20),
            async || api.create(&dry, &probe).await.map(drop).map_err(Into::into),
        )
        .await
    }
}

/// The API of a cluster-scoped kind in one version.
pub fn api(client: &Client, api_version: &str, kind: &str) -> Api<DynamicObject> {
    let types = TypeMeta {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
    };
    let (group, version) = types
        .api_version
        .split_once('/')
        .unwrap_or(("", api_version));
    Api::all_with(
        client.clone(),
        &ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind)),
    )
}

/// The root of the checkout.
pub fn repository() -> PathBuf {
    xtask::root()
}

/// The YAML files of a folder and of those below it, sorted.
pub fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else if path
            .extension()
            .is_some_and(|extension| extension == "yaml")
        {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// One YAML document as JSON.
pub fn read(file: &Path) -> Result<Value> {
    let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
    serde_saphyr::from_str(&text).with_context(|| file.display().to_string())
}

impl Webhook {
    /// What it tells scrapers.
    pub async fn metrics(&self) -> Result<String> {
        let url = format!("http://{}/metrics", self.admin);
        Ok(reqwest::get(url).await?.error_for_status()?.text().await?)
    }
}

async fn start_webhook(certificate: &Scratch) -> Result<Webhook> {
    let mut process = Binary::named("joiner-webhook")?
        .arg("--listen=0.0.0.0:0")
        .arg("--admin=127.0.0.1:0")
        .arg("--tls-cert")
        .arg(certificate.path().join("tls.crt"))
        .arg("--tls-key")
        .arg(certificate.path().join("tls.key"))
        .start()?;
    let line = process
        .line_with("\"listening\"", Duration::from_secs(10))
        .await?;
    let said: Value = serde_json::from_str(&line).context("the webhook logs JSON")?;
    let address = |field: &str| {
        let address = said[field].as_str().map(str::to_owned);
        address.with_context(|| format!("the webhook does not say its {field} address: {line}"))
    };
    let (https, admin) = (address("https")?, address("admin")?);
    let port = https.rsplit(':').next().and_then(|port| port.parse().ok());
    Ok(Webhook {
        process,
        port: port.with_context(|| format!("no port in {https}"))?,
        admin,
    })
}

/// Fills in the CA wherever the manifest refers to our Service.
fn with_ca(manifest: &Value, ca: &str) -> Value {
    let mut manifest = manifest.clone();
    if let Some(client) = manifest.pointer_mut("/spec/conversion/webhook/clientConfig") {
        client["caBundle"] = ca.into();
    }
    for webhook in manifest
        .get_mut("webhooks")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        webhook["clientConfig"]["caBundle"] = ca.into();
    }
    manifest
}
