//! Has this claim's machine been silent for too long to still become a node?

use jiff::{SignedDuration, Timestamp};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// No instance yet, since the claim was created.
    Intended {
        since: Timestamp,
    },
    /// An instance, but no node.
    Launched {
        since: Timestamp,
    },
    Registered,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    pub launch_within: SignedDuration,
    pub register_within: SignedDuration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    Fine,
    Wait {
        until: Timestamp,
    },
    /// Delete the claim; its instance goes with it.
    GiveUp {
        stage: Stage,
        silent_for: SignedDuration,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Launch,
    Registration,
}

pub fn decide(phase: Phase, patience: Patience, now: Timestamp) -> Liveness {
    let (stage, since, within) = match phase {
        Phase::Registered => return Liveness::Fine,
        Phase::Intended { since } => (Stage::Launch, since, patience.launch_within),
        Phase::Launched { since } => (Stage::Registration, since, patience.register_within),
    };
    let deadline = since.checked_add(within).unwrap_or(Timestamp::MAX);
    if now < deadline {
        Liveness::Wait { until: deadline }
    } else {
        Liveness::GiveUp {
            stage,
            silent_for: now.duration_since(since),
        }
    }
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            launch_within: SignedDuration::from_mins(5),
            register_within: SignedDuration::from_mins(15),
        }
    }
}

impl Stage {
    /// The reason label of the metric that counts given-up claims.
    pub fn code(self) -> &'static str {
        match self {
            Self::Launch => "launch_timeout",
            Self::Registration => "registration_timeout",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[rstest]
    #[case(Phase::Intended { since: at(0) }, 299, Liveness::Wait { until: at(300) })]
    #[case(Phase::Intended { since: at(0) }, 300, Liveness::GiveUp { stage: Stage::Launch, silent_for: SignedDuration::from_secs(300) })]
    #[case(Phase::Launched { since: at(100) }, 999, Liveness::Wait { until: at(1000) })]
    #[case(Phase::Launched { since: at(100) }, 1000, Liveness::GiveUp { stage: Stage::Registration, silent_for: SignedDuration::from_secs(900) })]
    #[case(Phase::Registered, 1_000_000, Liveness::Fine)]
    fn a_silent_machine_is_given_up_at_its_deadline_and_not_before(
        #[case] phase: Phase,
        #[case] now: i64,
        #[case] expected: Liveness,
    ) {
        assert_eq!(decide(phase, Patience::default(), at(now)), expected);
    }
}
