//! What does a class amount to in its cloud, and who may still need it?

mod report;

use std::sync::Arc;
use std::time::Duration;

use cloud::class::conditions as names;
use cloud::{Provider, Resolved, Trouble};
use crds::openstack::v1::OpenStackNodeClass;
use kube::ResourceExt;
use kube::api::ListParams;
use serde_json::json;

use super::Outcome;
use super::claim::{finalizers, has_finalizer};
use super::queue::Again;
use crate::bootstrap::rehearse;
use crate::hub::Shared;
use crate::ingest;
use crate::providers::Known;
use crate::write::Who;

const LOOK_AGAIN: Duration = Duration::from_mins(1);
const AFTER_TROUBLE: Duration = Duration::from_secs(15);

/// What one look at the class and its cloud brought.
struct Seen {
    found: Option<Resolved>,
    troubles: Vec<Trouble>,
    /// The class or one of its Secrets had changed.
    reopened: bool,
}

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
    let seen = look(hub, &name, &class).await;
    let healthy = seen.troubles.is_empty();
    report::report(hub, &class, seen.found.as_ref(), &seen.troubles).await?;
    hub.wake.plan();
    for pool in hub.mirror.pools.all() {
        if pool.spec.template.spec.node_class_ref.name == name {
            hub.wake.pools_of(&pool.name_any());
        }
    }
    if seen.reopened || (healthy && !report::is_ready(&class)) {
        wake_claims(hub, &name);
    }
    Ok(Again::After(if healthy {
        LOOK_AGAIN
    } else {
        AFTER_TROUBLE
    }))
}

/// Whoever was refused for the class's sake need not wait for his next try.
fn wake_claims(hub: &Shared, class: &str) {
    let claims = hub.mirror.claims.all();
    let of_class = claims
        .iter()
        .filter(|claim| ingest::claim::is_ours(claim) && claim.spec.node_class_ref.name == class);
    for claim in of_class {
        hub.wake.instance_of(&claim.name_any());
    }
}

/// Opens the class if needed and asks the cloud what it amounts to.
async fn look(hub: &Shared, name: &str, class: &OpenStackNodeClass) -> Seen {
    let untold = rehearse(class, &hub.reach, &hub.secrets).await.err();
    let mut seen = match open(hub, name, class).await {
        Ok((known, reopened)) => {
            let (found, troubles) = resolve(&known).await;
            Seen {
                found: Some(found),
                troubles,
                reopened,
            }
        }
        Err(trouble) => Seen {
            found: None,
            troubles: vec![trouble],
            reopened: false,
        },
    };
    for trouble in &mut seen.troubles {
        name_the_fix(trouble, class);
    }
    seen.troubles
        .extend(untold.map(|bad| bad.about(report::BOOTSTRAP)));
    seen
}

/// The class with its cloud, opened again if the class or one of its Secrets has changed; true then.
async fn open(
    hub: &Shared,
    name: &str,
    class: &OpenStackNodeClass,
) -> Result<(Arc<Known>, bool), Trouble> {
    let secrets = hub.secrets.of_class(class).await;
    let secrets = secrets.map_err(|bad| bad.about(names::CREDENTIALS))?;
    if hub.providers.is_current(name, class, &secrets)
        && let Some(known) = hub.providers.get(name)
    {
        return Ok((known, false));
    }
    let opened = hub.providers.reopen(name, class, secrets);
    let known = opened.map_err(|bad| trouble(bad.condition, bad.reason, bad.message))?;
    Ok((known, true))
}

async fn resolve(known: &Known) -> (Resolved, Vec<Trouble>) {
    let resolved = match known.resolve().await {
        Ok(resolved) => resolved,
        Err(trouble) => {
            // What the cloud did not answer may still be true; what it denied is not.
            if trouble.troubles.iter().any(|one| !one.transient) {
                known.close_shop();
            }
            return (trouble.found, trouble.troubles);
        }
    };
    match known.provider.catalog(&resolved).await {
        Ok(catalog) => {
            known.learn(Arc::new(resolved.clone()), Arc::new(catalog));
            (resolved, Vec::new())
        }
        Err(error) => {
            let said = format!("the catalog could not be read: {error}");
            let transient = Trouble {
                transient: true,
                ..trouble(names::TYPES, "CatalogNotRead", said)
            };
            (resolved, vec![transient])
        }
    }
}

/// The cloud knows that it does not let us in, but not where our credentials come from.
fn name_the_fix(trouble: &mut Trouble, class: &OpenStackNodeClass) {
    if trouble.condition != names::CREDENTIALS || trouble.reason != "Unauthorized" {
        return;
    }
    let cloud = class.spec.cloud.as_ref();
    let named = cloud.and_then(|cloud| cloud.credentials_secret_ref.as_ref());
    let fix = match named {
        Some(named) => format!(
            "correct the credentials in Secret {}/{} (spec.cloud.credentialsSecretRef)",
            named.namespace, named.name
        ),
        None => "correct the operator's OS_* variables or clouds.yaml, or name a Secret in spec.cloud.credentialsSecretRef".to_owned(),
    };
    trouble.message = format!("{}; {fix}", trouble.message);
}

fn trouble(condition: &'static str, reason: &'static str, message: String) -> Trouble {
    Trouble {
        condition,
        reason,
        message,
        transient: false,
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
    // Termination of its claims needs its cloud, also right after a start and with new credentials.
    match open(hub, &name, class).await {
        Ok((_, true)) => wake_claims(hub, &name),
        Ok((_, false)) => {}
        Err(bad) => tracing::warn!(class = name, said = bad.message, "a class that is to go"),
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
