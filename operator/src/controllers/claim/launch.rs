//! How does a claim get its instance, and never two?

use std::time::Duration;

use cloud::{CloudError, Footprint, Instance, Provider, SideResource};
use crds::karpenter::NodeClaim;
use planner::lifecycle::launch::{
    AfterLook, Found, LaunchView, NoInstance, Step, after_look, next,
};
use planner::lifecycle::ledger::{Attempt, AttemptState, Ledger};
use planner::{Identity, InstanceId};
use serde_json::json;

use super::{Draft, account, create, finalizers, has_finalizer, told};
use crate::controllers::Turn;
use crate::controllers::queue::Again;
use crate::hub::Shared;
use crate::ingest;
use crate::ledger;
use crate::providers::Known;

/// How a launch turn ended.
pub(super) enum After {
    Done(Again),
    /// No instance yet: only `liveness` looks at it.
    Waits {
        claim: NodeClaim,
        draft: Draft,
        again: Again,
    },
    Launched {
        claim: NodeClaim,
        draft: Draft,
        again: Again,
    },
}

/// How often a machine that is being made is looked at.
const BUILDING: Duration = Duration::from_secs(5);

pub(super) async fn turn(hub: &Shared, claim: NodeClaim) -> Result<After, Turn> {
    let bad = |bad: ledger::BadLedger| Turn::Other(bad.to_string());
    let read = ledger::read(&claim).map_err(bad)?;
    let view = LaunchView {
        has_finalizer: has_finalizer(&claim),
        offerings: ledger::offerings(&claim).map_err(bad)?,
        ledger: read.clone(),
        cluster: hub.cluster.clone(),
        epoch: hub.epoch,
        now: hub.clock.now(),
    };
    match next(&view) {
        Step::StandDown => {
            tracing::warn!(
                claim = claim.metadata.name,
                "a newer leader or another cluster has written the ledger; leaving it alone"
            );
            Ok(After::Done(Again::Never))
        }
        Step::AddFinalizer => {
            let change = json!({ "metadata": { "finalizers": finalizers(&claim, true) } });
            hub.write.claim(&claim, change).await?;
            Ok(After::Done(Again::Now))
        }
        Step::Record(attempt) => record(hub, claim, attempt).await,
        Step::AdoptOrCreate(attempt) => adopt_or_create(hub, claim, attempt).await,
        Step::Watch(id) => watch(hub, claim, id).await,
        Step::Terminate(_) => end_attempt(hub, claim).await,
        Step::DeleteClaim(why) => delete(hub, &claim, &why).await,
    }
}

/// Writes down what is about to be tried, and in whose account, before anything is.
async fn record(hub: &Shared, claim: NodeClaim, attempt: Attempt) -> Result<After, Turn> {
    let class = &claim.spec.node_class_ref.name;
    let known = hub.providers.get(class);
    let Some(known) = known.filter(|known| known.resolved().is_some()) else {
        return Ok(class_not_ready(hub, claim));
    };
    let ledger = Ledger {
        cluster: hub.cluster.clone(),
        epoch: hub.epoch,
        account: known.account(),
        attempts: vec![attempt],
    };
    ledger::record(&hub.write, &claim, &ledger).await?;
    Ok(After::Done(Again::Now))
}

fn class_not_ready(hub: &Shared, claim: NodeClaim) -> After {
    let class = &claim.spec.node_class_ref.name;
    let said = format!("OpenStackNodeClass {class} is not ready; see its conditions");
    let mut draft = Draft::of(hub, &claim);
    draft.waits("Launched", "NodeClassNotReady", &said);
    waits(claim, draft, BUILDING)
}

/// Proof that nothing carries the claim's identity, good for one create in the same turn. Only a look makes one.
pub(super) struct Absent(());

async fn adopt_or_create(hub: &Shared, claim: NodeClaim, attempt: Attempt) -> Result<After, Turn> {
    let class = &claim.spec.node_class_ref.name;
    let mut draft = Draft::of(hub, &claim);
    let (Some(known), Some(who)) = (
        hub.providers.get(class),
        ingest::claim::identity(&claim, &hub.cluster),
    ) else {
        return Ok(class_not_ready(hub, claim));
    };
    if let Some(said) = account::stranger(&claim, &known) {
        account::tell(hub, &claim, &known, &said).await;
        draft.waits("Launched", "AccountChanged", &said);
        return Ok(waits(claim, draft, BUILDING));
    }
    let found = known.provider.find(&who).await;
    if let Err(error) = &found {
        draft.waits("Launched", "LookingForInstance", &error.to_string());
    }
    let instances = found.as_ref().map(Vec::as_slice).unwrap_or_default();
    let seen = match &found {
        Ok(all) if all.is_empty() => Found::Absent,
        Ok(all) => Found::Instances(all.iter().map(|one| one.id.clone()).collect()),
        Err(_) => Found::Unknown,
    };
    match after_look(seen) {
        AfterLook::LookAgain => Ok(After::Waits {
            claim,
            draft,
            again: Again::Backoff,
        }),
        AfterLook::Create => {
            // Refused before, and nothing has changed since: sending it again would be refused again.
            if attempt.said.is_some() {
                return Ok(waits(claim, draft, Duration::from_secs(30)));
            }
            create::turn(hub, (claim, draft), &known, who, Absent(())).await
        }
        AfterLook::Adopt { keep, terminate } => {
            for twin in instances.iter().filter(|one| terminate.contains(&one.id)) {
                remove_twin(&known, twin).await;
            }
            let Some(kept) = instances.iter().find(|one| one.id == keep) else {
                return Ok(After::Waits {
                    claim,
                    draft,
                    again: Again::Backoff,
                });
            };
            created(hub, claim, kept).await
        }
    }
}

pub(super) fn waits(claim: NodeClaim, draft: Draft, after: Duration) -> After {
    After::Waits {
        claim,
        draft,
        again: Again::After(after),
    }
}

/// Two instances carry the marks of one claim: this one is too many. It alone may go: the other has the same identity. Should
/// it stay, the sweep removes it.
async fn remove_twin(known: &Known, twin: &Instance) {
    tracing::warn!(instance = %twin.id, "a second instance of one claim; removing it");
    let removed = known.provider.terminate_only(&twin.identity, &twin.id);
    if let Err(error) = removed.await {
        tracing::warn!(instance = %twin.id, %error, "the second instance is not gone yet");
    }
}

/// The instance exists: the ledger names it before anything else is done with it.
pub(super) async fn created(
    hub: &Shared,
    claim: NodeClaim,
    instance: &Instance,
) -> Result<After, Turn> {
    let sides = sides(instance);
    let id = instance.id.clone();
    change_last(hub, &claim, |attempt| {
        attempt.state = AttemptState::Created { instance: id };
        attempt.sides = sides;
    })
    .await?;
    Ok(After::Done(Again::Now))
}

pub(super) fn sides(instance: &Instance) -> Vec<(std::sync::Arc<str>, std::sync::Arc<str>)> {
    instance
        .side
        .iter()
        .map(|side| (side.kind.clone(), side.id.clone()))
        .collect()
}

/// Changes the last attempt durably; the claim must have been read in this turn.
pub(super) async fn change_last(
    hub: &Shared,
    claim: &NodeClaim,
    change: impl FnOnce(&mut Attempt),
) -> Result<NodeClaim, Turn> {
    let read = ledger::read(claim).map_err(|bad| Turn::Other(bad.to_string()))?;
    let Some(ledger) = read else {
        return Err(Turn::Other("the claim has no ledger to change".to_owned()));
    };
    if ledger.epoch > hub.epoch || ledger.cluster != hub.cluster {
        return Err(Turn::Other(
            "a newer leader or another cluster has written the ledger".to_owned(),
        ));
    }
    let now = hub.clock.now();
    let ledger = ledger::with_last(ledger, hub.epoch, |attempt| {
        change(attempt);
        attempt.at = now;
    });
    Ok(ledger::record(&hub.write, claim, &ledger).await?)
}

async fn watch(hub: &Shared, claim: NodeClaim, id: InstanceId) -> Result<After, Turn> {
    let mut draft = Draft::of(hub, &claim);
    if draft.conditions.holds("Registered") {
        draft.conditions.holds_now("Launched");
        return Ok(After::Launched {
            claim,
            draft,
            again: Again::Never,
        });
    }
    let Some(known) = hub.providers.get(&claim.spec.node_class_ref.name) else {
        return Ok(waits(claim, draft, BUILDING));
    };
    let looked = match account::stranger(&claim, &known) {
        None => known.provider.get(&id).await,
        Some(said) => {
            account::tell(hub, &claim, &known, &said).await;
            Err(CloudError::unknown(&said))
        }
    };
    match looked {
        Ok(instance) => {
            if let Some(failure) = instance.failure() {
                fail(hub, &claim, &failure).await
            } else {
                let claim = told::launched(hub, claim, &known, &instance, &mut draft).await?;
                Ok(After::Launched {
                    claim,
                    draft,
                    again: Again::After(BUILDING),
                })
            }
        }
        Err(CloudError::Gone) => {
            let said = CloudError::unknown("the instance disappeared before it became a node");
            fail(hub, &claim, &said).await
        }
        Err(error) => {
            tracing::warn!(claim = claim.metadata.name, %error, "the instance cannot be looked at");
            let again = Again::After(BUILDING);
            if draft.conditions.holds("Launched") {
                Ok(After::Launched {
                    claim,
                    draft,
                    again,
                })
            } else {
                Ok(After::Waits {
                    claim,
                    draft,
                    again,
                })
            }
        }
    }
}

/// The cloud gave up on the instance: everything of it must go before the claim may.
async fn fail(hub: &Shared, claim: &NodeClaim, why: &CloudError) -> Result<After, Turn> {
    let said = why.to_string();
    hub.tell_claim(claim, true, "LaunchFailed", said.clone())
        .await;
    change_last(hub, claim, |attempt| {
        let instance = match &attempt.state {
            AttemptState::Created { instance } => Some(instance.clone()),
            AttemptState::Ending { instance } => instance.clone(),
            AttemptState::Intended | AttemptState::Gone => None,
        };
        attempt.state = AttemptState::Ending { instance };
        attempt.said = Some(said.as_str().into());
    })
    .await?;
    Ok(After::Done(Again::Now))
}

/// An attempt that failed is taken back until the cloud says that nothing is left.
async fn end_attempt(hub: &Shared, claim: NodeClaim) -> Result<After, Turn> {
    let again = match super::terminate::take_back(hub, &claim).await? {
        super::terminate::Taken::Gone => {
            change_last(hub, &claim, |attempt| attempt.state = AttemptState::Gone).await?;
            if let Some(known) = hub.providers.get(&claim.spec.node_class_ref.name) {
                known.refresh_catalog().await;
            }
            Again::Now
        }
        super::terminate::Taken::UnderWay => Again::After(BUILDING),
        super::terminate::Taken::Unknown(why) => {
            let mut draft = Draft::of(hub, &claim);
            let said = format!("the failed attempt is not proven gone: {why}");
            draft.waits("Launched", "TakingBack", &said);
            draft.save(hub, claim).await?;
            Again::Backoff
        }
    };
    Ok(After::Done(again))
}

async fn delete(hub: &Shared, claim: &NodeClaim, why: &NoInstance) -> Result<After, Turn> {
    let said = match why {
        NoInstance::NoOffering => {
            "the claim names no offering (annotation joiner.dev/offerings)".to_owned()
        }
        NoInstance::AttemptGone { offering } => {
            format!("nothing is to be had of {offering}; another plan is made")
        }
    };
    hub.tell_claim(claim, true, "InsufficientCapacity", said)
        .await;
    hub.counts.disrupted(claim, "insufficient_capacity");
    hub.write.delete(&hub.access.claims(), claim).await?;
    Ok(After::Done(Again::Now))
}

/// Everything the ledger says may be in the cloud.
pub(super) fn footprint(who: Identity, attempt: Option<&Attempt>) -> Footprint {
    let side = attempt.into_iter().flat_map(|attempt| &attempt.sides);
    let instance = match attempt.map(|attempt| &attempt.state) {
        Some(AttemptState::Created { instance }) => Some(instance.clone()),
        Some(AttemptState::Ending { instance }) => instance.clone(),
        Some(AttemptState::Intended | AttemptState::Gone) | None => None,
    };
    Footprint {
        identity: who,
        instance,
        side: side
            .map(|(kind, id)| SideResource {
                kind: kind.clone(),
                id: id.clone(),
            })
            .collect(),
    }
}
