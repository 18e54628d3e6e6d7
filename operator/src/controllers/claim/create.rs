//! How is the one create call of a claim made?
//!
//! The ledger says "intended" and `find` has proven absence in this turn; the token exists before the machine that uses it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use cloud::{Chosen, CloudError, Order, Provider};
use crds::karpenter::NodeClaim;
use crds::shared::conditions::ConditionStatus;
use crds::shared::duration::GoDuration;
use jiff::SignedDuration;
use kube::ResourceExt;
use planner::Identity;
use planner::lifecycle::launch::{AfterCreate, Outcome, after_create};
use planner::lifecycle::ledger::AttemptState;

use super::Draft;
use super::launch::{After, change_last, created, waits};
use super::register::form_in_use;
use crate::bootstrap::{TOKEN_NAMESPACE, Telling, Token, needs_token};
use crate::controllers::Turn;
use crate::controllers::queue::Again;
use crate::hub::{Hub, Shared, pool_of};
use crate::ingest;
use crate::ledger;
use crate::providers::Known;

const LATER: Duration = Duration::from_secs(10);

pub(super) async fn turn(
    hub: &Shared,
    claim: NodeClaim,
    mut draft: Draft,
    known: &Known,
    who: Identity,
) -> Result<After, Turn> {
    let order = match order(hub, &claim, known, who.clone()).await {
        Ok(order) => order,
        Err(Halt::Says(said)) => {
            draft.waits("Launched", "NodeClassNotReady", &said);
            hub.tell_claim(&claim, true, "NodeClassNotReady", said)
                .await;
            return Ok(waits(claim, draft, LATER));
        }
        Err(Halt::Turn(turn)) => return Err(turn),
    };
    tracing::info!(claim = claim.name_any(), instance_type = %order.offering.instance_type, zone = %order.offering.zone, "launching");
    let answer = known.launch(&order).await;
    let (outcome, said) = meaning(&answer);
    match after_create(outcome) {
        AfterCreate::RecordCreated(_) => match &answer {
            Ok(instance) => {
                hub.tell_claim(
                    &claim,
                    false,
                    "Launched",
                    format!("instance {}", instance.id),
                )
                .await;
                created(hub, claim, instance).await
            }
            Err(_) => Ok(After::Done(Again::Now)),
        },
        AfterCreate::LookFirst => {
            draft.waits("Launched", "OutcomeUnknown", &said);
            Ok(After::Waits {
                claim,
                draft,
                again: Again::Backoff,
            })
        }
        AfterCreate::Retry { after } => {
            draft.waits("Launched", "Throttled", &said);
            Ok(waits(
                claim,
                draft,
                Duration::try_from(after).unwrap_or(LATER),
            ))
        }
        AfterCreate::TellHuman => {
            let rejected = matches!(answer, Err(CloudError::Rejected { .. }));
            failed(hub, claim, draft, &said, rejected).await
        }
        AfterCreate::RecordGone => gone(hub, claim, known, &who, &said).await,
    }
}

/// Waiting does not help: a human must read it. What was rejected is noted in the ledger, so that it is not asked again.
async fn failed(
    hub: &Shared,
    claim: NodeClaim,
    mut draft: Draft,
    said: &str,
    rejected: bool,
) -> Result<After, Turn> {
    draft
        .conditions
        .set("Launched", ConditionStatus::Unknown, "LaunchFailed", said);
    hub.tell_claim(&claim, true, "LaunchFailed", said.to_owned())
        .await;
    let claim = if rejected {
        change_last(hub, &claim, |attempt| attempt.said = Some(said.into())).await?
    } else {
        claim
    };
    Ok(waits(claim, draft, LATER))
}

/// Out of capacity. Only a look that proves absence lets the attempt be forgotten.
async fn gone(
    hub: &Shared,
    claim: NodeClaim,
    known: &Known,
    who: &Identity,
    said: &str,
) -> Result<After, Turn> {
    hub.tell_claim(&claim, true, "InsufficientCapacity", said.to_owned())
        .await;
    known.refresh_catalog().await;
    let state = match known.provider.find(who).await {
        Ok(left) if left.is_empty() => AttemptState::Gone,
        Ok(left) => AttemptState::Ending {
            instance: left.first().map(|one| one.id.clone()),
        },
        Err(_) => AttemptState::Ending { instance: None },
    };
    change_last(hub, &claim, |attempt| {
        attempt.state = state;
        attempt.said = Some(said.into());
    })
    .await?;
    Ok(After::Done(Again::Now))
}

fn meaning(answer: &Result<cloud::Instance, CloudError>) -> (Outcome, String) {
    let error = match answer {
        Ok(instance) => return (Outcome::Created(instance.id.clone()), String::new()),
        Err(error) => error,
    };
    let outcome = match error {
        CloudError::NoCapacity { .. } => Outcome::NoCapacity,
        CloudError::Throttled { retry_after, .. } => Outcome::Throttled {
            retry_after: retry_after.and_then(|after| SignedDuration::try_from(after).ok()),
        },
        CloudError::Unauthorized { .. } => Outcome::Unauthorized,
        CloudError::Rejected { .. } => Outcome::Rejected,
        // A create cannot say "gone"; whatever it means, look first.
        CloudError::Gone | CloudError::Unknown(_) => Outcome::Unknown,
    };
    (outcome, error.to_string())
}

/// Why no order can be made.
enum Halt {
    Says(String),
    Turn(Turn),
}

async fn order(
    hub: &Shared,
    claim: &NodeClaim,
    known: &Known,
    who: Identity,
) -> Result<Order, Halt> {
    let resolved = known.resolved().ok_or_else(|| {
        Halt::Says(format!(
            "OpenStackNodeClass {} is not ready; see its conditions",
            claim.spec.node_class_ref.name
        ))
    })?;
    let names = ledger::offerings(claim).map_err(|bad| Halt::Says(bad.to_string()))?;
    let first = names
        .first()
        .ok_or_else(|| Halt::Says("the claim names no offering".to_owned()))?;
    let token = if needs_token(&known.class) {
        Some(token(hub, claim, known).await?)
    } else {
        None
    };
    let telling = Telling {
        claim,
        known,
        reach: &hub.reach,
        secrets: &hub.secrets,
        form: form_in_use(&hub.mirror.nodes.all()),
    };
    Ok(Order {
        identity: who,
        name: claim.name_any().into(),
        offering: Chosen {
            instance_type: first.instance_type.clone(),
            zone: first.zone.clone(),
            capacity_type: first.capacity_type,
        },
        on: Arc::clone(&resolved),
        user_data: telling
            .user_data(token.as_ref())
            .await
            .map_err(Halt::Says)?,
        marks: marks(hub, claim),
    })
}

fn marks(hub: &Hub, claim: &NodeClaim) -> BTreeMap<String, String> {
    let mut marks = BTreeMap::from([
        (planner::labels::POOL.to_owned(), pool_of(claim).to_owned()),
        ("karpenter.sh/nodeclaim".to_owned(), claim.name_any()),
        (
            "joiner.dev/nodeclass".to_owned(),
            claim.spec.node_class_ref.name.clone(),
        ),
    ]);
    if !hub.settings.cluster_name.is_empty() {
        marks.insert(
            "joiner.dev/cluster-name".to_owned(),
            hub.settings.cluster_name.clone(),
        );
    }
    marks
}

/// A fresh token for this claim; one of an earlier try is overwritten, because no machine of that try exists.
async fn token(hub: &Shared, claim: &NodeClaim, known: &Known) -> Result<Token, Halt> {
    let bytes = hub
        .secret_bytes()
        .map_err(|error| Halt::Says(error.to_string()))?;
    let token = Token::new(&claim.uid().unwrap_or_default(), bytes);
    let bootstrap = known.class.spec.bootstrap.as_ref();
    let said = bootstrap.and_then(|bootstrap| bootstrap.token_ttl.clone());
    let ttl = said
        .and_then(|text| ingest::pool::length(&GoDuration::new(text)))
        .unwrap_or(hub.settings.patience.register_within);
    let expires = hub
        .clock
        .now()
        .checked_add(ttl)
        .unwrap_or(jiff::Timestamp::MAX);
    let object = token.object(&claim.name_any(), expires);
    let applied = hub.write.apply_secret(TOKEN_NAMESPACE, &object).await;
    applied.map_err(|error| Halt::Turn(error.into()))?;
    Ok(token)
}
