//! Which nodes are empty and may go now?
//!
//! All of them that budgets allow go in one command. A node that stays keeps the first reason, in a fixed order.

use super::budgets::{self, BadBudget, DisruptionBudget, PoolCount, Reason};
use crate::lifecycle::consolidatable::{self, Consolidatable, Quiet};
use crate::price::Price;
use crate::why::Why;
use jiff::Timestamp;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A node of ours that is considered for removal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub node: Arc<str>,
    pub pool: Arc<str>,
    /// Being deleted, or part of a command already.
    pub leaving: bool,
    /// `karpenter.sh/do-not-disrupt: "true"` on the node.
    pub do_not_disrupt: bool,
    /// Pods that would have to move.
    pub pods: Vec<PodCost>,
    /// What keeps a pod there: see `drain::blockers`. The first counts.
    pub blocked: Option<Why>,
    /// Pending pods the last plan put there, and pods that stand for spare room.
    pub awaited: u32,
    pub quiet: Quiet,
    pub price: Option<Price>,
}

/// What moving a pod costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PodCost {
    /// `controller.kubernetes.io/pod-deletion-cost`.
    pub deletion_cost: i32,
    pub priority: i32,
}

/// A pool's budgets and how many nodes they count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolBudgets {
    pub budgets: Vec<Result<DisruptionBudget, BadBudget>>,
    pub count: PoolCount,
}

/// Nodes to remove, and why the others stay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Emptiness {
    /// Dearest first.
    pub remove: Vec<Arc<str>>,
    /// Sorted by node.
    pub stay: Vec<(Arc<str>, Why)>,
}

/// Plans the removal of empty nodes. A pool without an entry in `pools` is unknown and stays.
pub fn plan(
    candidates: &[Candidate],
    pools: &BTreeMap<Arc<str>, PoolBudgets>,
    now: Timestamp,
) -> Emptiness {
    let mut sorted: Vec<&Candidate> = candidates.iter().collect();
    sorted.sort_by_key(|candidate| (Reverse(candidate.price), candidate.node.clone()));
    let mut taken: BTreeMap<&str, u32> = BTreeMap::new();
    let mut answer = Emptiness::default();
    for candidate in sorted {
        let taken = taken.entry(&candidate.pool).or_default();
        match may_go(candidate, pools, *taken, now) {
            Ok(()) => {
                *taken += 1;
                answer.remove.push(candidate.node.clone());
            }
            Err(why) => answer.stay.push((candidate.node.clone(), *why)),
        }
    }
    answer.stay.sort_unstable();
    answer
}

fn may_go(
    candidate: &Candidate,
    pools: &BTreeMap<Arc<str>, PoolBudgets>,
    taken: u32,
    now: Timestamp,
) -> Result<(), Box<Why>> {
    let pool = || candidate.pool.clone();
    let stays = |why: Why| Err(Box::new(why));
    if candidate.leaving {
        return stays(Why::Leaving);
    }
    match consolidatable::decide(candidate.quiet, now) {
        Consolidatable::NotInitialized => return stays(Why::NotInitialized),
        Consolidatable::Never => return stays(Why::NeverConsolidates { pool: pool() }),
        Consolidatable::At(at) => return stays(Why::ConsolidatesAt { at }),
        Consolidatable::Yes => {}
    }
    if candidate.do_not_disrupt {
        return stays(Why::NodeDoNotDisrupt);
    }
    if candidate.awaited > 0 {
        return stays(Why::Nominated {
            pods: candidate.awaited,
        });
    }
    if let Some(why) = &candidate.blocked {
        return stays(why.clone());
    }
    let holding = candidate.pods.iter().filter(|pod| pod.counts()).count();
    if holding > 0 {
        return stays(Why::NotEmpty {
            pods: u32::try_from(holding).unwrap_or(u32::MAX),
        });
    }
    within_budget(&candidate.pool, pools.get(&candidate.pool), taken, now)
}

/// May one more node of the pool go, after `taken` in this plan?
fn within_budget(
    pool: &Arc<str>,
    rules: Option<&PoolBudgets>,
    taken: u32,
    now: Timestamp,
) -> Result<(), Box<Why>> {
    let pool = || pool.clone();
    let stays = |why: Why| Err(Box::new(why));
    let Some(rules) = rules else {
        return stays(Why::PoolNotReady {
            pool: pool(),
            said: "it is not known".into(),
        });
    };
    if let Some(bad) = rules
        .budgets
        .iter()
        .find_map(|budget| budget.as_ref().err())
    {
        return stays(Why::BadBudget {
            pool: pool(),
            said: bad.to_string().into(),
        });
    }
    let room = budgets::room(&rules.budgets, Reason::Empty, rules.count, now);
    if taken < room.left {
        return Ok(());
    }
    let disrupting = rules.count.disrupting.saturating_add(taken);
    stays(Why::DisruptionBudget {
        pool: pool(),
        allowed: room.allowed.unwrap_or(u32::MAX),
        disrupting,
    })
}

impl PodCost {
    /// Does moving it cost anything? Upstream: 1 + deletionCost/2^27 + priority/2^25 above zero, in whole numbers.
    fn counts(self) -> bool {
        (1_i64 << 27) + i64::from(self.deletion_cost) + 4 * i64::from(self.priority) > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::SignedDuration;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn empty(node: &str) -> Candidate {
        Candidate {
            node: node.into(),
            pool: "p".into(),
            leaving: false,
            do_not_disrupt: false,
            pods: Vec::new(),
            blocked: None,
            awaited: 0,
            quiet: Quiet {
                initialized_at: Some(at(0)),
                last_pod_event: None,
                consolidate_after: Some(SignedDuration::from_secs(30)),
            },
            price: None,
        }
    }

    fn check(candidates: &[Candidate], nodes: &str, now: i64, expected: &str) {
        let budget = DisruptionBudget::read(nodes, None, None, None);
        let count = PoolCount {
            nodes: 10,
            disrupting: 0,
        };
        let pools = BTreeMap::from([(
            "p".into(),
            PoolBudgets {
                budgets: vec![budget],
                count,
            },
        )]);
        let answer = plan(candidates, &pools, at(now));
        let removed = answer.remove.iter().map(|node| format!("remove {node}"));
        let stay = answer
            .stay
            .iter()
            .map(|(node, why)| format!("{node}: {}", why.code()));
        assert_eq!(removed.chain(stay).collect::<Vec<_>>().join(", "), expected);
    }

    #[test]
    fn an_empty_node_goes_after_consolidate_after() {
        check(&[empty("n1")], "10%", 29, "n1: ConsolidatesAt");
        check(&[empty("n1")], "10%", 30, "remove n1");
    }

    #[test]
    fn the_dearest_empty_nodes_go_first_and_budgets_hold() {
        let priced = |node, price| Candidate {
            price: Price::from_billionths(price),
            ..empty(node)
        };
        let nodes = [priced("a", 1), priced("b", 3), priced("c", 2), empty("d")];
        check(
            &nodes,
            "2",
            99,
            "remove b, remove c, a: DisruptionBudget, d: DisruptionBudget",
        );
    }

    #[test]
    fn what_keeps_a_node_is_said() {
        let stays =
            |candidate: Candidate, code: &str| check(&[candidate], "5", 99, &format!("n1: {code}"));
        stays(
            Candidate {
                leaving: true,
                ..empty("n1")
            },
            "Leaving",
        );
        stays(
            Candidate {
                do_not_disrupt: true,
                ..empty("n1")
            },
            "NodeDoNotDisrupt",
        );
        stays(
            Candidate {
                awaited: 2,
                ..empty("n1")
            },
            "Nominated",
        );
        stays(
            Candidate {
                pods: vec![PodCost::default()],
                ..empty("n1")
            },
            "NotEmpty",
        );
        stays(
            Candidate {
                blocked: Some(Why::DoNotDisrupt { pod: "x".into() }),
                ..empty("n1")
            },
            "DoNotDisrupt",
        );
    }

    #[test]
    fn a_node_that_cannot_be_judged_stays() {
        let stays =
            |candidate: Candidate, code: &str| check(&[candidate], "5", 99, &format!("n1: {code}"));
        stays(
            Candidate {
                pool: "other".into(),
                ..empty("n1")
            },
            "PoolNotReady",
        );
        let never = Quiet {
            consolidate_after: None,
            ..empty("n1").quiet
        };
        stays(
            Candidate {
                quiet: never,
                ..empty("n1")
            },
            "NeverConsolidates",
        );
        let fresh = Quiet {
            initialized_at: None,
            ..empty("n1").quiet
        };
        stays(
            Candidate {
                quiet: fresh,
                ..empty("n1")
            },
            "NotInitialized",
        );
    }

    #[test]
    fn pods_that_cost_nothing_to_move_do_not_count() {
        let free = PodCost {
            deletion_cost: i32::MIN,
            priority: 0,
        };
        check(
            &[Candidate {
                pods: vec![free],
                ..empty("n1")
            }],
            "5",
            99,
            "remove n1",
        );
        let dear = PodCost {
            deletion_cost: -(1 << 27) + 1,
            priority: 0,
        };
        check(
            &[Candidate {
                pods: vec![dear],
                ..empty("n1")
            }],
            "5",
            99,
            "n1: NotEmpty",
        );
    }

    #[test]
    fn a_budget_that_cannot_be_read_keeps_every_node() {
        check(&[empty("n1")], "lots", 99, "n1: BadBudget");
    }

    #[test]
    fn a_nomination_protects_an_empty_node() {
        check(
            &[
                Candidate {
                    awaited: 1,
                    ..empty("n1")
                },
                empty("n2"),
            ],
            "5",
            99,
            "remove n2, n1: Nominated",
        );
    }
}
