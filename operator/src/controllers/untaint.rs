//! Which node was about to go, and is not going any more?
//!
//! A node that is to go is tainted first, then its claim is deleted. Whoever dies or is refused in between leaves the taint
//! behind: no pod would ever come to that node again, and nobody would take it for a node that could go.

use crds::karpenter::NodeClaim;
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use planner::taints::DISRUPTED;
use planner::{Effect, Taint, labels};
use serde_json::json;

use super::Turn;
use super::pool::stopped;
use crate::hub::Shared;
use crate::ingest;
use crate::write::Who;

/// Between two rounds of disruption: nobody is in the middle of anything.
pub async fn round(hub: &Shared) {
    for node in hub.mirror.nodes.all() {
        let Some(claim) = hub.mirror.claims.get(&node.name_any()) else {
            continue;
        };
        let pool = node.labels().get(labels::POOL);
        let pool = pool.and_then(|pool| hub.mirror.pools.get(pool));
        let idle = pool.is_none_or(|pool| stopped(hub, &pool).is_some());
        if idle || !stays(&node, &claim) {
            continue;
        }
        if let Err(error) = untaint(hub, &node.name_any()).await {
            tracing::warn!(node = node.name_any(), %error, "a node that stays is still tainted");
        }
    }
}

/// Tainted to go, while neither the node nor its claim does.
fn stays(node: &Node, claim: &NodeClaim) -> bool {
    let ours = disrupted();
    node.metadata.deletion_timestamp.is_none()
        && claim.metadata.deletion_timestamp.is_none()
        && ingest::claim::is_ours(claim)
        && ingest::node::taints(node)
            .iter()
            .any(|taint| taint.matches(&ours))
}

fn disrupted() -> Taint {
    Taint::new(DISRUPTED, "", Effect::NoSchedule)
}

/// Both are read again: our eyes may be behind our hands.
async fn untaint(hub: &Shared, name: &str) -> Result<(), Turn> {
    let (Some(node), Some(claim)) = (
        hub.access.nodes().get_opt(name).await?,
        hub.access.claims().get_opt(name).await?,
    ) else {
        return Ok(());
    };
    if !stays(&node, &claim) {
        return Ok(());
    }
    let mut taints = ingest::node::taints(&node);
    taints.retain(|taint| !taint.matches(&disrupted()));
    let change = json!({ "spec": { "taints": ingest::node::written_taints(&node, &taints) } });
    hub.write
        .merge(&hub.access.nodes(), Who::Node, &node, change)
        .await?;
    tracing::info!(node = name, "the node stays: its taint is taken back");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::{Value, from_value};

    fn node(taint: &str, deleted: &Value) -> Node {
        from_value(json!({
            "metadata": {"name": "a", "deletionTimestamp": deleted},
            "spec": {"taints": [{"key": taint, "effect": "NoSchedule"}]},
        }))
        .unwrap()
    }

    fn claim(deleted: &Value) -> NodeClaim {
        let class =
            json!({"group": ingest::claim::GROUP, "kind": ingest::claim::KIND, "name": "b"});
        from_value(json!({
            "apiVersion": "karpenter.sh/v1",
            "kind": "NodeClaim",
            "metadata": {"name": "a", "deletionTimestamp": deleted},
            "spec": {"requirements": [], "nodeClassRef": class},
        }))
        .unwrap()
    }

    #[rstest]
    #[case(DISRUPTED, Value::Null, Value::Null, true)]
    #[case("somebody/else", Value::Null, Value::Null, false)]
    #[case(DISRUPTED, json!("2026-01-01T00:00:00Z"), Value::Null, false)]
    #[case(DISRUPTED, Value::Null, json!("2026-01-01T00:00:00Z"), false)]
    fn a_node_stays_if_it_is_tainted_and_nobody_deletes_it_or_its_claim(
        #[case] taint: &str,
        #[case] node_deleted: Value,
        #[case] claim_deleted: Value,
        #[case] expected: bool,
    ) {
        assert_eq!(
            stays(&node(taint, &node_deleted), &claim(&claim_deleted)),
            expected
        );
    }
}
