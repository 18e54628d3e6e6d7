//! Do dependants go with their owners?

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{DeleteParams, PostParams, PropagationPolicy};
use kube::{Api, Client, Resource, ResourceExt};

use super::{map, maps};
use crate::wait;

const PATIENCE: Duration = Duration::from_mins(1);

pub async fn dependants_go_with_their_owner(client: &Client, namespace: &str) -> Result<()> {
    let api = maps(client, namespace);
    for (name, how) in [
        ("background", DeleteParams::background()),
        ("foreground", DeleteParams::foreground()),
    ] {
        let child = family(&api, name).await?;
        api.delete(name, &how).await?;
        wait::gone(&api, &child, PATIENCE).await?;
        wait::gone(&api, name, PATIENCE).await?;
    }
    Ok(())
}

pub async fn orphans_stay(client: &Client, namespace: &str) -> Result<()> {
    let api = maps(client, namespace);
    let child = family(&api, "owner").await?;
    let how = DeleteParams {
        propagation_policy: Some(PropagationPolicy::Orphan),
        ..DeleteParams::default()
    };
    api.delete("owner", &how).await?;
    wait::gone(&api, "owner", PATIENCE).await?;
    let left = api.get(&child).await.context("an orphan stays")?;
    ensure!(left.owner_references().is_empty(), "{left:?}");
    Ok(())
}

async fn family(api: &Api<ConfigMap>, name: &str) -> Result<String> {
    let owner = api.create(&PostParams::default(), &map(name, &[])).await?;
    let child = format!("{name}-child");
    let mut wish = map(&child, &[]);
    wish.metadata.owner_references = Some(vec![OwnerReference {
        api_version: ConfigMap::api_version(&()).into_owned(),
        kind: ConfigMap::kind(&()).into_owned(),
        name: owner.name_any(),
        uid: owner.uid().context("an owner has a uid")?,
        block_owner_deletion: Some(true),
        controller: Some(true),
    }]);
    api.create(&PostParams::default(), &wish).await?;
    Ok(child)
}
