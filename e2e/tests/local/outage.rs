//! What still works while the webhook is down, and what does the rest say?

use std::time::Duration;

use anyhow::{Result, ensure};
use e2e::ground::{Ground, api, read, repository};
use kube::api::{ListParams, Patch, PatchParams, PostParams};

const NEW: &str = "karpenter.k8s.cloudstack/v2";
const OLD: &str = "karpenter.k8s.cloudstack/v1";
const KIND: &str = "CloudStackNodeClass";

#[tokio::test]
async fn without_the_webhook_the_hub_works_and_the_old_version_says_why_it_does_not() -> Result<()>
{
    let Some(control_plane) = e2e::need_control_plane("local: the webhook is down") else {
        return Ok(());
    };
    let ground = Ground::private(&control_plane).await?;
    let client = ground.cluster.client().await?;
    let written = read(&repository().join("crds/tests/golden/cloudstack/full.v1.yaml"))?;
    let name = written["metadata"]["name"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    api(&client, OLD, KIND)
        .create(&PostParams::default(), &serde_json::from_value(written)?)
        .await?;
    let before = api(&client, OLD, KIND).get(&name).await?;

    ground.webhook.lock().await.process.kill().await?;

    api(&client, NEW, KIND).get(&name).await?;
    ensure!(
        api(&client, NEW, KIND)
            .list(&ListParams::default())
            .await?
            .items
            .len()
            == 1
    );
    let label = serde_json::json!({"metadata": {"labels": {"outage": "true"}}});
    api(&client, NEW, KIND)
        .patch(&name, &PatchParams::default(), &Patch::Merge(label))
        .await?;

    let said = ground
        .cluster
        .kubectl(&[
            "get",
            "cloudstacknodeclasses.v1.karpenter.k8s.cloudstack",
            &name,
        ])
        .await?;
    ensure!(!said.ok, "read without a webhook: {}", said.stdout);
    println!("kubectl get in the old version: {}", said.stderr.trim());
    assert!(
        said.stderr.contains(
            "conversion webhook for karpenter.k8s.cloudstack/v2, Kind=CloudStackNodeClass failed"
        ),
        "{}",
        said.stderr
    );

    ground.restart_webhook(&client).await?;
    let after = api(&client, OLD, KIND).get(&name).await?;
    assert_eq!(after.data, before.data, "nothing was lost");
    Ok(())
}

#[tokio::test]
async fn a_webhook_that_is_told_to_stop_ends_by_itself() -> Result<()> {
    let Some(control_plane) = e2e::need_control_plane("local: the webhook is told to stop") else {
        return Ok(());
    };
    let ground = Ground::private(&control_plane).await?;
    let status = ground
        .webhook
        .lock()
        .await
        .process
        .terminate(Duration::from_secs(30))
        .await?;
    ensure!(status.success(), "{status}");
    Ok(())
}
