//! Is a pool ready to buy, and what does it add up to?

use std::collections::BTreeMap;

use crds::karpenter::NodePool;
use crds::karpenter::hash;
use crds::shared::class_status::ConditionStatus as ClassStatus;
use crds::shared::conditions::ConditionStatus;
use kube::ResourceExt;
use planner::{ResourceName, Resources, labels};
use serde_json::{Value, json};

use super::Outcome;
use super::queue::Again;
use crate::brakes;
use crate::conditions::Conditions;
use crate::hub::Shared;
use crate::ingest;
use crate::write::Who;

pub const HASH: &str = "karpenter.sh/nodepool-hash";
pub const HASH_VERSION: &str = "karpenter.sh/nodepool-hash-version";

pub async fn turn(hub: &Shared, name: String) -> Outcome {
    let Some(pool) = hub.mirror.pools.get(&name) else {
        return Ok(Again::Never);
    };
    if !ingest::pool::is_ours(&pool) || pool.metadata.deletion_timestamp.is_some() {
        return Ok(Again::Never);
    }
    if let Some(change) = hash_change(&pool) {
        hub.write
            .merge(&hub.access.pools(), Who::Class, &*pool, change)
            .await?;
        return Ok(Again::Never); // its news brings us back
    }
    let status = status(hub, &pool);
    let before = pool
        .status
        .as_ref()
        .map_or(Value::Null, |status| json!(status));
    let same = status.as_object().is_some_and(|all| {
        all.iter()
            .all(|(key, value)| before.get(key) == Some(value))
    });
    if !same {
        let news = without_class(&before, &status);
        hub.write
            .merge_status(&hub.access.pools(), Who::Class, &*pool, status)
            .await?;
        if let Some(said) = news {
            hub.tell_pool(&pool, true, "NodeClassNotFound", said).await;
        }
    }
    Ok(Again::Never)
}

/// What to tell people when the class is missing and was not before. A class that is there speaks for itself.
fn without_class(before: &Value, after: &Value) -> Option<String> {
    let missing = |status: &Value| {
        let conditions = status["conditions"].as_array()?.iter();
        let mut missing = conditions.filter(|one| one["reason"] == "NodeClassNotFound");
        Some(missing.next()?["message"].as_str()?.to_owned())
    };
    let said = missing(after)?;
    (missing(before).as_ref() != Some(&said)).then_some(said)
}

/// The hash of the template, as an annotation, if it is not there yet.
fn hash_change(pool: &NodePool) -> Option<Value> {
    let hash = hash::node_pool_hash(&pool.spec.template).ok()?.to_string();
    let there = pool.annotations();
    let same = there.get(HASH) == Some(&hash)
        && there
            .get(HASH_VERSION)
            .is_some_and(|version| version == hash::VERSION);
    (!same).then(
        || json!({ "metadata": { "annotations": { HASH: hash, HASH_VERSION: hash::VERSION } } }),
    )
}

fn status(hub: &Shared, pool: &NodePool) -> Value {
    let status = pool.status.as_ref();
    let mut conditions = Conditions::of(
        status.and_then(|status| status.conditions.as_ref()),
        pool.metadata.generation,
        pool.metadata.creation_timestamp.as_ref(),
        hub.clock.now(),
    );
    match unreadable(pool) {
        None => conditions.holds_now("ValidationSucceeded"),
        Some(said) => conditions.set(
            "ValidationSucceeded",
            ConditionStatus::False,
            "NodePoolValidationFailed",
            &said,
        ),
    }
    let generation = class_ready(hub, pool, &mut conditions);
    if brakes::is_paused(pool) {
        conditions.set(
            "Paused",
            ConditionStatus::True,
            "Paused",
            "annotation joiner.dev/paused: no node is bought or disrupted",
        );
    } else {
        conditions.clear("Paused");
    }
    conditions.sum_up(&["ValidationSucceeded", "NodeClassReady"]);
    let (nodes, total) = totals(hub, &pool.name_any());
    json!({
        "conditions": conditions.list(),
        "nodes": nodes,
        "resources": total,
        "nodeClassObservedGeneration": generation,
    })
}

fn unreadable(pool: &NodePool) -> Option<String> {
    let bad = pool
        .spec
        .template
        .spec
        .requirements
        .iter()
        .find_map(|raw| ingest::requirement(raw).err());
    let bad = bad.map(|bad| bad.to_string());
    bad.or_else(|| {
        ingest::amounts(pool.spec.limits.as_ref())
            .err()
            .map(|bad| format!("spec.limits: {bad}"))
    })
}

/// Whether the class can be used; returns its generation.
fn class_ready(hub: &Shared, pool: &NodePool, conditions: &mut Conditions) -> Option<i64> {
    let name = &pool.spec.template.spec.node_class_ref.name;
    let mut no =
        |status, reason: &str, said: &str| conditions.set("NodeClassReady", status, reason, said);
    let Some(class) = hub.mirror.classes.get(name) else {
        no(
            ConditionStatus::False,
            "NodeClassNotFound",
            &format!(
                "OpenStackNodeClass {name} does not exist; create it or correct spec.template.spec.nodeClassRef.name"
            ),
        );
        return None;
    };
    let ready = class
        .status
        .as_ref()
        .and_then(|status| status.conditions.as_ref());
    let ready = ready.into_iter().flatten().find(|one| one.type_ == "Ready");
    match ready {
        _ if class.metadata.deletion_timestamp.is_some() => no(
            ConditionStatus::False,
            "NodeClassTerminating",
            "the class is being deleted",
        ),
        None => no(
            ConditionStatus::Unknown,
            "NodeClassReadinessUnknown",
            "the class has not been judged yet",
        ),
        Some(ready) if ready.status == ClassStatus::True => conditions.holds_now("NodeClassReady"),
        Some(ready) => no(
            ConditionStatus::False,
            "NodeClassNotReady",
            &format!("OpenStackNodeClass {name}: {}", ready.message),
        ),
    }
    class.metadata.generation
}

fn totals(hub: &Shared, pool: &str) -> (usize, BTreeMap<String, String>) {
    let nodes = hub.mirror.nodes.all();
    let ours: Vec<_> = nodes
        .iter()
        .filter(|node| ingest::node::has_label(node, labels::POOL, pool))
        .collect();
    let zero = [
        ResourceName::Cpu,
        ResourceName::Memory,
        ResourceName::EphemeralStorage,
        ResourceName::Pods,
    ];
    let zero: Resources = zero.into_iter().map(|name| (name, 0)).collect();
    let total = ours
        .iter()
        .fold(zero, |sum, node| sum.plus(&ingest::node::room(node).0));
    let count = i64::try_from(ours.len()).unwrap_or(i64::MAX);
    (
        ours.len(),
        ingest::written(&total.with(ResourceName::Nodes, count)),
    )
}
