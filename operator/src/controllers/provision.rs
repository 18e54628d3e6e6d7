//! When is a plan made for the pods that wait, and how is it carried out?

use std::collections::BTreeMap;
use std::time::Duration;

use crds::karpenter::NodeClaim;
use crds::karpenter::hash;
use crds::karpenter::node_claim::{NodeClaimSpec, ResourceRequirements};
use crds::shared::quantity::Quantity;
use crds::shared::requirement::{Operator as CrdOperator, Requirement as CrdRequirement};
use futures::StreamExt;
use jiff::Timestamp;
use kube::{Resource, ResourceExt};
use planner::batch::{Arrivals, closes_at};
use planner::{Budget, Opening, Operator, Requirement, Schedule, Snapshot, Spot, Why};
use tokio::sync::mpsc::UnboundedReceiver;

use super::claim::FINALIZER;
use super::pool::{HASH, HASH_VERSION};
use crate::explain;
use crate::hub::{Shared, reference};
use crate::ingest;
use crate::ledger::OFFERINGS;
use crate::metrics::PROVISIONER;
use crate::snapshot::{self, Behind, PassedOver};
use crate::think;

/// Pods that got nothing are looked at again after this time.
const LOOK_AGAIN: Duration = Duration::from_secs(10);
const BEHIND: Duration = Duration::from_millis(20);
/// Planning ends here; whoever was not reached comes first next time.
const STEPS: Budget = Budget::steps(50_000_000);
/// Writes that go out side by side.
const SIDE_BY_SIDE: usize = 16;

pub async fn run(hub: &Shared, mut news: UnboundedReceiver<String>) {
    let mut told = Told::default();
    let mut passed_over = PassedOver::new();
    loop {
        if tokio::time::timeout(LOOK_AGAIN, news.recv()).await == Ok(None) {
            return;
        }
        let first = gather(hub, &mut news).await;
        if hub.brake.pulled().is_some() {
            continue;
        }
        if !snapshot::somebody_waits(&hub.mirror) {
            told = Told::default();
            passed_over.clear();
            let nothing = Snapshot::empty(hub.clock.now());
            show(hub, &nothing, &Schedule::default());
            continue;
        }
        let frozen = loop {
            match snapshot::freeze_after(hub, &passed_over).await {
                Ok(frozen) => break frozen,
                Err(behind @ (Behind::Incomplete { .. } | Behind::Own { .. })) => {
                    tracing::debug!(%behind, "no plan yet");
                    tokio::time::sleep(BEHIND).await;
                }
            }
        };
        tracing::debug!(%first, "found provisionable pod(s)");
        let begun = hub.clock.moment();
        let (frozen, schedule) = think::plan(frozen, STEPS).await;
        let took = hub.clock.moment().since(begun);
        // In one expression: the lock behind it may not be held while we wait for anything.
        (hub.counts.planning.get_or_create(&PROVISIONER)).observe(took.as_secs_f64());
        tracing::debug!(
            openings = schedule.openings.len(),
            "computed new nodeclaim(s) to fit pod(s)"
        );
        passed_over = unreached(&frozen, &schedule, &passed_over);
        act(hub, &frozen, &schedule).await;
        show(hub, &frozen, &schedule);
        explain(hub, &frozen, &schedule, &mut told).await;
    }
}

/// Waits until the burst is over; returns when it began.
async fn gather(hub: &Shared, news: &mut UnboundedReceiver<String>) -> Timestamp {
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
            Ok(None) | Err(_) => return first,
        }
    }
}

/// Pods that planning did not come to, and how often that has happened to them in a row.
fn unreached(frozen: &Snapshot, schedule: &Schedule, before: &PassedOver) -> PassedOver {
    let unserved = |shape| schedule.unserved.binary_search(&shape).is_ok();
    let waiting = frozen.pods.members().filter(|(id, pod)| {
        pod.pending && unserved(pod.shape()) && schedule.spot_of(*id).is_none()
    });
    let once_more = |uid: &_| before.get(uid).copied().unwrap_or(0).saturating_add(1);
    waiting
        .map(|(_, pod)| (pod.uid.clone(), once_more(&pod.uid)))
        .collect()
}

async fn act(hub: &Shared, frozen: &Snapshot, schedule: &Schedule) {
    let all: Vec<_> = schedule
        .openings
        .iter()
        .map(|opening| open(hub, frozen, opening))
        .collect();
    futures::stream::iter(all)
        .buffered(SIDE_BY_SIDE)
        .collect::<()>()
        .await;
}

async fn open(hub: &Shared, frozen: &Snapshot, opening: &Opening) {
    let Some(claim) = claim(hub, frozen, opening) else {
        tracing::warn!(opening = %opening.handle, "its pool or catalog has gone; planning again");
        return;
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
            let relaxed = opening.min_values_relaxed;
            hub.counts.created("provisioned", &pool, relaxed);
        }
        // Nothing is lost: the pods still wait and the next plan opens it again.
        Err(error) => tracing::warn!(pool, %error, "a claim could not be created"),
    }
}

/// What the plan means for the gauges, and for pools that the runaway guard holds back.
fn show(hub: &Shared, frozen: &Snapshot, schedule: &Schedule) {
    let count = |pods: usize| i64::try_from(pods).unwrap_or(i64::MAX);
    let (depth, without) = (&hub.counts.queue_depth, &hub.counts.unschedulable);
    let waiting = frozen.pods.members().filter(|(_, pod)| pod.pending).count();
    depth.get_or_create(&PROVISIONER).set(count(waiting));
    let refused = schedule.refused(&frozen.pods).count();
    without.get_or_create(&PROVISIONER).set(count(refused));
    for pod in schedule.placements.iter().map(|(pod, _)| *pod) {
        let uid = &frozen.pods.pod(pod).uid;
        hub.counts.pods.decided(uid, hub.clock.now());
    }
    for pool in hub.guard(guarded(schedule)) {
        hub.wake.pools_of(&pool);
    }
}

/// Pools with more claims on their way than the guard allows, and what is said about it.
fn guarded(schedule: &Schedule) -> BTreeMap<String, String> {
    let whys = schedule.refusals.iter().flat_map(|(_, whys)| whys);
    let held = whys.filter_map(|why| match why {
        Why::GuardReached { pool, .. } => Some((pool.to_string(), explain::sentence(why))),
        _ => None,
    });
    held.collect()
}

/// What was told to whom, so that the same is not told again and again.
#[derive(Default)]
struct Told {
    pods: BTreeMap<String, String>,
    nominations: Nominations,
}

/// Nominations are only nice to know: ten at once, five a second.
struct Nominations {
    left: u32,
    since: Option<Timestamp>,
}

impl Default for Nominations {
    fn default() -> Self {
        Self {
            left: Self::BURST,
            since: None,
        }
    }
}

impl Nominations {
    const BURST: u32 = 10;
    const PER_SECOND: u32 = 5;

    fn take(&mut self, now: Timestamp) -> bool {
        let since = *self.since.get_or_insert(now);
        let seconds = u32::try_from(now.duration_since(since).as_secs()).unwrap_or(0);
        if seconds > 0 {
            let more = seconds.saturating_mul(Self::PER_SECOND);
            self.left = self.left.saturating_add(more).min(Self::BURST);
            self.since = Some(now);
        }
        let some = self.left > 0;
        self.left = self.left.saturating_sub(1);
        some
    }
}

/// One event per pod and change of mind.
async fn explain(hub: &Shared, frozen: &Snapshot, schedule: &Schedule, told: &mut Told) {
    let mut events = Vec::new();
    for (pod, whys) in schedule.refused(&frozen.pods) {
        let pod = frozen.pods.pod(pod);
        let said = explain::refusal(whys);
        if told.pods.get(&*pod.uid) != Some(&said) {
            told.pods.insert(pod.uid.to_string(), said.clone());
            tracing::info!(pod = %pod.name, said, "refused");
            events.push((&pod.name, true, said));
        }
    }
    for (pod, spot) in &schedule.placements {
        let pod = frozen.pods.pod(*pod);
        let place = match spot {
            Spot::Opening(_) => "a new NodeClaim".to_owned(),
            Spot::Claim(id) => format!("NodeClaim {}", frozen.claim(*id).name),
            Spot::Node(id) => format!("node {}", frozen.node(*id).name),
        };
        let before = told.pods.insert(pod.uid.to_string(), "placed".to_owned());
        let news = before.as_deref() != Some("placed");
        if news && told.nominations.take(hub.clock.now()) {
            events.push((&pod.name, false, format!("Pod should schedule on: {place}")));
        }
    }
    let tell = events.into_iter().map(|(name, warning, said)| async move {
        if let Some(object) = hub.mirror.pods.get(name) {
            let about = reference(&*object);
            let write = &hub.write;
            if warning {
                write.tell(&about, true, "FailedScheduling", said).await;
            } else {
                write.tell(&about, false, "Nominated", said).await;
            }
        }
    });
    let tell: Vec<_> = tell.collect();
    futures::stream::iter(tell)
        .buffered(SIDE_BY_SIDE)
        .collect::<()>()
        .await;
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
    // From birth: one write less before the instance is asked for.
    claim.metadata.finalizers = Some(vec![FINALIZER.to_owned()]);
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
    annotations.insert(explain::WHY.to_owned(), explain::opening(frozen, opening));
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
    all.extend(gte.map(|bound| write(CrdOperator::Gte, vec![bound.to_string()], least)));
    all.extend(lte.map(|bound| write(CrdOperator::Lte, vec![bound.to_string()], least)));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_held_back_by_the_guard_is_named_with_its_reason() {
        let guard = Why::GuardReached {
            pool: "general".into(),
            unregistered: 5,
            allowed: 5,
        };
        let schedule = Schedule {
            refusals: vec![(planner::snapshot::ShapeId(0), vec![Why::NoPool, guard])],
            ..Schedule::default()
        };
        let held = guarded(&schedule);
        assert_eq!(
            held["general"],
            "pool general: 5 claims have not become nodes yet, 5 are allowed at once"
        );
        assert!(guarded(&Schedule::default()).is_empty());
    }

    /// A requirement by its parts, and what the claim's spec says: operator, values, minValues.
    #[test]
    fn a_requirement_is_written_as_karpenter_writes_it() {
        use planner::Operator::{DoesNotExist, Exists, Gt, Gte, In, Lt, Lte, NotIn};
        type Part = (planner::Operator, &'static [&'static str]);
        let cases: [(&[Part], Option<u32>, &[&str]); 12] = [
            (&[(In, &["b", "a"])], None, &["In a,b -"]),
            (&[(In, &["b", "a"])], Some(2), &["In a,b 2"]),
            (&[(NotIn, &["a"])], Some(1), &["NotIn a 1"]),
            (&[(Exists, &[])], Some(3), &["Exists  3"]),
            (&[(DoesNotExist, &[])], None, &["DoesNotExist  -"]),
            (&[(Gt, &["4"])], None, &["Gte 5 -"]),
            (&[(Lt, &["4"])], None, &["Lte 3 -"]),
            (&[(Gte, &["4"])], Some(2), &["Gte 4 2"]),
            (&[(Lte, &["4"])], Some(2), &["Lte 4 2"]),
            (
                &[(Gt, &["1"]), (Lt, &["9"])],
                Some(2),
                &["Gte 2 2", "Lte 8 2"],
            ),
            (&[(Gt, &["1"]), (In, &["0", "5"])], None, &["In 5 -"]),
            (
                &[(Gt, &["1"]), (NotIn, &["5"])],
                Some(2),
                &["NotIn 5 2", "Gte 2 2"],
            ),
        ];
        for (parts, least, expected) in cases {
            let read = |(operator, values): &Part| Requirement::new("n", *operator, values);
            let all = parts.iter().map(|part| read(part).unwrap());
            let one = all.reduce(|one, other| one.intersection(&other)).unwrap();
            let said = |raw: CrdRequirement| {
                let values = raw.values.unwrap_or_default().join(",");
                let least = raw
                    .min_values
                    .map_or("-".to_owned(), |least| least.to_string());
                format!("{} {values} {least}", raw.operator.as_str())
            };
            let written = requirement(&one.with_min_values(least));
            let written: Vec<String> = written.into_iter().map(said).collect();
            assert_eq!(written, expected);
        }
    }

    #[test]
    fn ten_nominations_are_told_at_once_and_five_a_second() {
        let at = |seconds| Timestamp::from_second(seconds).unwrap();
        let mut nominations = Nominations::default();
        let told =
            |nominations: &mut Nominations, now| (0..20).filter(|_| nominations.take(now)).count();
        assert_eq!(told(&mut nominations, at(100)), 10);
        assert_eq!(told(&mut nominations, at(101)), 5);
        assert_eq!(told(&mut nominations, at(1000)), 10);
    }
}
