//! When is an instance an orphan: ours in the cloud, without a claim that it belongs to?
//!
//! A twin is one of them: a create whose effect came after everybody had looked leaves a second instance of a claim that
//! lives on with the first. It carries the claim's marks, and nobody but this judgement would ever miss it.

use super::{Caution, Listing, OrphanSweep, Spared, Sweep};
use crate::identity::{ClusterId, Identity, InstanceId};
use jiff::{SignedDuration, Timestamp};

/// One instance of the cloud's list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceSeen {
    pub id: InstanceId,
    /// `None`: does not carry our marks.
    pub identity: Option<Identity>,
    pub created: Option<Timestamp>,
    pub claim: ClaimFact,
}

/// What the API server said of the claim in this pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimFact {
    Exists,
    /// Read again from the API server in this pass: it holds another instance, and that one is in this very list.
    HoldsAnother,
    /// Not in the mirror, and the API server has not been asked or did not answer.
    NotReread,
    /// Read again from the API server in this pass: it is not there.
    ReadAndAbsent,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrphanRules {
    pub cluster: ClusterId,
    /// Longer than any create can take.
    pub longest_create: SignedDuration,
    pub caution: Caution,
}

/// One pass. `seen_before`: the `seen` of the pass before.
pub fn sweep(
    listing: &Listing<InstanceSeen>,
    seen_before: &[InstanceId],
    rules: &OrphanRules,
    now: Timestamp,
) -> OrphanSweep {
    let Listing::Complete(instances) = listing else {
        return Sweep::nothing(seen_before);
    };
    let suspects = instances
        .iter()
        .filter(|instance| is_suspicious(instance, rules));
    let judged = suspects.map(|instance| (instance.id.clone(), spared(instance, rules, now)));
    Sweep::of(judged.collect(), seen_before, rules.caution)
}

/// Ours, and no claim that we know of wants it.
fn is_suspicious(instance: &InstanceSeen, rules: &OrphanRules) -> bool {
    let ours = instance
        .identity
        .as_ref()
        .is_some_and(|identity| identity.cluster == rules.cluster);
    ours && instance.claim != ClaimFact::Exists
}

/// What spares it, if anything.
fn spared(instance: &InstanceSeen, rules: &OrphanRules, now: Timestamp) -> Option<Spared> {
    let old_enough = instance
        .created
        .is_some_and(|created| now.duration_since(created) > rules.longest_create);
    match instance.claim {
        _ if !old_enough => Some(Spared::TooYoung),
        ClaimFact::NotReread => Some(Spared::NotProven),
        ClaimFact::ReadAndAbsent | ClaimFact::HoldsAnother | ClaimFact::Exists => None,
    }
}

/// Which instance is the claim's own? A fact about `id`, from the claim as read in this pass. `held`: every id that its ledger
/// or its status names; `listed`: is this id in the list that is being judged?
pub fn fact_of(
    id: &InstanceId,
    held: &[InstanceId],
    listed: impl Fn(&InstanceId) -> bool,
) -> ClaimFact {
    // Nothing named: which one is kept is `launch`'s to decide. Named and not listed: then nothing proves that this is the spare.
    let spare = !held.is_empty() && !held.contains(id) && held.iter().all(listed);
    if spare {
        ClaimFact::HoldsAnother
    } else {
        ClaimFact::Exists
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn orphan(id: &str) -> InstanceSeen {
        let identity = Identity {
            cluster: "mine".into(),
            claim: "claim-1".into(),
        };
        InstanceSeen {
            id: id.into(),
            identity: Some(identity),
            created: Some(Timestamp::UNIX_EPOCH),
            claim: ClaimFact::ReadAndAbsent,
        }
    }

    fn rules() -> OrphanRules {
        let caution = Caution {
            most: 2,
            report_only: false,
        };
        OrphanRules {
            cluster: "mine".into(),
            longest_create: SignedDuration::from_mins(10),
            caution,
        }
    }

    /// The pass an hour later, as text: removed names, then spared ones with the reason.
    fn pass(instances: &[InstanceSeen], seen: &[&str], rules: &OrphanRules) -> String {
        let seen: Vec<InstanceId> = seen.iter().map(|id| InstanceId::from(*id)).collect();
        let now = Timestamp::from_second(3600).unwrap();
        let sweep = sweep(&Listing::Complete(instances.to_vec()), &seen, rules, now);
        let removed = sweep.remove.iter().map(ToString::to_string);
        let spared = sweep
            .spared
            .iter()
            .map(|(id, spared)| format!("{id}:{}", spared.code()));
        removed.chain(spared).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn an_orphan_is_removed_in_the_second_pass_that_sees_it() {
        assert_eq!(pass(&[orphan("i-1")], &[], &rules()), "i-1:FirstSeen");
        assert_eq!(pass(&[orphan("i-1")], &["i-1"], &rules()), "i-1");
    }

    #[test]
    fn a_list_is_complete_or_nobody_is_judged_and_nothing_is_forgotten() {
        let seen = [InstanceId::from("i-1")];
        let sweep = sweep(&Listing::Incomplete, &seen, &rules(), Timestamp::UNIX_EPOCH);
        assert_eq!((sweep.remove.len(), sweep.seen), (0, seen.to_vec()));
    }

    #[test]
    fn look_alikes_without_our_identity_and_other_clusters_instances_are_never_touched() {
        let stranger = InstanceSeen {
            identity: None,
            ..orphan("i-1")
        };
        let identity = Some(Identity {
            cluster: "theirs".into(),
            claim: "claim-1".into(),
        });
        let neighbour = InstanceSeen {
            identity,
            ..orphan("i-2")
        };
        assert_eq!(pass(&[stranger, neighbour], &["i-1", "i-2"], &rules()), "");
    }

    #[test]
    fn an_instance_with_a_claim_is_nobodys_orphan() {
        assert_eq!(
            pass(
                &[InstanceSeen {
                    claim: ClaimFact::Exists,
                    ..orphan("i-1")
                }],
                &["i-1"],
                &rules()
            ),
            ""
        );
    }

    #[test]
    fn a_second_instance_of_a_claim_that_lives_on_goes_with_the_same_caution() {
        let twin = |age: i64| InstanceSeen {
            claim: ClaimFact::HoldsAnother,
            created: Some(Timestamp::from_second(3600 - age).unwrap()),
            ..orphan("i-2")
        };
        assert_eq!(pass(&[twin(601)], &[], &rules()), "i-2:FirstSeen");
        assert_eq!(pass(&[twin(601)], &["i-2"], &rules()), "i-2");
        assert_eq!(pass(&[twin(600)], &["i-2"], &rules()), "i-2:TooYoung");
    }

    #[test]
    fn only_beside_the_instance_its_claim_holds_is_another_one_too_many() {
        let fact = |held: &[&str], listed: &[&str]| {
            let held: Vec<InstanceId> = held.iter().map(|id| InstanceId::from(*id)).collect();
            fact_of(&"i-2".into(), &held, |id| listed.contains(&id.as_str()))
        };
        assert_eq!(fact(&["i-1"], &["i-1", "i-2"]), ClaimFact::HoldsAnother);
        assert_eq!(fact(&["i-1"], &["i-2"]), ClaimFact::Exists);
        assert_eq!(fact(&["i-2"], &["i-1", "i-2"]), ClaimFact::Exists);
        assert_eq!(fact(&["i-1", "i-2"], &["i-1", "i-2"]), ClaimFact::Exists);
        assert_eq!(fact(&[], &["i-1", "i-2"]), ClaimFact::Exists);
    }

    #[test]
    fn a_claim_that_was_not_read_again_proves_nothing() {
        let unread = InstanceSeen {
            claim: ClaimFact::NotReread,
            ..orphan("i-1")
        };
        assert_eq!(pass(&[unread], &["i-1"], &rules()), "i-1:NotProven");
    }

    #[test]
    fn an_instance_younger_than_the_longest_create_or_of_unknown_age_is_spared() {
        let young = InstanceSeen {
            created: Some(Timestamp::from_second(3000).unwrap()),
            ..orphan("i-1")
        };
        let ageless = InstanceSeen {
            created: None,
            ..orphan("i-2")
        };
        assert_eq!(
            pass(&[young, ageless], &["i-1", "i-2"], &rules()),
            "i-1:TooYoung i-2:TooYoung"
        );
    }

    #[test]
    fn one_pass_removes_only_so_many() {
        let three = [orphan("i-3"), orphan("i-1"), orphan("i-2")];
        assert_eq!(
            pass(&three, &["i-1", "i-2", "i-3"], &rules()),
            "i-1 i-2 i-3:Capped"
        );
    }

    #[test]
    fn report_only_removes_nothing() {
        let caution = Caution {
            most: 2,
            report_only: true,
        };
        assert_eq!(
            pass(
                &[orphan("i-1")],
                &["i-1"],
                &OrphanRules { caution, ..rules() }
            ),
            "i-1:ReportOnly"
        );
    }
}
