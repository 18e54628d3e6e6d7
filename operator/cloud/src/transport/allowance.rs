//! May this call leave now, or would it be one too many?
//!
//! A token bucket on tokio's clock. Its rate grows a little with every good answer and is halved when the cloud says 429, so
//! that it settles where the cloud wants it.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// How many calls may leave.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Calls per second when all is well.
    pub most: f64,
    /// Calls per second however often the cloud says 429.
    pub least: f64,
    /// Calls that may leave at once after a quiet time.
    pub burst: f64,
}

pub struct Allowance {
    pace: Pace,
    state: Mutex<State>,
}

struct State {
    rate: f64,
    /// Below zero when calls are waiting.
    tokens: f64,
    counted_at: Instant,
    shrunk_at: Option<Instant>,
    closed_until: Option<Instant>,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            most: 20.0,
            least: 0.2,
            burst: 40.0,
        }
    }
}

impl Allowance {
    pub fn new(pace: Pace) -> Self {
        let state = State {
            rate: pace.most,
            tokens: pace.burst,
            counted_at: Instant::now(),
            shrunk_at: None,
            closed_until: None,
        };
        Self {
            pace,
            state: Mutex::new(state),
        }
    }

    /// Waits for a turn; turns are given in the order of asking.
    pub async fn take(&self) {
        let wait = self.reserve(Instant::now());
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
    }

    /// A good answer: a little faster from now on.
    pub fn grow(&self) {
        self.with_state(|state| {
            state.rate = (state.rate + self.pace.most / 50.0).min(self.pace.most);
        });
    }

    /// The cloud said 429: half as fast from now on, and silent for as long as it asked.
    pub fn shrink(&self, silence: Option<Duration>) {
        let now = Instant::now();
        self.with_state(|state| {
            // Calls that were under way together are refused together; that is one message, not many.
            let heard = state
                .shrunk_at
                .is_some_and(|at| now.duration_since(at) < Duration::from_secs(1));
            if !heard {
                state.rate = (state.rate / 2.0).max(self.pace.least);
                state.tokens = state.tokens.min(0.0);
                state.shrunk_at = Some(now);
            }
            let until = silence.map(|silence| now + silence);
            state.closed_until = state.closed_until.max(until);
        });
    }

    /// Calls per second at this moment.
    pub fn rate(&self) -> f64 {
        self.with_state(|state| state.rate)
    }

    fn reserve(&self, now: Instant) -> Duration {
        self.with_state(|state| {
            let passed = now.duration_since(state.counted_at).as_secs_f64();
            state.counted_at = now;
            state.tokens = (state.tokens + passed * state.rate).min(self.pace.burst) - 1.0;
            let queue = Duration::from_secs_f64((-state.tokens / state.rate).max(0.0));
            let closed = state
                .closed_until
                .map_or(Duration::ZERO, |until| until.saturating_duration_since(now));
            queue.max(closed)
        })
    }

    fn with_state<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace() -> Pace {
        Pace {
            most: 10.0,
            least: 1.0,
            burst: 2.0,
        }
    }

    async fn seconds_for(allowance: &Allowance, calls: u32) -> f64 {
        let begin = Instant::now();
        for _ in 0..calls {
            allowance.take().await;
        }
        begin.elapsed().as_secs_f64()
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_leaves_at_once_and_the_rest_at_the_rate() {
        let allowance = Allowance::new(pace());
        assert!(seconds_for(&allowance, 2).await < 0.01);
        let rest = seconds_for(&allowance, 20).await;
        assert!((1.9..2.2).contains(&rest), "{rest}");
    }

    #[tokio::test(start_paused = true)]
    async fn the_allowance_shrinks_on_429_and_grows_back() {
        let allowance = Allowance::new(pace());
        allowance.shrink(None);
        assert!((allowance.rate() - 5.0).abs() < 1e-9);
        allowance.shrink(None);
        assert!(
            (allowance.rate() - 5.0).abs() < 1e-9,
            "one message, not two"
        );
        for _ in 0..60 {
            tokio::time::advance(Duration::from_secs(2)).await;
            allowance.shrink(None);
        }
        assert!(
            (allowance.rate() - 1.0).abs() < 1e-9,
            "never below the least"
        );
        for _ in 0..100 {
            allowance.grow();
        }
        assert!(
            (allowance.rate() - 10.0).abs() < 1e-9,
            "never above the most"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_leaves_while_the_cloud_asked_for_silence() {
        let allowance = Allowance::new(pace());
        allowance.shrink(Some(Duration::from_secs(30)));
        assert!(seconds_for(&allowance, 1).await >= 30.0);
    }
}
