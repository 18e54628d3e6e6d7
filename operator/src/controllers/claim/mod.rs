//! What is the next step in the life of one claim?
//!
//! Each turn reads the claim from the API server and never from the mirror: what is decided here costs money.

pub mod account;
mod create;
mod initialize;
mod launch;
mod liveness;
mod register;
pub mod terminate;
mod told;

use crds::karpenter::NodeClaim;
use crds::shared::conditions::ConditionStatus;
use kube::ResourceExt;
use serde_json::{Value, json};

use super::queue::Again;
use super::{Outcome, Turn};
use crate::conditions::Conditions;
use crate::hub::{Hub, Shared};
use crate::ingest;

pub const FINALIZER: &str = "karpenter.sh/termination";
pub const PARTS: [&str; 3] = ["Launched", "Registered", "Initialized"];

pub async fn turn(hub: &Shared, name: String) -> Outcome {
    // Most news is of pods and nodes that are not ours; a claim the mirror has not seen yet brings news of its own.
    if hub.mirror.claims.get(&name).is_none() {
        return Ok(Again::Never);
    }
    let Some(claim) = hub.access.claims().get_opt(&name).await? else {
        return Ok(Again::Never);
    };
    if !ingest::claim::is_ours(&claim) {
        return Ok(Again::Never);
    }
    if claim.metadata.deletion_timestamp.is_some() {
        return terminate::turn(hub, claim).await;
    }
    match launch::turn(hub, claim).await? {
        launch::After::Done(again) => Ok(again),
        launch::After::Waits {
            claim,
            draft,
            again,
        } => {
            let (_, lives) = liveness::turn(hub, claim, draft).await?;
            Ok(again.sooner(lives))
        }
        launch::After::Launched {
            claim,
            mut draft,
            again,
        } => {
            let registered = register::turn(hub, &claim, &mut draft).await?;
            let initialized = initialize::turn(hub, &claim, &mut draft).await?;
            let (_, lives) = liveness::turn(hub, claim, draft).await?;
            Ok(again.sooner(registered).sooner(initialized).sooner(lives))
        }
    }
}

/// The status of a claim, to be written once at the end of a turn.
pub struct Draft {
    pub conditions: Conditions,
    /// Other fields of status to set.
    pub fields: Value,
}

impl Draft {
    pub fn of(hub: &Hub, claim: &NodeClaim) -> Self {
        let status = claim.status.as_ref();
        Self {
            conditions: Conditions::of(
                status.and_then(|status| status.conditions.as_ref()),
                claim.metadata.generation,
                claim.metadata.creation_timestamp.as_ref(),
                hub.clock.now(),
            ),
            fields: json!({}),
        }
    }

    pub fn waits(&mut self, part: &str, reason: &str, message: &str) {
        self.conditions
            .set(part, ConditionStatus::Unknown, reason, message);
    }

    /// Writes what has changed; an unchanged status is not written.
    pub async fn save(mut self, hub: &Hub, claim: NodeClaim) -> Result<NodeClaim, Turn> {
        self.conditions.sum_up(&PARTS);
        let mut status = self.fields;
        let fresh = json!(self.conditions.list());
        let before = claim
            .status
            .as_ref()
            .map_or(Value::Null, |status| json!(status));
        status["conditions"] = fresh;
        let same = status.as_object().is_some_and(|fields| {
            fields
                .iter()
                .all(|(key, value)| before.get(key) == Some(value))
        });
        if same {
            return Ok(claim);
        }
        Ok(hub.write.claim_status(&claim, status).await?)
    }
}

pub fn has_finalizer(object: &impl ResourceExt) -> bool {
    object.finalizers().iter().any(|one| one == FINALIZER)
}

/// The finalizers of an object with or without ours, as one list.
pub fn finalizers(object: &impl ResourceExt, with: bool) -> Vec<String> {
    let mut all = object.finalizers().to_vec();
    all.retain(|one| one != FINALIZER);
    if with {
        all.push(FINALIZER.to_owned());
    }
    all
}
