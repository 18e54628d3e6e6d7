//! Does a class that a prototype has stored survive, in the version we store?

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use e2e::ground::{Ground, api, read, repository};
use e2e::install::Account;
use e2e::{Running, wait};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DynamicObject, PostParams};
use kube::{Api, Client};
use serde_json::Value;

const KIND: &str = "OpenStackNodeClass";
const HUB: &str = "karpenter.k8s.openstack/v1";
const OLD: &str = "karpenter.k8s.openstack/v1openstack";
const DEFINITION: &str = "openstacknodeclasses.karpenter.k8s.openstack";
const SOON: Duration = Duration::from_secs(30);

/// As a prototype would have left it: a class stored in the old version. The webhook is down afterwards.
pub(crate) async fn store_in_the_old_version(ground: &Ground, client: &Client) -> Result<String> {
    let mut written =
        read(&repository().join("crds/tests/golden/openstack/full.v1openstack.yaml"))?;
    written["metadata"]["name"] = "from-a-prototype".into();
    let object: DynamicObject = serde_json::from_value(written)?;
    // Without webhook nothing can be stored in a version other than that of the request.
    ground.webhook.lock().await.process.kill().await?;
    ground
        .apply_definitions(client, |manifest| stores(manifest, "v1openstack"))
        .await?;
    let old = api(client, OLD, KIND);
    wait::succeeds(
        "the API server to store the old version",
        SOON,
        async || {
            Ok(old
                .create(&PostParams::default(), &object)
                .await
                .map(drop)?)
        },
    )
    .await?;
    ground.apply_definitions(client, |_| ()).await?;
    ensure!(
        stored(client).await?.contains(&"v1openstack".to_owned()),
        "nothing to migrate"
    );
    Ok("from-a-prototype".to_owned())
}

fn stores(manifest: &mut Value, version: &str) {
    if manifest["metadata"]["name"] != DEFINITION {
        return;
    }
    for one in manifest["spec"]["versions"]
        .as_array_mut()
        .into_iter()
        .flatten()
    {
        one["storage"] = (one["name"] == version).into();
    }
}

async fn stored(client: &Client) -> Result<Vec<String>> {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let status = definitions.get(DEFINITION).await?.status;
    status
        .and_then(|status| status.stored_versions)
        .context("the CRD has no storedVersions")
}

/// Waits until the CRD remembers the hub version alone.
pub(crate) async fn migrated(client: &Client) -> Result<()> {
    wait::succeeds(
        "storedVersions to be trimmed",
        Duration::from_mins(1),
        async || {
            let stored = stored(client).await?;
            ensure!(stored == ["v1"], "{stored:?}");
            Ok(())
        },
    )
    .await
}

#[tokio::test]
async fn a_class_of_a_prototype_is_rewritten_unchanged_as_soon_as_the_webhook_answers() -> Result<()>
{
    let Some(control_plane) = e2e::need_control_plane("local: stored versions are migrated") else {
        return Ok(());
    };
    let ground = Ground::private(&control_plane).await?;
    let client = ground.cluster.client().await?;
    let name = store_in_the_old_version(&ground, &client).await?;
    let hub = api(&client, HUB, KIND);
    let unread = hub.get(&name).await;
    ensure!(unread.is_err(), "stored in the hub version from the start");

    let account = Account::of_operator(&ground).await?;
    let mut operator = account.operator(None)?.start()?;
    let why = not_ready_because(&mut operator, "storedversions").await?;
    println!("not ready: {why}");
    ensure!(why.contains("joiner-webhook"), "{why}");
    ensure!(stored(&client).await?.len() == 2, "trimmed too early");

    ground.restart_webhook(&client).await?;
    let before = hub.get(&name).await?;
    let outcome = migrated(&client).await;
    ensure!(outcome.is_ok(), "{outcome:?}\n{}", operator.log());
    let after = hub.get(&name).await?;
    assert_eq!(after.data["spec"], before.data["spec"]);
    assert_eq!(after.metadata.annotations, before.metadata.annotations);
    assert_eq!(after.metadata.uid, before.metadata.uid);

    ground.webhook.lock().await.process.kill().await?;
    let read = hub.get(&name).await;
    ensure!(read.is_ok(), "still stored in the old version: {read:?}");
    let status = operator.terminate(SOON).await?;
    ensure!(status.success(), "the operator ended with {status}");
    Ok(())
}

/// Waits until `/readyz` says why a gate is closed.
async fn not_ready_because(operator: &mut Running, gate: &str) -> Result<String> {
    let line = operator.line_with("\"listening\"", SOON).await?;
    let said: Value = serde_json::from_str(&line)?;
    let probes = said["probes"].as_str().context("no address of probes")?;
    let url = format!("http://{probes}/readyz");
    wait::succeeds("readiness to say what is missing", SOON, async || {
        let answer = reqwest::get(&url).await?;
        let status = answer.status();
        let report: Value = answer.json().await?;
        let gates = report["gates"].as_array().into_iter().flatten();
        let mut closed = gates.filter(|one| one["name"] == gate && one["ready"] == false);
        let why = closed.find_map(|one| one["why"].as_str());
        let why = why.with_context(|| format!("{status}: {report}"))?;
        ensure!(status == 503, "{status} although {why}");
        Ok(why.to_owned())
    })
    .await
}
