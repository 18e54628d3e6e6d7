//! How many nodes of a pool may be disrupted at this moment, for this reason?
//!
//! The strictest active budget counts. A budget that cannot be read stops all disruption of its pool.

use crate::cron::{BadCron, Cron, window_open};
use jiff::{SignedDuration, Timestamp};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    Underutilized,
    Empty,
    Drifted,
}

/// One budget of a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DisruptionBudget {
    pub nodes: Share,
    /// `None`: every reason. An empty list applies to no reason, as upstream.
    pub reasons: Option<Vec<Reason>>,
    /// `None`: always.
    pub window: Option<(Cron, SignedDuration)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    Nodes(u32),
    Percent(u32),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadBudget {
    #[error("nodes {0:?} is neither a number nor a percentage from 0% to 100%")]
    Nodes(String),
    #[error(transparent)]
    Schedule(#[from] BadCron),
    #[error("a budget needs both schedule and duration, or neither")]
    HalfAWindow,
}

/// The nodes of one pool, as budgets count them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolCount {
    /// Initialized, ours, and not terminating.
    pub nodes: u32,
    /// Those of them that are not ready or marked for deletion.
    pub disrupting: u32,
}

/// What budgets leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// By the budgets alone; `None`: no budget is active.
    pub allowed: Option<u32>,
    /// After those that are disrupting already.
    pub left: u32,
}

/// How many nodes of the pool may be disrupted for this reason. `budgets` as read: one that is bad closes the pool.
pub fn room(
    budgets: &[Result<DisruptionBudget, BadBudget>],
    reason: Reason,
    count: PoolCount,
    now: Timestamp,
) -> Room {
    let mut allowed: Option<u32> = None;
    for budget in budgets {
        let Ok(budget) = budget else {
            return Room {
                allowed: Some(0),
                left: 0,
            };
        };
        if budget.applies(reason, now) {
            let share = budget.nodes.of(count.nodes);
            allowed = Some(allowed.map_or(share, |allowed| allowed.min(share)));
        }
    }
    Room {
        allowed,
        left: allowed.unwrap_or(u32::MAX).saturating_sub(count.disrupting),
    }
}

impl DisruptionBudget {
    /// Reads a budget as a NodePool writes it.
    pub fn read(
        nodes: &str,
        reasons: Option<Vec<Reason>>,
        schedule: Option<&str>,
        duration: Option<SignedDuration>,
    ) -> Result<Self, BadBudget> {
        let window = match (schedule, duration) {
            (None, None) => None,
            (Some(schedule), Some(duration)) => Some((schedule.parse()?, duration)),
            (Some(_), None) | (None, Some(_)) => return Err(BadBudget::HalfAWindow),
        };
        Ok(Self {
            nodes: Share::read(nodes)?,
            reasons,
            window,
        })
    }

    fn applies(&self, reason: Reason, now: Timestamp) -> bool {
        let concerned = self
            .reasons
            .as_ref()
            .is_none_or(|reasons| reasons.contains(&reason));
        concerned
            && self
                .window
                .as_ref()
                .is_none_or(|(schedule, length)| window_open(schedule, *length, now))
    }
}

impl Share {
    fn read(text: &str) -> Result<Self, BadBudget> {
        let bad = || BadBudget::Nodes(text.to_owned());
        let (digits, percent) = text
            .strip_suffix('%')
            .map_or((text, false), |digits| (digits, true));
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(bad());
        }
        let number: u32 = digits.parse().map_err(|_| bad())?;
        match percent {
            true if number > 100 => Err(bad()),
            true => Ok(Self::Percent(number)),
            false => Ok(Self::Nodes(number)),
        }
    }

    /// Percentages round up.
    fn of(self, nodes: u32) -> u32 {
        match self {
            Self::Nodes(number) => number,
            Self::Percent(percent) => {
                u32::try_from((u64::from(percent) * u64::from(nodes)).div_ceil(100))
                    .unwrap_or(u32::MAX)
            }
        }
    }
}

impl Reason {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Underutilized => "Underutilized",
            Self::Empty => "Empty",
            Self::Drifted => "Drifted",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    type Read = Result<DisruptionBudget, BadBudget>;

    fn always(nodes: &str) -> Read {
        DisruptionBudget::read(nodes, None, None, None)
    }

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn left(budgets: &[Read], nodes: u32, disrupting: u32, now: &str) -> u32 {
        room(
            budgets,
            Reason::Empty,
            PoolCount { nodes, disrupting },
            at(now),
        )
        .left
    }

    const NOON: &str = "2026-01-01T12:00:00Z";

    #[rstest]
    #[case("10%", 1, 0, 1)]
    #[case("10%", 11, 0, 2)]
    #[case("10%", 11, 1, 1)]
    #[case("0%", 11, 0, 0)]
    #[case("100%", 11, 0, 11)]
    #[case("3", 11, 0, 3)]
    #[case("3", 11, 5, 0)]
    fn percentages_round_up_and_what_is_disrupting_counts(
        #[case] nodes: &str,
        #[case] count: u32,
        #[case] disrupting: u32,
        #[case] expected: u32,
    ) {
        assert_eq!(left(&[always(nodes)], count, disrupting, NOON), expected);
    }

    #[test]
    fn the_strictest_budget_counts_and_no_budget_is_no_limit() {
        assert_eq!(
            left(&[always("5"), always("2"), always("50%")], 20, 0, NOON),
            2
        );
        assert_eq!(left(&[], 20, 0, NOON), u32::MAX);
    }

    #[test]
    fn a_window_limits_only_while_it_is_open() {
        let nights = DisruptionBudget::read(
            "0",
            None,
            Some("0 9 * * *"),
            Some(SignedDuration::from_hours(8)),
        );
        assert_eq!(left(&[always("5"), nights.clone()], 20, 0, NOON), 0);
        assert_eq!(
            left(&[always("5"), nights], 20, 0, "2026-01-01T18:00:00Z"),
            5
        );
    }

    #[test]
    fn a_budget_for_other_reasons_does_not_limit_this_one() {
        let drift = DisruptionBudget::read("0", Some(vec![Reason::Drifted]), None, None);
        assert_eq!(left(&[drift, always("4")], 20, 0, NOON), 4);
        let none = DisruptionBudget::read("0", Some(vec![]), None, None);
        assert_eq!(left(&[none], 20, 0, NOON), u32::MAX);
    }

    #[test]
    fn a_budget_that_cannot_be_read_closes_the_pool() {
        for bad in ["10", "x"] {
            let broken = DisruptionBudget::read(
                bad,
                None,
                Some("every day"),
                Some(SignedDuration::from_hours(1)),
            );
            assert!(broken.is_err());
            assert_eq!(left(&[always("5"), broken], 20, 0, NOON), 0);
        }
        assert!(always("101%").is_err() && always("").is_err() && always("-1").is_err());
        assert_eq!(
            DisruptionBudget::read("1", None, Some("@daily"), None).unwrap_err(),
            BadBudget::HalfAWindow
        );
    }
}
