//! Does a machine wait until the volumes of its pods are detached?

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use e2e::wait;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::storage::v1::VolumeAttachment;
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::json;

use super::brakes::Stage;

const SOON: Duration = Duration::from_mins(2);

#[tokio::test]
async fn a_machine_goes_when_its_volumes_are_detached_and_not_before() -> Result<()> {
    let Some(control_plane) = e2e::need_control_plane("volumes: a machine waits for them") else {
        return Ok(());
    };
    let mut stage = Stage::set(&control_plane, true).await?;
    let outcome = waits(&mut stage).await;
    stage.end(outcome).await
}

async fn waits(stage: &mut Stage) -> Result<()> {
    stage.pods(1).await?;
    let claims = stage.claims();
    let name = wait::succeeds("an initialized claim", SOON, async || {
        let all = claims.list(&ListParams::default()).await?;
        let claim = all.items.into_iter().next().context("no claim yet")?;
        ensure!(
            wait::condition("Initialized", "True")(&claim),
            "not initialized"
        );
        Ok(claim.name_any())
    })
    .await?;
    // A pod that has no place yet would get another machine.
    let pods: Api<Pod> = Api::namespaced(stage.client.clone(), "default");
    let runs = |pod: &Pod| json!(pod)["status"]["phase"] == "Running";
    wait::until(&pods, "web-0", "Running", SOON, runs).await?;
    let attachments: Api<VolumeAttachment> = Api::all(stage.client.clone());
    let attachment: VolumeAttachment = serde_json::from_value(json!({
        "metadata": { "name": "a" },
        "spec": { "attacher": "csi.example.com", "nodeName": name, "source": { "persistentVolumeName": "pv-1" } },
    }))?;
    attachments
        .create(&PostParams::default(), &attachment)
        .await?;
    claims.delete(&name, &DeleteParams::default()).await?;
    let awaits = |claim: &_| {
        let claim = json!(claim);
        let conditions = claim["status"]["conditions"].as_array();
        let found = conditions
            .into_iter()
            .flatten()
            .find(|one| one["type"] == "VolumesDetached");
        found.is_some_and(|one| {
            one["reason"] == "AwaitingVolumeDetachment"
                && one["message"]
                    .as_str()
                    .is_some_and(|said| said.contains("pv-1"))
        })
    };
    wait::until(&claims, &name, "waiting for pv-1", SOON, awaits).await?;
    tokio::time::sleep(Duration::from_secs(3)).await;
    ensure!(
        stage.servers().await?.len() == 1,
        "the machine went with its volume"
    );
    attachments.delete("a", &DeleteParams::default()).await?;
    wait::gone(&claims, &name, SOON).await?;
    stage.until_servers(0).await
}
