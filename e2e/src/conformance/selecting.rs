//! Do lists pick and page the same?

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{ListParams, PostParams};
use kube::{Api, Client, ResourceExt};
use serde_json::json;

use super::{code, map, maps};

pub async fn lists_are_picked_and_paged(client: &Client, namespace: &str) -> Result<()> {
    let api = maps(client, namespace);
    for (name, tier) in [("a", "one"), ("b", "two"), ("c", "two"), ("d", "three")] {
        let mut wish = map(name, &[]);
        wish.metadata.labels = Some(
            [
                ("tier".to_owned(), tier.to_owned()),
                (format!("is-{name}"), String::new()),
            ]
            .into(),
        );
        api.create(&PostParams::default(), &wish).await?;
    }
    let picks = [
        ("tier=two", "b c"),
        ("tier!=two,tier", "a d"),
        ("tier in (one, three)", "a d"),
        ("tier notin (one),tier", "b c d"),
        ("is-a", "a"),
        ("!is-a,tier", "b c d"),
    ];
    for (selector, wanted) in picks {
        let list = api.list(&ListParams::default().labels(selector)).await?;
        let names: Vec<String> = list.items.iter().map(ResourceExt::name_any).collect();
        ensure!(names.join(" ") == wanted, "{selector}: {names:?}");
    }
    let one = api
        .list(&ListParams::default().fields("metadata.name=c"))
        .await?;
    ensure!(one.items.len() == 1);
    let odd = api.list(&ListParams::default().fields("data.a=1")).await;
    ensure!(code(&odd) == Some(400), "{odd:?}");
    let odd = api.list(&ListParams::default().labels("tier in (")).await;
    ensure!(code(&odd) == Some(400), "{odd:?}");
    let tiers = ListParams::default().labels("tier").limit(3);
    let first = api.list(&tiers).await?;
    ensure!(first.items.len() == 3);
    let token = first.metadata.continue_.clone().context("there is more")?;
    api.create(&PostParams::default(), &map("bb", &[])).await?;
    let second = api.list(&tiers.continue_token(&token)).await?;
    ensure!(second.items.len() == 1 && second.items[0].name_any() == "d");
    ensure!(
        second.metadata.resource_version == first.metadata.resource_version,
        "a list is of one moment"
    );
    Ok(())
}

pub async fn pods_are_picked_by_their_fields(client: &Client, namespace: &str) -> Result<()> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let pod: Pod = serde_json::from_value(json!({"metadata": {"name": "p"}, "spec": {
        "containers": [{"name": "c", "image": "none"}], "schedulerName": "nobody"}}))?;
    pods.create(&PostParams::default(), &pod).await?;
    for (selector, count) in [
        ("spec.nodeName=", 1),
        ("spec.nodeName!=", 0),
        ("status.phase=Pending", 1),
        ("status.phase!=Pending", 0),
    ] {
        let list = pods.list(&ListParams::default().fields(selector)).await?;
        ensure!(
            list.items.len() == count,
            "{selector}: {}",
            list.items.len()
        );
    }
    Ok(())
}
