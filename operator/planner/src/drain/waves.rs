//! Which pods leave the node in this wave?
//!
//! Ordinary pods first, then ordinary daemons, then critical pods, then critical daemons; a wave ends when its pods are gone. The
//! Eviction API is asked even where a budget seems to block: it is the judge. Only the deadline overrules it.

use super::{Owner, PodOnNode, blockers, deadline};
use crate::why::Why;
use jiff::{SignedDuration, Timestamp};
use std::sync::Arc;

/// A node that is being emptied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeView {
    pub pods: Vec<PodOnNode>,
    /// When the drain began; `None` if it begins now.
    pub draining_since: Option<Timestamp>,
    /// From the claim's termination grace period.
    pub deadline: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Drain {
    Drained,
    /// Empty, but pods bound just before the taint was seen may still appear.
    Settle {
        until: Timestamp,
    },
    Wave(Wave),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wave {
    /// Name and uid, through the Eviction API. Sorted.
    pub evict: Vec<(Arc<str>, Arc<str>)>,
    /// Name, uid and grace period: deleted outright, because the deadline is near. Sorted.
    pub delete: Vec<(Arc<str>, Arc<str>, SignedDuration)>,
    /// Leaving already.
    pub leaving: u32,
    /// Who holds this wave back.
    pub blocked: Vec<Why>,
}

/// The least time a drain takes.
pub const SETTLE: SignedDuration = SignedDuration::from_secs(5);

pub fn next(node: &NodeView, now: Timestamp) -> Drain {
    let holding: Vec<&PodOnNode> = node
        .pods
        .iter()
        .filter(|pod| pod.holds_the_node(now))
        .collect();
    if holding.is_empty() {
        let settled = node
            .draining_since
            .unwrap_or(now)
            .checked_add(SETTLE)
            .unwrap_or(Timestamp::MAX);
        return if now >= settled {
            Drain::Drained
        } else {
            Drain::Settle { until: settled }
        };
    }
    let (forced, asked): (Vec<&PodOnNode>, Vec<&PodOnNode>) = holding
        .into_iter()
        .partition(|pod| deadline::must_be_deleted(pod, node.deadline, now));
    let mut wave = Wave::default();
    let grace = node
        .deadline
        .map_or(SignedDuration::from_secs(1), |deadline| {
            deadline::grace_left(deadline, now)
        });
    wave.delete = forced
        .iter()
        .map(|pod| (pod.name.clone(), pod.uid.clone(), grace))
        .collect();
    wave.delete.sort_unstable();
    let first = asked.iter().map(|pod| turn(pod)).min();
    for pod in asked.into_iter().filter(|pod| Some(turn(pod)) == first) {
        if pod.evictable(now) {
            wave.evict.push((pod.name.clone(), pod.uid.clone()));
        }
        wave.leaving += u32::from(pod.deleted_by.is_some());
        wave.blocked.extend(blockers::blocker(pod, now));
    }
    wave.evict.sort_unstable();
    wave.blocked.sort_unstable();
    Drain::Wave(wave)
}

/// Critical pods go after all others, daemons after the pods they serve.
fn turn(pod: &PodOnNode) -> (bool, bool) {
    (pod.critical, pod.owner == Owner::DaemonSet)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{at, pod};
    use super::super::{DoNotDisrupt, PodBudget, Standing};
    use super::*;

    /// The wave as text: evicted names, `!` deleted ones, `?` blocked ones.
    fn wave(pods: &[PodOnNode], deadline: Option<i64>, now: i64) -> String {
        let view = NodeView {
            pods: pods.to_vec(),
            draining_since: Some(at(0)),
            deadline: deadline.map(at),
        };
        match next(&view, at(now)) {
            Drain::Drained => "drained".to_owned(),
            Drain::Settle { .. } => "settle".to_owned(),
            Drain::Wave(wave) => {
                let evict = wave.evict.iter().map(|(name, _)| name.to_string());
                let delete = wave
                    .delete
                    .iter()
                    .map(|(name, _, grace)| format!("!{name}:{}", grace.as_secs()));
                let blocked = wave.blocked.iter().map(|why| format!("?{}", why.code()));
                evict
                    .chain(delete)
                    .chain(blocked)
                    .collect::<Vec<_>>()
                    .join(" ")
            }
        }
    }

    #[test]
    fn waves_go_by_criticality_then_daemons() {
        let mut pods = vec![
            PodOnNode {
                critical: true,
                owner: Owner::DaemonSet,
                ..pod("d")
            },
            PodOnNode {
                critical: true,
                ..pod("c")
            },
            PodOnNode {
                owner: Owner::DaemonSet,
                ..pod("b")
            },
            pod("a2"),
            pod("a1"),
        ];
        assert_eq!(wave(&pods, None, 9), "a1 a2");
        pods.truncate(3);
        assert_eq!(wave(&pods, None, 9), "b");
        pods.truncate(2);
        assert_eq!(wave(&pods, None, 9), "c");
        pods.truncate(1);
        assert_eq!(wave(&pods, None, 9), "d");
        assert_eq!(wave(&[], None, 9), "drained");
    }

    #[test]
    fn a_leaving_pod_holds_its_wave_until_it_is_gone() {
        let leaving = PodOnNode {
            deleted_by: Some(at(30)),
            ..pod("a")
        };
        let later = PodOnNode {
            critical: true,
            ..pod("c")
        };
        assert_eq!(wave(&[leaving.clone(), later.clone()], None, 9), "");
        assert_eq!(wave(&[leaving, later], None, 91), "c");
    }

    #[test]
    fn do_not_disrupt_stalls_the_drain_and_is_named() {
        let held = PodOnNode {
            do_not_disrupt: DoNotDisrupt::Always,
            ..pod("a")
        };
        assert_eq!(wave(&[held, pod("b")], None, 9), "b ?DoNotDisrupt");
    }

    #[test]
    fn a_budget_is_named_but_the_eviction_api_is_asked_anyway() {
        let budgets = vec![PodBudget {
            name: "keep".into(),
            allowed: 0,
            never: false,
            lets_unready_go: false,
        }];
        assert_eq!(
            wave(
                &[PodOnNode {
                    budgets,
                    ..pod("a")
                }],
                None,
                9
            ),
            "a ?BudgetBlocks"
        );
    }

    #[test]
    fn at_the_deadline_pods_of_all_waves_are_deleted_whatever_protects_them() {
        let held = PodOnNode {
            do_not_disrupt: DoNotDisrupt::Always,
            ..pod("a")
        };
        let critical = PodOnNode {
            critical: true,
            ..pod("c")
        };
        let patient = PodOnNode {
            grace: Some(SignedDuration::from_secs(1)),
            ..pod("p")
        };
        assert_eq!(
            wave(&[held, critical, patient], Some(100), 80),
            "p !a:20 !c:20"
        );
    }

    #[test]
    fn pods_that_need_not_leave_do_not_hold_the_node() {
        let pods = [
            PodOnNode {
                owner: Owner::Node,
                ..pod("m")
            },
            PodOnNode {
                tolerates_disruption: true,
                ..pod("t")
            },
            PodOnNode {
                standing: Standing::Finished,
                ..pod("f")
            },
        ];
        assert_eq!(wave(&pods, None, 9), "drained");
    }

    #[test]
    fn an_empty_node_waits_a_moment_for_pods_bound_just_before_the_taint() {
        assert_eq!(wave(&[], None, 4), "settle");
        assert_eq!(wave(&[], None, 5), "drained");
    }
}
