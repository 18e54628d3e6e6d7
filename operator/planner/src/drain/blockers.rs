//! Who keeps a node from being emptied, and by what right?

use super::{PodOnNode, Standing};
use crate::why::Why;
use jiff::Timestamp;

/// Why this pod cannot be asked to leave now; `None` if nothing speaks against it.
pub fn blocker(pod: &PodOnNode, now: Timestamp) -> Option<Why> {
    if !pod.active() || !pod.must_leave() {
        return None;
    }
    if pod.is_protected(now) {
        return Some(Why::DoNotDisrupt {
            pod: pod.name.clone(),
        });
    }
    match pod.budgets.as_slice() {
        [] => None,
        [budget] if budget.lets_unready_go && pod.standing == Standing::NotReady => None,
        [budget] if budget.allowed > 0 => None,
        [budget] => Some(Why::BudgetBlocks {
            pod: pod.name.clone(),
            budget: budget.name.clone(),
        }),
        _ => Some(Why::SeveralBudgets {
            pod: pod.name.clone(),
        }),
    }
}

/// All blockers on a node, sorted.
pub fn blockers(pods: &[PodOnNode], now: Timestamp) -> Vec<Why> {
    let mut whys: Vec<Why> = pods.iter().filter_map(|pod| blocker(pod, now)).collect();
    whys.sort_unstable();
    whys
}

#[cfg(test)]
mod tests {
    use super::super::tests::{at, pod};
    use super::super::{DoNotDisrupt, Owner, PodBudget};
    use super::*;

    fn budget(allowed: i32, lets_unready_go: bool) -> PodBudget {
        PodBudget {
            name: "default/keep".into(),
            allowed,
            never: false,
            lets_unready_go,
        }
    }

    fn codes(pods: &[PodOnNode]) -> Vec<&'static str> {
        blockers(pods, at(0)).iter().map(Why::code).collect()
    }

    #[test]
    fn a_budget_that_allows_nothing_is_named() {
        let held = PodOnNode {
            budgets: vec![budget(0, false)],
            ..pod("default/web")
        };
        let expected = Why::BudgetBlocks {
            pod: "default/web".into(),
            budget: "default/keep".into(),
        };
        assert_eq!(blockers(&[held], at(0)), [expected]);
        assert_eq!(
            codes(&[PodOnNode {
                budgets: vec![budget(1, false)],
                ..pod("a")
            }]),
            [""; 0]
        );
    }

    #[test]
    fn an_unready_pod_may_go_where_the_budget_says_so() {
        let unready = PodOnNode {
            standing: Standing::NotReady,
            budgets: vec![budget(0, true)],
            ..pod("a")
        };
        assert_eq!(codes(std::slice::from_ref(&unready)), [""; 0]);
        assert_eq!(
            codes(&[PodOnNode {
                standing: Standing::Ready,
                ..unready
            }]),
            ["BudgetBlocks"]
        );
    }

    #[test]
    fn two_budgets_on_one_pod_block_whatever_they_allow() {
        assert_eq!(
            codes(&[PodOnNode {
                budgets: vec![budget(5, false), budget(5, false)],
                ..pod("a")
            }]),
            ["SeveralBudgets"]
        );
    }

    #[test]
    fn do_not_disrupt_blocks_before_any_budget() {
        let held = PodOnNode {
            do_not_disrupt: DoNotDisrupt::Always,
            budgets: vec![budget(0, false)],
            ..pod("a")
        };
        assert_eq!(codes(&[held]), ["DoNotDisrupt"]);
    }

    #[test]
    fn pods_that_do_not_need_to_leave_block_nothing() {
        let held = PodOnNode {
            do_not_disrupt: DoNotDisrupt::Always,
            ..pod("a")
        };
        let pods = [
            PodOnNode {
                owner: Owner::Node,
                ..held.clone()
            },
            PodOnNode {
                tolerates_disruption: true,
                ..held.clone()
            },
            PodOnNode {
                standing: Standing::Finished,
                ..held
            },
        ];
        assert_eq!(codes(&pods), [""; 0]);
    }
}
