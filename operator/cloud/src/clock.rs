//! What time is it, for whoever must not ask the machine?

use jiff::Timestamp;

/// The time of day. Waiting is tokio's business, which the simulation pauses; telling the time is this.
pub trait Clock: Send + Sync {
    fn now(&self) -> Timestamp;
}

impl<F: Fn() -> Timestamp + Send + Sync> Clock for F {
    fn now(&self) -> Timestamp {
        self()
    }
}
