//! Do the four kinds of patches do the same?

use anyhow::{Result, ensure};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Node};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use super::{code, map, maps};

pub async fn merge_and_json_patches_change_what_they_say(
    client: &Client,
    namespace: &str,
) -> Result<()> {
    let api = maps(client, namespace);
    api.create(&PostParams::default(), &map("m", &[("a", "1"), ("b", "1")]))
        .await?;
    let plain = PatchParams::default();
    let merged = Patch::Merge(json!({"data": {"a": null, "c": "2"}}));
    let merged = api.patch("m", &plain, &merged).await?;
    ensure!(
        entries(&merged) == json!({"b": "1", "c": "2"}),
        "{merged:?}"
    );
    let steps = json!([
        {"op": "test", "path": "/data/b", "value": "1"},
        {"op": "replace", "path": "/data/b", "value": "3"},
        {"op": "add", "path": "/metadata/labels", "value": {"x": "y"}},
    ]);
    let steps: json_patch::Patch = serde_json::from_value(steps)?;
    let stepped = api
        .patch("m", &plain, &Patch::<ConfigMap>::Json(steps.clone()))
        .await?;
    ensure!(
        entries(&stepped) == json!({"b": "3", "c": "2"}),
        "{stepped:?}"
    );
    let refused = api
        .patch("m", &plain, &Patch::<ConfigMap>::Json(steps))
        .await;
    ensure!(code(&refused) == Some(422), "a failed test: {refused:?}");
    let missing = api
        .patch("absent", &plain, &Patch::Merge(json!({"data": {}})))
        .await;
    ensure!(code(&missing) == Some(404), "{missing:?}");
    Ok(())
}

pub async fn a_strategic_patch_merges_lists_by_key(client: &Client, namespace: &str) -> Result<()> {
    let api: Api<Deployment> = Api::namespaced(client.clone(), namespace);
    let wish: Deployment = serde_json::from_value(json!({
        "metadata": {"name": "d"},
        "spec": {"replicas": 0, "selector": {"matchLabels": {"app": "d"}}, "template": {
            "metadata": {"labels": {"app": "d"}},
            "spec": {
                "containers": [{"name": "a", "image": "1", "env": [{"name": "X", "value": "1"}]}, {"name": "b", "image": "1"}],
                "tolerations": [{"key": "one", "operator": "Exists"}],
            }}},
    }))?;
    api.create(&PostParams::default(), &wish).await?;
    let patch = json!({"spec": {"template": {"spec": {
        "containers": [
            {"name": "a", "image": "2", "env": [{"name": "Y", "value": "2"}]},
            {"name": "b", "$patch": "delete"},
            {"name": "c", "image": "1"},
        ],
        "tolerations": [{"key": "two", "operator": "Exists"}],
    }}}});
    let patched = api
        .patch("d", &PatchParams::default(), &Patch::Strategic(patch))
        .await?;
    let spec = serde_json::to_value(&patched)?["spec"]["template"]["spec"].clone();
    let containers = spec["containers"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let mut names: Vec<&str> = containers
        .iter()
        .filter_map(|c| c["name"].as_str())
        .collect();
    names.sort_unstable();
    ensure!(names == ["a", "c"], "{names:?}");
    let first = containers
        .iter()
        .find(|c| c["name"] == "a")
        .cloned()
        .unwrap_or_default();
    ensure!(first["image"] == "2", "{first}");
    ensure!(
        first["env"].as_array().is_some_and(|env| env.len() == 2),
        "{first}"
    );
    ensure!(
        spec["tolerations"] == json!([{"key": "two", "operator": "Exists"}]),
        "an atomic list is replaced: {}",
        spec["tolerations"]
    );
    Ok(())
}

pub async fn apply_knows_its_owners(client: &Client, namespace: &str) -> Result<()> {
    let api = maps(client, namespace);
    let wish = |entries: Value| {
        Patch::Apply(
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "data": entries}),
        )
    };
    let (one, two) = (PatchParams::apply("one"), PatchParams::apply("two"));
    api.patch("m", &one, &wish(json!({"a": "1", "b": "1"})))
        .await?;
    let both = api.patch("m", &two, &wish(json!({"c": "2"}))).await?;
    ensure!(entries(&both) == json!({"a": "1", "b": "1", "c": "2"}));
    let clash = api
        .patch("m", &two, &wish(json!({"a": "2", "c": "2"})))
        .await;
    ensure!(code(&clash) == Some(409), "{clash:?}");
    if let Err(kube::Error::Api(status)) = &clash {
        let causes = status
            .details
            .as_ref()
            .map(|details| details.causes.clone());
        let causes = causes.unwrap_or_default();
        ensure!(
            causes
                .iter()
                .any(|cause| cause.field == ".data.a" && cause.reason == "FieldManagerConflict"),
            "{causes:?}"
        );
    }
    let forced = api
        .patch(
            "m",
            &two.clone().force(),
            &wish(json!({"a": "2", "c": "2"})),
        )
        .await?;
    ensure!(entries(&forced)["a"] == "2");
    let less = api.patch("m", &one, &wish(json!({"b": "1"}))).await?;
    ensure!(
        entries(&less) == json!({"a": "2", "b": "1", "c": "2"}),
        "a field that was taken away stays: {less:?}"
    );
    let none = api.patch("m", &one, &wish(json!({}))).await?;
    ensure!(entries(&none) == json!({"a": "2", "c": "2"}), "{none:?}");
    Ok(())
}

pub async fn an_update_owns_what_it_wrote(client: &Client, namespace: &str) -> Result<()> {
    let api = maps(client, namespace);
    let two = PatchParams::apply("two");
    let wish = Patch::Apply(
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"},
        "data": {"a": "2", "c": "2"}}),
    );
    api.patch("m", &two, &wish).await?;
    let written = Patch::Merge(json!({"data": {"c": "9"}}));
    api.patch(
        "m",
        &PatchParams {
            field_manager: Some("hand".to_owned()),
            ..PatchParams::default()
        },
        &written,
    )
    .await?;
    let clash = api.patch("m", &two, &wish).await;
    ensure!(
        code(&clash) == Some(409),
        "an update owns what it wrote: {clash:?}"
    );
    Ok(())
}

pub async fn a_status_has_its_own_door(client: &Client, namespace: &str) -> Result<()> {
    let api: Api<Node> = Api::all(client.clone());
    let name = format!("{namespace}-node");
    let wish: Node = serde_json::from_value(
        json!({"metadata": {"name": name}, "spec": {"unschedulable": true}}),
    )?;
    api.create(&PostParams::default(), &wish).await?;
    let plain = PatchParams::default();
    let status =
        Patch::Merge(json!({"spec": {"unschedulable": null}, "status": {"phase": "Running"}}));
    let told = api.patch_status(&name, &plain, &status).await?;
    ensure!(
        told.spec.as_ref().and_then(|spec| spec.unschedulable) == Some(true),
        "{told:?}"
    );
    let phase = |node: &Node| node.status.as_ref().and_then(|status| status.phase.clone());
    ensure!(phase(&told).as_deref() == Some("Running"), "{told:?}");
    let other =
        Patch::Merge(json!({"status": {"phase": "Pending"}, "metadata": {"labels": {"a": "b"}}}));
    let labelled = api.patch(&name, &plain, &other).await?;
    ensure!(
        phase(&labelled).as_deref() == Some("Running"),
        "the main door changed the status"
    );
    let id = Patch::Merge(json!({"spec": {"providerID": "x:///1"}}));
    api.patch(&name, &plain, &id).await?;
    let id = Patch::Merge(json!({"spec": {"providerID": "x:///2"}}));
    let moved = api.patch(&name, &plain, &id).await;
    ensure!(code(&moved) == Some(422), "{moved:?}");
    api.delete(&name, &DeleteParams::default()).await?;
    Ok(())
}

fn entries(map: &ConfigMap) -> Value {
    json!(map.data)
}
