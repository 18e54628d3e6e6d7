//! What time is it, for people and for deadlines?
//!
//! Two questions with two answers: `now` is the calendar (it may jump, it may be wrong), `moment` only ever grows and is
//! what deadlines are made of. The simulation hands out a virtual clock, so no other file asks the system for the time.

use std::ops::{Add, Sub};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};

/// A point on this process's own monotonic time line; meaningless in any other process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Moment(Duration);

impl Moment {
    pub const ZERO: Moment = Moment(Duration::ZERO);

    /// How long from `earlier` to here; zero when `earlier` is in fact later.
    pub fn since(self, earlier: Moment) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

impl Add<Duration> for Moment {
    type Output = Moment;
    fn add(self, more: Duration) -> Moment {
        Moment(self.0.saturating_add(more))
    }
}

impl Sub<Duration> for Moment {
    type Output = Moment;
    fn sub(self, less: Duration) -> Moment {
        Moment(self.0.saturating_sub(less))
    }
}

/// The time as a value that is handed in, never fetched.
#[derive(Debug, Clone)]
pub enum Clock {
    Real {
        origin: Instant,
    },
    /// Starts at `start` and moves as tokio's time moves: stands still in a paused runtime until it is advanced.
    Virtual {
        start: Timestamp,
        origin: tokio::time::Instant,
    },
}

impl Clock {
    pub fn real() -> Self {
        Clock::Real {
            origin: Instant::now(),
        }
    }

    /// Must be called inside a tokio runtime; two clocks with different `start` are two machines that disagree.
    pub fn starting_at(start: Timestamp) -> Self {
        Clock::Virtual {
            start,
            origin: tokio::time::Instant::now(),
        }
    }

    pub fn now(&self) -> Timestamp {
        match self {
            Clock::Real { .. } => Timestamp::now(),
            Clock::Virtual { start, origin } => {
                let passed =
                    SignedDuration::try_from(origin.elapsed()).unwrap_or(SignedDuration::MAX);
                start.saturating_add(passed).unwrap_or(Timestamp::MAX)
            }
        }
    }

    pub fn moment(&self) -> Moment {
        match self {
            Clock::Real { origin } => Moment(origin.elapsed()),
            Clock::Virtual { origin, .. } => Moment(origin.elapsed()),
        }
    }

    /// Sleeps until `then`; returns at once when it has passed.
    pub async fn sleep_until(&self, then: Moment) {
        tokio::time::sleep(then.since(self.moment())).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn virtual_time_moves_only_when_tokio_time_moves() {
        let clock = Clock::starting_at("2026-11-18T00:00:00Z".parse().unwrap());
        let before = clock.moment();
        assert_eq!(clock.now().to_string(), "2026-11-18T00:00:00Z");
        tokio::time::advance(Duration::from_secs(90)).await;
        assert_eq!(clock.now().to_string(), "2026-11-18T00:01:30Z");
        assert_eq!(clock.moment().since(before), Duration::from_secs(90));
    }

    #[tokio::test(start_paused = true)]
    async fn sleeping_until_a_past_moment_returns_at_once() {
        let clock = Clock::starting_at(Timestamp::UNIX_EPOCH);
        tokio::time::advance(Duration::from_secs(5)).await;
        clock.sleep_until(Moment::ZERO).await;
        assert_eq!(clock.moment(), Moment::ZERO + Duration::from_secs(5));
    }

    #[test]
    fn a_moment_never_goes_below_zero() {
        assert_eq!(Moment::ZERO - Duration::from_secs(1), Moment::ZERO);
        assert_eq!(
            Moment::ZERO.since(Moment::ZERO + Duration::from_secs(1)),
            Duration::ZERO
        );
    }
}
