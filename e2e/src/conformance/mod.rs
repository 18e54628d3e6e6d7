//! What must every Kubernetes API do, the real one and ours, as kube-rs sees it?
//!
//! Each function is one behaviour. It takes a client with all rights (see [`client`]) and a namespace of its own, and
//! says what was different.

pub mod collecting;
pub mod custom;
pub mod evicting;
pub mod patches;
pub mod selecting;
pub mod verbs;
pub mod watches;

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{ObjectMeta, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config, ResourceExt};

/// Everything, one after the other, each in a namespace of its own.
pub async fn all(client: &Client) -> Result<usize> {
    let mut count = 0;
    macro_rules! run {
        ($($case:path),* $(,)?) => {$(
            let name = stringify!($case);
            let namespace = fresh(client).await?;
            $case(client, &namespace).await.with_context(|| name.to_owned())?;
            println!("conformance: {name}");
            count += 1;
        )*};
    }
    run!(
        verbs::an_object_lives_through_all_verbs,
        verbs::a_stale_write_conflicts,
        verbs::a_finalizer_holds_an_object,
        verbs::a_generation_counts_specs_only,
        verbs::a_generated_name_is_free,
        verbs::a_collection_goes_at_once,
        verbs::a_dry_run_writes_nothing,
        patches::merge_and_json_patches_change_what_they_say,
        patches::a_strategic_patch_merges_lists_by_key,
        patches::apply_knows_its_owners,
        patches::an_update_owns_what_it_wrote,
        patches::a_status_has_its_own_door,
        watches::a_watch_follows_a_list,
        watches::a_selector_makes_things_appear_and_vanish,
        watches::a_watch_can_begin_with_what_is_there,
        selecting::lists_are_picked_and_paged,
        selecting::pods_are_picked_by_their_fields,
        custom::a_custom_kind_is_pruned_defaulted_and_scaled,
        evicting::a_pod_is_bound_once,
        evicting::a_budget_refuses_an_eviction,
        collecting::dependants_go_with_their_owner,
        collecting::orphans_stay,
    );
    Ok(count)
}

/// A client that says what the server said, at once: the usual one tries a 429 again for minutes.
pub async fn client(kubeconfig: &str) -> Result<Client> {
    let mut config = Config::from_custom_kubeconfig(
        Kubeconfig::from_yaml(kubeconfig)?,
        &KubeConfigOptions::default(),
    )
    .await?;
    config.default_retry = false;
    Ok(Client::try_from(config)?)
}

async fn fresh(client: &Client) -> Result<String> {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let metadata = ObjectMeta {
        generate_name: Some("conformance-".to_owned()),
        ..ObjectMeta::default()
    };
    let wish = Namespace {
        metadata,
        ..Namespace::default()
    };
    let made = namespaces.create(&PostParams::default(), &wish).await?;
    Ok(made.name_any())
}

fn maps(client: &Client, namespace: &str) -> Api<ConfigMap> {
    Api::namespaced(client.clone(), namespace)
}

fn map(name: &str, entries: &[(&str, &str)]) -> ConfigMap {
    let entries = entries.iter();
    let entries = entries.map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            ..ObjectMeta::default()
        },
        data: Some(entries.collect()),
        ..ConfigMap::default()
    }
}

/// The code of a refusal; `None` if it was granted or failed otherwise.
fn code<T>(answer: &kube::Result<T>) -> Option<u16> {
    match answer {
        Err(kube::Error::Api(status)) => Some(status.code),
        _ => None,
    }
}
