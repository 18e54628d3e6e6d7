//! Has a node been quiet for long enough that it may be emptied or removed?

use jiff::{SignedDuration, Timestamp};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quiet {
    /// `None`: not initialized.
    pub initialized_at: Option<Timestamp>,
    pub last_pod_event: Option<Timestamp>,
    /// `None`: `Never`.
    pub consolidate_after: Option<SignedDuration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consolidatable {
    Yes,
    At(Timestamp),
    NotInitialized,
    Never,
}

pub fn decide(quiet: Quiet, now: Timestamp) -> Consolidatable {
    let Some(after) = quiet.consolidate_after else {
        return Consolidatable::Never;
    };
    let Some(initialized_at) = quiet.initialized_at else {
        return Consolidatable::NotInitialized;
    };
    let since = quiet.last_pod_event.unwrap_or(initialized_at);
    let at = since.checked_add(after).unwrap_or(Timestamp::MAX);
    if after.is_zero() || now >= at {
        Consolidatable::Yes
    } else {
        Consolidatable::At(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case(Some(0), None, Some(30), 29, Consolidatable::At(Timestamp::from_second(30).unwrap()))]
    #[case(Some(0), None, Some(30), 30, Consolidatable::Yes)]
    #[case(Some(0), Some(20), Some(30), 30, Consolidatable::At(Timestamp::from_second(50).unwrap()))]
    #[case(Some(0), Some(20), Some(0), 20, Consolidatable::Yes)]
    #[case(None, Some(20), Some(0), 20, Consolidatable::NotInitialized)]
    #[case(Some(0), None, None, 99, Consolidatable::Never)]
    fn a_node_is_consolidatable_once_it_was_quiet_for_consolidate_after(
        #[case] initialized: Option<i64>,
        #[case] event: Option<i64>,
        #[case] after: Option<i64>,
        #[case] now: i64,
        #[case] expected: Consolidatable,
    ) {
        let at = |second| Timestamp::from_second(second).unwrap();
        let quiet = Quiet {
            initialized_at: initialized.map(at),
            last_pod_event: event.map(at),
            consolidate_after: after.map(SignedDuration::from_secs),
        };
        assert_eq!(decide(quiet, at(now)), expected);
    }
}
