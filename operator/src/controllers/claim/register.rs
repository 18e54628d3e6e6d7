//! Which node is this claim's, and what is written on it, once?

use std::collections::BTreeMap;
use std::sync::Arc;

use crds::karpenter::NodeClaim;
use crds::shared::conditions::ConditionStatus;
use k8s_openapi::api::core::v1::Node;
use kube::{Resource, ResourceExt};
use openstack::provider_id::{self, Form};
use planner::lifecycle::register::{Dowry, NodeEdit, NodeSeen, Registration, decide};
use planner::taints::UNREGISTERED;
use serde_json::{Value, json};

use super::{Draft, finalizers, has_finalizer};
use crate::bootstrap::{TOKEN_NAMESPACE, secret_name, token_id};
use crate::controllers::Turn;
use crate::controllers::queue::Again;
use crate::explain::WHY;
use crate::hub::Shared;
use crate::ingest;
use crate::ledger::{LEDGER, OFFERINGS};
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
            // In the node's own words: tools compare the texts.
            draft.fields["providerID"] = json!(ingest::node::provider_id(node));
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

/// How the nodes of this cluster write their provider ids: as most of them do, plainly if none does.
pub(super) fn form_in_use(nodes: &[Arc<Node>]) -> Form {
    let mut count: BTreeMap<String, (usize, Form)> = BTreeMap::new();
    let forms = nodes
        .iter()
        .filter_map(|node| ingest::node::provider_id(node).and_then(provider_id::form));
    for form in forms {
        count
            .entry(provider_id::prefix(&form))
            .or_insert((0, form))
            .0 += 1;
    }
    let most = count.into_values().rev().max_by_key(|(nodes, _)| *nodes);
    most.map(|(_, form)| form).unwrap_or_default()
}

/// Removes the node of a machine that is gone and never registered: nothing else would. Asked of the API server, because the
/// mirror may not have seen it join.
pub(super) async fn forget_node(
    hub: &Shared,
    claim: &NodeClaim,
    instance: Option<&str>,
) -> Result<(), Turn> {
    if ingest::claim::holds(claim, "Registered") {
        return Ok(()); // it was drained and has gone before its instance
    }
    let Some(node) = hub.access.nodes().get_opt(&claim.name_any()).await? else {
        return Ok(());
    };
    if !belongs(&node, instance) {
        return Ok(());
    }
    hub.write.delete(&hub.access.nodes(), &node).await?;
    tracing::info!(
        node = node.name_any(),
        "deleted node of a machine that never registered"
    );
    Ok(())
}

/// Is it the node of this instance, and of nobody who would drain it? If ids cannot tell, it must carry our taint.
fn belongs(node: &Node, instance: Option<&str>) -> bool {
    let unregistered = |taint: &planner::Taint| taint.key.as_ref() == UNREGISTERED;
    let ours = match (ingest::node::provider_id(node), instance) {
        (Some(id), Some(_)) => ingest::node::instance_of(id) == instance,
        (Some(_), None) | (None, _) => ingest::node::taints(node).iter().any(unregistered),
    };
    ours && !has_finalizer(node)
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
    hub.counts.registered(claim);
    // The machine has its own certificate now.
    let token = secret_name(&token_id(&claim.uid().unwrap_or_default()));
    hub.write.delete_secret(TOKEN_NAMESPACE, &token).await?;
    Ok(())
}

fn change(claim: &NodeClaim, node: &Node, edit: &NodeEdit) -> Value {
    let labels: BTreeMap<&str, &str> = edit
        .labels
        .iter()
        .map(|(key, value)| (key.as_ref(), value.as_ref()))
        .collect();
    let mut annotations = claim.annotations().clone();
    annotations.retain(|key, _| key != LEDGER && key != OFFERINGS && key != WHY);
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

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn node(id: Option<&str>, taint: Option<&str>, finalizer: bool) -> Node {
        let taints = taint.map(|key| json!([{ "key": key, "effect": "NoExecute" }]));
        let finalizers = finalizer.then(|| json!([super::super::FINALIZER]));
        serde_json::from_value(json!({
            "metadata": { "name": "n", "finalizers": finalizers },
            "spec": { "providerID": id, "taints": taints },
        }))
        .unwrap()
    }

    #[rstest]
    #[case(&[], "openstack:///")]
    #[case(&["openstack:///a"], "openstack:///")]
    #[case(&["openstack://R1/a", "openstack://R1/b", "openstack:///c"], "openstack://R1/")]
    #[case(&["openstack://R1/a", "openstack:///c"], "openstack:///")]
    #[case(&["aws:///eu/i-1", "openstack://R1/a"], "openstack://R1/")]
    fn provider_ids_are_written_as_most_nodes_of_the_cluster_do(
        #[case] ids: &[&str],
        #[case] prefix: &str,
    ) {
        let nodes: Vec<_> = ids
            .iter()
            .map(|id| Arc::new(node(Some(id), None, false)))
            .collect();
        assert_eq!(provider_id::prefix(&form_in_use(&nodes)), prefix);
    }

    #[rstest]
    #[case(node(Some("openstack://R1/i-1"), None, false), Some("i-1"), true)]
    #[case(node(Some("openstack:///i-2"), None, false), Some("i-1"), false)]
    #[case(node(Some("openstack:///i-2"), None, false), None, false)]
    #[case(node(Some("openstack:///i-2"), Some(UNREGISTERED), false), None, true)]
    #[case(node(None, Some(UNREGISTERED), false), Some("i-1"), true)]
    #[case(node(None, None, false), Some("i-1"), false)]
    #[case(node(Some("openstack:///i-1"), None, true), Some("i-1"), false)]
    fn only_the_node_of_the_instance_that_is_gone_is_removed(
        #[case] node: Node,
        #[case] instance: Option<&str>,
        #[case] removed: bool,
    ) {
        assert_eq!(belongs(&node, instance), removed);
    }
}
