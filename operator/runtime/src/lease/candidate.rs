//! Who takes part in the contest for the lease, and how patient is it?

use std::time::Duration;

use thiserror::Error;

use crate::dice::Dice;

/// Upstream's name, so that a prototype and Joiner in one namespace never run at once.
pub const NAME: &str = "karpenter-leader-election";

/// One taker of part. The identity must be new for every start of the process: a lease that names it is taken as its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    pub identity: String,
    pub timings: Timings,
}

impl Candidate {
    /// `<hostname>_<uuid>`, as upstream writes it and its tools read it.
    pub fn of_this_process(dice: &mut Dice) -> Self {
        Self::named(&format!("{}_{}", hostname(), dice.uuid()))
    }

    pub fn named(identity: &str) -> Self {
        Candidate {
            identity: identity.to_owned(),
            timings: Timings::default(),
        }
    }

    #[must_use]
    pub fn with_timings(mut self, timings: Timings) -> Self {
        self.timings = timings;
        self
    }
}

/// Always `duration > renew_deadline > 1.2 × retry_period`, which is what makes fail-stop safe and renewal possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timings {
    duration: Duration,
    renew_deadline: Duration,
    retry_period: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "lease timings {duration:?} / {renew_deadline:?} / {retry_period:?} (duration / renew deadline / retry period): {problem}"
)]
pub struct BadTimings {
    duration: Duration,
    renew_deadline: Duration,
    retry_period: Duration,
    problem: &'static str,
}

impl Default for Timings {
    fn default() -> Self {
        Timings {
            duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
        }
    }
}

impl Timings {
    pub fn new(
        duration: Duration,
        renew_deadline: Duration,
        retry_period: Duration,
    ) -> Result<Self, BadTimings> {
        let problem = if duration.subsec_nanos() != 0 || i32::try_from(duration.as_secs()).is_err()
        {
            Some("the duration must be whole seconds, because the Lease object holds nothing finer")
        } else if renew_deadline >= duration {
            Some(
                "the renew deadline must be shorter than the duration, or two leaders could act at once",
            )
        } else if retry_period.mul_f64(JITTER) >= renew_deadline {
            Some(
                "the renew deadline must be longer than 1.2 times the retry period, or one late renewal ends the leadership",
            )
        } else if retry_period.is_zero() {
            Some("the retry period must not be zero")
        } else {
            None
        };
        match problem {
            Some(problem) => Err(BadTimings {
                duration,
                renew_deadline,
                retry_period,
                problem,
            }),
            None => Ok(Timings {
                duration,
                renew_deadline,
                retry_period,
            }),
        }
    }

    /// Timings that break the rule, to show that the simulation notices.
    #[cfg(test)]
    pub(super) fn unsafe_for_tests(
        duration: Duration,
        renew_deadline: Duration,
        retry_period: Duration,
    ) -> Self {
        Timings {
            duration,
            renew_deadline,
            retry_period,
        }
    }

    /// How long others wait after they saw our last sign of life.
    pub fn duration(&self) -> Duration {
        self.duration
    }

    pub fn duration_seconds(&self) -> i32 {
        i32::try_from(self.duration.as_secs()).unwrap_or(i32::MAX)
    }

    /// How long we act after we sent our last successful sign of life.
    pub fn renew_deadline(&self) -> Duration {
        self.renew_deadline
    }

    pub fn retry_period(&self) -> Duration {
        self.retry_period
    }

    /// One call may use half of the deadline, so that a second one fits.
    pub fn call_timeout(&self) -> Duration {
        self.renew_deadline / 2
    }

    /// Pause between two looks of a candidate that waits; spread so that two do not march in step.
    pub fn pause(&self, dice: &mut Dice) -> Duration {
        self.retry_period
            .mul_f64(1.0 + (JITTER - 1.0) * dice.fraction())
    }
}

const JITTER: f64 = 1.2;

fn hostname() -> String {
    let from_kernel = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let from_env = || std::env::var("HOSTNAME").ok();
    let name = from_kernel.or_else(from_env).unwrap_or_default();
    match name.trim() {
        "" => "unknown-host".to_owned(),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timings(
        duration: u64,
        renew_deadline: u64,
        retry_period: u64,
    ) -> Result<Timings, BadTimings> {
        let seconds = Duration::from_secs;
        Timings::new(
            seconds(duration),
            seconds(renew_deadline),
            seconds(retry_period),
        )
    }

    #[test]
    fn the_defaults_are_upstreams_and_obey_the_rule() {
        assert_eq!(timings(15, 10, 2), Ok(Timings::default()));
    }

    #[test]
    fn timings_that_let_two_leaders_act_are_refused_with_the_reason() {
        let said = |bad: Result<Timings, BadTimings>| bad.unwrap_err().to_string();
        assert!(said(timings(10, 10, 2)).contains("two leaders could act at once"));
        assert!(said(timings(15, 2, 2)).contains("1.2 times the retry period"));
        assert!(said(timings(15, 10, 0)).contains("must not be zero"));
        assert!(
            said(Timings::new(
                Duration::from_millis(1500),
                Duration::from_secs(1),
                Duration::from_millis(100)
            ))
            .contains("whole seconds")
        );
    }

    #[test]
    fn the_identity_of_a_process_is_its_host_and_a_fresh_uuid() {
        let mut dice = Dice::seeded(1);
        let (first, second) = (
            Candidate::of_this_process(&mut dice),
            Candidate::of_this_process(&mut dice),
        );
        assert_ne!(first, second);
        let (host, uuid) = first.identity.rsplit_once('_').unwrap();
        assert!(!host.is_empty());
        assert_eq!(uuid.len(), 36);
    }
}
