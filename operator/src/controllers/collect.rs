//! What is ours without anybody wanting it, and what is wanted without being there?
//!
//! One pass lists a cloud completely and the claims from the API server afresh; nothing is judged on less.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cloud::{CloudError, Footprint, Instance, Provider};
use crds::karpenter::NodeClaim;
use kube::ResourceExt;
use kube::api::ListParams;
use planner::InstanceId;
use planner::collect::ghosts::{self, ClaimSeen, NodeFact};
use planner::collect::orphans::{self, ClaimFact, InstanceSeen, OrphanRules};
use planner::collect::{Caution, Listing};

use super::Turn;
use crate::args::signed;
use crate::controllers::claim::terminate;
use crate::hub::Shared;
use crate::ingest;
use crate::providers::Known;

/// At most this many are removed in one pass of one class.
const MOST: usize = 10;

#[derive(Default)]
struct Seen {
    orphans: Vec<InstanceId>,
    ghosts: Vec<Arc<str>>,
}

pub async fn run(hub: &Shared) {
    let mut seen: BTreeMap<String, Seen> = BTreeMap::new();
    loop {
        tokio::time::sleep(hub.settings.sweep_interval).await;
        for (class, known) in hub.providers.all() {
            let before = seen.entry(class.clone()).or_default();
            if let Err(error) = pass(hub, &class, &known, before).await {
                tracing::warn!(class, %error, "the sweep could not be finished");
            }
        }
    }
}

async fn pass(hub: &Shared, class: &str, known: &Known, seen: &mut Seen) -> Result<(), Turn> {
    let caution = Caution {
        most: MOST,
        report_only: hub.settings.sweep_report_only,
    };
    // Instances first: a claim made after this list cannot be missed by the list of claims.
    let listed = known.provider.list().await;
    if let Err(error) = &listed {
        tracing::warn!(class, %error, "the cloud's list is incomplete; nobody is judged");
    }
    let claims = hub
        .access
        .claims()
        .list(&ListParams::default())
        .await?
        .items;
    let uids: BTreeSet<String> = claims.iter().filter_map(ResourceExt::uid).collect();
    let instances = listed.as_ref().map(Vec::as_slice).unwrap_or_default();
    let listing = match &listed {
        Ok(all) => Listing::Complete(all.iter().map(|one| instance(one, &uids)).collect()),
        Err(_) => Listing::Incomplete,
    };
    let rules = OrphanRules {
        cluster: hub.cluster.clone(),
        longest_create: signed(hub.settings.sweep_longest_create),
        caution,
    };
    let sweep = orphans::sweep(&listing, &seen.orphans, &rules, hub.clock.now());
    for (id, spared) in &sweep.spared {
        tracing::info!(class, instance = %id, reason = spared.code(), "an orphan is left alone for now");
    }
    for one in instances
        .iter()
        .filter(|one| sweep.remove.contains(&one.id))
    {
        remove_orphan(class, known, one).await;
    }
    seen.orphans = sweep.seen;
    let ids = match &listed {
        Ok(all) => Listing::Complete(all.iter().map(|one| one.id.clone()).collect()),
        Err(_) => Listing::Incomplete,
    };
    judge_ghosts(hub, class, known, (&claims, &ids), (seen, caution)).await
}

fn instance(one: &Instance, uids: &BTreeSet<String>) -> InstanceSeen {
    InstanceSeen {
        id: one.id.clone(),
        identity: Some(one.identity.clone()),
        created: one.created_at,
        claim: if uids.contains(one.identity.claim.as_str()) {
            ClaimFact::Exists
        } else {
            ClaimFact::ReadAndAbsent
        },
    }
}

async fn remove_orphan(class: &str, known: &Known, one: &Instance) {
    tracing::warn!(class, instance = %one.id, name = one.name, "removing an orphan: an instance of this cluster without a claim");
    match known.terminate(&Footprint::of(one)).await {
        Ok(()) | Err(CloudError::Gone) => {}
        Err(error) => {
            tracing::warn!(class, instance = %one.id, %error, "the orphan is still there");
        }
    }
}

async fn judge_ghosts(
    hub: &Shared,
    class: &str,
    known: &Known,
    (claims, listed): (&[NodeClaim], &Listing<InstanceId>),
    (seen, caution): (&mut Seen, Caution),
) -> Result<(), Turn> {
    let Listing::Complete(ids) = listed else {
        return Ok(());
    };
    let mut suspects = Vec::new();
    for claim in claims {
        let ours = ingest::claim::is_ours(claim) && claim.spec.node_class_ref.name == class;
        let settled = ingest::claim::holds(claim, "Registered")
            && claim.metadata.deletion_timestamp.is_none();
        let Some(id) = ingest::claim::instance(claim).map(InstanceId::from) else {
            continue;
        };
        if !ours || !settled || ids.contains(&id) {
            continue;
        }
        let gone = matches!(known.provider.get(&id).await, Err(CloudError::Gone));
        suspects.push(ClaimSeen {
            name: claim.name_any().into(),
            node: node_fact(hub, id.as_str()),
            instance: id,
            proven_gone: gone,
        });
    }
    let sweep = ghosts::sweep(&suspects, listed, &seen.ghosts, caution);
    for (name, spared) in &sweep.spared {
        tracing::info!(class, claim = %name, reason = spared.code(), "a ghost is left alone for now");
    }
    for claim in claims
        .iter()
        .filter(|claim| sweep.remove.iter().any(|name| **name == claim.name_any()))
    {
        hub.tell_claim(
            claim,
            true,
            "GhostFound",
            "its instance is gone from the cloud".to_owned(),
        )
        .await;
        hub.counts.disrupted(claim, "garbage_collected");
        hub.write.delete(&hub.access.claims(), claim).await?;
    }
    seen.ghosts = sweep.seen;
    Ok(())
}

fn node_fact(hub: &Shared, instance: &str) -> NodeFact {
    let nodes = terminate::nodes_of_instance(hub, instance);
    match nodes.as_slice() {
        [] => NodeFact::Absent,
        nodes if nodes.iter().any(|node| ingest::node::is_ready(node)) => NodeFact::Ready,
        _ => NodeFact::NotReady,
    }
}
