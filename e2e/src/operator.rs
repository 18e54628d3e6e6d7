//! How does a test run the operator on a cluster and an emulated cloud, and see what came of it?

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::events::v1::Event;
use kube::api::ListParams;
use kube::{Api, Client};
use serde_json::Value;

use crate::ground::{Ground, api};
use crate::{Binary, Emulator, Running, wait};

/// How long a node takes on a busy computer, at most.
pub const SOON: Duration = Duration::from_mins(2);

/// `joiner run` as a process of its own, with the cloud's credentials in its environment. `flags` win over the usual ones.
pub fn start(ground: &Ground, emulator: &Emulator, flags: &[&str]) -> Result<Running> {
    let mut operator = without_cloud(ground, flags)?;
    for (name, value) in emulator.env() {
        operator = operator.env(name, value);
    }
    operator.start()
}

/// The same about to be started, without any credentials: classes must name theirs.
pub fn without_cloud(ground: &Ground, flags: &[&str]) -> Result<Binary> {
    let operator = Binary::named("joiner")?
        .arg("run")
        .arg("--kubeconfig")
        .arg(ground.cluster.kubeconfig())
        .arg("--namespace=joiner")
        .arg("--cluster-name=shared-name")
        .arg("--metrics-port=0")
        .arg("--health-probe-port=0")
        .arg("--admin-address=127.0.0.1");
    Ok(flags.iter().fold(operator, |all, flag| all.arg(*flag)))
}

/// What it tells scrapers.
pub async fn metrics(operator: &mut Running) -> Result<String> {
    let line = operator.line_with("\"listening\"", SOON).await?;
    let said: Value = serde_json::from_str(&line).context("the operator logs JSON")?;
    let said = said.get("fields").unwrap_or(&said);
    let address = said["metrics"].as_str();
    let url = format!("http://{}/metrics", address.context("metrics address")?);
    Ok(reqwest::get(url).await?.error_for_status()?.text().await?)
}

/// Waits until exactly so many pods of a Deployment run.
pub async fn running(client: &Client, app: &str, count: usize) -> Result<Vec<Pod>> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), "default");
    let of_app = ListParams::default().labels(&format!("app={app}"));
    wait::succeeds(&format!("{count} pods of {app} to run"), SOON, async || {
        let listed = pods.list(&of_app).await?.items;
        let phase = |pod: &Pod| pod.status.as_ref().and_then(|status| status.phase.clone());
        let phases: Vec<_> = listed.iter().filter_map(phase).collect();
        let run = phases.iter().filter(|phase| *phase == "Running").count();
        ensure!(run == count && phases.len() == count, "{phases:?}");
        Ok(listed)
    })
    .await
}

/// Changes the replicas of a Deployment.
pub async fn scale(ground: &Ground, name: &str, replicas: u32) -> Result<()> {
    let wish = format!("--replicas={replicas}");
    let words = ["scale", "deployment", name, &wish];
    let scaled = ground.cluster.kubectl(&words).await?;
    scaled.success().map(drop)
}

/// Waits until the cluster has no claim any more.
pub async fn no_claims(client: &Client) -> Result<()> {
    let claims = api(client, "karpenter.sh/v1", "NodeClaim");
    wait::succeeds("no claim to be left", SOON, async || {
        let left = claims.list(&ListParams::default()).await?.items;
        let names: Vec<_> = left
            .iter()
            .filter_map(|one| one.metadata.name.as_ref())
            .collect();
        ensure!(names.is_empty(), "{names:?}");
        Ok(())
    })
    .await
}

/// What the operator has told people about one object.
pub async fn told(client: &Client, kind: &str, name: &str) -> Result<Vec<Event>> {
    let events: Api<Event> = Api::all(client.clone());
    let mut events = events.list(&ListParams::default()).await?.items;
    events.retain(|event| {
        let about = event.regarding.clone().unwrap_or_default();
        about.kind.as_deref() == Some(kind)
            && about.name.as_deref() == Some(name)
            && event.reporting_controller.as_deref() == Some("karpenter")
    });
    Ok(events)
}

/// One condition of an object, as it is now.
pub fn condition<'a>(object: &'a Value, kind: &str) -> &'a Value {
    let conditions = object["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    conditions
        .find(|condition| condition["type"] == kind)
        .unwrap_or(&Value::Null)
}
