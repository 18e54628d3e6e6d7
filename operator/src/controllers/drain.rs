//! How is a node that was deleted emptied, and when may it go?
//!
//! Taint, waves through the Eviction API, volumes detached, instance positively gone, finalizer last.

use std::sync::Arc;
use std::time::Duration;

use cloud::{CloudError, Provider};
use crds::karpenter::NodeClaim;
use crds::shared::conditions::ConditionStatus;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::ResourceExt;
use planner::drain::PodOnNode;
use planner::drain::waves::{Drain, NodeView, Wave, next};
use planner::taints::DISRUPTED;
use planner::{Effect, InstanceId, Taint, labels};
use serde_json::json;

use super::claim::{Draft, finalizers, has_finalizer, terminate};
use super::queue::Again;
use super::{Outcome, Turn, volumes};
use crate::explain;
use crate::hub::Shared;
use crate::ingest;
use crate::metrics::{ByReason, Code, of_pool};
use crate::snapshot::by_node;
use crate::write::{Who, WriteError};

const LOOK_AGAIN: Duration = Duration::from_secs(1);
const EXCLUDE: &str = "node.kubernetes.io/exclude-from-external-load-balancers";

pub async fn turn(hub: &Shared, name: String) -> Outcome {
    let mirrored = hub.mirror.nodes.get(&name);
    if mirrored
        .is_none_or(|node| node.metadata.deletion_timestamp.is_none() || !has_finalizer(&*node))
    {
        return Ok(Again::Never);
    }
    // Both are read again: what follows cannot be taken back.
    let Some(node) = hub.access.nodes().get_opt(&name).await? else {
        return Ok(Again::Never);
    };
    if node.metadata.deletion_timestamp.is_none() || !has_finalizer(&node) || !is_ours(&node) {
        return Ok(Again::Never);
    }
    let claim = claim_of(hub, &node).await?;
    let Some(claim) = claim else {
        return finish(hub, &node).await;
    };
    if claim.metadata.deletion_timestamp.is_none() {
        hub.write.delete(&hub.access.claims(), &claim).await?;
        return Ok(Again::After(LOOK_AGAIN));
    }
    if ingest::claim::proven_gone(&claim)
        || (!ingest::node::is_ready(&node) && machine_gone(hub, &claim).await)
    {
        return gone(hub, &node, &claim).await;
    }
    if taint(hub, &node).await? {
        return Ok(Again::After(Duration::from_millis(50)));
    }
    drain(hub, &node, claim).await
}

fn is_ours(node: &Node) -> bool {
    let label = format!(
        "{}/{}",
        ingest::claim::GROUP,
        ingest::claim::KIND.to_lowercase()
    );
    node.labels().contains_key(&label)
}

/// The claim with this node's instance, from the API server. None only if the API server has no such claim.
async fn claim_of(hub: &Shared, node: &Node) -> Result<Option<NodeClaim>, Turn> {
    let owner = node
        .owner_references()
        .iter()
        .find(|owner| owner.kind == "NodeClaim");
    let name = owner.map_or_else(|| node.name_any(), |owner| owner.name.clone());
    Ok(hub.access.claims().get_opt(&name).await?)
}

/// Only a positive answer counts.
async fn machine_gone(hub: &Shared, claim: &NodeClaim) -> bool {
    let known = hub.providers.get(&claim.spec.node_class_ref.name);
    let (Some(known), Some(id)) = (known, ingest::claim::instance(claim)) else {
        return false;
    };
    matches!(
        known.provider.get(&InstanceId::from(id)).await,
        Err(CloudError::Gone)
    )
}

/// Keeps new pods away; true if that had to be written.
async fn taint(hub: &Shared, node: &Node) -> Result<bool, Turn> {
    let disrupted = Taint::new(DISRUPTED, "", Effect::NoSchedule);
    let mut taints = ingest::node::taints(node);
    if taints.iter().any(|taint| taint.matches(&disrupted)) {
        return Ok(false);
    }
    taints.retain(|taint| taint.key.as_ref() != DISRUPTED);
    taints.push(disrupted);
    let change = json!({
        "metadata": { "labels": { EXCLUDE: "karpenter" } },
        "spec": { "taints": ingest::node::written_taints(node, &taints) },
    });
    hub.write
        .merge(&hub.access.nodes(), Who::Node, node, change)
        .await?;
    tracing::info!(node = node.name_any(), "tainted node");
    Ok(true)
}

async fn drain(hub: &Shared, node: &Node, claim: NodeClaim) -> Outcome {
    let mut draft = Draft::of(hub, &claim);
    let budgets = hub.mirror.budgets.all();
    let bound = by_node(&hub.mirror.pods.all());
    let pods = bound.get(&node.name_any()).map_or(&[][..], Vec::as_slice);
    let pods: Vec<(Arc<Pod>, PodOnNode)> = pods
        .iter()
        .map(|pod| {
            let budgets = ingest::budget::of_pod(pod, &budgets);
            (pod.clone(), ingest::pod::on_node(pod, budgets))
        })
        .collect();
    let deadline = terminate::deadline(&claim)?;
    if draft.conditions.holds("Drained") {
        // Once the machine has been asked to go there is nothing to wait for.
        let ending = draft.conditions.holds("InstanceTerminating");
        if !ending && !volumes::gate(hub, node, &pods, deadline, &mut draft).await {
            draft.save(hub, claim).await?;
            return Ok(Again::After(LOOK_AGAIN));
        }
        let claim = draft.save(hub, claim).await?;
        return instance(hub, node, &claim).await;
    }
    let since = draft.conditions.since("Drained");
    if since.is_none() {
        // Not from its creation: the drain begins now.
        draft
            .conditions
            .set("Drained", ConditionStatus::False, "Draining", "");
        draft
            .conditions
            .set("Drained", ConditionStatus::Unknown, "Draining", "");
        draft.save(hub, claim).await?;
        return Ok(Again::Now);
    }
    let view = NodeView {
        pods: pods.into_iter().map(|(_, seen)| seen).collect(),
        draining_since: since,
        deadline,
    };
    match next(&view, hub.clock.now()) {
        Drain::Settle { .. } => Ok(Again::After(LOOK_AGAIN)),
        Drain::Drained => {
            draft.conditions.holds_now("Drained");
            hub.counts
                .nodes_drained
                .get_or_create(&of_pool(pool_of(node)))
                .inc();
            draft.save(hub, claim).await?;
            Ok(Again::Now)
        }
        Drain::Wave(wave) => {
            send(hub, node, &claim, &wave).await?;
            Ok(Again::After(LOOK_AGAIN))
        }
    }
}

async fn send(hub: &Shared, node: &Node, claim: &NodeClaim, wave: &Wave) -> Result<(), Turn> {
    let reason = ingest::claim::condition(claim, "DisruptionReason");
    let reason = reason.map_or("Forceful Termination", |one| one.reason.as_str());
    for (name, uid, grace) in &wave.delete {
        if let Some((namespace, name)) = name.split_once('/') {
            let grace = u32::try_from(grace.as_secs()).unwrap_or(1);
            hub.write.delete_pod(namespace, name, uid, grace).await?;
        }
    }
    let mut refused = Vec::new();
    for (full, uid) in &wave.evict {
        let Some((namespace, name)) = full.split_once('/') else {
            continue;
        };
        let answer = hub.write.evict(namespace, name, uid).await;
        let code = match &answer {
            Ok(()) => "200",
            Err(WriteError::Gone) => "404",
            Err(WriteError::Conflict) => "409",
            Err(WriteError::TooMany(_)) => "429",
            Err(_) => "500",
        };
        hub.counts
            .evictions
            .get_or_create(&Code {
                code: code.to_owned(),
            })
            .inc();
        match answer {
            Ok(()) => {
                let reason = reason.to_owned();
                let drained = &hub.counts.pods_drained;
                drained.get_or_create(&ByReason { reason }).inc();
            }
            Err(WriteError::Gone | WriteError::Conflict) => {}
            // Also the 500 by which the API server says that several budgets match: asked again in the next wave.
            Err(error @ (WriteError::TooMany(_) | WriteError::Api(_))) => {
                refused.push(format!("{full}: {error}"));
            }
            Err(error @ WriteError::NotLeading) => return Err(error.into()),
        }
    }
    if !refused.is_empty() || !wave.blocked.is_empty() {
        let whys = wave.blocked.iter().map(explain::sentence);
        let said: Vec<String> = whys.chain(refused).take(5).collect();
        hub.tell_node(node, true, "FailedDraining", said.join("; "))
            .await;
    }
    Ok(())
}

async fn instance(hub: &Shared, node: &Node, claim: &NodeClaim) -> Outcome {
    let again = terminate::instance_gone(hub, claim).await?;
    tracing::debug!(
        node = node.name_any(),
        "waiting for the instance to be gone"
    );
    Ok(again)
}

/// The machine is gone for good: the ledger says so, or the cloud just did.
async fn gone(hub: &Shared, node: &Node, claim: &NodeClaim) -> Outcome {
    if !ingest::claim::proven_gone(claim) {
        // Also its ports and other side resources must go first.
        return terminate::instance_gone(hub, claim).await;
    }
    finish(hub, node).await
}

async fn finish(hub: &Shared, node: &Node) -> Outcome {
    let change = json!({ "metadata": { "finalizers": finalizers(node, false) } });
    hub.write
        .merge(&hub.access.nodes(), Who::Node, node, change)
        .await?;
    hub.counts.node_gone(node, hub.clock.now());
    tracing::info!(node = node.name_any(), "deleted node");
    Ok(Again::Never)
}

fn pool_of(node: &Node) -> &str {
    node.labels().get(labels::POOL).map_or("", String::as_str)
}
