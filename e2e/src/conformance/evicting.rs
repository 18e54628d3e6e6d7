//! Are pods bound, evicted and protected the same?

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::{DeleteParams, EvictParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::json;

use super::code;
use crate::wait;

const PATIENCE: Duration = Duration::from_secs(30);

pub async fn a_pod_is_bound_once(client: &Client, namespace: &str) -> Result<()> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    running(client, namespace, "p").await?;
    let again = bind(client, namespace, "p").await;
    ensure!(code(&again) == Some(409), "{again:?}");
    let moved = Patch::Merge(json!({"spec": {"nodeName": "elsewhere"}}));
    let moved = pods.patch("p", &PatchParams::default(), &moved).await;
    ensure!(code(&moved) == Some(422), "{moved:?}");
    let marked = pods.delete("p", &DeleteParams::default()).await?;
    ensure!(marked.is_left(), "a bound pod has its grace");
    pods.delete("p", &DeleteParams::default().grace_period(0))
        .await?;
    wait::gone(&pods, "p", PATIENCE).await?;
    leave(client, namespace).await
}

pub async fn a_budget_refuses_an_eviction(client: &Client, namespace: &str) -> Result<()> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    running(client, namespace, "p").await?;
    let budgets: Api<PodDisruptionBudget> = Api::namespaced(client.clone(), namespace);
    let budget: PodDisruptionBudget = serde_json::from_value(json!({"metadata": {"name": "b"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "p"}}}}))?;
    budgets.create(&PostParams::default(), &budget).await?;
    let counted = |budget: &PodDisruptionBudget| {
        budget.status.as_ref().is_some_and(|status| {
            status.current_healthy == Some(1) && status.observed_generation.is_some()
        })
    };
    wait::until(&budgets, "b", "counted", PATIENCE, counted).await?;
    let refused = pods.evict("p", &EvictParams::default()).await;
    let Err(kube::Error::Api(status)) = refused else {
        bail!("the budget was not kept: {refused:?}");
    };
    ensure!(status.code == 429, "{status:?}");
    let causes = status
        .details
        .map(|details| details.causes)
        .unwrap_or_default();
    ensure!(
        causes
            .iter()
            .any(|cause| cause.reason == "DisruptionBudget"),
        "{causes:?}"
    );
    budgets.delete("b", &DeleteParams::default()).await?;
    pods.evict("p", &EvictParams::default())
        .await
        .context("without a budget it goes")?;
    ensure!(pods.get("p").await?.metadata.deletion_timestamp.is_some());
    pods.delete("p", &DeleteParams::default().grace_period(0))
        .await?;
    leave(client, namespace).await
}

/// A pod that seems to run: on a node without a kubelet, its status written by hand.
async fn running(client: &Client, namespace: &str, name: &str) -> Result<()> {
    let nodes: Api<Node> = Api::all(client.clone());
    // without its node the pod would be taken for lost
    let node: Node = serde_json::from_value(
        json!({"metadata": {"name": node(namespace)}, "spec": {"unschedulable": true}}),
    )?;
    nodes.create(&PostParams::default(), &node).await?;
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let pod: Pod = serde_json::from_value(
        json!({"metadata": {"name": name, "labels": {"app": name}}, "spec": {
        "containers": [{"name": "c", "image": "none"}], "schedulerName": "nobody"}}),
    )?;
    pods.create(&PostParams::default(), &pod).await?;
    bind(client, namespace, name).await?;
    let status = json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}});
    pods.patch_status(name, &PatchParams::default(), &Patch::Merge(status))
        .await?;
    Ok(())
}

fn node(namespace: &str) -> String {
    format!("{namespace}-node")
}

async fn leave(client: &Client, namespace: &str) -> Result<()> {
    let nodes: Api<Node> = Api::all(client.clone());
    nodes
        .delete(&node(namespace), &DeleteParams::default())
        .await?;
    Ok(())
}

async fn bind(client: &Client, namespace: &str, name: &str) -> kube::Result<serde_json::Value> {
    let body = json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node(namespace)}});
    let uri = format!("/api/v1/namespaces/{namespace}/pods/{name}/binding");
    let request = http::Request::post(uri).header("content-type", "application/json");
    let request = request
        .body(body.to_string().into_bytes())
        .map_err(kube::Error::HttpError)?;
    client.request(request).await
}
