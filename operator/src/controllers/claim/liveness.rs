//! Has this claim been silent for too long, and what is to be said of it at the end of a turn?

use std::time::Duration;

use crds::karpenter::NodeClaim;
use jiff::Timestamp;
use planner::lifecycle::liveness::{Liveness, Phase, decide};

use super::Draft;
use crate::controllers::Turn;
use crate::controllers::pool::stopped;
use crate::controllers::queue::Again;
use crate::hub::{Hub, Shared, pool_of};

/// How often a claim that is overdue is looked at while somebody has stopped us.
const STOPPED: Duration = Duration::from_secs(30);

/// Writes the status and judges it.
pub(super) async fn turn(
    hub: &Shared,
    claim: NodeClaim,
    draft: Draft,
) -> Result<(NodeClaim, Again), Turn> {
    let claim = draft.save(hub, claim).await?;
    let draft = Draft::of(hub, &claim);
    let created = claim
        .metadata
        .creation_timestamp
        .as_ref()
        .map_or_else(|| hub.clock.now(), |time| time.0);
    let phase = if draft.conditions.holds("Registered") {
        Phase::Registered
    } else if draft.conditions.holds("Launched") {
        Phase::Launched {
            since: draft.conditions.since("Launched").unwrap_or(created),
        }
    } else {
        Phase::Intended { since: created }
    };
    match decide(phase, hub.settings.patience, hub.clock.now()) {
        Liveness::Fine => Ok((claim, Again::Never)),
        Liveness::Wait { until } => Ok((claim, at(hub, until))),
        // Nothing could come of it while somebody has stopped us.
        Liveness::GiveUp { .. } if is_stopped(hub, &claim) => Ok((claim, Again::After(STOPPED))),
        Liveness::GiveUp { stage, silent_for } => {
            let said = format!("{}: nothing came of it in {}", stage.code(), silent_for);
            hub.tell_claim(&claim, true, "LivenessTimeout", said).await;
            hub.counts.disrupted(&claim, stage.code());
            hub.write.delete(&hub.access.claims(), &claim).await?;
            Ok((claim, Again::Now))
        }
    }
}

fn is_stopped(hub: &Shared, claim: &NodeClaim) -> bool {
    match hub.mirror.pools.get(pool_of(claim)) {
        Some(pool) => stopped(hub, &pool).is_some(),
        None => hub.brake.pulled().is_some(),
    }
}

/// When that time has come.
pub(super) fn at(hub: &Hub, then: Timestamp) -> Again {
    let left = Duration::try_from(then.duration_since(hub.clock.now())).unwrap_or(Duration::ZERO);
    Again::After(left + Duration::from_millis(5))
}
