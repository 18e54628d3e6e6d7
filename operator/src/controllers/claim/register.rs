//! Which node is this claim's, and what is written on it, once?

use std::sync::Arc;

use crds::karpenter::NodeClaim;
use crds::shared::conditions::ConditionStatus;
use k8s_openapi::api::core::v1::Node;
use kube::{Resource, ResourceExt};
use planner::lifecycle::register::{Dowry, NodeEdit, NodeSeen, Registration, decide};
use serde_json::{Value, json};

use super::{Draft, finalizers};
use crate::bootstrap::{TOKEN_NAMESPACE, secret_name, token_id};
use crate::controllers::Turn;
use crate::controllers::queue::Again;
use crate::hub::{Shared, pool_of};
use crate::ingest;
use crate::ledger::{LEDGER, OFFERINGS};
use crate::metrics::of_pool;
use crate::write::Who;

pub(super) async fn turn(
    hub: &Shared,
    claim: &NodeClaim,
    draft: &mut Draft,
) -> Result<Again, Turn> {
    if draft.conditions.holds("Registered") {
        draft.conditions.holds_now("Registered");
        return Ok(Again::Never);
    }
    let nodes = nodes_of(hub, claim, draft);
    let seen: Vec<NodeSeen> = nodes.iter().map(|node| seen(node)).collect();
    match decide(&seen, &dowry(claim)) {
        Registration::NodeNotFound => {
            draft.waits(
                "Registered",
                "NodeNotFound",
                "Node not registered with cluster",
            );
            Ok(Again::Never)
        }
        Registration::MultipleNodesFound(names) => {
            let said = format!(
                "several nodes have this instance's provider id: {}",
                names.join(", ")
            );
            draft.conditions.set(
                "Registered",
                ConditionStatus::False,
                "MultipleNodesFound",
                &said,
            );
            Ok(Again::Never)
        }
        Registration::Register(edit) => {
            let Some(node) = nodes.iter().find(|node| node.name_any() == *edit.node) else {
                return Ok(Again::Backoff);
            };
            register(hub, claim, node, &edit).await?;
            draft.conditions.holds_now("Registered");
            draft.fields["nodeName"] = json!(node.name_any());
            Ok(Again::Never)
        }
    }
}

/// Nodes of the mirror with the claim's instance, also one that was told in this very turn.
pub(super) fn nodes_of(hub: &Shared, claim: &NodeClaim, draft: &Draft) -> Vec<Arc<Node>> {
    let told = draft.fields["providerID"]
        .as_str()
        .and_then(ingest::node::instance_of);
    match told.or_else(|| ingest::claim::instance(claim)) {
        Some(instance) => nodes_with(hub, instance),
        None => Vec::new(),
    }
}

pub(crate) fn nodes_with(hub: &Shared, instance: &str) -> Vec<Arc<Node>> {
    let mut nodes = hub.mirror.nodes.all();
    nodes.retain(|node| {
        ingest::node::provider_id(node).and_then(ingest::node::instance_of) == Some(instance)
    });
    nodes
}

fn seen(node: &Node) -> NodeSeen {
    NodeSeen {
        name: node.name_any().into(),
        labels: ingest::labels(node.labels()),
        taints: ingest::node::taints(node),
    }
}

fn dowry(claim: &NodeClaim) -> Dowry {
    Dowry {
        labels: ingest::labels(claim.labels()),
        taints: ingest::crd_taints(claim.spec.taints.as_ref()),
        startup_taints: ingest::crd_taints(claim.spec.startup_taints.as_ref()),
    }
}

async fn register(
    hub: &Shared,
    claim: &NodeClaim,
    node: &Node,
    edit: &NodeEdit,
) -> Result<(), Turn> {
    if edit.unregistered_taint_missing {
        let said = "the node came without karpenter.sh/unregistered:NoExecute, so pods may have started before its labels and taints were set";
        hub.tell_node(node, true, "UnregisteredTaintMissing", said.to_owned())
            .await;
    }
    let change = change(claim, node, edit);
    hub.write
        .merge(&hub.access.nodes(), Who::Node, node, change)
        .await?;
    tracing::info!(
        claim = claim.name_any(),
        node = node.name_any(),
        "registered nodeclaim"
    );
    hub.counts
        .nodes_created
        .get_or_create(&of_pool(pool_of(claim)))
        .inc();
    // The machine has its own certificate now.
    let token = secret_name(&token_id(&claim.uid().unwrap_or_default()));
    hub.write.delete_secret(TOKEN_NAMESPACE, &token).await?;
    Ok(())
}

fn change(claim: &NodeClaim, node: &Node, edit: &NodeEdit) -> Value {
    let labels: std::collections::BTreeMap<&str, &str> = edit
        .labels
        .iter()
        .map(|(key, value)| (key.as_ref(), value.as_ref()))
        .collect();
    let mut annotations = claim.annotations().clone();
    annotations.retain(|key, _| key != LEDGER && key != OFFERINGS);
    let mut owners = node.owner_references().to_vec();
    if let Some(mut owner) = claim.owner_ref(&())
        && !owners.iter().any(|there| there.uid == owner.uid)
    {
        owner.block_owner_deletion = Some(true);
        owners.push(owner);
    }
    json!({
        "metadata": {
            "labels": labels,
            "annotations": annotations,
            "finalizers": finalizers(node, true),
            "ownerReferences": owners,
        },
        "spec": { "taints": ingest::node::written_taints(node, &edit.taints) },
    })
}
