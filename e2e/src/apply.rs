//! How do manifests get into a cluster, whatever kinds they hold?

use std::time::Duration;

use anyhow::{Context, Result};
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::discovery::{ApiResource, Scope, pinned_kind};
use kube::{Api, Client, ResourceExt};
use serde_json::Value;

use crate::wait;

/// Who a test's writes belong to, where it does not matter.
pub const FIELD_MANAGER: &str = "e2e";

/// Applies a stream of YAML documents, server side; returns the objects as the server stored them. A CRD counts as
/// applied when its kind can be used.
pub async fn apply(client: &Client, yaml: &str) -> Result<Vec<DynamicObject>> {
    apply_as(client, FIELD_MANAGER, yaml).await
}

/// The same as a field manager of your choice.
pub async fn apply_as(client: &Client, manager: &str, yaml: &str) -> Result<Vec<DynamicObject>> {
    let mut stored = Vec::new();
    for object in documents(yaml)? {
        let label = label(&object);
        let api = api_for(client, &object).await?;
        let params = PatchParams::apply(manager).force();
        let answer = api
            .patch(&object.name_any(), &params, &Patch::Apply(&object))
            .await;
        stored.push(answer.with_context(|| format!("{label} was not applied"))?);
        if object
            .types
            .as_ref()
            .is_some_and(|types| types.kind == "CustomResourceDefinition")
        {
            let usable = wait::condition("Established", "True");
            wait::until(
                &api,
                &object.name_any(),
                "Established",
                Duration::from_secs(30),
                usable,
            )
            .await?;
        }
    }
    Ok(stored)
}

/// Deletes what a stream of YAML documents names; what is absent is fine.
pub async fn delete(client: &Client, yaml: &str) -> Result<()> {
    for object in documents(yaml)? {
        let api = api_for(client, &object).await?;
        match api
            .delete(&object.name_any(), &DeleteParams::default())
            .await
        {
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            answer => drop(answer.with_context(|| format!("{} was not deleted", label(&object)))?),
        }
    }
    Ok(())
}

/// The documents of a YAML stream, lists unfolded, empty documents left out.
pub fn documents(yaml: &str) -> Result<Vec<DynamicObject>> {
    let written: Vec<Value> =
        serde_saphyr::from_multiple(yaml).context("the manifest is no YAML")?;
    let mut objects = Vec::new();
    for mut document in written {
        let items = match document.get_mut("items").map(Value::take) {
            Some(Value::Array(items)) if document["kind"] == "List" => items,
            Some(taken) => {
                document["items"] = taken;
                vec![document]
            }
            None => vec![document],
        };
        for item in items {
            objects.push(
                serde_json::from_value(item.clone())
                    .with_context(|| format!("no Kubernetes object: {item}"))?,
            );
        }
    }
    Ok(objects)
}

/// The API an object belongs to, found by asking the server.
async fn api_for(client: &Client, object: &DynamicObject) -> Result<Api<DynamicObject>> {
    let types = object
        .types
        .as_ref()
        .context("a manifest needs apiVersion and kind")?;
    let kind = GroupVersionKind::try_from(types)
        .with_context(|| format!("apiVersion {:?}", types.api_version))?;
    let (resource, scope) = find(client, &kind).await?;
    Ok(match scope {
        Scope::Cluster => Api::all_with(client.clone(), &resource),
        Scope::Namespaced => Api::namespaced_with(
            client.clone(),
            object.namespace().as_deref().unwrap_or("default"),
            &resource,
        ),
    })
}

/// Discovery lags behind a CRD that was just established, so a kind may need a moment.
async fn find(client: &Client, kind: &GroupVersionKind) -> Result<(ApiResource, Scope)> {
    let mut last = None;
    for _ in 0..50 {
        match pinned_kind(client, kind).await {
            Ok((resource, capabilities)) => return Ok((resource, capabilities.scope)),
            Err(error) => last = Some(error),
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let why = last.map(|error| error.to_string()).unwrap_or_default();
    anyhow::bail!(
        "the server does not know kind {} of {}: {why}",
        kind.kind,
        kind.api_version()
    )
}

fn label(object: &DynamicObject) -> String {
    let kind = object
        .types
        .as_ref()
        .map_or("object", |types| types.kind.as_str());
    match object.namespace() {
        Some(namespace) => format!("{kind} {namespace}/{}", object.name_any()),
        None => format!("{kind} {}", object.name_any()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_split_into_documents_and_lists_are_unfolded() {
        let yaml = "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n---\n\n---\napiVersion: v1\nkind: List\nitems:\n\
                    - {apiVersion: v1, kind: Secret, metadata: {name: b, namespace: a}}\n- {apiVersion: v1, kind: Node, metadata: {name: c}}\n";
        let labels: Vec<String> = documents(yaml).unwrap().iter().map(label).collect();
        assert_eq!(labels, ["Namespace a", "Secret a/b", "Node c"]);
    }

    #[test]
    fn what_is_no_object_is_shown() {
        let error = documents("metadata: [1]").unwrap_err();
        assert!(
            format!("{error:#}").contains("no Kubernetes object"),
            "{error:#}"
        );
    }
}
