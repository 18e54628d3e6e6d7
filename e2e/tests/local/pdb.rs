//! Does a node stay for as long as a disruption budget holds its pod, and no longer than its deadline?

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use e2e::ground::api;
use e2e::manifests::{class, deployment, pool, put};
use e2e::operator::{SOON, running, told};
use e2e::script::servers;
use e2e::{Stage, wait};
use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::DeleteParams;
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

const DEADLINE: &str = "karpenter.sh/nodeclaim-termination-timestamp";

#[tokio::test]
async fn a_budget_keeps_its_pod_and_the_node_until_it_allows_or_the_deadline_comes() -> Result<()> {
    let test = "budgets: a node stays until the budget allows";
    let Some(stage) = Stage::set(test, &[]).await? else {
        return Ok(());
    };
    let outcome = story(&stage).await;
    stage.end(outcome).await
}

async fn story(stage: &Stage) -> Result<()> {
    let client = &stage.client;
    let short = json!({"template": {"spec": {"terminationGracePeriod": "10s"}}});
    let pools = [
        pool("patient", "default", &json!({})),
        pool("hasty", "default", &short),
    ];
    put(client, [class("default", &json!({}))?]).await?;
    put(client, pools).await?;
    for (app, pool) in [("guarded", "patient"), ("stubborn", "hasty")] {
        put(
            client,
            [
                deployment(app, pool, 1, "100m"),
                budget(app, &json!({"minAvailable": 1})),
            ],
        )
        .await?;
    }
    let guarded = the_pod(client, "guarded").await?;
    let stubborn = the_pod(client, "stubborn").await?;
    for app in ["guarded", "stubborn"] {
        holds(client, app).await?;
    }
    // The claim has the name of its node.
    let claims = api(client, "karpenter.sh/v1", "NodeClaim");
    for (_, node) in [&guarded, &stubborn] {
        claims.delete(node, &DeleteParams::default()).await?;
    }
    blocked_by(client, &guarded.1, "default/guarded").await?;
    let claim = claims.get(&stubborn.1).await?;
    ensure!(claim.annotations().contains_key(DEADLINE), "{claim:#?}");
    overruled(stage, &stubborn).await?;

    // The other one has waited all that time, and several waves more.
    tokio::time::sleep(Duration::from_secs(3)).await;
    stayed(stage, &guarded).await?;
    put(client, [budget("guarded", &json!({"maxUnavailable": 1}))]).await?;
    gone(stage, &guarded.1).await?;
    let again = the_pod(client, "guarded").await?;
    ensure!(again.1 != guarded.1, "the pod runs on a node that is gone");
    Ok(())
}

/// Uid and node of the only pod of a Deployment, once it runs.
async fn the_pod(client: &Client, app: &str) -> Result<(String, String)> {
    let pods = running(client, app, 1).await?;
    let pod = pods.first().context("one pod runs")?;
    let node = pod.spec.as_ref().and_then(|spec| spec.node_name.clone());
    Ok((pod.uid().context("uid")?, node.context("its node")?))
}

fn budget(app: &str, allows: &Value) -> Value {
    let mut spec = allows.clone();
    spec["selector"] = json!({"matchLabels": {"app": app}});
    json!({
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": app, "namespace": "default"},
        "spec": spec,
    })
}

/// Waits until the cluster itself says that the budget allows nothing.
async fn holds(client: &Client, name: &str) -> Result<()> {
    let budgets: Api<PodDisruptionBudget> = Api::namespaced(client.clone(), "default");
    let strict = |budget: &PodDisruptionBudget| {
        let status = budget.status.as_ref();
        status.is_some_and(|status| {
            status.disruptions_allowed == Some(0) && status.current_healthy == Some(1)
        })
    };
    wait::until(&budgets, name, "strict", SOON, strict)
        .await
        .map(drop)
}

/// An event on the node names the budget.
async fn blocked_by(client: &Client, node: &str, budget: &str) -> Result<()> {
    wait::succeeds("the budget to be named", SOON, async || {
        let events = told(client, "Node", node).await?;
        let notes: Vec<String> = events.into_iter().filter_map(|event| event.note).collect();
        ensure!(notes.iter().any(|note| note.contains(budget)), "{notes:?}");
        Ok(())
    })
    .await
}

/// The deadline came: the pod went although its budget allows nothing still, and so did the node.
async fn overruled(stage: &Stage, (uid, node): &(String, String)) -> Result<()> {
    gone(stage, node).await?;
    holds(&stage.client, "stubborn").await?;
    let (again, _) = the_pod(&stage.client, "stubborn").await?;
    ensure!(again != *uid, "the same pod runs on");
    Ok(())
}

/// The pod was not touched, nor was its machine.
async fn stayed(stage: &Stage, (uid, node): &(String, String)) -> Result<()> {
    let pods: Api<Pod> = Api::namespaced(stage.client.clone(), "default");
    let all = pods.list(&kube::api::ListParams::default()).await?.items;
    let pod = all.iter().find(|pod| pod.uid().as_ref() == Some(uid));
    let pod = pod.context("the guarded pod was removed")?;
    ensure!(
        pod.metadata.deletion_timestamp.is_none(),
        "the guarded pod was evicted"
    );
    let there = servers(&stage.emulator).await?;
    ensure!(there.contains(node), "its machine is gone: {there:?}");
    Ok(())
}

/// Neither node nor claim nor machine is left.
async fn gone(stage: &Stage, name: &str) -> Result<()> {
    let nodes: Api<Node> = Api::all(stage.client.clone());
    wait::gone(&nodes, name, SOON).await?;
    wait::gone(
        &api(&stage.client, "karpenter.sh/v1", "NodeClaim"),
        name,
        SOON,
    )
    .await?;
    let there = servers(&stage.emulator).await?;
    ensure!(!there.iter().any(|server| server == name), "{there:?}");
    Ok(())
}
