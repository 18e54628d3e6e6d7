//! Do watches tell the same, in the same order?

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use futures::{Stream, StreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{
    DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams,
};
use kube::{Client, ResourceExt};
use serde_json::json;

use super::{map, maps};

const PATIENCE: Duration = Duration::from_secs(20);

pub async fn a_watch_follows_a_list(client: &Client, namespace: &str) -> Result<()> {
    let api = maps(client, namespace);
    let from = api.list(&ListParams::default()).await?;
    let from = from
        .metadata
        .resource_version
        .context("a list has a version")?;
    let picked = WatchParams::default().labels("app=x");
    let mut events = Box::pin(api.watch(&picked, &from).await?);
    let mut wish = map("m", &[("a", "1")]);
    wish.metadata.labels = Some([("app".to_owned(), "x".to_owned())].into());
    api.create(&PostParams::default(), &wish).await?;
    let change = Patch::Merge(json!({"data": {"a": "2"}}));
    api.patch("m", &PatchParams::default(), &change).await?;
    api.delete("m", &DeleteParams::default()).await?;
    let mut seen = Vec::new();
    let mut versions = Vec::new();
    for _ in 0..3 {
        let (kind, object) = next(&mut events).await?;
        versions.push(object.resource_version().unwrap_or_default());
        seen.push(kind);
    }
    ensure!(seen == ["ADDED", "MODIFIED", "DELETED"], "{seen:?}");
    let numbers: Vec<u64> = versions
        .iter()
        .filter_map(|text| text.parse().ok())
        .collect();
    ensure!(
        numbers.len() == 3 && numbers.is_sorted_by(|a, b| a < b),
        "{versions:?}"
    );
    Ok(())
}

pub async fn a_selector_makes_things_appear_and_vanish(
    client: &Client,
    namespace: &str,
) -> Result<()> {
    let api = maps(client, namespace);
    let made = api.create(&PostParams::default(), &map("m", &[])).await?;
    let from = made.resource_version().context("an object has a version")?;
    let picked = WatchParams::default().labels("app=x");
    let mut events = Box::pin(api.watch(&picked, &from).await?);
    for value in ["x", "y"] {
        let label = Patch::Merge(json!({"metadata": {"labels": {"app": value}}}));
        api.patch("m", &PatchParams::default(), &label).await?;
    }
    let (kind, _) = next(&mut events).await?;
    ensure!(kind == "ADDED", "{kind}");
    let (kind, _) = next(&mut events).await?;
    ensure!(kind == "DELETED", "{kind}");
    Ok(())
}

pub async fn a_watch_can_begin_with_what_is_there(client: &Client, namespace: &str) -> Result<()> {
    let api = maps(client, namespace);
    api.create(&PostParams::default(), &map("m", &[])).await?;
    let params = WatchParams::default()
        .fields("metadata.name=m")
        .initial_events();
    let mut events = Box::pin(api.watch(&params, "0").await?);
    let (kind, object) = next(&mut events).await?;
    ensure!(kind == "ADDED" && object.name_any() == "m", "{kind}");
    loop {
        let event = tokio::time::timeout(PATIENCE, events.next()).await?;
        let Some(Ok(WatchEvent::Bookmark(mark))) = event else {
            bail!("a bookmark should say that this was all, not {event:?}");
        };
        // others may come before
        let through = mark.metadata.annotations.get("k8s.io/initial-events-end");
        if through.is_some_and(|value| value == "true") {
            break;
        }
    }
    api.delete("m", &DeleteParams::default()).await?;
    let (kind, _) = next(&mut events).await?;
    ensure!(kind == "DELETED", "{kind}");
    Ok(())
}

async fn next(
    events: &mut (impl Stream<Item = kube::Result<WatchEvent<ConfigMap>>> + Unpin),
) -> Result<(&'static str, ConfigMap)> {
    loop {
        let event = tokio::time::timeout(PATIENCE, events.next())
            .await
            .context("no event in time")?;
        match event.context("the watch ended")?? {
            WatchEvent::Added(object) => return Ok(("ADDED", object)),
            WatchEvent::Modified(object) => return Ok(("MODIFIED", object)),
            WatchEvent::Deleted(object) => return Ok(("DELETED", object)),
            WatchEvent::Bookmark(_) => {}
            WatchEvent::Error(status) => bail!("{status:?}"),
        }
    }
}
