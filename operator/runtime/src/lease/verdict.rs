//! Whose is the lease at this moment, and may I take it?
//!
//! Pure. The other side's `renewTime` is never compared with our clock: clocks disagree. What counts is how long *we* have
//! seen the same lease unchanged, by our own monotonic time.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};

use super::Candidate;
use crate::clock::Moment;

/// `epoch` is the number of changes of hands: every new holder gets a higher one, so it fences off writes of older holders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// There is no such object: create it.
    Absent,
    /// Nobody holds it, or its holder has been silent for longer than it promised: take it under this epoch.
    Free { epoch: i32 },
    /// The object names us: an earlier write of ours arrived although its answer did not.
    Mine { epoch: i32 },
    /// Somebody else's, at least until this moment.
    Taken { by: String, until: Moment },
}

/// `seen_at` is the moment at which we first saw the lease in exactly this version.
pub fn verdict(lease: Option<&Lease>, seen_at: Moment, now: Moment, me: &Candidate) -> Verdict {
    let Some(lease) = lease else {
        return Verdict::Absent;
    };
    let epoch = epoch(lease);
    let holder = holder(lease);
    if holder.is_empty() {
        return Verdict::Free {
            epoch: epoch.saturating_add(1),
        };
    }
    if holder == me.identity {
        return Verdict::Mine { epoch };
    }
    let until = seen_at + promised(lease).unwrap_or(me.timings.duration());
    if now < until {
        Verdict::Taken {
            by: holder.to_owned(),
            until,
        }
    } else {
        Verdict::Free {
            epoch: epoch.saturating_add(1),
        }
    }
}

pub(super) fn holder(lease: &Lease) -> &str {
    lease
        .spec
        .as_ref()
        .and_then(|spec| spec.holder_identity.as_deref())
        .unwrap_or_default()
}

pub(super) fn epoch(lease: &Lease) -> i32 {
    lease
        .spec
        .as_ref()
        .and_then(|spec| spec.lease_transitions)
        .unwrap_or(0)
        .max(0)
}

/// How long its holder said it may be silent; a holder that said nothing sensible is judged by our own duration.
fn promised(lease: &Lease) -> Option<Duration> {
    let seconds = lease.spec.as_ref()?.lease_duration_seconds?;
    u64::try_from(seconds)
        .ok()
        .filter(|&seconds| seconds > 0)
        .map(Duration::from_secs)
}

/// The epoch of a lease that did not exist. Not 0: the ledgers of claims remember epochs, and a lease that was deleted (a
/// reinstall into another namespace) must not begin below what they remember. Minutes since 2026 grow faster than holders
/// change, and last for four thousand years in 32 bits.
pub(super) fn first_epoch(now: Timestamp) -> i32 {
    const START_OF_2026: i64 = 1_767_225_600;
    let minutes = (now.as_second() - START_OF_2026).div_euclid(60);
    i32::try_from(minutes.max(0)).unwrap_or(i32::MAX)
}

/// A lease object as we would create it.
pub(super) fn new_lease(me: &Candidate, name: &str, now: Timestamp) -> Lease {
    let empty = Lease {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            ..ObjectMeta::default()
        },
        spec: None,
    };
    taken(empty, me, first_epoch(now), now)
}

/// The same object in our hands under a new epoch.
pub(super) fn taken(lease: Lease, me: &Candidate, epoch: i32, now: Timestamp) -> Lease {
    let mut lease = renewed(lease, me, now);
    if let Some(spec) = &mut lease.spec {
        spec.acquire_time = Some(MicroTime(now));
        spec.lease_transitions = Some(epoch);
    }
    lease
}

/// The same object with a fresh sign of life. Labels, annotations and fields we do not know stay as they were.
pub(super) fn renewed(mut lease: Lease, me: &Candidate, now: Timestamp) -> Lease {
    let spec = lease.spec.get_or_insert_with(LeaseSpec::default);
    spec.holder_identity = Some(me.identity.clone());
    spec.lease_duration_seconds = Some(me.timings.duration_seconds());
    spec.renew_time = Some(MicroTime(now));
    lease
}

/// The same object in nobody's hands. One second is the shortest duration the API allows.
pub(super) fn released(mut lease: Lease, now: Timestamp) -> Lease {
    let spec = lease.spec.get_or_insert_with(LeaseSpec::default);
    spec.holder_identity = Some(String::new());
    spec.lease_duration_seconds = Some(1);
    spec.renew_time = Some(MicroTime(now));
    lease
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEEN: Moment = Moment::ZERO;

    fn after(seconds: u64) -> Moment {
        SEEN + Duration::from_secs(seconds)
    }

    fn me() -> Candidate {
        Candidate::named("me")
    }

    fn lease(holder: &str, epoch: i32, seconds: Option<i32>) -> Lease {
        let mut lease = new_lease(
            &Candidate::named(holder),
            "karpenter-leader-election",
            Timestamp::UNIX_EPOCH,
        );
        let spec = lease.spec.as_mut().unwrap();
        spec.lease_transitions = Some(epoch);
        spec.lease_duration_seconds = seconds;
        lease
    }

    #[test]
    fn a_missing_lease_is_to_be_created() {
        assert_eq!(verdict(None, SEEN, after(0), &me()), Verdict::Absent);
    }

    #[test]
    fn another_holder_is_believed_for_as_long_as_it_promised_after_we_saw_it() {
        let theirs = lease("other", 4, Some(20));
        assert_eq!(
            verdict(Some(&theirs), SEEN, after(19), &me()),
            Verdict::Taken {
                by: "other".into(),
                until: after(20)
            }
        );
        assert_eq!(
            verdict(Some(&theirs), SEEN, after(20), &me()),
            Verdict::Free { epoch: 5 }
        );
    }

    #[test]
    fn a_renew_time_far_in_the_past_or_future_changes_nothing() {
        for time in ["1990-01-01T00:00:00Z", "2090-01-01T00:00:00Z"] {
            let mut theirs = lease("other", 4, Some(15));
            theirs.spec.as_mut().unwrap().renew_time = Some(MicroTime(time.parse().unwrap()));
            assert!(matches!(
                verdict(Some(&theirs), SEEN, after(14), &me()),
                Verdict::Taken { .. }
            ));
            assert_eq!(
                verdict(Some(&theirs), SEEN, after(15), &me()),
                Verdict::Free { epoch: 5 }
            );
        }
    }

    #[test]
    fn a_released_lease_is_free_at_once() {
        let free = released(lease("other", 4, Some(15)), Timestamp::UNIX_EPOCH);
        assert_eq!(
            verdict(Some(&free), SEEN, after(0), &me()),
            Verdict::Free { epoch: 5 }
        );
    }

    #[test]
    fn a_lease_that_names_us_keeps_its_epoch() {
        assert_eq!(
            verdict(Some(&lease("me", 4, Some(15))), SEEN, after(100), &me()),
            Verdict::Mine { epoch: 4 }
        );
    }

    #[test]
    fn a_holder_that_promised_nonsense_is_judged_by_our_own_duration() {
        for nonsense in [None, Some(0), Some(-7)] {
            let theirs = lease("other", -3, nonsense);
            assert_eq!(
                verdict(Some(&theirs), SEEN, after(14), &me()),
                Verdict::Taken {
                    by: "other".into(),
                    until: after(15)
                }
            );
            assert_eq!(
                verdict(Some(&theirs), SEEN, after(15), &me()),
                Verdict::Free { epoch: 1 }
            );
        }
    }

    #[test]
    fn a_lease_without_a_spec_is_free() {
        let bare = Lease::default();
        assert_eq!(
            verdict(Some(&bare), SEEN, after(0), &me()),
            Verdict::Free { epoch: 1 }
        );
    }

    #[test]
    fn renewing_keeps_labels_and_epoch_and_taking_sets_a_new_one() {
        let mut theirs = lease("other", 4, Some(15));
        theirs.metadata.labels = Some([("team".to_owned(), "a".to_owned())].into());
        theirs.metadata.resource_version = Some("77".into());
        let now: Timestamp = "2026-11-18T00:00:00Z".parse().unwrap();
        let ours = taken(theirs.clone(), &me(), 5, now);
        assert_eq!((holder(&ours), epoch(&ours)), ("me", 5));
        assert_eq!(ours.metadata, theirs.metadata);
        let again = renewed(
            ours.clone(),
            &me(),
            now + jiff::SignedDuration::from_secs(2),
        );
        assert_eq!(epoch(&again), 5);
        assert_eq!(
            again.spec.unwrap().acquire_time,
            ours.spec.unwrap().acquire_time
        );
    }

    #[test]
    fn a_lease_created_anew_begins_above_the_epochs_of_its_deleted_predecessor() {
        let monday = first_epoch("2026-11-16T00:00:00Z".parse().unwrap());
        let tuesday = first_epoch("2026-11-17T00:00:00Z".parse().unwrap());
        assert_eq!(tuesday - monday, 24 * 60);
        assert_eq!(first_epoch(Timestamp::UNIX_EPOCH), 0);
        assert!(first_epoch(Timestamp::MAX) > 0);
    }
}
