//! What is an emulated cloud to a front: requests and time in, replies and effects out?

use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use crate::faults::Script;
use crate::journal::Journal;

/// The number of a held request.
pub type Ticket = u64;

/// What a release set going.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Released {
    pub count: usize,
    /// Late ones whose caller is gone: the front must resume them itself.
    pub orphans: Vec<Ticket>,
}

/// What the caller gets to see, after `delay`.
#[derive(Debug, Clone)]
pub enum Reply {
    Answer {
        response: Response<Bytes>,
        delay: Duration,
    },
    /// Nobody listens. A front on sockets that has accepted already cuts the connection.
    Refuse { delay: Duration },
    /// The connection breaks without an answer.
    Reset { delay: Duration },
    /// The head and the first `keep` bytes of the body arrive, then the connection breaks.
    Truncate {
        response: Response<Bytes>,
        keep: usize,
        delay: Duration,
    },
    /// Nothing ever comes back.
    Silence,
    /// Wait until somebody releases it, then ask [`Machine::resume`].
    Held { ticket: Ticket },
}

impl Reply {
    pub fn now(response: Response<Bytes>) -> Self {
        Self::Answer {
            response,
            delay: Duration::ZERO,
        }
    }
}

/// What the world around the API must do.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum Effect {
    Boot(Boot),
    Halt { machine: String },
}

/// A machine that starts, with all it could know about itself.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Boot {
    pub machine: String,
    pub hostname: String,
    pub zone: String,
    pub region: String,
    /// As it was given to the API: base64 text, or what claims to be.
    pub user_data: Option<String>,
    pub size: Size,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Size {
    pub cpus: u32,
    pub memory_mib: u64,
    pub disk_gib: u64,
    pub gpus: u32,
}

/// A cloud as a value. It has no clock, no sockets and no randomness of its own.
pub trait Machine: Send + 'static {
    /// One request. Everything that became due before `now` happens first.
    fn handle(&mut self, request: &Request<Bytes>, now: Timestamp) -> (Reply, Vec<Effect>);

    /// Let time pass without a request.
    fn pass(&mut self, now: Timestamp) -> Vec<Effect>;

    /// When does the next thing happen by itself?
    fn next_due(&self) -> Option<Timestamp>;

    /// Grows when a watcher has something new to see.
    fn version(&self) -> u64 {
        0
    }

    /// Go on with a held request. `None` while it is still held.
    fn resume(&mut self, ticket: Ticket, now: Timestamp) -> Option<(Reply, Vec<Effect>)>;

    /// The caller of a held request is gone: before its effect it never happens, after it nobody hears of it.
    fn abandon(&mut self, ticket: Ticket);

    /// Held requests, with the id of the fault that holds them.
    fn held(&self) -> Vec<(Ticket, String)>;

    /// Let held requests go on: those of one fault, or all.
    fn release(&mut self, fault: Option<&str>) -> Released;

    /// Add to what the screen of this machine shows.
    fn print(&mut self, machine: &str, text: &str);

    /// Everything it knows, for tests and people. Secrets included: it is an emulator.
    fn state(&self) -> Value;

    fn settings(&self) -> Value;

    /// Change some settings; the error names the member that is wrong.
    fn change_settings(&mut self, change: Value) -> Result<(), String>;

    fn script(&self) -> &Script;

    fn script_mut(&mut self) -> &mut Script;

    fn journal(&self) -> &Journal;

    /// The names of `fate` faults this cloud understands.
    fn fates(&self) -> &'static [&'static str];
}
