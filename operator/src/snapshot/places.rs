//! What room do the mirror's nodes and claims give, before anybody is on them?

use std::collections::BTreeMap;
use std::sync::Arc;

use crds::karpenter::NodeClaim;
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use planner::labels;
use planner::snapshot;
use planner::taints::{UNREGISTERED, lasting};

use super::settle::join;
use crate::ingest;
use crate::mirror::Mirror;

/// Rooms that are there and rooms on their way; a machine is counted as one of both.
pub(super) fn places(mirror: &Mirror) -> (Vec<snapshot::Node>, Vec<snapshot::Claim>) {
    let claims = mirror.claims.all();
    let mut flying = Vec::new();
    let mut claim_of: BTreeMap<String, Arc<NodeClaim>> = BTreeMap::new();
    for claim in claims.iter().filter(|claim| ingest::claim::is_ours(claim)) {
        let status = claim.status.as_ref();
        let node = status.and_then(|status| status.node_name.clone());
        let there = node
            .as_ref()
            .is_some_and(|node| mirror.nodes.get(node).is_some());
        if ingest::claim::holds(claim, "Registered")
            && (there || claim.metadata.deletion_timestamp.is_some())
        {
            claim_of.insert(node.unwrap_or_else(|| claim.name_any()), claim.clone());
        } else {
            flying.push(ingest::claim::in_flight(claim));
        }
    }
    let nodes = mirror.nodes.all();
    let standing = nodes.iter().filter(|node| {
        // Still counted as its claim.
        !(unregistered(node) && flying.iter().any(|claim| *claim.name == node.name_any()))
    });
    let rooms = standing.map(|node| {
        let limits = mirror.csi_nodes.get(&node.name_any());
        let limits = limits.map(|said| ingest::volume::limits(&said));
        snapshot::Node {
            volume_limits: limits.unwrap_or_default(),
            ..room(node, claim_of.get(&node.name_any()).map(|claim| &**claim))
        }
    });
    (rooms.collect(), flying)
}

fn unregistered(node: &Node) -> bool {
    let taints = ingest::node::taints(node);
    taints
        .iter()
        .any(|taint| taint.key.as_ref() == UNREGISTERED)
}

fn room(node: &Node, claim: Option<&NodeClaim>) -> snapshot::Node {
    let mut room = readable(node);
    let Some(claim) = claim else {
        room.taints = lasting(&room.taints, &[], true);
        return room;
    };
    let pool = claim.labels().get(labels::POOL);
    room.pool = pool.map(|pool| pool.as_str().into());
    let initialized = ingest::node::has_label(node, labels::INITIALIZED, "true");
    let startup = ingest::crd_taints(claim.spec.startup_taints.as_ref());
    let mut told = ingest::claim::in_flight(claim);
    // That its instance is gone is for the sweep to say; its node stands until then.
    told.leaving = claim.metadata.deletion_timestamp.is_some();
    join(&mut room, &told, &startup, initialized);
    room
}

/// A node of which something cannot be read gives no room: what keeps pods away from it may be just that.
fn readable(node: &Node) -> snapshot::Node {
    ingest::file::node(node).unwrap_or_else(|bad| {
        let name = node.name_any();
        tracing::warn!(node = name, field = bad.field, said = bad.said, "no room");
        snapshot::Node {
            name: name.into(),
            labels: ingest::labels(node.labels()),
            taints: ingest::node::taints(node),
            initialized: true,
            leaving: ingest::node::is_leaving(node),
            ..snapshot::Node::default()
        }
    })
}
