//! When is a plan made for the pods that wait, and how is it carried out?

use std::collections::BTreeMap;
use std::time::Duration;

use crds::karpenter::NodeClaim;
use crds::karpenter::hash;
use crds::karpenter::node_claim::{NodeClaimSpec, ResourceRequirements};
use crds::shared::quantity::Quantity;
use crds::shared::requirement::{Operator as CrdOperator, Requirement as CrdRequirement};
use kube::{Resource, ResourceExt};
use planner::batch::{Arrivals, closes_at};
use planner::{Budget, Opening, Operator, Requirement, Schedule, Snapshot, Spot, WhatIf, solve};
use tokio::sync::mpsc::UnboundedReceiver;

use super::pool::{HASH, HASH_VERSION};
use crate::explain;
use crate::hub::{Shared, reference};
use crate::ingest;
use crate::ledger::OFFERINGS;
use crate::metrics::because;
use crate::snapshot::{self, Behind};

/// Pods that got nothing are looked at again after this time.
const LOOK_AGAIN: Duration = Duration::from_secs(10);
const BEHIND: Duration = Duration::from_millis(20);
/// Planning ends here; whoever was not reached comes first next time.
const STEPS: Budget = Budget::steps(50_000_000);

pub async fn run(hub: &Shared, mut news: UnboundedReceiver<String>) {
    // What was told to whom, so that the same is not told again and again.
    let mut told: BTreeMap<String, String> = BTreeMap::new();
    loop {
        if tokio::time::timeout(LOOK_AGAIN, news.recv()).await == Ok(None) {
            return;
        }
        gather(hub, &mut news).await;
        if hub.settings.paused {
            continue;
        }
        let frozen = loop {
            match snapshot::freeze(hub).await {
                Ok(frozen) => break frozen,
                Err(behind @ (Behind::Incomplete { .. } | Behind::Own { .. })) => {
                    tracing::debug!(%behind, "no plan yet");
                    tokio::time::sleep(BEHIND).await;
                }
            }
        };
        if frozen.pods.is_empty() {
            told.clear();
            continue;
        }
        let schedule = solve(&WhatIf::nothing_changes(&frozen), STEPS);
        act(hub, &frozen, &schedule).await;
        explain(hub, &frozen, &schedule, &mut told).await;
    }
}

/// Waits until the burst is over.
async fn gather(hub: &Shared, news: &mut UnboundedReceiver<String>) {
    let first = hub.clock.now();
    let mut arrivals = Arrivals { first, last: first };
    loop {
        let closes = closes_at(arrivals, hub.settings.batch);
        let left =
            Duration::try_from(closes.duration_since(hub.clock.now())).unwrap_or(Duration::ZERO);
        match tokio::time::timeout(left, news.recv()).await {
            // A pod has a name; other news does not prolong the wait.
            Ok(Some(name)) if !name.is_empty() => arrivals.last = hub.clock.now(),
            Ok(Some(_)) => {}
            Ok(None) | Err(_) => return,
        }
    }
}

async fn act(hub: &Shared, frozen: &Snapshot, schedule: &Schedule) {
    for opening in &schedule.openings {
        let Some(claim) = claim(hub, frozen, opening) else {
            tracing::warn!(opening = %opening.handle, "its pool or catalog has gone; planning again");
            continue;
        };
        let pool = frozen.pool(opening.pool).name.to_string();
        match hub.write.create_claim(&claim).await {
            Ok(made) => {
                tracing::info!(
                    claim = made.name_any(),
                    pool,
                    pods = opening.pods.len(),
                    "created nodeclaim"
                );
                hub.counts
                    .claims_created
                    .get_or_create(&because("provisioned", &pool))
                    .inc();
            }
            // Nothing is lost: the pods still wait and the next plan opens it again.
            Err(error) => tracing::warn!(pool, %error, "a claim could not be created"),
        }
    }
}

/// One event per pod and change of mind.
async fn explain(
    hub: &Shared,
    frozen: &Snapshot,
    schedule: &Schedule,
    told: &mut BTreeMap<String, String>,
) {
    for (pod, whys) in schedule.refused(&frozen.pods) {
        let pod = frozen.pods.pod(pod);
        let said = explain::refusal(whys);
        if told.get(&*pod.uid) == Some(&said) {
            continue;
        }
        told.insert(pod.uid.to_string(), said.clone());
        tracing::info!(pod = %pod.name, said, "refused");
        if let Some(object) = hub.mirror.pods.get(&pod.name) {
            hub.write
                .tell(&reference(&*object), true, "FailedScheduling", said)
                .await;
        }
    }
    for (pod, spot) in &schedule.placements {
        let pod = frozen.pods.pod(*pod);
        let place = match spot {
            Spot::Opening(_) => "a new NodeClaim".to_owned(),
            Spot::Claim(id) => format!("NodeClaim {}", frozen.claim(*id).name),
            Spot::Node(id) => format!("node {}", frozen.node(*id).name),
        };
        if told
            .insert(pod.uid.to_string(), "placed".to_owned())
            .as_deref()
            == Some("placed")
        {
            continue;
        }
        if let Some(object) = hub.mirror.pods.get(&pod.name) {
            hub.write
                .tell(
                    &reference(&*object),
                    false,
                    "Nominated",
                    format!("Pod should schedule on: {place}"),
                )
                .await;
        }
    }
}

/// The claim an opening becomes; none if its pool has changed meanwhile.
fn claim(hub: &Shared, frozen: &Snapshot, opening: &Opening) -> Option<NodeClaim> {
    let value = frozen.pool(opening.pool);
    let pool = hub.mirror.pools.get(&value.name)?;
    let catalog = frozen.catalog_of(&value.class)?;
    let template = &pool.spec.template;
    let spec = NodeClaimSpec {
        taints: template.spec.taints.clone(),
        startup_taints: template.spec.startup_taints.clone(),
        requirements: opening.requirements.iter().flat_map(requirement).collect(),
        resources: Some(ResourceRequirements {
            requests: Some(
                ingest::written(&opening.requests)
                    .into_iter()
                    .map(|(name, amount)| (name, Quantity::Text(amount)))
                    .collect(),
            ),
        }),
        node_class_ref: template.spec.node_class_ref.clone(),
        termination_grace_period: template.spec.termination_grace_period.clone(),
        expire_after: template.spec.expire_after.clone(),
    };
    let mut claim = NodeClaim::new("", spec);
    claim.metadata.name = None;
    claim.metadata.generate_name = Some(format!("{}-", value.name));
    let mut owner = pool.owner_ref(&())?;
    owner.block_owner_deletion = Some(true);
    claim.metadata.owner_references = Some(vec![owner]);
    let mut labels: BTreeMap<String, String> = opening
        .labels
        .iter()
        .map(|(key, value)| (key.to_string(), value.to_string()))
        .collect();
    labels.insert(planner::labels::POOL.to_owned(), value.name.to_string());
    labels.insert(value.class_label(), value.class.name.to_string());
    claim.metadata.labels = Some(labels);
    let meta = template.metadata.as_ref();
    let mut annotations = meta
        .and_then(|meta| meta.annotations.clone())
        .unwrap_or_default();
    annotations.insert(
        OFFERINGS.to_owned(),
        opening.ledger_offerings(catalog).join(","),
    );
    annotations.insert(
        HASH.to_owned(),
        hash::node_pool_hash(template).ok()?.to_string(),
    );
    annotations.insert(HASH_VERSION.to_owned(), hash::VERSION.to_owned());
    annotations.insert(
        "karpenter.sh/nodeclaim-min-values-relaxed".to_owned(),
        opening.min_values_relaxed.to_string(),
    );
    claim.metadata.annotations = Some(annotations);
    Some(claim)
}

/// A requirement as a claim writes it: bounds become comparisons of their own.
fn requirement(one: &Requirement) -> Vec<CrdRequirement> {
    let least = one.min_values().and_then(|least| i32::try_from(least).ok());
    let write = |operator, values: Vec<String>, least| CrdRequirement {
        key: one.key().to_owned(),
        operator,
        values: (!values.is_empty()).then_some(values),
        min_values: least,
    };
    let named = || {
        one.named()
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
    };
    let (gte, lte) = one.bounds();
    let mut all = match one.operator() {
        Operator::In => vec![write(CrdOperator::In, named(), least)],
        Operator::NotIn => vec![write(CrdOperator::NotIn, named(), least)],
        Operator::DoesNotExist => vec![write(CrdOperator::DoesNotExist, Vec::new(), None)],
        _ if gte.is_some() || lte.is_some() => Vec::new(),
        _ => vec![write(CrdOperator::Exists, Vec::new(), least)],
    };
    all.extend(gte.map(|bound| write(CrdOperator::Gte, vec![bound.to_string()], None)));
    all.extend(lte.map(|bound| write(CrdOperator::Lte, vec![bound.to_string()], None)));
    all
}
