//! Which key is due, and when is the next one?
//!
//! A small keyed delay queue: a key waits at most once, at its earliest time; equal times are served by key, so that the
//! order can be replayed.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

#[derive(Debug, Default)]
pub struct Queue {
    waiting: BTreeMap<String, Instant>,
}

impl Queue {
    /// Keeps the earlier of two times.
    pub fn add(&mut self, key: String, at: Instant) {
        let due = self.waiting.entry(key).or_insert(at);
        *due = (*due).min(at);
    }

    /// Takes the first due key that is not in `busy`.
    pub fn take(&mut self, now: Instant, busy: impl Fn(&str) -> bool) -> Option<String> {
        let due = self
            .waiting
            .iter()
            .filter(|(key, at)| **at <= now && !busy(key))
            .min_by_key(|(key, at)| (**at, (*key).clone()))
            .map(|(key, _)| key.clone())?;
        self.waiting.remove(&due);
        Some(due)
    }

    /// When it is worth looking again.
    pub fn next(&self, busy: impl Fn(&str) -> bool) -> Option<Instant> {
        let waiting = self.waiting.iter().filter(|(key, _)| !busy(key));
        waiting.map(|(_, at)| *at).min()
    }
}

/// What to do with a key after its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// When something changes.
    Never,
    Now,
    After(Duration),
    /// After a failure: later each time.
    Backoff,
}

impl Again {
    /// The sooner of two.
    #[must_use]
    pub fn sooner(self, other: Self) -> Self {
        let rank = |again: Self| match again {
            Self::Now => Duration::ZERO,
            Self::Backoff => Duration::from_millis(1),
            Self::After(after) => after.max(Duration::from_millis(2)),
            Self::Never => Duration::MAX,
        };
        if rank(other) < rank(self) {
            other
        } else {
            self
        }
    }
}

/// 100 ms, doubled up to 30 s.
pub fn backoff(failures: u32) -> Duration {
    let doubled = Duration::from_millis(100).saturating_mul(1 << failures.min(10));
    doubled.min(Duration::from_secs(30))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_key_waits_once_at_its_earliest_time_and_not_while_it_is_busy() {
        let mut queue = Queue::default();
        let now = Instant::now();
        queue.add("b".into(), now + Duration::from_secs(9));
        queue.add("b".into(), now);
        queue.add("a".into(), now);
        assert_eq!(queue.take(now, |key| key == "a").as_deref(), Some("b"));
        assert_eq!(queue.take(now, |_| false).as_deref(), Some("a"));
        assert_eq!(queue.take(now, |_| false), None);
        assert_eq!(queue.next(|_| false), None);
    }

    #[test]
    fn failures_are_retried_later_each_time_but_not_for_ever_later() {
        assert_eq!(backoff(0), Duration::from_millis(100));
        assert_eq!(backoff(3), Duration::from_millis(800));
        assert_eq!(backoff(60), Duration::from_secs(30));
    }

    #[test]
    fn of_two_wishes_the_sooner_wins() {
        let after = Again::After(Duration::from_secs(5));
        assert_eq!(Again::Never.sooner(after), after);
        assert_eq!(after.sooner(Again::Now), Again::Now);
    }
}
