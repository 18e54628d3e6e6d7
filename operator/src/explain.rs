//! How is a reason told to people?

use planner::Why;
use planner::disrupt::budgets::Reason;

/// Reasons of the events we write.
pub const REASONS: &[&str] = &[
    "FailedScheduling",
    "Nominated",
    "Launched",
    "LaunchFailed",
    "InsufficientCapacity",
    "UnregisteredTaintMissing",
    "LivenessTimeout",
    "FailedDraining",
    "AwaitingVolumeDetachment",
    "TerminationGracePeriodExpiring",
    "DisruptionTerminating",
    "GhostFound",
    "NodeClassNotReady",
];

/// One sentence with all reasons, each with its fix.
pub fn refusal(whys: &[Why]) -> String {
    let all: Vec<String> = whys.iter().take(8).map(fact).collect();
    let more = whys.len().saturating_sub(8);
    let more = if more > 0 {
        format!("; and {more} more")
    } else {
        String::new()
    };
    format!("no node can be bought: {}{more}", all.join("; "))
}

fn fact(why: &Why) -> String {
    let said = sentence(why);
    match why.fix() {
        fix if fix.is_empty() => said,
        fix => format!("{said} ({fix})"),
    }
}

#[allow(
    clippy::too_many_lines,
    reason = "one arm per fact, and none may be missing"
)]
pub fn sentence(why: &Why) -> String {
    match why {
        Why::Contradiction { key } => format!("the pod's own terms on {key} exclude each other"),
        Why::UnknownConstraint { constraint, name } => {
            format!("{} {name} is not supported yet", constraint.field())
        }
        Why::OptedOut => "the pod asks not to get one of our nodes".to_owned(),
        Why::BadTerm(bad) => bad.to_string(),
        Why::Unreadable { field, said } => format!("{field} cannot be read: {said}"),
        Why::NoPool => "there is no NodePool".to_owned(),
        Why::PoolNotReady { pool, said } => format!("pool {pool} is not ready: {said}"),
        Why::PoolPaused { pool } => format!("pool {pool} is paused"),
        Why::NoCatalog { pool, class } => format!("pool {pool}: {class} offers nothing yet"),
        Why::TaintNotTolerated { pool, taint } => format!("pool {pool} has the taint {taint}"),
        Why::LabelUnknown { pool, key, .. } => format!("pool {pool} does not define label {key}"),
        Why::LabelConflict { pool, labels } => format!("pool {pool}: {labels:?}"),
        Why::NoTypeWithLabel { pool, asked, of } => {
            format!("pool {pool}: none of {of} instance types has {asked}")
        }
        Why::NothingAvailable {
            pool,
            offerings,
            until,
        } => match until {
            Some(until) => format!(
                "pool {pool}: all {offerings} matching offerings are sold out, the first until {until}"
            ),
            None => format!("pool {pool}: all {offerings} matching offerings are sold out"),
        },
        Why::NothingLargeEnough {
            pool,
            resource,
            asked,
            largest,
            daemons,
            types,
            of,
        } => {
            let show = |amount: i64| resource.quantity(amount);
            format!(
                "pool {pool}: {types} of {of} instance types are short of {resource}: asked for {}, the largest leaves {} after {} for daemons",
                show(*asked),
                show(*largest),
                show(*daemons)
            )
        }
        Why::HostPortTaken { pool, port } => {
            format!("pool {pool}: a daemon takes host port {port}")
        }
        Why::LimitReached {
            pool,
            resource,
            limit,
            left,
            ..
        } => {
            format!(
                "pool {pool}: its limit of {} {resource} leaves {}",
                resource.quantity(*limit),
                resource.quantity(*left)
            )
        }
        Why::MinValuesUnmet {
            pool,
            key,
            wanted,
            found,
        } => format!("pool {pool}: {found} values of {key} where {wanted} are asked for"),
        Why::GuardReached {
            pool,
            unregistered,
            allowed,
        } => {
            format!(
                "pool {pool}: {unregistered} claims have not become nodes yet, {allowed} are allowed at once"
            )
        }
        Why::OutOfSteps => "planning took too long; the pod comes first next time".to_owned(),
        Why::DoNotDisrupt { pod } => format!("pod {pod} has karpenter.sh/do-not-disrupt"),
        Why::NodeDoNotDisrupt => "the node has karpenter.sh/do-not-disrupt".to_owned(),
        Why::BudgetBlocks { pod, budget } => {
            format!("PodDisruptionBudget {budget} holds pod {pod}")
        }
        Why::SeveralBudgets { pod } => format!("several PodDisruptionBudgets select pod {pod}"),
        Why::DisruptionBudget {
            pool,
            allowed,
            disrupting,
        } => {
            format!(
                "the budget of pool {pool} allows {allowed} at once, {disrupting} are under way"
            )
        }
        Why::BadBudget { pool, said } => format!("a budget of pool {pool} cannot be read: {said}"),
        Why::NotInitialized => "the node is not initialized".to_owned(),
        Why::Leaving => "the node is leaving".to_owned(),
        Why::NotEmpty { pods } => format!("{pods} pods would have to move"),
        Why::Nominated { pods } => format!("{pods} pods are expected on the node"),
        Why::NeverConsolidates { pool } => format!("pool {pool} never consolidates"),
        Why::ConsolidatesAt { at } => format!("the node may be consolidated at {at}"),
        Why::StillTerminating { pod } => format!("pod {pod} is still terminating"),
    }
}

pub fn disrupted(reason: Reason) -> String {
    format!("disrupting: {}", reason.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_the_fact_and_the_fix() {
        let text = refusal(&[Why::NoPool]);
        assert_eq!(
            text,
            "no node can be bought: there is no NodePool (create a NodePool)"
        );
    }
}
