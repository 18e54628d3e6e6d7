//! When is a claim a ghost: registered, but without an instance?
//!
//! Claims that never registered are `liveness`'s to judge.

use super::{Caution, GhostSweep, Listing, Spared, Sweep};
use crate::identity::InstanceId;
use std::sync::Arc;

/// A claim that is registered and not being deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimSeen {
    pub name: Arc<str>,
    pub instance: InstanceId,
    pub node: NodeFact,
    /// The cloud was asked for this one instance in this pass and positively said that it is gone.
    pub proven_gone: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeFact {
    /// Its kubelet reports: the machine lives, whatever a list says.
    Ready,
    NotReady,
    Absent,
    /// The look-up failed: unknown is not gone.
    Unknown,
}

/// One pass over all registered claims. `listed`: every instance of ours in the cloud.
pub fn sweep(
    claims: &[ClaimSeen],
    listed: &Listing<InstanceId>,
    seen_before: &[Arc<str>],
    caution: Caution,
) -> GhostSweep {
    let Listing::Complete(instances) = listed else {
        return Sweep::nothing(seen_before);
    };
    let missing = claims
        .iter()
        .filter(|claim| !instances.contains(&claim.instance));
    let judged = missing.map(|claim| (claim.name.clone(), spared(claim)));
    Sweep::of(judged.collect(), seen_before, caution)
}

fn spared(claim: &ClaimSeen) -> Option<Spared> {
    match claim.node {
        NodeFact::Ready => Some(Spared::NodeAlive),
        NodeFact::Unknown => Some(Spared::NotProven),
        NodeFact::NotReady | NodeFact::Absent => (!claim.proven_gone).then_some(Spared::NotProven),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ghost(name: &str) -> ClaimSeen {
        ClaimSeen {
            name: name.into(),
            instance: format!("i-{name}").into(),
            node: NodeFact::Absent,
            proven_gone: true,
        }
    }

    fn pass(claims: &[ClaimSeen], listed: &[&str], seen: &[&str]) -> String {
        let listed = Listing::Complete(listed.iter().map(|id| InstanceId::from(*id)).collect());
        let seen: Vec<Arc<str>> = seen.iter().map(|name| (*name).into()).collect();
        let sweep = sweep(
            claims,
            &listed,
            &seen,
            Caution {
                most: 1,
                report_only: false,
            },
        );
        let removed = sweep.remove.iter().map(ToString::to_string);
        let spared = sweep
            .spared
            .iter()
            .map(|(name, spared)| format!("{name}:{}", spared.code()));
        removed.chain(spared).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_ghost_is_given_up_in_the_second_pass_that_misses_it() {
        assert_eq!(pass(&[ghost("a")], &[], &[]), "a:FirstSeen");
        assert_eq!(pass(&[ghost("a")], &[], &["a"]), "a");
        assert_eq!(pass(&[ghost("a")], &["i-a"], &["a"]), "");
    }

    #[test]
    fn a_ready_node_is_stronger_than_a_list() {
        assert_eq!(
            pass(
                &[ClaimSeen {
                    node: NodeFact::Ready,
                    ..ghost("a")
                }],
                &[],
                &["a"]
            ),
            "a:NodeAlive"
        );
    }

    #[test]
    fn a_failed_node_look_up_deletes_nothing() {
        assert_eq!(
            pass(
                &[ClaimSeen {
                    node: NodeFact::Unknown,
                    ..ghost("a")
                }],
                &[],
                &["a"]
            ),
            "a:NotProven"
        );
        assert_eq!(
            pass(
                &[ClaimSeen {
                    proven_gone: false,
                    ..ghost("a")
                }],
                &[],
                &["a"]
            ),
            "a:NotProven"
        );
    }

    #[test]
    fn list_errors_and_partial_answers_are_not_believed() {
        let sweep = sweep(
            &[ghost("a")],
            &Listing::Incomplete,
            &["a".into()],
            Caution {
                most: 1,
                report_only: false,
            },
        );
        assert_eq!((sweep.remove.len(), sweep.seen.len()), (0, 1));
    }

    #[test]
    fn one_pass_gives_up_only_so_many() {
        assert_eq!(
            pass(&[ghost("b"), ghost("a")], &[], &["a", "b"]),
            "a b:Capped"
        );
    }
}
