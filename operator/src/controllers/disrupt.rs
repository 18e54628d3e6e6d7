//! Which empty nodes go, and are they still empty a while later?

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use planner::disrupt::budgets::{PoolCount, Reason};
use planner::disrupt::empty::{Candidate, Emptiness, PodCost, PoolBudgets, plan};
use planner::drain::blockers::blockers;
use planner::drain::movable::needs_a_new_place;
use planner::lifecycle::consolidatable::Quiet;
use planner::taints::DISRUPTED;
use planner::{Budget, Effect, Spot, Taint, labels};
use serde_json::json;

use super::Turn;
use super::pool::stopped;
use super::untaint;
use crate::explain;
use crate::hub::Shared;
use crate::ingest;
use crate::metrics::{ByReason, Decision};
use crate::snapshot::{self, by_node};
use crate::think;
use crate::write::Who;

const TICK: Duration = Duration::from_secs(5);
/// A decision must still hold after this time.
const RECHECK: SignedDuration = SignedDuration::from_secs(15);

pub async fn run(hub: &Shared) {
    let mut since: BTreeMap<Arc<str>, Timestamp> = BTreeMap::new();
    loop {
        tokio::time::sleep(TICK).await;
        if hub.brake.pulled().is_some() {
            since.clear();
            continue;
        }
        untaint::round(hub).await;
        let Ok(emptiness) = look(hub).await else {
            continue; // behind: what was decided stays decided, but nothing is done
        };
        let eligible = ByReason {
            reason: "empty".to_owned(),
        };
        let count = i64::try_from(emptiness.remove.len()).unwrap_or(i64::MAX);
        hub.counts.eligible.get_or_create(&eligible).set(count);
        let now = hub.clock.now();
        since.retain(|node, _| emptiness.remove.contains(node));
        for node in &emptiness.remove {
            let first = *since.entry(node.clone()).or_insert(now);
            if now.duration_since(first) < RECHECK {
                continue;
            }
            if let Err(error) = remove(hub, node).await {
                tracing::warn!(%node, %error, "an empty node could not be removed");
            }
        }
    }
}

async fn look(hub: &Shared) -> Result<Emptiness, snapshot::Behind> {
    let frozen = snapshot::freeze(hub).await?;
    // Pods that wait for room that is there already will land there any moment.
    let (frozen, schedule) = think::plan(frozen, Budget::steps(5_000_000)).await;
    let mut awaited: BTreeMap<Arc<str>, u32> = BTreeMap::new();
    for (_, spot) in &schedule.placements {
        if let Spot::Node(id) = spot {
            *awaited.entry(frozen.node(*id).name.clone()).or_default() += 1;
        }
    }
    let mut candidates = Vec::new();
    let mut pools: BTreeMap<Arc<str>, PoolBudgets> = BTreeMap::new();
    let bound = by_node(&hub.mirror.pods.all());
    for pool in hub.mirror.pools.all() {
        if !ingest::pool::is_ours(&pool)
            || stopped(hub, &pool).is_some()
            || pool.spec.replicas.is_some()
        {
            continue;
        }
        let name: Arc<str> = pool.name_any().into();
        let nodes = hub.mirror.nodes.all();
        let ours: Vec<_> = nodes
            .iter()
            .filter(|node| ingest::node::has_label(node, labels::POOL, &name))
            .collect();
        pools.insert(
            name.clone(),
            PoolBudgets {
                budgets: ingest::pool::budgets(&pool),
                count: count(&ours, |node| is_leaving(hub, node)),
            },
        );
        for node in ours {
            let pods = bound.get(&node.name_any()).map_or(&[][..], Vec::as_slice);
            let awaited = awaited.get(node.name_any().as_str()).copied().unwrap_or(0);
            candidates.extend(candidate(hub, &pool, node, pods, awaited));
        }
    }
    Ok(plan(&candidates, &pools, hub.clock.now()))
}

/// Also if its claim is deleted and nobody has come to the node yet.
fn is_leaving(hub: &Shared, node: &Node) -> bool {
    let claim = hub.mirror.claims.get(&node.name_any());
    ingest::node::is_leaving(node)
        || claim.is_some_and(|claim| claim.metadata.deletion_timestamp.is_some())
}

fn count(nodes: &[&Arc<Node>], is_leaving: impl Fn(&Node) -> bool) -> PoolCount {
    let settled = nodes
        .iter()
        .filter(|node| ingest::node::has_label(node, labels::INITIALIZED, "true"));
    let settled: Vec<_> = settled.collect();
    let disrupting = settled
        .iter()
        .filter(|node| !ingest::node::is_ready(node) || is_leaving(node));
    PoolCount {
        nodes: u32::try_from(settled.len()).unwrap_or(u32::MAX),
        disrupting: u32::try_from(disrupting.count()).unwrap_or(u32::MAX),
    }
}

fn candidate(
    hub: &Shared,
    pool: &crds::karpenter::NodePool,
    node: &Node,
    pods: &[Arc<k8s_openapi::api::core::v1::Pod>],
    awaited: u32,
) -> Option<Candidate> {
    let now = hub.clock.now();
    let claim = hub.mirror.claims.get(&node.name_any())?;
    let budgets = hub.mirror.budgets.all();
    let seen: Vec<_> = pods
        .iter()
        .map(|pod| ingest::pod::on_node(pod, ingest::budget::of_pod(pod, &budgets)))
        .collect();
    let moving = pods
        .iter()
        .zip(&seen)
        .filter(|(_, seen)| needs_a_new_place(seen, now));
    let cost = |pod: &k8s_openapi::api::core::v1::Pod| PodCost {
        deletion_cost: pod
            .annotations()
            .get("controller.kubernetes.io/pod-deletion-cost")
            .and_then(|text| text.parse().ok())
            .unwrap_or(0),
        priority: pod
            .spec
            .as_ref()
            .and_then(|spec| spec.priority)
            .unwrap_or(0),
    };
    let written = claim
        .status
        .as_ref()
        .and_then(|status| status.last_pod_event_time.as_ref())
        .map(|time| time.0);
    let initialized = ingest::claim::condition(&claim, "Initialized");
    Some(Candidate {
        node: node.name_any().into(),
        pool: pool.name_any().into(),
        leaving: is_leaving(hub, node),
        do_not_disrupt: node
            .annotations()
            .get("karpenter.sh/do-not-disrupt")
            .is_some_and(|text| text == "true"),
        pods: moving.map(|(pod, _)| cost(pod)).collect(),
        blocked: blockers(&seen, now).into_iter().next(),
        awaited,
        quiet: Quiet {
            initialized_at: initialized
                .filter(|_| ingest::claim::holds(&claim, "Initialized"))
                .map(|condition| condition.last_transition_time.0),
            last_pod_event: written.max(hub.wake.pod_events().of(&node.name_any())),
            consolidate_after: ingest::pool::consolidate_after(pool),
        },
        price: None,
    })
}

/// Keeps pods away first, then lets the claim go; draining does the rest.
async fn remove(hub: &Shared, name: &str) -> Result<(), Turn> {
    let (Some(node), Some(claim)) = (
        hub.access.nodes().get_opt(name).await?,
        hub.access.claims().get_opt(name).await?,
    ) else {
        return Ok(());
    };
    if claim.metadata.deletion_timestamp.is_some() || !ingest::claim::is_ours(&claim) {
        return Ok(());
    }
    let disrupted = Taint::new(DISRUPTED, "", Effect::NoSchedule);
    let mut taints = ingest::node::taints(&node);
    if !taints.iter().any(|taint| taint.matches(&disrupted)) {
        taints.push(disrupted);
        let change = json!({ "spec": { "taints": ingest::node::written_taints(&node, &taints) } });
        hub.write
            .merge(&hub.access.nodes(), Who::Node, &node, change)
            .await?;
    }
    let said = explain::disrupted(Reason::Empty);
    tracing::info!(node = name, "disrupting node(s): empty");
    hub.tell_claim(&claim, false, "DisruptionTerminating", said)
        .await;
    hub.counts.disrupted(&claim, "empty");
    let decision = Decision {
        decision: "delete",
        reason: "empty".to_owned(),
        consolidation_type: "empty",
    };
    hub.counts.decisions.get_or_create(&decision).inc();
    hub.write.delete(&hub.access.claims(), &claim).await?;
    Ok(())
}
