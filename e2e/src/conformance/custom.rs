//! Are custom kinds served the same?

use std::time::Duration;

use anyhow::{Result, ensure};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client};
use serde_json::json;

use super::code;
use crate::wait;

pub async fn a_custom_kind_is_pruned_defaulted_and_scaled(
    client: &Client,
    namespace: &str,
) -> Result<()> {
    let group = format!("{namespace}.joiner.dev");
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let name = format!("widgets.{group}");
    definitions
        .create(&PostParams::default(), &definition(&group)?)
        .await?;
    let usable = wait::condition("Established", "True");
    wait::until(
        &definitions,
        &name,
        "Established",
        Duration::from_secs(30),
        usable,
    )
    .await?;
    let kind = GroupVersionKind::gvk(&group, "v1", "Widget");
    let api: Api<DynamicObject> = Api::namespaced_with(
        client.clone(),
        namespace,
        &ApiResource::from_gvk_with_plural(&kind, "widgets"),
    );
    let checked = async {
        check_schema(&api, &group).await?;
        check_doors(&api).await?;
        check_versions(client, &group, namespace).await?;
        check_lists(&api, &group).await
    };
    let checked = checked.await;
    definitions.delete(&name, &DeleteParams::default()).await?;
    checked
}

async fn check_schema(api: &Api<DynamicObject>, group: &str) -> Result<()> {
    let wish = |name: &str, spec: serde_json::Value| -> Result<DynamicObject> {
        Ok(serde_json::from_value(
            json!({"apiVersion": format!("{group}/v1"), "kind": "Widget",
            "metadata": {"name": name}, "spec": spec, "status": {"phase": "Made"}}),
        )?)
    };
    let post = PostParams::default();
    let good = wish("w", json!({"size": 2, "unknown": 1}))?;
    // a definition can be established a moment before it is served
    let made = wait::succeeds(
        "the kind to be served",
        Duration::from_secs(20),
        async || Ok(api.create(&post, &good).await?),
    )
    .await?;
    ensure!(
        made.data["spec"] == json!({"size": 2, "mode": "fast"}),
        "{}",
        made.data
    );
    ensure!(
        made.data["status"].is_null(),
        "a status at creation is not taken"
    );
    ensure!(made.metadata.generation == Some(1));
    for (bad, field) in [
        (json!({"size": "x"}), "spec.size"),
        (json!({}), "spec.size"),
        (json!({"size": 1, "mode": "odd"}), "spec.mode"),
    ] {
        let refused = api.create(&post, &wish("bad", bad)?).await;
        ensure!(code(&refused) == Some(422), "{field}: {refused:?}");
        if let Err(kube::Error::Api(status)) = refused {
            let causes = status
                .details
                .map(|details| details.causes)
                .unwrap_or_default();
            ensure!(
                causes.iter().any(|cause| cause.field == field),
                "{causes:?}"
            );
        }
    }
    Ok(())
}

async fn check_doors(api: &Api<DynamicObject>) -> Result<()> {
    let plain = PatchParams::default();
    let told = Patch::Merge(json!({"status": {"replicas": 2}, "spec": {"size": 9}}));
    let told = api.patch_status("w", &plain, &told).await?;
    ensure!(
        told.data["spec"]["size"] == 2 && told.data["status"]["replicas"] == 2,
        "{}",
        told.data
    );
    ensure!(
        told.metadata.generation == Some(1),
        "a status is no generation"
    );
    let scaled = Patch::Merge(json!({"spec": {"replicas": 5}}));
    let scaled = api.patch_scale("w", &plain, &scaled).await?;
    ensure!(scaled.spec.and_then(|spec| spec.replicas) == Some(5));
    let now = api.get("w").await?;
    ensure!(
        now.data["spec"]["size"] == 5 && now.metadata.generation == Some(2),
        "{}",
        now.data
    );
    let strategic = api
        .patch("w", &plain, &Patch::Strategic(json!({"spec": {"size": 1}})))
        .await;
    ensure!(code(&strategic) == Some(415), "{strategic:?}");
    Ok(())
}

async fn check_versions(client: &Client, group: &str, namespace: &str) -> Result<()> {
    let old = GroupVersionKind::gvk(group, "v1alpha1", "Widget");
    let old: Api<DynamicObject> = Api::namespaced_with(
        client.clone(),
        namespace,
        &ApiResource::from_gvk_with_plural(&old, "widgets"),
    );
    let seen = old.get("w").await?;
    let version = seen.types.map(|types| types.api_version);
    ensure!(version == Some(format!("{group}/v1alpha1")), "{version:?}");
    Ok(())
}

async fn check_lists(api: &Api<DynamicObject>, group: &str) -> Result<()> {
    let items = |count: usize| {
        let items: Vec<_> = (0..count)
            .map(|at| json!({"key": format!("k{at}"), "value": "v"}))
            .collect();
        Patch::Apply(
            json!({"apiVersion": format!("{group}/v1"), "kind": "Widget", "metadata": {"name": "w"}, "spec": {"items": items}}),
        )
    };
    api.patch("w", &PatchParams::apply("one"), &items(2))
        .await?;
    let less = api
        .patch("w", &PatchParams::apply("one"), &items(1))
        .await?;
    ensure!(
        less.data["spec"]["items"] == json!([{"key": "k0", "value": "v"}]),
        "{}",
        less.data
    );
    Ok(())
}

fn definition(group: &str) -> Result<CustomResourceDefinition> {
    let version = |name: &str, storage: bool| {
        json!({"name": name, "served": true, "storage": storage,
            "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.replicas"}},
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                "spec": {"type": "object", "required": ["size"], "properties": {
                    "size": {"type": "integer", "minimum": 0},
                    "mode": {"type": "string", "enum": ["fast", "slow"], "default": "fast"},
                    "items": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["key"],
                        "items": {"type": "object", "required": ["key"], "properties": {"key": {"type": "string"}, "value": {"type": "string"}}}}}},
                "status": {"type": "object", "properties": {"replicas": {"type": "integer"}, "phase": {"type": "string"}}}}}}})
    };
    Ok(serde_json::from_value(json!({
        "metadata": {"name": format!("widgets.{group}")},
        "spec": {"group": group, "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget", "singular": "widget"},
            "versions": [version("v1", true), version("v1alpha1", false)]},
    }))?)
}
