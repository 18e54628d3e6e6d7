//! How is a reason told to people?

use planner::disrupt::budgets::Reason;
use planner::{Opening, Snapshot, Why};

/// Why a claim was opened, on the claim itself.
pub const WHY: &str = "joiner.dev/why";

/// Whom a claim is for, and why it is this machine.
pub fn opening(frozen: &Snapshot, opening: &Opening) -> String {
    let first = opening.pods.first().map(|pod| frozen.pods.pod(*pod));
    let first = first.map(|pod| pod.name.to_string()).unwrap_or_default();
    let whom = match opening.pods.len() {
        0 => "for no pod".to_owned(),
        1 => format!("for pod {first}"),
        more => format!("for {more} pods ({first} and {} more)", more - 1),
    };
    let asked: Vec<String> = opening
        .requests
        .iter()
        .map(|(name, amount)| format!("{} {name}", name.quantity(amount)))
        .collect();
    let asked = asked.join(", ");
    let of = opening.offerings.len();
    let price = match opening.price {
        Some(price) => format!("the cheapest of {of} offerings that fit, {price} an hour"),
        None => format!("the smallest of {of} offerings that fit, its price is unknown"),
    };
    format!("{whom}, with daemons {asked}; {price}")
}

/// An event takes a thousand characters.
const LONGEST: usize = 960;
/// Of one reason, so that a talkative one leaves room for others.
const LONGEST_FACT: usize = 320;

/// One sentence with the reasons that matter most, each with its fix.
pub fn refusal(whys: &[Why]) -> String {
    let mut sorted: Vec<&Why> = whys.iter().collect();
    sorted.sort_by_key(|why| distance(why));
    let mut said = "no node can be bought: ".to_owned();
    for (at, why) in sorted.iter().enumerate() {
        let fact = shortened(&fact(why));
        let gap = if at == 0 { "" } else { "; " };
        if at > 0 && said.chars().count() + gap.len() + fact.chars().count() > LONGEST {
            return format!("{said}; and {} more", sorted.len() - at);
        }
        said = format!("{said}{gap}{fact}");
    }
    said
}

/// How far the pod is from a node by this reason: what concerns the pod itself or is nearly enough comes first, pools that were
/// not meant for it last.
fn distance(why: &Why) -> u8 {
    match why {
        Why::TaintNotTolerated { .. }
        | Why::LabelUnknown { .. }
        | Why::LabelConflict { .. }
        | Why::NoTypeWithLabel { .. } => 2,
        Why::PoolNotReady { .. } | Why::PoolPaused { .. } | Why::NoCatalog { .. } => 1,
        _ => 0,
    }
}

fn shortened(fact: &str) -> String {
    match fact.char_indices().nth(LONGEST_FACT) {
        Some((at, _)) => format!("{}…", &fact[..at]),
        None => fact.to_owned(),
    }
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
        Why::VolumesApart => "the pod's volumes cannot all be reached from one place".to_owned(),
        Why::VolumeElsewhere { key } => {
            format!("the pod's volumes are where its own terms on {key} do not let it go")
        }
        Why::TopologyUnknown { key } => format!("no node has or would have the label {key}"),
        Why::SpreadUnmet {
            key,
            max_skew,
            selector,
            allowed,
        } => {
            let where_to = if allowed.is_empty() {
                "nowhere"
            } else {
                allowed
            };
            format!(
                "spreading {selector} over {key} with maxSkew {max_skew} allows one more only in: {where_to}"
            )
        }
        Why::AffinityUnmet { key, selector } => {
            format!("no pod with {selector} is where this one could go by {key}")
        }
        Why::AntiAffinityUnmet { key, selector } => {
            format!("pods with {selector} are everywhere this one could go by {key}")
        }
        Why::UnwantedThere { key, selector } => {
            format!(
                "pods that stay apart from {selector} are everywhere this one could go by {key}"
            )
        }
        Why::NoPlace => "each constraint can be met, all of them together cannot".to_owned(),
        Why::VolumeLimit {
            pool,
            driver,
            asked,
            most,
            types,
            of,
        } => format!(
            "pool {pool}: {types} of {of} instance types take at most {most} volumes of {driver}, the pod has {asked}"
        ),
        Why::NoPool => "there is no NodePool".to_owned(),
        Why::PoolNotReady { pool, said } => format!("pool {pool} is not ready: {said}"),
        Why::PoolPaused { pool } => format!("pool {pool} is paused"),
        Why::NoCatalog { pool, class } => format!("pool {pool}: {class} offers nothing yet"),
        Why::TaintNotTolerated { pool, taint } => format!("pool {pool} has the taint {taint}"),
        Why::LabelUnknown { pool, key, .. } => format!("pool {pool} does not define label {key}"),
        Why::LabelConflict { pool, labels } => format!(
            "pool {pool} allows {}, and {} is asked for",
            labels.allowed, labels.asked
        ),
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
        Why::ReservationUsedUp { pool, offerings } => {
            format!("pool {pool}: what is reserved is in use (matching offerings: {offerings})")
        }
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

/// Do two texts say the same, whatever numbers the cloud gave its answers?
pub fn same_fact(one: &str, other: &str) -> bool {
    without_request_ids(one) == without_request_ids(other)
}

/// A request id stands in brackets behind what the cloud said.
fn without_request_ids(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(" [req-") {
        kept.push_str(before);
        rest = after.split_once(']').map_or("", |(_, rest)| rest);
    }
    kept + rest
}

pub fn disrupted(reason: Reason) -> String {
    format!("disrupting: {}", reason.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_answers_that_differ_only_in_their_number_say_the_same() {
        assert!(same_fact("no [req-1]; fix it", "no [req-2]; fix it"));
        assert!(!same_fact("no [req-1]; fix it", "no [req-1]; fix that"));
        assert!(!same_fact("no", "yes"));
    }

    #[test]
    fn the_pool_that_is_nearly_enough_is_named_before_those_that_are_broken() {
        let broken = |number: usize| Why::PoolNotReady {
            pool: format!("broken-{number}").into(),
            said: "long ".repeat(100).into(),
        };
        let mut whys: Vec<Why> = (0..9).map(broken).collect();
        whys.push(Why::GuardReached {
            pool: "near".into(),
            unregistered: 5,
            allowed: 5,
        });
        let text = refusal(&whys);
        assert!(
            text.starts_with("no node can be bought: pool near"),
            "{text}"
        );
        assert!(text.ends_with("; and 7 more"), "{text}");
        assert!(text.chars().count() < 1000);
    }

    #[test]
    fn a_refusal_names_the_fact_and_the_fix() {
        let text = refusal(&[Why::NoPool]);
        assert_eq!(
            text,
            "no node can be bought: there is no NodePool (create a NodePool)"
        );
    }
}
