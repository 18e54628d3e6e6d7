//! What is the next step to take a deleted claim apart, so that nothing is left and nothing is forgotten?
//!
//! Order: deadline written, nodes drained and gone, instance and side resources positively gone, finalizer last.

use crate::identity::InstanceId;
use jiff::{SignedDuration, Timestamp};
use std::sync::Arc;

/// One claim that is being deleted, as read in this turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TerminateView {
    pub has_finalizer: bool,
    pub deleted_at: Timestamp,
    pub grace_period: Option<SignedDuration>,
    /// The annotation with the hard deadline; never overwritten.
    pub deadline: Option<Timestamp>,
    pub registered: bool,
    pub nodes: Nodes,
    pub instance: Instance,
}

/// Nodes with the claim's provider id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Nodes {
    /// Could not be read.
    Unknown,
    /// Name, and whether it is being deleted already.
    Known(Vec<(Arc<str>, bool)>),
}

/// What is known of everything the ledger names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Instance {
    /// The ledger never recorded an attempt, so nothing was ever asked of the cloud.
    NeverTried,
    /// An attempt without an instance id: it may exist.
    MayExist,
    Known(InstanceId),
    /// A complete, authenticated answer said that nothing is left.
    ProvenGone,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    Nothing,
    SetDeadline(Timestamp),
    DeleteNodes(Vec<Arc<str>>),
    WaitForNodes,
    /// Find by identity: only proven absence lets us go on.
    LookForInstance,
    Terminate(InstanceId),
    RemoveFinalizer,
}

/// How long to wait before the cloud is asked again whether the instance is gone.
pub const ASK_AGAIN: SignedDuration = SignedDuration::from_secs(5);

pub fn next(view: &TerminateView) -> Step {
    if !view.has_finalizer {
        return Step::Nothing;
    }
    if let (Some(grace), None) = (view.grace_period, view.deadline) {
        return Step::SetDeadline(view.deleted_at.checked_add(grace).unwrap_or(Timestamp::MAX));
    }
    // A node that never registered holds no pods of ours: nothing to drain.
    if view.registered {
        match &view.nodes {
            Nodes::Unknown => return Step::WaitForNodes,
            Nodes::Known(nodes) if nodes.is_empty() => {}
            Nodes::Known(nodes) => return for_nodes(nodes),
        }
    }
    match &view.instance {
        Instance::Known(id) => Step::Terminate(id.clone()),
        Instance::MayExist => Step::LookForInstance,
        Instance::NeverTried | Instance::ProvenGone => Step::RemoveFinalizer,
    }
}

fn for_nodes(nodes: &[(Arc<str>, bool)]) -> Step {
    let standing: Vec<_> = nodes
        .iter()
        .filter(|(_, deleting)| !deleting)
        .map(|(name, _)| name.clone())
        .collect();
    if standing.is_empty() {
        Step::WaitForNodes
    } else {
        Step::DeleteNodes(standing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view() -> TerminateView {
        TerminateView {
            has_finalizer: true,
            deleted_at: Timestamp::UNIX_EPOCH,
            grace_period: None,
            deadline: None,
            registered: true,
            nodes: Nodes::Known(vec![]),
            instance: Instance::Known("i-1".into()),
        }
    }

    #[test]
    fn without_our_finalizer_there_is_nothing_to_do() {
        assert_eq!(
            next(&TerminateView {
                has_finalizer: false,
                ..view()
            }),
            Step::Nothing
        );
    }

    #[test]
    fn the_deadline_is_written_first_and_never_again() {
        let grace_period = Some(SignedDuration::from_secs(60));
        let due = Timestamp::from_second(60).unwrap();
        assert_eq!(
            next(&TerminateView {
                grace_period,
                ..view()
            }),
            Step::SetDeadline(due)
        );
        let early = Some(Timestamp::from_second(5).unwrap());
        assert_eq!(
            next(&TerminateView {
                grace_period,
                deadline: early,
                ..view()
            }),
            Step::Terminate("i-1".into())
        );
    }

    #[test]
    fn nodes_go_before_the_instance() {
        let both = Nodes::Known(vec![("a".into(), true), ("b".into(), false)]);
        assert_eq!(
            next(&TerminateView {
                nodes: both,
                ..view()
            }),
            Step::DeleteNodes(vec!["b".into()])
        );
        let deleting = Nodes::Known(vec![("a".into(), true)]);
        assert_eq!(
            next(&TerminateView {
                nodes: deleting,
                ..view()
            }),
            Step::WaitForNodes
        );
    }

    #[test]
    fn nodes_that_cannot_be_read_are_not_gone() {
        assert_eq!(
            next(&TerminateView {
                nodes: Nodes::Unknown,
                ..view()
            }),
            Step::WaitForNodes
        );
    }

    #[test]
    fn a_node_that_never_registered_is_not_drained() {
        let nodes = Nodes::Known(vec![("a".into(), false)]);
        assert_eq!(
            next(&TerminateView {
                registered: false,
                nodes,
                ..view()
            }),
            Step::Terminate("i-1".into())
        );
    }

    #[test]
    fn a_claim_without_provider_id_drops_its_finalizer_only_after_absence_is_proven() {
        let with = |instance| TerminateView {
            registered: false,
            instance,
            ..view()
        };
        assert_eq!(next(&with(Instance::MayExist)), Step::LookForInstance);
        assert_eq!(next(&with(Instance::ProvenGone)), Step::RemoveFinalizer);
        assert_eq!(next(&with(Instance::NeverTried)), Step::RemoveFinalizer);
    }
}
