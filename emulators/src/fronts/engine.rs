//! What do all fronts share: one machine, one clock, waiting and waking?

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use jiff::Timestamp;
use tokio::sync::Notify;
use tokio::sync::futures::Notified;
use tokio::time::Instant;

use crate::machine::{Effect, Machine, Released, Reply, Ticket};

/// Where a front takes the time from.
#[derive(Debug, Clone, Copy)]
pub enum Clock {
    Wall,
    /// `start` plus tokio's elapsed time: obeys a paused runtime.
    Tokio {
        start: Timestamp,
        zero: Instant,
    },
}

/// How a call ended for the caller.
#[derive(Debug)]
pub enum Ending {
    Answer(Response<Bytes>),
    Refused,
    Reset,
    Truncated {
        response: Response<Bytes>,
        keep: usize,
    },
}

/// Who boots and halts machines.
pub type Hand = Box<dyn Fn(Effect) + Send + Sync>;

pub struct Engine<M> {
    machine: Mutex<M>,
    clock: Clock,
    stirred: Notify,
    released: Notify,
    changed: Notify,
    /// The version watchers were last told of.
    version: AtomicU64,
    hand: Hand,
}

impl Clock {
    /// A clock that starts at `start` now. Must be called inside a runtime.
    pub fn tokio(start: Timestamp) -> Self {
        Self::Tokio {
            start,
            zero: Instant::now(),
        }
    }

    pub fn now(&self) -> Timestamp {
        match self {
            Self::Wall => Timestamp::now(),
            Self::Tokio { start, zero } => start.checked_add(zero.elapsed()).unwrap_or(*start),
        }
    }
}

impl<M: Machine> Engine<M> {
    pub fn new(machine: M, clock: Clock, hand: Hand) -> Arc<Self> {
        Arc::new(Self {
            machine: Mutex::new(machine),
            clock,
            stirred: Notify::new(),
            released: Notify::new(),
            changed: Notify::new(),
            version: AtomicU64::new(0),
            hand,
        })
    }

    /// Look at the machine, or change it, between two calls.
    pub fn with<T>(&self, look: impl FnOnce(&mut M) -> T) -> T {
        let answer = look(&mut self.lock());
        self.stirred.notify_one();
        self.tell_watchers();
        answer
    }

    /// Look at the machine without stirring anybody.
    pub fn peek<T>(&self, look: impl FnOnce(&M) -> T) -> T {
        look(&self.lock())
    }

    /// Ends when the machine's version has changed. Enable it before looking, so that no change falls between.
    pub fn changed(&self) -> Notified<'_> {
        self.changed.notified()
    }

    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The machine's word, without waiting for anything.
    pub fn begin(&self, request: &Request<Bytes>) -> Reply {
        let (reply, effects) = self.lock().handle(request, self.clock.now());
        self.act(effects);
        reply
    }

    /// The whole call, delays and holds included. Dropping the future is hanging up.
    pub async fn call(&self, request: &Request<Bytes>) -> Ending {
        let mut reply = self.begin(request);
        loop {
            match reply {
                Reply::Held { ticket } => reply = self.wait_for(ticket).await,
                Reply::Silence => return std::future::pending().await,
                Reply::Answer { response, delay } => {
                    pause(delay).await;
                    return Ending::Answer(response);
                }
                Reply::Refuse { delay } => {
                    pause(delay).await;
                    return Ending::Refused;
                }
                Reply::Reset { delay } => {
                    pause(delay).await;
                    return Ending::Reset;
                }
                Reply::Truncate {
                    response,
                    keep,
                    delay,
                } => {
                    pause(delay).await;
                    return Ending::Truncated { response, keep };
                }
            }
        }
    }

    /// Lets held calls go on and says how many.
    pub fn release(&self, fault: Option<&str>) -> usize {
        let Released { count, orphans } = self.lock().release(fault);
        for ticket in orphans {
            let resumed = self.lock().resume(ticket, self.clock.now());
            if let Some((_, effects)) = resumed {
                self.act(effects);
            }
        }
        self.released.notify_waiters();
        count
    }

    /// Runs for ever: what is due happens when it is due, even if nobody calls.
    pub async fn keep_time(self: Arc<Self>) {
        loop {
            let due = self.lock().next_due();
            let wait = due.map(|due| due.duration_since(self.clock.now()));
            let wait = wait.map(|wait| Duration::try_from(wait).unwrap_or_default());
            tokio::select! {
                biased;
                () = self.stirred.notified() => {}
                () = pause(wait.unwrap_or_default()), if wait.is_some() => {
                    let effects = self.lock().pass(self.clock.now());
                    self.act(effects);
                }
            }
        }
    }

    pub fn print(&self, machine: &str, text: &str) {
        self.lock().print(machine, text);
    }

    async fn wait_for(&self, ticket: Ticket) -> Reply {
        let mut hold = Hold {
            engine: self,
            ticket: Some(ticket),
        };
        loop {
            let mut released = std::pin::pin!(self.released.notified());
            // registered before the look, so that no release falls between
            released.as_mut().enable();
            let resumed = self.lock().resume(ticket, self.clock.now());
            if let Some((reply, effects)) = resumed {
                hold.ticket = None;
                self.act(effects);
                return reply;
            }
            released.await;
        }
    }

    fn act(&self, effects: Vec<Effect>) {
        for effect in effects {
            (self.hand)(effect);
        }
        self.stirred.notify_one();
        self.tell_watchers();
    }

    fn tell_watchers(&self) {
        let version = self.lock().version();
        if self.version.swap(version, Ordering::SeqCst) != version {
            self.changed.notify_waiters();
        }
    }

    fn lock(&self) -> MutexGuard<'_, M> {
        self.machine.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells the machine when the caller of a held request hangs up.
struct Hold<'a, M: Machine> {
    engine: &'a Engine<M>,
    ticket: Option<Ticket>,
}

impl<M: Machine> Drop for Hold<'_, M> {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            self.engine.lock().abandon(ticket);
        }
    }
}

async fn pause(delay: Duration) {
    if !delay.is_zero() {
        tokio::time::sleep(delay).await;
    }
}
