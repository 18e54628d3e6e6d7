//! How is a deleted claim taken apart, so that nothing is left and nothing is forgotten?

use std::time::Duration;

use cloud::{CloudError, Provider};
use crds::karpenter::NodeClaim;
use crds::shared::conditions::ConditionStatus;
use kube::ResourceExt;
use planner::lifecycle::ledger::{AttemptState, Ledger};
use planner::lifecycle::terminate::{ASK_AGAIN, Instance, Nodes, Step, TerminateView, next};
use serde_json::json;

use super::launch::{change_last, footprint};
use super::register::{self, nodes_with};
use super::{Draft, account, finalizers, has_finalizer};
use crate::bootstrap::{TOKEN_NAMESPACE, secret_name, token_id};
use crate::controllers::queue::Again;
use crate::controllers::{Outcome, Turn};
use crate::hub::Shared;
use crate::ingest;
use crate::ledger;

pub const DEADLINE: &str = "karpenter.sh/nodeclaim-termination-timestamp";

pub(super) async fn turn(hub: &Shared, claim: NodeClaim) -> Outcome {
    let Some(deleted) = claim.metadata.deletion_timestamp.as_ref() else {
        return Ok(Again::Never);
    };
    let instance = known_instance(hub, &claim)?;
    let nodes = match ingest::claim::instance(&claim) {
        Some(id) => nodes_with(hub, id),
        None => Vec::new(),
    };
    let view = TerminateView {
        has_finalizer: has_finalizer(&claim),
        deleted_at: deleted.0,
        grace_period: claim
            .spec
            .termination_grace_period
            .as_ref()
            .and_then(ingest::pool::length),
        deadline: deadline(&claim)?,
        registered: ingest::claim::holds(&claim, "Registered"),
        nodes: Nodes::Known(
            nodes
                .iter()
                .map(|node| {
                    (
                        node.name_any().into(),
                        node.metadata.deletion_timestamp.is_some(),
                    )
                })
                .collect(),
        ),
        instance,
    };
    match next(&view) {
        Step::Nothing => Ok(Again::Never),
        Step::SetDeadline(at) => {
            let change = json!({ "metadata": { "annotations": { DEADLINE: at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string() } } });
            hub.write.claim(&claim, change).await?;
            let said = format!("all pods will be deleted by {at}");
            hub.tell_claim(&claim, true, "TerminationGracePeriodExpiring", said)
                .await;
            Ok(Again::Now)
        }
        Step::DeleteNodes(_) => {
            for node in nodes
                .iter()
                .filter(|node| node.metadata.deletion_timestamp.is_none())
            {
                hub.write.delete(&hub.access.nodes(), node).await?;
            }
            Ok(Again::After(Duration::from_secs(5)))
        }
        Step::WaitForNodes => Ok(Again::After(Duration::from_secs(5))),
        Step::LookForInstance | Step::Terminate(_) => instance_gone(hub, &claim).await,
        Step::RemoveFinalizer => finish(hub, &claim).await,
    }
}

/// The ledger, if it is ours to act on. One of another cluster or of a newer leader stops the claim.
fn own_ledger(hub: &Shared, claim: &NodeClaim) -> Result<Option<Ledger>, Turn> {
    let ledger = ledger::read(claim).map_err(|bad| Turn::Other(bad.to_string()))?;
    let foreign = |ledger: &Ledger| ledger.cluster != hub.cluster || ledger.epoch > hub.epoch;
    match ledger {
        Some(ledger) if foreign(&ledger) => Err(Turn::Other(
            "its ledger was written by a newer leader or in another cluster; leaving it alone"
                .to_owned(),
        )),
        ledger => Ok(ledger),
    }
}

fn known_instance(hub: &Shared, claim: &NodeClaim) -> Result<Instance, Turn> {
    let ledger = own_ledger(hub, claim)?;
    let last = ledger.and_then(|mut ledger| ledger.attempts.pop());
    Ok(match last.map(|attempt| attempt.state) {
        None => Instance::NeverTried,
        Some(AttemptState::Gone) => Instance::ProvenGone,
        Some(
            AttemptState::Created { instance }
            | AttemptState::Ending {
                instance: Some(instance),
            },
        ) => Instance::Known(instance),
        Some(AttemptState::Intended | AttemptState::Ending { instance: None }) => {
            Instance::MayExist
        }
    })
}

/// An unreadable deadline stops the claim: guessing one could delete pods too early.
pub fn deadline(claim: &NodeClaim) -> Result<Option<jiff::Timestamp>, Turn> {
    let Some(text) = claim.annotations().get(DEADLINE) else {
        return Ok(None);
    };
    let read = text.parse().map(Some);
    read.map_err(|_| {
        Turn::Other(format!(
            "annotation {DEADLINE} is {text:?}; write for example 2026-01-01T00:00:00Z"
        ))
    })
}

/// Asks for the end of the instance; the ledger says so before and, when it is proven, after.
pub async fn instance_gone(hub: &Shared, claim: &NodeClaim) -> Outcome {
    let ledger = own_ledger(hub, claim)?;
    let last = ledger.as_ref().and_then(|ledger| ledger.attempts.last());
    let ending = last.is_none_or(|attempt| {
        matches!(
            attempt.state,
            AttemptState::Ending { .. } | AttemptState::Gone
        )
    });
    if !ending {
        let claim = change_last(hub, claim, |attempt| {
            let instance = match &attempt.state {
                AttemptState::Created { instance } => Some(instance.clone()),
                _ => None,
            };
            attempt.state = AttemptState::Ending { instance };
        })
        .await?;
        let mut draft = Draft::of(hub, &claim);
        draft.conditions.holds_now("InstanceTerminating");
        draft.save(hub, claim).await?;
        return Ok(Again::Now);
    }
    match take_back(hub, claim).await? {
        Taken::Gone => {
            change_last(hub, claim, |attempt| attempt.state = AttemptState::Gone).await?;
            Ok(Again::Now)
        }
        Taken::UnderWay => Ok(Again::After(
            Duration::try_from(ASK_AGAIN).unwrap_or(Duration::from_secs(5)),
        )),
        Taken::Unknown(why) => {
            stays(hub, claim, &why).await?;
            Ok(Again::Backoff)
        }
    }
}

/// Says on the claim why it is still there. Its status stays True: drained it is, and nothing else may begin anew.
async fn stays(hub: &Shared, claim: &NodeClaim, why: &str) -> Result<(), Turn> {
    tracing::warn!(
        claim = claim.name_any(),
        why,
        "its instance is not proven gone; asking again"
    );
    let mut draft = Draft::of(hub, claim);
    let kind = "InstanceTerminating";
    let said = format!("the instance is not proven gone: {why}");
    draft
        .conditions
        .set(kind, ConditionStatus::True, "NotProvenGone", &said);
    draft.save(hub, claim.clone()).await?;
    Ok(())
}

pub(super) enum Taken {
    Gone,
    UnderWay,
    /// No answer that would prove anything, and why not.
    Unknown(String),
}

/// Terminates everything the claim may have in the cloud. Gone only if the cloud proves that nothing carries its identity.
pub(super) async fn take_back(hub: &Shared, claim: &NodeClaim) -> Result<Taken, Turn> {
    let class = &claim.spec.node_class_ref.name;
    let Some(known) = hub.providers.get(class) else {
        let why = format!(
            "class {class} is not usable; see its conditions, or make it anew with its old credentials"
        );
        return Ok(Taken::Unknown(why));
    };
    let Some(who) = ingest::claim::identity(claim, &hub.cluster) else {
        return Err(Turn::Other("the claim has no uid".to_owned()));
    };
    if let Some(said) = account::stranger(claim, &known) {
        account::tell(hub, claim, &known, &said).await;
        return Ok(Taken::Unknown(said));
    }
    let ledger = own_ledger(hub, claim)?;
    let last = ledger.as_ref().and_then(|ledger| ledger.attempts.last());
    let mut what = footprint(who.clone(), last);
    if what.instance.is_none() {
        // The answer to the create call was lost: look for it by identity.
        match known.provider.find(&who).await {
            Ok(found) => {
                if let Some(first) = found.first() {
                    what.instance = Some(first.id.clone());
                    what.side.extend(first.side.iter().cloned());
                }
            }
            Err(error) => return Ok(Taken::Unknown(error.to_string())),
        }
    }
    match known.provider.terminate(&what).await {
        Ok(()) => Ok(Taken::UnderWay),
        Err(CloudError::Gone) => match known.provider.find(&who).await {
            Ok(left) if left.is_empty() => Ok(Taken::Gone),
            // A twin: its turn is next.
            Ok(left) => {
                for one in &left {
                    let _ = known.provider.terminate(&cloud::Footprint::of(one)).await;
                }
                Ok(Taken::UnderWay)
            }
            Err(error) => Ok(Taken::Unknown(error.to_string())),
        },
        Err(error) => Ok(Taken::Unknown(error.to_string())),
    }
}

async fn finish(hub: &Shared, claim: &NodeClaim) -> Outcome {
    register::forget_node(hub, claim, last_instance(hub, claim)?.as_deref()).await?;
    let token = secret_name(&token_id(&claim.uid().unwrap_or_default()));
    hub.write.delete_secret(TOKEN_NAMESPACE, &token).await?;
    let change = json!({ "metadata": { "finalizers": finalizers(claim, false) } });
    hub.write.claim(claim, change).await?;
    hub.write.written().forget(&claim.name_any());
    tracing::info!(claim = claim.name_any(), "deleted nodeclaim");
    hub.counts.terminated(claim, hub.clock.now());
    Ok(Again::Never)
}

/// The instance of the last attempt, also one that is gone.
fn last_instance(hub: &Shared, claim: &NodeClaim) -> Result<Option<String>, Turn> {
    if let Some(told) = ingest::claim::instance(claim) {
        return Ok(Some(told.to_owned()));
    }
    Ok(match known_instance(hub, claim)? {
        Instance::Known(id) => Some(id.to_string()),
        Instance::NeverTried | Instance::MayExist | Instance::ProvenGone => None,
    })
}

/// Nodes of the mirror with this instance.
pub fn nodes_of_instance(
    hub: &Shared,
    instance: &str,
) -> Vec<std::sync::Arc<k8s_openapi::api::core::v1::Node>> {
    nodes_with(hub, instance)
}
