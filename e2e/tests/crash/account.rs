//! Does anything go, or get forgotten, because the credentials were changed to another account?

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Result, ensure};
use e2e::ground::api;
use e2e::wait;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::events::v1::Event;
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams};
use serde_json::json;

use crate::lane::{Lane, SOON};

/// One port, in a network that both projects have.
const CLASS: &str = "
apiVersion: karpenter.k8s.openstack/v1
kind: OpenStackNodeClass
metadata: {name: default}
spec:
  imageSelectorTerms: [{name: k8s-ubuntu-24.04}]
  ports: [{network: {name: k8s}}]
  securityGroupSelectorTerms: [{name: k8s-node}]
  bootstrap: {mode: Kubelet}
  cloud: {credentialsSecretRef: {name: cloud, namespace: joiner}}
";

#[tokio::test(flavor = "multi_thread")]
async fn credentials_of_another_project_make_nothing_look_gone() -> Result<()> {
    let Some(control_plane) = e2e::need_control_plane("crash: credentials of another project")
    else {
        return Ok(());
    };
    let lane = Lane::with(&control_plane, CLASS, true).await?;
    let (ours, theirs) = (lane.cloud.env(), lane.cloud.neighbours_env());
    enter_with(&lane, &ours, "1").await?;
    lane.scale(3).await?;
    let mut operator = lane.operator(&["--sweep-interval=500ms", "--sweep-longest-create=1s"])?;
    lane.until("pods to run", &operator, Lane::all_run).await?;
    let own = lane.servers();

    enter_with(&lane, &theirs, "2").await?;
    lane.scale_to_nothing().await?;
    let events: Api<Event> = Api::all(lane.client.clone());
    lane.until("an event about the account", &operator, async |_| {
        let told = events.list(&ListParams::default()).await?;
        let about = told
            .iter()
            .filter(|event| event.reason.as_deref() == Some("AccountChanged"));
        let notes: Vec<_> = about.filter_map(|event| event.note.clone()).collect();
        ensure!(
            notes
                .iter()
                .any(|note| note.contains("give the class credentials of")),
            "{notes:?}"
        );
        Ok(())
    })
    .await?;
    ensure!(lane.servers() == own, "{:?} of {own:?}", lane.servers());
    lane.until("each claim to say why it stays", &operator, async |_| {
        let claims = lane.claims().list(&ListParams::default()).await?.items;
        ensure!(
            claims.len() == own.len(),
            "{} claims, and {} servers",
            claims.len(),
            own.len()
        );
        for claim in &claims {
            let conditions = claim.data["status"]["conditions"].to_string();
            ensure!(
                conditions.contains("not proven gone: its instance belongs to account"),
                "{conditions}"
            );
        }
        Ok(())
    })
    .await?;

    enter_with(&lane, &ours, "3").await?;
    lane.until("nothing to be left", &operator, Lane::nothing_left)
        .await?;
    operator.terminate(Duration::from_secs(30)).await?;
    let home = lane.cloud.access.project_id.clone();
    lane.cloud
        .world(|world| lane.lookalikes.untouched_in(world, &home))?;
    lane.cloud.stop().await;
    Ok(())
}

/// Puts credentials in place, wakes the class, and waits until the cloud was entered with them.
async fn enter_with(lane: &Lane, env: &BTreeMap<String, String>, turn: &str) -> Result<()> {
    let secrets: Api<Secret> = Api::namespaced(lane.client.clone(), "joiner");
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "cloud"}, "stringData": env});
    let params = PatchParams::apply("test").force();
    secrets
        .patch("cloud", &params, &Patch::Apply(secret))
        .await?;
    let from = lane.cloud.now();
    let classes = api(
        &lane.client,
        "karpenter.k8s.openstack/v1",
        "OpenStackNodeClass",
    );
    let change = json!({"metadata": {"annotations": {"test/turn": turn}}});
    classes
        .patch("default", &PatchParams::default(), &Patch::Merge(change))
        .await?;
    if turn == "1" {
        return Ok(()); // nobody runs yet
    }
    wait::succeeds("a token for the new credentials", SOON, async || {
        let calls = lane.cloud.calls_since(from);
        ensure!(
            calls.iter().any(|call| call.path.ends_with("/auth/tokens")),
            "{calls:?}"
        );
        Ok(())
    })
    .await
}
