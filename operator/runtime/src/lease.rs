//! Am I the one who may act, and until when?
//!
//! Fail-stop: whoever holds the lease stops at its own deadline (its last successful renewal plus `renew_deadline`),
//! whatever the network says, and strictly before any other candidate may believe that the lease has ended. Two rules
//! carry the proof:
//!
//! 1. The deadline counts from the moment *before* the renewal was sent. Whoever sees that renewal sees it later, and waits
//!    for a full `duration` from then; `renew_deadline < duration`, so we have stopped before they start.
//! 2. [`Leadership::may_act`] looks at the clock on every call. It is right even when the loop that renews is frozen.
//!
//! A lost lease is not sought again: the process ends and a new one, with a new identity, takes part.

mod api;
mod candidate;
#[cfg(test)]
mod fake;
mod hold;
#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;
mod verdict;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

pub use api::{KubeLease, LeaseApi, LeaseTrouble, client};
pub use candidate::{BadTimings, Candidate, NAME, Timings};
pub use verdict::{Verdict, verdict};

use crate::clock::{Clock, Moment};
use crate::dice::Dice;
use hold::Contest;

/// Proof of leadership: the epoch that fences our writes, and the moment from which it proves nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    pub epoch: i32,
    pub until: Moment,
}

/// Why [`Run::run`] came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// We were told to stop and held nothing.
    Stopped,
    /// We were told to stop and gave the lease back; `false` when the API server did not take it in time.
    Released(bool),
    /// We held it and lost it. The process must end: whatever it still believes may be out of date.
    Lost { why: String },
}

/// What the rest of the process sees of the lease. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Leadership {
    held: watch::Receiver<Option<Held>>,
    over: CancellationToken,
    clock: Clock,
}

impl Leadership {
    /// Ask before every act; an answer is good for this very moment only.
    pub fn may_act(&self) -> bool {
        self.held().is_some()
    }

    /// The proof, if it still proves something now.
    pub fn held(&self) -> Option<Held> {
        let now = self.clock.moment();
        (*self.held.borrow()).filter(|held| now < held.until)
    }

    /// Waits until the lease is ours; `None` when the contest ended without that.
    pub async fn acquired(&mut self) -> Option<Held> {
        loop {
            if let Some(held) = self.held() {
                return Some(held);
            }
            let over = self.over.clone();
            tokio::select! {
                biased;
                () = over.cancelled() => return None,
                changed = self.held.changed() => changed.ok()?,
            }
        }
    }

    /// Cancelled for good when we stop being the leader, or will never become it. Hang the workers on it.
    pub fn over(&self) -> CancellationToken {
        self.over.clone()
    }
}

/// The side that renews; it must be driven for as long as the process wants to lead.
pub struct Run<A> {
    contest: Contest<A>,
    stop: CancellationToken,
}

/// Begins a contest for the lease. Nothing happens until [`Run::run`] is polled.
///
/// `stop` gives the lease back, so cancel it only after every worker has ended: from then on another process may act.
pub fn contest<A: LeaseApi>(
    api: A,
    me: Candidate,
    clock: Clock,
    dice: Dice,
    stop: CancellationToken,
) -> (Leadership, Run<A>) {
    let (publish, held) = watch::channel(None);
    let over = CancellationToken::new();
    let leadership = Leadership {
        held,
        over: over.clone(),
        clock: clock.clone(),
    };
    let contest = Contest {
        api,
        me,
        clock,
        dice,
        publish,
        over,
    };
    (leadership, Run { contest, stop })
}

impl<A: LeaseApi> Run<A> {
    /// Waits for the lease, keeps it, and comes back when it is over. When it comes back `may_act` is already false.
    pub async fn run(self) -> Ended {
        self.contest.run(self.stop).await
    }
}
