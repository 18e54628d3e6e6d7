//! Who makes the volumes that pods wait for once they have a node?
//!
//! A provisioner and the binder in a few lines: what kube-scheduler has chosen gets a volume at once.

use anyhow::Result;
use futures::TryStreamExt;
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use serde_json::json;

const CHOSEN: &str = "volume.kubernetes.io/selected-node";

/// Gives a volume to every claim that has been given a node.
pub async fn make(client: &Client) -> Result<()> {
    let claims: Api<PersistentVolumeClaim> = Api::all(client.clone());
    let listed = claims.list(&ListParams::default()).await?.items;
    let waiting = listed.into_iter().filter(|claim| {
        let spec = claim.spec.as_ref();
        claim.annotations().contains_key(CHOSEN)
            && spec.is_some_and(|spec| spec.volume_name.is_none())
    });
    futures::stream::iter(waiting.map(Ok))
        .try_for_each_concurrent(16, |claim| one(client, claim))
        .await
}

async fn one(client: &Client, claim: PersistentVolumeClaim) -> Result<()> {
    let (namespace, name) = (claim.namespace().unwrap_or_default(), claim.name_any());
    let volume = format!("{namespace}-{name}");
    let class = claim.spec.and_then(|spec| spec.storage_class_name);
    let made: PersistentVolume = serde_json::from_value(json!({
        "metadata": { "name": volume },
        "spec": {
            "capacity": { "storage": "1Gi" }, "accessModes": ["ReadWriteOnce"], "storageClassName": class,
            "csi": { "driver": "csi.example.com", "volumeHandle": volume },
            "claimRef": { "apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": namespace, "name": name, "uid": claim.metadata.uid },
        },
    }))?;
    let volumes: Api<PersistentVolume> = Api::all(client.clone());
    volumes.create(&PostParams::default(), &made).await?;
    let claims: Api<PersistentVolumeClaim> = Api::namespaced(client.clone(), &namespace);
    let bound = json!({ "metadata": { "annotations": { "pv.kubernetes.io/bind-completed": "yes" } }, "spec": { "volumeName": volume } });
    claims
        .patch(&name, &PatchParams::default(), &Patch::Merge(bound))
        .await?;
    Ok(())
}
