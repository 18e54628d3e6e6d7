//! Do objects live and die by the same rules?

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use serde_json::json;

use super::{code, map, maps};

pub async fn an_object_lives_through_all_verbs(client: &Client, namespace: &str) -> Result<()> {
    let api = maps(client, namespace);
    let post = PostParams::default();
    let made = api.create(&post, &map("m", &[("a", "1")])).await?;
    ensure!(made.uid().is_some_and(|uid| uid.len() == 36), "no uid");
    ensure!(made.creation_timestamp().is_some(), "no creation time");
    let again = api.create(&post, &map("m", &[])).await;
    ensure!(code(&again) == Some(409), "{again:?}");
    let mut changed = made.clone();
    changed.data = Some([("a".to_owned(), "2".to_owned())].into());
    let changed = api.replace("m", &post, &changed).await?;
    ensure!(
        changed.resource_version() != made.resource_version(),
        "an update without a new version"
    );
    let same = api.replace("m", &post, &changed).await?;
    ensure!(
        same.resource_version() == changed.resource_version(),
        "an update that changes nothing was written"
    );
    let listed = api.list(&ListParams::default()).await?;
    ensure!(listed.items.iter().any(|item| item.name_any() == "m"));
    let done = api.delete("m", &DeleteParams::default()).await?;
    ensure!(done.is_right(), "a plain delete answers with a Status");
    let gone = api.get("m").await;
    ensure!(code(&gone) == Some(404), "{gone:?}");
    let nowhere = maps(client, "there-is-no-such-namespace");
    let lost = nowhere.create(&post, &map("m", &[])).await;
    ensure!(code(&lost) == Some(404), "{lost:?}");
    let odd = api.create(&post, &map("Not_A_Name", &[])).await;
    ensure!(code(&odd) == Some(422), "{odd:?}");
    Ok(())
}

pub async fn a_stale_write_conflicts(client: &Client, namespace: &str) -> Result<()> {
    let api = maps(client, namespace);
    let made = api
        .create(&PostParams::default(), &map("m", &[("a", "1")]))
        .await?;
    let bump = Patch::Merge(json!({"data": {"a": "2"}}));
    api.patch("m", &PatchParams::default(), &bump).await?;
    let late = api.replace("m", &PostParams::default(), &made).await;
    ensure!(code(&late) == Some(409), "{late:?}");
    let guarded =
        json!({"metadata": {"resourceVersion": made.resource_version()}, "data": {"a": "3"}});
    let late = api
        .patch("m", &PatchParams::default(), &Patch::Merge(guarded))
        .await;
    ensure!(code(&late) == Some(409), "{late:?}");
    let wrong = DeleteParams::default().preconditions(kube::api::Preconditions {
        uid: Some("11111111-1111-1111-1111-111111111111".to_owned()),
        resource_version: None,
    });
    let kept = api.delete("m", &wrong).await;
    ensure!(code(&kept) == Some(409), "{kept:?}");
    Ok(())
}

pub async fn a_finalizer_holds_an_object(client: &Client, namespace: &str) -> Result<()> {
    let api = maps(client, namespace);
    let mut held = map("m", &[]);
    held.metadata.finalizers = Some(vec!["joiner.dev/test".to_owned()]);
    api.create(&PostParams::default(), &held).await?;
    let marked = api.delete("m", &DeleteParams::default()).await?;
    ensure!(marked.is_left(), "a held object is answered with itself");
    let still = api.get("m").await?;
    ensure!(
        still.metadata.deletion_timestamp.is_some(),
        "not marked for deletion"
    );
    let more = json!({"metadata": {"finalizers": ["joiner.dev/test", "joiner.dev/other"]}});
    let refused = api
        .patch("m", &PatchParams::default(), &Patch::Merge(more))
        .await;
    ensure!(code(&refused) == Some(422), "{refused:?}");
    let none = json!({"metadata": {"finalizers": null}});
    api.patch("m", &PatchParams::default(), &Patch::Merge(none))
        .await?;
    ensure!(code(&api.get("m").await) == Some(404), "still there");
    Ok(())
}

pub async fn a_generation_counts_specs_only(client: &Client, namespace: &str) -> Result<()> {
    let api: Api<Deployment> = Api::namespaced(client.clone(), namespace);
    let wish: Deployment = serde_json::from_value(json!({
        "metadata": {"name": "d"},
        "spec": {"replicas": 0, "selector": {"matchLabels": {"app": "d"}}, "template": {
            "metadata": {"labels": {"app": "d"}},
            "spec": {"containers": [{"name": "c", "image": "none"}]}}},
    }))?;
    let made = api.create(&PostParams::default(), &wish).await?;
    ensure!(made.metadata.generation == Some(1));
    let labelled = Patch::Merge(json!({"metadata": {"labels": {"a": "b"}}}));
    let labelled = api.patch("d", &PatchParams::default(), &labelled).await?;
    ensure!(
        labelled.metadata.generation == Some(1),
        "a label is no generation"
    );
    let paused = Patch::Merge(json!({"spec": {"paused": true}}));
    let paused = api.patch("d", &PatchParams::default(), &paused).await?;
    ensure!(paused.metadata.generation == Some(2));
    let scaled = Patch::Merge(json!({"spec": {"replicas": 0}}));
    let scaled = api
        .patch_scale("d", &PatchParams::default(), &scaled)
        .await?;
    ensure!(scaled.spec.and_then(|spec| spec.replicas).unwrap_or(0) == 0);
    let moved = Patch::Merge(json!({"spec": {"selector": {"matchLabels": {"app": "e"}}}}));
    let moved = api.patch("d", &PatchParams::default(), &moved).await;
    ensure!(code(&moved) == Some(422), "{moved:?}");
    Ok(())
}

pub async fn a_generated_name_is_free(client: &Client, namespace: &str) -> Result<()> {
    let api = maps(client, namespace);
    let mut wish = map("", &[]);
    wish.metadata.name = None;
    wish.metadata.generate_name = Some("web-".to_owned());
    let one = api.create(&PostParams::default(), &wish).await?.name_any();
    let two = api.create(&PostParams::default(), &wish).await?.name_any();
    ensure!(
        one != two && one.starts_with("web-") && one.len() == 9,
        "{one} {two}"
    );
    wish.metadata.generate_name = None;
    let nameless = api.create(&PostParams::default(), &wish).await;
    ensure!(code(&nameless) == Some(422), "{nameless:?}");
    Ok(())
}

pub async fn a_collection_goes_at_once(client: &Client, namespace: &str) -> Result<()> {
    let api = maps(client, namespace);
    for name in ["a", "b", "c"] {
        let mut wish = map(name, &[]);
        wish.metadata.labels = Some([("go".to_owned(), (name != "c").to_string())].into());
        api.create(&PostParams::default(), &wish).await?;
    }
    let picked = ListParams::default().labels("go=true");
    api.delete_collection(&DeleteParams::default(), &picked)
        .await?;
    ensure!(code(&api.get("a").await) == Some(404));
    api.get("c").await.context("the one not picked stays")?;
    Ok(())
}

pub async fn a_dry_run_writes_nothing(client: &Client, namespace: &str) -> Result<()> {
    let api = maps(client, namespace);
    let dry = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    let made = api.create(&dry, &map("m", &[("a", "1")])).await?;
    ensure!(made.uid().is_some(), "as if it were made");
    ensure!(code(&api.get("m").await) == Some(404), "it was made");
    Ok(())
}
