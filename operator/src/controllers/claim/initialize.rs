//! Is the node of this claim ready for the pods it was bought for?

use crds::karpenter::NodeClaim;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;
use planner::lifecycle::consolidatable::{self, Consolidatable, Quiet};
use planner::lifecycle::initialize::{Initialization, NodeSeen, decide};
use planner::{labels, taints};
use serde_json::json;

use super::Draft;
use super::register::nodes_of;
use crate::controllers::Turn;
use crate::controllers::queue::Again;
use crate::hub::{Shared, pool_of};
use crate::ingest;
use crate::write::Who;

pub(super) async fn turn(
    hub: &Shared,
    claim: &NodeClaim,
    draft: &mut Draft,
) -> Result<Again, Turn> {
    if !draft.conditions.holds("Registered") {
        return Ok(Again::Never);
    }
    if draft.conditions.holds("Initialized") {
        draft.conditions.holds_now("Initialized");
        return Ok(quiet(hub, claim, draft));
    }
    let nodes = nodes_of(hub, claim, draft);
    let node = nodes.first();
    let seen = node.map(|node| NodeSeen {
        ready: ingest::node::is_ready(node),
        taints: ingest::node::taints(node),
        allocatable: ingest::node::room(node).1,
    });
    let startup = ingest::crd_taints(claim.spec.startup_taints.as_ref());
    let requests = claim
        .spec
        .resources
        .as_ref()
        .and_then(|all| all.requests.as_ref());
    let requests = ingest::amounts(requests).unwrap_or_default();
    let rebooting = seen.as_ref().is_some_and(|seen| {
        seen.taints
            .iter()
            .any(|taint| taint.key.as_ref() == taints::REBOOTING)
    });
    match decide(seen.as_ref(), &startup, &requests, rebooting) {
        Initialization::Rebooting => {
            draft.waits("Initialized", "Rebooting", "a reboot is under way");
        }
        Initialization::Waits(what) => {
            draft.waits("Initialized", what.code(), &format!("{what:?}"));
        }
        Initialization::Done => {
            if let Some(node) = node {
                let change = json!({ "metadata": { "labels": { labels::INITIALIZED: "true" } } });
                hub.write
                    .merge(&hub.access.nodes(), Who::Node, node, change)
                    .await?;
                tracing::info!(claim = claim.name_any(), "initialized nodeclaim");
            }
            draft.conditions.holds_now("Initialized");
        }
    }
    Ok(Again::Never)
}

/// Has it been quiet for long enough to be consolidated?
fn quiet(hub: &Shared, claim: &NodeClaim, draft: &mut Draft) -> Again {
    let status = claim.status.as_ref();
    let written = status
        .and_then(|status| status.last_pod_event_time.as_ref())
        .map(|time| time.0);
    let node = status
        .and_then(|status| status.node_name.clone())
        .unwrap_or_else(|| claim.name_any());
    let seen = hub.wake.pod_events().of(&node).map(whole_seconds);
    if seen > written {
        draft.fields["lastPodEventTime"] = json!(seen.map(Time));
    }
    let Some(pool) = hub.mirror.pools.get(pool_of(claim)) else {
        draft.conditions.clear("Consolidatable");
        return Again::Never;
    };
    let judged = consolidatable::decide(
        Quiet {
            initialized_at: draft.conditions.since("Initialized"),
            last_pod_event: seen.max(written),
            consolidate_after: ingest::pool::consolidate_after(&pool),
        },
        hub.clock.now(),
    );
    match judged {
        Consolidatable::Yes => {
            draft.conditions.holds_now("Consolidatable");
            Again::Never
        }
        Consolidatable::At(at) => {
            draft.conditions.clear("Consolidatable");
            super::liveness::at(hub, at)
        }
        Consolidatable::NotInitialized | Consolidatable::Never => {
            draft.conditions.clear("Consolidatable");
            Again::Never
        }
    }
}

/// Status holds whole seconds; comparing finer ones would write for ever.
fn whole_seconds(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}
