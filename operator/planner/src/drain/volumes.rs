//! Do volumes still hang on a node that was drained, and does the node wait for that?
//!
//! A volume that is attached when its machine goes stays locked for minutes, and the pod that was moved cannot start. Volumes of
//! pods that stay to the end are not waited for: they would never be detached.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;

/// What hangs on the node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VolumesView {
    /// Persistent volumes that are attached.
    pub attached: BTreeSet<Arc<str>>,
    /// Those of pods that stay.
    pub staying: BTreeSet<Arc<str>>,
    /// When waiting ends.
    pub deadline: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Volumes {
    Detached,
    /// For these, in order.
    Wait(Vec<Arc<str>>),
    /// The node has no time left.
    TooLate,
}

pub fn decide(view: &VolumesView, now: Timestamp) -> Volumes {
    let awaited: Vec<_> = view.attached.difference(&view.staying).cloned().collect();
    if awaited.is_empty() {
        Volumes::Detached
    } else if view.deadline.is_some_and(|deadline| now >= deadline) {
        Volumes::TooLate
    } else {
        Volumes::Wait(awaited)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("", "", None, Volumes::Detached)]
    #[case("a b", "", None, Volumes::Wait(vec!["a".into(), "b".into()]))]
    #[case("a b", "a", None, Volumes::Wait(vec!["b".into()]))]
    #[case("a", "a b", None, Volumes::Detached)]
    #[case("a", "", Some(11), Volumes::Wait(vec!["a".into()]))]
    #[case("a", "", Some(10), Volumes::TooLate)]
    #[case("a", "a", Some(10), Volumes::Detached)]
    fn a_drained_node_waits_for_the_volumes_of_pods_that_left_until_its_deadline(
        #[case] attached: &str,
        #[case] staying: &str,
        #[case] deadline: Option<i64>,
        #[case] verdict: Volumes,
    ) {
        let set = |names: &str| names.split_whitespace().map(Arc::from).collect();
        let at = |seconds| Timestamp::from_second(seconds).unwrap();
        let view = VolumesView {
            attached: set(attached),
            staying: set(staying),
            deadline: deadline.map(at),
        };
        assert_eq!(decide(&view, at(10)), verdict);
    }
}
