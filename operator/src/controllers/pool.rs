//! Is a pool ready to buy, and what does it add up to?

use crds::karpenter::hash;
use crds::karpenter::{NodeClaim, NodePool};
use crds::shared::class_status::ConditionStatus as ClassStatus;
use crds::shared::conditions::ConditionStatus;
use kube::ResourceExt;
use planner::{ResourceName, Resources, labels};
use serde_json::{Value, json};

use super::queue::Again;
use super::{Outcome, Turn};
use crate::brakes;
use crate::conditions::Conditions;
use crate::hub::{Shared, pool_of};
use crate::ingest;
use crate::wake::pools_of_class;
use crate::write::Who;

pub const HASH: &str = "karpenter.sh/nodepool-hash";
pub const HASH_VERSION: &str = "karpenter.sh/nodepool-hash-version";
/// True while more claims of the pool have not become nodes than the runaway guard allows.
const GUARD: &str = "RunawayGuard";

pub async fn turn(hub: &Shared, name: String) -> Outcome {
    let pools = hub.mirror.pools.all();
    for pool in pools.iter().filter(|pool| {
        ingest::pool::is_ours(pool)
            && name == pools_of_class(&pool.spec.template.spec.node_class_ref.name)
    }) {
        hub.wake.pools_of(&pool.name_any());
    }
    let Some(pool) = hub.mirror.pools.get(&name) else {
        return Ok(Again::Never);
    };
    if !ingest::pool::is_ours(&pool) || pool.metadata.deletion_timestamp.is_some() {
        return Ok(Again::Never);
    }
    if let Some(change) = hash_change(&pool) {
        migrate(hub, &pool).await?;
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
    if let Some(status) = changed(&before, status) {
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

/// What has to be written, if anything. A merge forgets nothing by itself, so resources that are gone are named.
fn changed(before: &Value, mut status: Value) -> Option<Value> {
    let old = before["resources"].as_object();
    for name in old.into_iter().flat_map(serde_json::Map::keys) {
        if status["resources"].get(name).is_none() {
            status["resources"][name] = Value::Null;
        }
    }
    let all = status.as_object()?;
    let same = all.iter().all(|(key, value)| before[key] == *value);
    (!same).then_some(status)
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

/// When the way of hashing has changed, the hashes of its claims say nothing: they get the pool's new one instead of drifting.
/// A claim that had drifted before stays drifted.
async fn migrate(hub: &Shared, pool: &NodePool) -> Result<(), Turn> {
    let Ok(hash) = hash::node_pool_hash(&pool.spec.template) else {
        return Ok(());
    };
    if pool.annotations().get(HASH_VERSION).map(String::as_str) == Some(hash::VERSION) {
        return Ok(());
    }
    for claim in hub.mirror.claims.all() {
        if ingest::claim::is_ours(&claim)
            && pool_of(&claim) == pool.name_any()
            && let Some(change) = rehash(&claim, &hash.to_string())
        {
            hub.write.claim(&claim, change).await?;
        }
    }
    Ok(())
}

fn rehash(claim: &NodeClaim, hash: &str) -> Option<Value> {
    let version = claim.annotations().get(HASH_VERSION).map(String::as_str);
    if version == Some(hash::VERSION) {
        return None;
    }
    let mut fresh = json!({ HASH_VERSION: hash::VERSION });
    if ingest::claim::condition(claim, "Drifted").is_none() {
        fresh[HASH] = json!(hash);
    }
    Some(json!({ "metadata": { "annotations": fresh } }))
}

/// Who has stopped this pool: everything, itself or its class.
pub fn stopped(hub: &Shared, pool: &NodePool) -> Option<String> {
    if let Some(by) = hub.brake.pulled() {
        return Some(by.to_owned());
    }
    if brakes::is_paused(pool) {
        return Some(format!("annotation {}", brakes::PAUSED));
    }
    let name = &pool.spec.template.spec.node_class_ref.name;
    let class = hub.mirror.classes.get(name)?;
    brakes::is_paused(&*class)
        .then(|| format!("annotation {} on OpenStackNodeClass {name}", brakes::PAUSED))
}

fn brake(hub: &Shared, pool: &NodePool, conditions: &mut Conditions) {
    match stopped(hub, pool) {
        Some(by) => {
            let said = format!("{by}: no node is bought or disrupted");
            conditions.set("Paused", ConditionStatus::True, "Paused", &said);
        }
        None => conditions.clear("Paused"),
    }
    match hub.guard_of(&pool.name_any()) {
        Some(held) => {
            let said = format!("{held}; pods wait until they have, or are given up");
            conditions.set(GUARD, ConditionStatus::True, "GuardReached", &said);
        }
        None => conditions.clear(GUARD),
    }
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
    brake(hub, pool, &mut conditions);
    conditions.sum_up(&["ValidationSucceeded", "NodeClassReady"]);
    let (nodes, total) = totals(hub, &pool.name_any());
    json!({
        "conditions": conditions.list(),
        "nodes": nodes,
        "resources": ingest::written(&total),
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

/// Nodes of a pool, and what they have, nodes included.
pub fn totals(hub: &Shared, pool: &str) -> (usize, Resources) {
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
    (ours.len(), total.with(ResourceName::Nodes, count))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(version: Option<&str>, drifted: bool) -> NodeClaim {
        let mut annotations = json!({ HASH: "1" });
        if let Some(version) = version {
            annotations[HASH_VERSION] = json!(version);
        }
        let drifted = drifted.then(|| {
            json!([{ "type": "Drifted", "status": "True", "reason": "r", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z" }])
        });
        serde_json::from_value(json!({
            "apiVersion": "karpenter.sh/v1", "kind": "NodeClaim",
            "metadata": { "name": "c", "annotations": annotations },
            "spec": { "requirements": [], "nodeClassRef": { "group": "g", "kind": "k", "name": "n" } },
            "status": { "conditions": drifted },
        }))
        .unwrap()
    }

    #[test]
    fn a_claim_hashed_in_an_older_way_gets_the_pools_new_hash_instead_of_drifting() {
        let change = rehash(&claim(Some("v2"), false), "7").unwrap();
        let fresh = &change["metadata"]["annotations"];
        assert_eq!(fresh[HASH], "7");
        assert_eq!(fresh[HASH_VERSION], hash::VERSION);
        assert!(rehash(&claim(None, false), "7").is_some());
    }

    #[test]
    fn a_claim_that_had_drifted_before_the_new_way_of_hashing_stays_drifted() {
        let change = rehash(&claim(Some("v2"), true), "7").unwrap();
        assert!(change["metadata"]["annotations"].get(HASH).is_none());
    }

    #[test]
    fn a_resource_that_left_with_its_node_is_taken_out_of_the_status_once() {
        let before = json!({"nodes": 1, "resources": {"cpu": "4", "gpu": "1"}});
        let fresh = json!({"nodes": 0, "resources": {"cpu": "0"}});
        let written = changed(&before, fresh.clone()).unwrap();
        assert_eq!(written["resources"], json!({"cpu": "0", "gpu": null}));
        assert_eq!(changed(&fresh, fresh.clone()), None);
    }

    #[test]
    fn a_pool_whose_class_nobody_knows_is_not_written_again_and_again() {
        let status = json!({"nodes": 0, "nodeClassObservedGeneration": null});
        assert_eq!(changed(&json!({"nodes": 0}), status), None);
    }

    #[test]
    fn a_claim_hashed_in_todays_way_is_not_written() {
        assert_eq!(rehash(&claim(Some(hash::VERSION), false), "7"), None);
    }
}
