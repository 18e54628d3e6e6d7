//! What is the next step to give a claim its instance, without ever giving it two?
//!
//! Intent is durable before effect: the attempt is recorded first, and whoever finds a recorded attempt looks before it creates.

use super::ledger::{Attempt, AttemptState, Ledger, OfferingName};
use crate::identity::{ClusterId, InstanceId};
use jiff::{SignedDuration, Timestamp};

/// One claim that is not being deleted, as read in this turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchView {
    pub has_finalizer: bool,
    /// From `joiner.dev/offerings`; only the first is ever tried.
    pub offerings: Vec<OfferingName>,
    pub ledger: Option<Ledger>,
    pub cluster: ClusterId,
    /// Of our own lease.
    pub epoch: u64,
    pub now: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Before anything else: nothing may be launched that nobody would clean up.
    AddFinalizer,
    /// Write the attempt to the ledger.
    Record(Attempt),
    /// Look for the instance by identity; create it only if that proves it absent.
    AdoptOrCreate(Attempt),
    /// The instance is there: the next phases go on.
    Watch(InstanceId),
    /// Ask for termination until the cloud says gone.
    Terminate(Option<InstanceId>),
    /// The attempt is gone for good; the next plan chooses anew.
    DeleteClaim(NoInstance),
    /// A newer leader or another cluster writes here.
    StandDown,
}

/// Why a claim will not get an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoInstance {
    NoOffering,
    AttemptGone { offering: OfferingName },
}

pub fn next(view: &LaunchView) -> Step {
    let foreign = |ledger: &Ledger| ledger.cluster != view.cluster || ledger.epoch > view.epoch;
    if view.ledger.as_ref().is_some_and(foreign) {
        return Step::StandDown;
    }
    if !view.has_finalizer {
        return Step::AddFinalizer;
    }
    let Some(attempt) = view
        .ledger
        .as_ref()
        .and_then(|ledger| ledger.attempts.last())
    else {
        return match view.offerings.first() {
            Some(first) => Step::Record(Attempt::intended(first.clone(), view.now)),
            None => Step::DeleteClaim(NoInstance::NoOffering),
        };
    };
    match &attempt.state {
        AttemptState::Intended => Step::AdoptOrCreate(attempt.clone()), // it may exist already: look first
        AttemptState::Created { instance } => Step::Watch(instance.clone()),
        AttemptState::Ending { instance } => Step::Terminate(instance.clone()),
        AttemptState::Gone => Step::DeleteClaim(NoInstance::AttemptGone {
            offering: attempt.offering.clone(),
        }),
    }
}

/// What looking by identity found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// The cloud gave a complete, authenticated answer without it.
    Absent,
    Instances(Vec<InstanceId>),
    /// No answer, or one that may be incomplete.
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AfterLook {
    Create,
    Adopt {
        keep: InstanceId,
        /// Somebody created twice: the others must go.
        terminate: Vec<InstanceId>,
    },
    /// Ask again; creating now could make a second one.
    LookAgain,
}

/// A recorded attempt was looked for: adopt, create or wait?
pub fn after_look(found: Found) -> AfterLook {
    match found {
        Found::Absent => AfterLook::Create,
        Found::Unknown => AfterLook::LookAgain,
        Found::Instances(mut instances) => {
            instances.sort_unstable();
            instances.dedup();
            if instances.is_empty() {
                return AfterLook::Create;
            }
            let keep = instances.remove(0);
            AfterLook::Adopt {
                keep,
                terminate: instances,
            }
        }
    }
}

/// How the create call ended, in the meanings of cloud errors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Created(InstanceId),
    NoCapacity,
    Throttled { retry_after: Option<SignedDuration> },
    Unauthorized,
    Rejected,
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AfterCreate {
    RecordCreated(InstanceId),
    /// Mark the offering unavailable, prove the attempt absent, record it gone; the claim is deleted next.
    RecordGone,
    /// Keep the record and come back; `liveness` gives up in the end.
    Retry {
        after: SignedDuration,
    },
    /// Nothing we do helps: say it on the claim and leave it to `liveness`.
    TellHuman,
    /// It may have happened: the next turn looks first.
    LookFirst,
}

/// Time until a throttled call is tried again if the cloud did not say.
const PATIENCE: SignedDuration = SignedDuration::from_secs(5);

pub fn after_create(outcome: Outcome) -> AfterCreate {
    match outcome {
        Outcome::Created(id) => AfterCreate::RecordCreated(id),
        Outcome::NoCapacity => AfterCreate::RecordGone,
        Outcome::Throttled { retry_after } => AfterCreate::Retry {
            after: retry_after.unwrap_or(PATIENCE),
        },
        Outcome::Unauthorized | Outcome::Rejected => AfterCreate::TellHuman,
        Outcome::Unknown => AfterCreate::LookFirst,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(states: &[AttemptState]) -> LaunchView {
        let offering: OfferingName = "small/a/on-demand".parse().unwrap();
        let attempt = |state: &AttemptState| Attempt {
            state: state.clone(),
            ..Attempt::intended("small/a/on-demand".parse().unwrap(), Timestamp::UNIX_EPOCH)
        };
        let attempts: Vec<_> = states.iter().map(attempt).collect();
        LaunchView {
            has_finalizer: true,
            offerings: vec![offering, "big/a/on-demand".parse().unwrap()],
            ledger: (!attempts.is_empty()).then(|| Ledger {
                cluster: "c".into(),
                epoch: 3,
                account: None,
                attempts,
            }),
            cluster: "c".into(),
            epoch: 3,
            now: Timestamp::UNIX_EPOCH,
        }
    }

    #[test]
    fn nothing_is_launched_without_the_finalizer() {
        assert_eq!(
            next(&LaunchView {
                has_finalizer: false,
                ..view(&[])
            }),
            Step::AddFinalizer
        );
    }

    #[test]
    fn double_launch_is_prevented_by_the_durable_ledger_and_adoption() {
        let Step::Record(attempt) = next(&view(&[])) else {
            panic!("the attempt must be recorded before any call")
        };
        assert_eq!(
            (attempt.offering.to_string().as_str(), attempt.state),
            ("small/a/on-demand", AttemptState::Intended)
        );
        assert!(matches!(
            next(&view(&[AttemptState::Intended])),
            Step::AdoptOrCreate(_)
        ));
        assert_eq!(after_look(Found::Absent), AfterLook::Create);
        let adopted = AfterLook::Adopt {
            keep: "i-1".into(),
            terminate: vec![],
        };
        assert_eq!(after_look(Found::Instances(vec!["i-1".into()])), adopted);
    }

    #[test]
    fn an_unknown_answer_never_leads_to_a_create() {
        assert_eq!(after_look(Found::Unknown), AfterLook::LookAgain);
        assert_eq!(after_create(Outcome::Unknown), AfterCreate::LookFirst);
    }

    #[test]
    fn of_two_instances_for_one_claim_the_second_goes() {
        let found = Found::Instances(vec!["i-2".into(), "i-1".into(), "i-2".into()]);
        assert_eq!(
            after_look(found),
            AfterLook::Adopt {
                keep: "i-1".into(),
                terminate: vec!["i-2".into()]
            }
        );
    }

    #[test]
    fn no_capacity_ends_the_claim_and_never_tries_a_second_offering() {
        assert_eq!(after_create(Outcome::NoCapacity), AfterCreate::RecordGone);
        let offering = "small/a/on-demand".parse().unwrap();
        assert_eq!(
            next(&view(&[AttemptState::Gone])),
            Step::DeleteClaim(NoInstance::AttemptGone { offering })
        );
    }

    #[test]
    fn a_claim_without_offerings_is_given_back() {
        let bare = LaunchView {
            offerings: vec![],
            ..view(&[])
        };
        assert_eq!(next(&bare), Step::DeleteClaim(NoInstance::NoOffering));
    }

    #[test]
    fn a_created_instance_is_watched_and_an_ending_one_terminated() {
        let id = InstanceId::from("i-1");
        assert_eq!(
            next(&view(&[AttemptState::Created {
                instance: id.clone()
            }])),
            Step::Watch(id.clone())
        );
        assert_eq!(
            next(&view(&[AttemptState::Ending { instance: None }])),
            Step::Terminate(None)
        );
    }

    #[test]
    fn a_newer_leader_or_another_cluster_makes_us_stand_down() {
        let recorded = view(&[AttemptState::Intended]);
        assert_eq!(
            next(&LaunchView {
                epoch: 2,
                ..recorded.clone()
            }),
            Step::StandDown
        );
        assert_eq!(
            next(&LaunchView {
                cluster: "other".into(),
                ..recorded
            }),
            Step::StandDown
        );
    }

    #[test]
    fn what_only_a_human_can_mend_is_not_tried_again() {
        assert_eq!(after_create(Outcome::Unauthorized), AfterCreate::TellHuman);
        assert_eq!(after_create(Outcome::Rejected), AfterCreate::TellHuman);
        let retry_after = Some(SignedDuration::from_secs(9));
        let after = SignedDuration::from_secs(9);
        assert_eq!(
            after_create(Outcome::Throttled { retry_after }),
            AfterCreate::Retry { after }
        );
    }
}
