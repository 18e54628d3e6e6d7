//! Can one LIST of thousands of objects stored in the hub version be read in the old one?

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use e2e::ground::{Ground, api, read, repository};
use futures::{StreamExt, TryStreamExt, stream};
use kube::api::{DynamicObject, ListParams, PostParams};

const OBJECTS: usize = 5_000;

#[tokio::test]
async fn five_thousand_objects_stored_in_the_hub_are_listed_in_the_old_version() -> Result<()> {
    let Some(control_plane) = e2e::need_control_plane("local: a LIST of 5,000 objects") else {
        return Ok(());
    };
    let ground = Ground::private(&control_plane).await?;
    let client = ground.cluster.client().await?;
    let rich = read(&repository().join("crds/tests/golden/openstack/rich.v1.yaml"))?;
    let hub = api(&client, "karpenter.k8s.openstack/v1", "OpenStackNodeClass");
    let named = |index: usize| -> Result<DynamicObject> {
        let mut object = rich.clone();
        object["metadata"]["name"] = format!("rich-{index:04}").into();
        Ok(serde_json::from_value(object)?)
    };
    stream::iter(0..OBJECTS)
        .map(|index| {
            let hub = hub.clone();
            async move {
                hub.create(&PostParams::default(), &named(index)?).await?;
                anyhow::Ok(())
            }
        })
        .buffer_unordered(32)
        .try_collect::<Vec<()>>()
        .await?;
    let start = Instant::now();
    let old = api(
        &client,
        "karpenter.k8s.openstack/v1openstack",
        "OpenStackNodeClass",
    );
    let listed = old.list(&ListParams::default()).await?;
    println!(
        "{OBJECTS} objects listed in the old version in {:?}",
        start.elapsed()
    );
    // The API server converts each object on its own, although a ConversionReview could carry them all.
    let metrics = ground.webhook.lock().await.metrics().await?;
    let asked = metrics
        .lines()
        .find(|line| line.starts_with("joiner_webhook_reviews_total{route=\"convert\""));
    println!("{}", asked.context("the webhook counts its reviews")?);
    ensure!(
        listed.items.len() == OBJECTS,
        "{} of {OBJECTS}",
        listed.items.len()
    );
    let first = &listed.items[0];
    ensure!(
        first
            .metadata
            .annotations
            .iter()
            .flatten()
            .any(|(name, _)| name.ends_with("/conversion-data")),
        "{first:?}"
    );
    Ok(())
}
