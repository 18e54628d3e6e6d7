//! When does asking a pod to leave end, and how long may it still take?

use super::PodOnNode;
use jiff::{SignedDuration, Timestamp};

/// Must this pod be deleted now, whatever budgets and annotations say, so that it is gone by the node's deadline with its
/// grace period intact?
pub fn must_be_deleted(pod: &PodOnNode, deadline: Option<Timestamp>, now: Timestamp) -> bool {
    let Some(deadline) = deadline else {
        return false;
    };
    match (pod.deleted_by, pod.grace) {
        (Some(by), _) => by > deadline,
        (None, None) => false,
        (None, Some(grace)) => now > deadline.checked_sub(grace).unwrap_or(Timestamp::MIN),
    }
}

/// The grace period of such a delete: whole seconds to the deadline, at least one.
pub fn grace_left(deadline: Timestamp, now: Timestamp) -> SignedDuration {
    SignedDuration::from_secs(deadline.duration_since(now).as_secs().max(1))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{at, pod};
    use super::*;

    #[test]
    fn without_a_deadline_nobody_is_forced() {
        assert!(!must_be_deleted(&pod("a"), None, at(1_000_000)));
    }

    #[test]
    fn a_pod_is_deleted_once_its_grace_period_would_pass_the_deadline() {
        let deadline = Some(at(100));
        assert!(!must_be_deleted(&pod("a"), deadline, at(70)));
        assert!(must_be_deleted(&pod("a"), deadline, at(71)));
        assert!(!must_be_deleted(
            &PodOnNode {
                grace: None,
                ..pod("a")
            },
            deadline,
            at(999)
        ));
    }

    #[test]
    fn a_terminating_pod_is_hurried_only_if_it_would_outlive_the_deadline() {
        let ends = |second| PodOnNode {
            deleted_by: Some(at(second)),
            ..pod("a")
        };
        assert!(!must_be_deleted(&ends(100), Some(at(100)), at(90)));
        assert!(must_be_deleted(&ends(101), Some(at(100)), at(90)));
    }

    #[test]
    fn the_last_grace_period_is_never_below_a_second() {
        assert_eq!(grace_left(at(100), at(88)), SignedDuration::from_secs(12));
        assert_eq!(grace_left(at(100), at(500)), SignedDuration::from_secs(1));
    }
}
