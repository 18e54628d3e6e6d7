//! What may a pool buy, and under which rules are its nodes disrupted?

use crds::karpenter::NodePool;
use crds::karpenter::node_pool::{Budget, DisruptionReason};
use crds::shared::conditions::{Condition, ConditionStatus};
use crds::shared::duration::GoDuration;
use jiff::SignedDuration;
use kube::ResourceExt;
use planner::disrupt::budgets::{BadBudget, DisruptionBudget, Reason};
use planner::snapshot::{Pool, PoolState};
use planner::{ClassRef, Requirements};

use crate::brakes;

pub fn is_ours(pool: &NodePool) -> bool {
    let class = &pool.spec.template.spec.node_class_ref;
    class.group == super::claim::GROUP && class.kind == super::claim::KIND
}

pub fn class(pool: &NodePool) -> ClassRef {
    let class = &pool.spec.template.spec.node_class_ref;
    ClassRef::new(
        class.group.as_str(),
        class.kind.as_str(),
        class.name.as_str(),
    )
}

fn ready_condition(pool: &NodePool) -> Option<&Condition> {
    let conditions = pool.status.as_ref()?.conditions.as_ref()?;
    conditions
        .iter()
        .find(|condition| condition.type_ == "Ready")
}

pub fn is_ready(pool: &NodePool) -> bool {
    ready_condition(pool).is_some_and(|ready| {
        ready.status == ConditionStatus::True
            && ready.observed_generation == pool.metadata.generation
    })
}

/// Has somebody judged it, and found it wanting?
pub fn says_not_ready(pool: &NodePool) -> bool {
    ready_condition(pool).is_some_and(|ready| ready.status == ConditionStatus::False)
}

pub fn pool(pool: &NodePool) -> Pool {
    let template = &pool.spec.template;
    let mut value = Pool::new(pool.name_any(), class(pool));
    value.weight = pool.spec.weight.unwrap_or(0);
    let labels = template
        .metadata
        .as_ref()
        .and_then(|meta| meta.labels.as_ref());
    value.labels = labels.map(super::labels).unwrap_or_default();
    value.taints = super::crd_taints(template.spec.taints.as_ref());
    value.state = state(pool);
    let requirements: Result<Requirements, _> = template
        .spec
        .requirements
        .iter()
        .map(super::requirement)
        .collect();
    match requirements {
        Ok(requirements) => value.requirements = requirements,
        Err(bad) => {
            value.state = PoolState::NotReady {
                said: bad.to_string().into(),
            }
        }
    }
    match super::amounts(pool.spec.limits.as_ref()) {
        Ok(limits) => value.limits = limits,
        Err(bad) => {
            value.state = PoolState::NotReady {
                said: bad.to_string().into(),
            }
        }
    }
    value
}

fn state(pool: &NodePool) -> PoolState {
    if brakes::is_paused(pool) {
        return PoolState::Paused;
    }
    if pool.spec.replicas.is_some() {
        return PoolState::Fixed;
    }
    if pool.metadata.deletion_timestamp.is_some() {
        return PoolState::NotReady {
            said: "it is being deleted".into(),
        };
    }
    if is_ready(pool) {
        return PoolState::Ready;
    }
    let said =
        ready_condition(pool).map_or("it has not been judged yet", |ready| ready.message.as_str());
    PoolState::NotReady { said: said.into() }
}

pub fn length(duration: &GoDuration) -> Option<SignedDuration> {
    duration
        .nanoseconds()
        .ok()
        .flatten()
        .map(SignedDuration::from_nanos)
}

pub fn budgets(pool: &NodePool) -> Vec<Result<DisruptionBudget, BadBudget>> {
    let disruption = pool.spec.disruption.as_ref();
    let Some(budgets) = disruption.and_then(|disruption| disruption.budgets.as_ref()) else {
        return vec![DisruptionBudget::read("10%", None, None, None)];
    };
    budgets.iter().map(budget).collect()
}

fn budget(raw: &Budget) -> Result<DisruptionBudget, BadBudget> {
    let reason = |reason: &DisruptionReason| match reason {
        DisruptionReason::Underutilized => Some(Reason::Underutilized),
        DisruptionReason::Empty => Some(Reason::Empty),
        DisruptionReason::Drifted => Some(Reason::Drifted),
        DisruptionReason::Unhealthy => None,
    };
    let reasons = raw
        .reasons
        .as_ref()
        .map(|all| all.iter().filter_map(reason).collect());
    let duration = raw.duration.as_ref().and_then(length);
    DisruptionBudget::read(&raw.nodes, reasons, raw.schedule.as_deref(), duration)
}

/// How long a node must be quiet; `None` is `Never`.
pub fn consolidate_after(pool: &NodePool) -> Option<SignedDuration> {
    let disruption = pool.spec.disruption.as_ref();
    match disruption.and_then(|disruption| disruption.consolidate_after.as_ref()) {
        Some(after) => length(after),
        None => Some(SignedDuration::ZERO),
    }
}
