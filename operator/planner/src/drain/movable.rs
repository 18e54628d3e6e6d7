//! Which pods of a node that goes away will need a new place?
//!
//! A pod that cannot leave needs no room elsewhere yet: planning for it would buy a node that stays empty.

use super::{Owner, PodOnNode, Standing};
use jiff::Timestamp;

/// Will this pod, or the one made in its stead, have to be placed elsewhere as things stand?
pub fn needs_a_new_place(pod: &PodOnNode, now: Timestamp) -> bool {
    let coming_back = pod.owner == Owner::StatefulSet && pod.deleted_by.is_some();
    let moves = pod.active() || coming_back;
    let ours_to_place = !matches!(pod.owner, Owner::DaemonSet | Owner::Node);
    let held = pod.active() && pod.is_protected(now);
    moves && ours_to_place && !held && !can_never_be_evicted(pod, now)
}

/// Several budgets, or one that by its own text never allows a disruption.
fn can_never_be_evicted(pod: &PodOnNode, now: Timestamp) -> bool {
    if !pod.evictable(now) {
        return false;
    }
    match pod.budgets.as_slice() {
        [] => false,
        [budget] => budget.never && !(budget.lets_unready_go && pod.standing == Standing::NotReady),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{at, pod};
    use super::super::{DoNotDisrupt, PodBudget};
    use super::*;

    fn moves(pod: &PodOnNode) -> bool {
        needs_a_new_place(pod, at(0))
    }

    fn budget(never: bool) -> PodBudget {
        PodBudget {
            name: "keep".into(),
            allowed: 0,
            never,
            lets_unready_go: true,
        }
    }

    #[test]
    fn workloads_move_and_daemons_and_mirror_pods_do_not() {
        assert!(moves(&pod("a")));
        assert!(!moves(&PodOnNode {
            owner: Owner::DaemonSet,
            ..pod("a")
        }));
        assert!(!moves(&PodOnNode {
            owner: Owner::Node,
            ..pod("a")
        }));
        assert!(!moves(&PodOnNode {
            standing: Standing::Finished,
            ..pod("a")
        }));
    }

    #[test]
    fn of_pods_on_their_way_out_only_those_of_stateful_sets_come_back() {
        let leaving = PodOnNode {
            deleted_by: Some(at(30)),
            ..pod("a")
        };
        assert!(!moves(&leaving));
        assert!(moves(&PodOnNode {
            owner: Owner::StatefulSet,
            ..leaving
        }));
    }

    #[test]
    fn a_pod_that_cannot_leave_needs_no_new_place() {
        assert!(!moves(&PodOnNode {
            do_not_disrupt: DoNotDisrupt::Always,
            ..pod("a")
        }));
        assert!(!moves(&PodOnNode {
            budgets: vec![budget(true)],
            ..pod("a")
        }));
        assert!(!moves(&PodOnNode {
            budgets: vec![budget(false), budget(false)],
            ..pod("a")
        }));
    }

    #[test]
    fn a_budget_that_blocks_only_for_now_does_not_matter() {
        assert!(moves(&PodOnNode {
            budgets: vec![budget(false)],
            ..pod("a")
        }));
        let unready = PodOnNode {
            standing: Standing::NotReady,
            budgets: vec![budget(true)],
            ..pod("a")
        };
        assert!(moves(&unready));
    }
}
