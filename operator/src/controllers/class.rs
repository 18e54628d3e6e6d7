//! What does a class amount to in its cloud, and who may still need it?

use std::sync::Arc;
use std::time::Duration;

use cloud::class::conditions as names;
use cloud::{Provider, Resolved, Trouble};
use crds::openstack::status::{FlavorStatus, ImageStatus, OpenStackNodeClassStatus};
use crds::openstack::v1::OpenStackNodeClass;
use crds::shared::class_status::{Condition, ConditionStatus, NamedResource};
use kube::ResourceExt;
use kube::api::ListParams;
use serde_json::json;

use super::Outcome;
use super::claim::{finalizers, has_finalizer};
use super::queue::Again;
use crate::brakes;
use crate::hub::Shared;
use crate::ingest;
use crate::providers::Known;
use crate::write::Who;

const LOOK_AGAIN: Duration = Duration::from_mins(1);
const AFTER_TROUBLE: Duration = Duration::from_secs(15);
const ALL: [&str; 7] = [
    names::VALIDATION,
    names::CREDENTIALS,
    names::IMAGES,
    names::NETWORKS,
    names::SECURITY_GROUPS,
    names::TYPES,
    names::ZONES,
];

pub async fn turn(hub: &Shared, name: String) -> Outcome {
    let Some(class) = hub.mirror.classes.get(&name) else {
        if !used(hub, &name) {
            hub.providers.forget(&name);
        }
        return Ok(Again::Never);
    };
    if class.metadata.deletion_timestamp.is_some() {
        return release(hub, &class).await;
    }
    if !has_finalizer(&*class) {
        let change = json!({ "metadata": { "finalizers": finalizers(&*class, true) } });
        hub.write
            .merge(&hub.access.classes(), Who::Class, &*class, change)
            .await?;
        return Ok(Again::After(Duration::from_millis(200)));
    }
    let (found, troubles) = look(hub, &name, &class).await;
    let healthy = troubles.is_empty();
    report(hub, &class, found.as_ref(), &troubles).await?;
    hub.wake.plan();
    for pool in hub.mirror.pools.all() {
        if pool.spec.template.spec.node_class_ref.name == name {
            hub.wake.pools_of(&pool.name_any());
        }
    }
    Ok(Again::After(if healthy {
        LOOK_AGAIN
    } else {
        AFTER_TROUBLE
    }))
}

/// Opens the class if needed and asks the cloud what it amounts to.
async fn look(
    hub: &Shared,
    name: &str,
    class: &OpenStackNodeClass,
) -> (Option<Resolved>, Vec<Trouble>) {
    let opened = match hub.secrets.of_class(class).await {
        Ok(secrets) if hub.providers.is_current(name, class, &secrets) => hub.providers.get(name),
        Ok(secrets) => match hub.providers.reopen(name, class, secrets) {
            Ok(known) => Some(known),
            Err(bad) => return (None, vec![trouble(bad.condition, bad.reason, bad.message)]),
        },
        Err(bad) => return (None, vec![trouble(bad.condition, bad.reason, bad.message)]),
    };
    let Some(known) = opened else {
        return (
            None,
            vec![trouble(
                names::CREDENTIALS,
                "NotOpened",
                "the class could not be opened".to_owned(),
            )],
        );
    };
    resolve(&known).await
}

async fn resolve(known: &Known) -> (Option<Resolved>, Vec<Trouble>) {
    let resolved = match known.provider.resolve().await {
        Ok(resolved) => resolved,
        Err(trouble) => {
            // What the cloud did not answer may still be true; what it denied is not.
            if trouble.troubles.iter().any(|one| !one.transient) {
                known.close_shop();
            }
            return (Some(trouble.found), trouble.troubles);
        }
    };
    match known.provider.catalog(&resolved).await {
        Ok(catalog) => {
            known.learn(Arc::new(resolved.clone()), Arc::new(catalog));
            (Some(resolved), Vec::new())
        }
        Err(error) => {
            let said = format!("the catalog could not be read: {error}");
            let transient = Trouble {
                transient: true,
                ..trouble(names::TYPES, "CatalogNotRead", said)
            };
            (Some(resolved), vec![transient])
        }
    }
}

fn trouble(condition: &'static str, reason: &'static str, message: String) -> Trouble {
    Trouble {
        condition,
        reason,
        message,
        transient: false,
    }
}

async fn report(
    hub: &Shared,
    class: &OpenStackNodeClass,
    found: Option<&Resolved>,
    troubles: &[Trouble],
) -> Result<(), super::Turn> {
    let before = class.status.clone().unwrap_or_default();
    let mut status = match found {
        Some(found) => resolved_status(&before, found),
        None => before.clone(),
    };
    if troubles.is_empty()
        && let Some(known) = hub.providers.get(&class.name_any())
        && let Ok(quota) = known.provider.quota().await
    {
        status.quota = Some(openstack::status::left(&quota));
    }
    status.conditions = Some(conditions(hub, class, &before, found.is_some(), troubles));
    if status == before {
        return Ok(());
    }
    hub.write
        .merge_status(&hub.access.classes(), Who::Class, class, json!(status))
        .await?;
    for one in troubles {
        hub.tell_class(
            class,
            true,
            "NodeClassNotReady",
            format!("{}: {}", one.condition, one.message),
        )
        .await;
    }
    Ok(())
}

fn conditions(
    hub: &Shared,
    class: &OpenStackNodeClass,
    before: &OpenStackNodeClassStatus,
    asked: bool,
    troubles: &[Trouble],
) -> Vec<Condition> {
    let now = hub.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let old: Vec<Condition> = before.conditions.clone().unwrap_or_default();
    let one = |kind: &str, status: ConditionStatus, reason: &str, message: &str| {
        let since = old
            .iter()
            .find(|there| there.type_ == kind && there.status == status);
        Condition {
            type_: kind.to_owned(),
            status,
            observed_generation: class.metadata.generation,
            last_transition_time: since
                .map_or_else(|| now.clone(), |there| there.last_transition_time.clone()),
            reason: reason.to_owned(),
            message: message.to_owned(),
        }
    };
    let mut all: Vec<Condition> = ALL
        .iter()
        .map(
            |kind| match troubles.iter().find(|trouble| trouble.condition == *kind) {
                Some(bad) if bad.transient => {
                    one(kind, ConditionStatus::Unknown, bad.reason, &bad.message)
                }
                Some(bad) => one(kind, ConditionStatus::False, bad.reason, &bad.message),
                None if asked => one(kind, ConditionStatus::True, kind, ""),
                None => one(
                    kind,
                    ConditionStatus::Unknown,
                    "NotAsked",
                    "another condition comes first",
                ),
            },
        )
        .collect();
    let by = if brakes::is_paused(class) {
        Some("annotation joiner.dev/paused")
    } else {
        hub.brake.pulled()
    };
    if let Some(by) = by {
        let said = format!("{by}: no instance is created or removed");
        all.push(one("Paused", ConditionStatus::True, "Paused", &said));
    }
    let (status, reason, message) = ready(&old, troubles);
    all.push(one("Ready", status, reason, &message));
    all
}

/// May the class be used? While the cloud does not answer for a while, what was ready stays usable.
fn ready(before: &[Condition], troubles: &[Trouble]) -> (ConditionStatus, &'static str, String) {
    let was_ready = before
        .iter()
        .any(|there| there.type_ == "Ready" && there.status == ConditionStatus::True);
    let passing = troubles.iter().all(|bad| bad.transient);
    if troubles.is_empty() || (passing && was_ready) {
        return (ConditionStatus::True, "Ready", String::new());
    }
    let said: Vec<String> = troubles
        .iter()
        .map(|bad| format!("{}: {}", bad.condition, bad.message))
        .collect();
    (
        ConditionStatus::False,
        "UnhealthyDependents",
        said.join("; "),
    )
}

fn resolved_status(
    before: &OpenStackNodeClassStatus,
    found: &Resolved,
) -> OpenStackNodeClassStatus {
    let named = |one: &cloud::Named| NamedResource {
        id: one.id.to_string(),
        name: Some(one.name.to_string()),
    };
    OpenStackNodeClassStatus {
        images: Some(
            found
                .images
                .iter()
                .map(|image| ImageStatus {
                    id: image.id.to_string(),
                    name: Some(image.name.to_string()),
                    architecture: image.architecture.as_ref().map(ToString::to_string),
                })
                .collect(),
        ),
        networks: Some(
            found
                .ports
                .iter()
                .map(|port| named(&port.network))
                .collect(),
        ),
        security_groups: Some(found.security_groups.iter().map(named).collect()),
        flavors: Some(FlavorStatus {
            count: i32::try_from(found.types.len()).unwrap_or(i32::MAX),
        }),
        availability_zones: Some(
            found
                .zones
                .iter()
                .map(|zone| zone.name.to_string())
                .collect(),
        ),
        ..before.clone()
    }
}

fn used(hub: &Shared, name: &str) -> bool {
    let claims = hub.mirror.claims.all();
    claims
        .iter()
        .any(|claim| ingest::claim::is_ours(claim) && claim.spec.node_class_ref.name == name)
}

/// A deleted class goes when the API server says that no claim uses it.
async fn release(hub: &Shared, class: &OpenStackNodeClass) -> Outcome {
    if !has_finalizer(class) {
        return Ok(Again::Never);
    }
    let name = class.name_any();
    if hub.providers.get(&name).is_none() {
        // Termination of its claims needs it, also right after a start.
        look(hub, &name, class).await;
    }
    let claims = hub.access.claims().list(&ListParams::default()).await?;
    let uses = |claim: &&crds::karpenter::NodeClaim| {
        ingest::claim::is_ours(claim) && claim.spec.node_class_ref.name == name
    };
    let count = claims.items.iter().filter(uses).count();
    if count > 0 {
        hub.tell_class(
            class,
            true,
            "NodeClassNotReady",
            format!("{count} NodeClaims still use it; it goes when they are gone"),
        )
        .await;
        return Ok(Again::After(Duration::from_secs(10)));
    }
    let change = json!({ "metadata": { "finalizers": finalizers(class, false) } });
    hub.write
        .merge(&hub.access.classes(), Who::Class, class, change)
        .await?;
    Ok(Again::Never)
}
