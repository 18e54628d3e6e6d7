//! When does the window close in which pods are gathered for one plan?
//!
//! A lone burst waits 100 ms. Arrival that goes on is waited for as long as it has gone on, up to the idle time, so that a ramp is
//! planned at once. An idle time that a user set is obeyed as it is. The maximum always wins.

use jiff::{SignedDuration, Timestamp};

/// Silence after which a lone burst is taken to be over.
pub const LONE_BURST: SignedDuration = SignedDuration::from_millis(100);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchSettings {
    pub idle: Idle,
    pub max: SignedDuration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Idle {
    /// Nobody set it: starts at 100 ms and grows with arrival up to this.
    UpTo(SignedDuration),
    /// Set by a user.
    Exactly(SignedDuration),
}

/// Arrivals since the window opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrivals {
    pub first: Timestamp,
    pub last: Timestamp,
}

/// When the window closes if nobody else arrives.
pub fn closes_at(arrivals: Arrivals, settings: BatchSettings) -> Timestamp {
    let Arrivals { first, last } = arrivals;
    let silence = match settings.idle {
        Idle::Exactly(idle) => idle,
        Idle::UpTo(idle) => last
            .duration_since(first)
            .max(LONE_BURST)
            .min(idle.max(LONE_BURST)),
    };
    let plus = |time: Timestamp, length| time.checked_add(length).unwrap_or(Timestamp::MAX);
    plus(last, silence).min(plus(first, settings.max))
}

impl Default for BatchSettings {
    fn default() -> Self {
        Self {
            idle: Idle::UpTo(SignedDuration::from_secs(1)),
            max: SignedDuration::from_secs(10),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn close_ms(last: i64, idle: Idle) -> i64 {
        let at = |ms| Timestamp::from_millisecond(ms).unwrap();
        let settings = BatchSettings {
            idle,
            max: SignedDuration::from_secs(10),
        };
        closes_at(
            Arrivals {
                first: at(0),
                last: at(last),
            },
            settings,
        )
        .as_millisecond()
    }

    #[rstest]
    #[case(0, 100)]
    #[case(60, 160)]
    #[case(400, 800)]
    #[case(3000, 4000)]
    #[case(9800, 10_000)]
    fn the_batch_window_closes_100_ms_after_a_lone_burst_and_grows_with_continued_arrival(
        #[case] last: i64,
        #[case] closes: i64,
    ) {
        assert_eq!(
            close_ms(last, Idle::UpTo(SignedDuration::from_secs(1))),
            closes
        );
    }

    #[rstest]
    #[case(0, 1000)]
    #[case(400, 1400)]
    #[case(9800, 10_000)]
    fn an_explicitly_set_idle_time_is_obeyed_as_it_is(#[case] last: i64, #[case] closes: i64) {
        assert_eq!(
            close_ms(last, Idle::Exactly(SignedDuration::from_secs(1))),
            closes
        );
    }
}
