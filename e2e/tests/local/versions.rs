//! Is every manifest accepted in the version it was written in, and read back as written in every version?

use std::path::Path;

use anyhow::{Context, Result, ensure};
use e2e::ground::{Ground, api, files, read, repository};
use kube::Client;
use kube::api::{DeleteParams, DynamicObject, PostParams};
use serde_json::Value;

use crate::written::unexplained;

#[tokio::test]
async fn every_golden_manifest_reads_back_as_written_in_every_version() -> Result<()> {
    let Some(control_plane) = e2e::need_control_plane("local: golden manifests in every version")
    else {
        return Ok(());
    };
    let ground = Ground::shared(&control_plane).await?;
    let client = ground.cluster.client().await?;
    let golden = files(&repository().join("crds/tests/golden"))?;
    ensure!(golden.len() > 15, "only {} golden manifests", golden.len());
    for file in &golden {
        there_and_back(&client, file)
            .await
            .with_context(|| file.display().to_string())?;
    }
    println!(
        "{} golden manifests accepted and read back as written",
        golden.len()
    );
    Ok(())
}

async fn there_and_back(client: &Client, file: &Path) -> Result<()> {
    let mut written = read(file)?;
    let stem = file
        .file_stem()
        .and_then(|stem| stem.to_str())
        .unwrap_or_default();
    // Several files call their object `default`; on one server each needs a name of its own.
    written["metadata"]["name"] = format!("golden-{stem}")
        .to_lowercase()
        .replace(['_', '.'], "-")
        .into();
    let (own, kind) = (text(&written, "apiVersion"), text(&written, "kind"));
    let api_of = |version: &str| api(client, version, &kind);
    let object: DynamicObject = serde_json::from_value(written.clone())?;
    let name = text(&written["metadata"], "name");
    api_of(&own)
        .create(&PostParams::default(), &object)
        .await
        .context("create")?;
    let first = get(client, &own, &kind, &name).await?;
    let strange = unexplained(&written, &first)?;
    ensure!(
        strange.is_empty(),
        "read back in {own} otherwise than written: {strange:?}"
    );
    for other in crate::written::versions(&own, &kind)
        .iter()
        .filter(|version| **version != own)
    {
        let elsewhere = get(client, other, &kind, &name).await?;
        let expected = crds::convert::convert(first.clone(), other)?;
        let strange = unexplained(&expected, &elsewhere)?;
        ensure!(
            strange.is_empty(),
            "read in {other} otherwise than converted: {strange:?}"
        );
        // An unchanged object written in the other version must not change what the first one shows.
        let same: DynamicObject = serde_json::from_value(elsewhere)?;
        api_of(other)
            .replace(&name, &PostParams::default(), &same)
            .await
            .with_context(|| format!("replace in {other}"))?;
        let again = get(client, &own, &kind, &name).await?;
        ensure!(
            again["spec"] == first["spec"],
            "a write in {other} changed {own}: {} became {}",
            first["spec"],
            again["spec"]
        );
    }
    api_of(&own)
        .delete(&name, &DeleteParams::default())
        .await
        .context("delete")?;
    Ok(())
}

#[tokio::test]
async fn an_edit_in_the_old_version_survives_and_so_do_fields_it_cannot_say() -> Result<()> {
    let Some(control_plane) = e2e::need_control_plane("local: edit in the old version") else {
        return Ok(());
    };
    let ground = Ground::shared(&control_plane).await?;
    let client = ground.cluster.client().await?;
    let mut hub = read(&repository().join("crds/tests/golden/openstack/rich.v1.yaml"))?;
    hub["metadata"]["name"] = "edited".into();
    let (new, old, kind) = (
        "karpenter.k8s.openstack/v1",
        "karpenter.k8s.openstack/v1openstack",
        "OpenStackNodeClass",
    );
    api(&client, new, kind)
        .create(&PostParams::default(), &serde_json::from_value(hub)?)
        .await?;
    let before = get(&client, new, kind, "edited").await?;
    let mut edited = get(&client, old, kind, "edited").await?;
    edited["spec"]["keyPair"] = "night-shift".into();
    api(&client, old, kind)
        .replace(
            "edited",
            &PostParams::default(),
            &serde_json::from_value(edited)?,
        )
        .await?;
    let after = get(&client, new, kind, "edited").await?;
    let mut expected = before["spec"].clone();
    expected["keyPair"] = "night-shift".into();
    assert_eq!(after["spec"], expected);
    api(&client, new, kind)
        .delete("edited", &DeleteParams::default())
        .await?;
    Ok(())
}

async fn get(client: &Client, version: &str, kind: &str, name: &str) -> Result<Value> {
    let object = api(client, version, kind)
        .get(name)
        .await
        .with_context(|| format!("get {name} in {version}"))?;
    Ok(serde_json::to_value(object)?)
}

fn text(object: &Value, field: &str) -> String {
    object[field].as_str().unwrap_or_default().to_owned()
}
