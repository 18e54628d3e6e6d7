//! What becomes of each outbound call: does it pass, break, or is it the operator's last?

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use emulators::faults::When;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::phase::Phase;
use super::trace::Trace;

/// One call on its way out.
#[derive(Clone, Debug)]
pub struct Call {
    pub side: Side,
    pub phase: Phase,
    /// Method and path.
    pub text: String,
    /// Asks only.
    pub reads: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    Cloud,
    Kubernetes,
}

/// How a call goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    Refused,
    Reset(Order),
    Error(Order),
    Throttled,
    /// No answer until the caller's patience ends.
    Silent(Order),
    Slow,
    /// Kubernetes only: somebody else was faster.
    Conflict,
}

/// [`When`] with an order, for tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Order {
    Before,
    After,
}

/// Who decides about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Pass,
    Break(Fault),
    Die(When),
}

/// Decides whether a call breaks; asked once for each, in order.
pub trait Weather: Send {
    fn strikes(&mut self, call: &Call, at: Duration) -> Verdict;

    /// Whether a question to Kubernetes breaks.
    fn disturbs(&mut self, _call: &Call) -> Option<Fault> {
        None
    }
}

/// Where all ways out of all operators of one story meet.
pub struct Tap {
    zero: Instant,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    trace: Trace,
    calls: Vec<Call>,
    die_at: Option<(usize, When)>,
    down: bool,
    weather: Option<Box<dyn Weather>>,
    hits: BTreeMap<(Phase, String), usize>,
    wrong: Vec<String>,
    /// When something was last changed by the operator, the lease apart.
    last_write: Option<(Duration, String)>,
}

/// One operator's life: ended from outside, or at a call.
#[derive(Default)]
pub struct Life {
    over: AtomicBool,
    end: Notify,
}

impl Life {
    /// From now on nothing goes out any more.
    pub fn end(&self) {
        self.over.store(true, Ordering::SeqCst);
        self.end.notify_one();
    }

    pub async fn ended(&self) {
        self.end.notified().await;
    }

    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::SeqCst)
    }
}

impl Tap {
    /// Must be called inside a runtime: its time begins now.
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            zero: Instant::now(),
            state: Mutex::default(),
        })
    }

    pub fn elapsed(&self) -> Duration {
        self.zero.elapsed()
    }

    /// The operator dies at the call of this number (from 0).
    pub fn die_at(&self, number: usize, when: When) {
        self.lock().die_at = Some((number, when));
    }

    /// Whether the whole Kubernetes API answers nobody.
    pub fn set_down(&self, down: bool) {
        self.lock().down = down;
    }

    /// What becomes of a question to Kubernetes. It changes nothing, so it is not counted and no place to die at.
    pub fn disturbs(&self, call: &Call) -> Option<Fault> {
        let mut state = self.lock();
        if state.down {
            return Some(Fault::Refused);
        }
        state.weather.as_mut()?.disturbs(call)
    }

    pub fn set_weather(&self, weather: Option<Box<dyn Weather>>) {
        self.lock().weather = weather;
    }

    /// Counts the call and says what becomes of it.
    pub fn enter(&self, call: &Call) -> Verdict {
        let at = self.elapsed();
        let mut state = self.lock();
        let number = state.calls.len();
        state.calls.push(call.clone());
        let verdict = match state.die_at {
            Some((last, when)) if last == number => Verdict::Die(when),
            _ if state.down && call.side == Side::Kubernetes => Verdict::Break(Fault::Refused),
            _ => match &mut state.weather {
                Some(weather) => weather.strikes(call, at),
                None => Verdict::Pass,
            },
        };
        let name = match verdict {
            Verdict::Pass => None,
            Verdict::Break(fault) => Some(fault.name(call.side)),
            Verdict::Die(when) => Some(died(when).to_owned()),
        };
        if let Some(name) = name {
            *state.hits.entry((call.phase, name)).or_default() += 1;
        }
        verdict
    }

    /// Notes how the call ended.
    pub fn leave(&self, call: &Call, outcome: &str) {
        let at = self.elapsed();
        let phase = call.phase.name();
        let text = format!("{phase:<10} {} {outcome}", call.text);
        let mut state = self.lock();
        if !call.reads && call.phase != Phase::Lease {
            state.last_write = Some((at, text.clone()));
        }
        let plain = call.phase == Phase::Lease || call.reads && outcome.starts_with('2');
        state.trace.add(at, text, plain);
    }

    /// Something that is no call but belongs into the story.
    pub fn remark(&self, text: String) {
        let at = self.elapsed();
        self.lock().trace.add(at, text, false);
    }

    pub fn hit(&self, phase: Phase, name: &str) {
        let mut state = self.lock();
        *state.hits.entry((phase, name.to_owned())).or_default() += 1;
    }

    /// An invariant is broken.
    pub fn accuse(&self, what: String) {
        let at = self.elapsed();
        let mut state = self.lock();
        state.trace.add(at, format!("WRONG: {what}"), false);
        state.wrong.push(what);
    }

    pub fn wrong(&self) -> Vec<String> {
        self.lock().wrong.clone()
    }

    pub fn calls(&self) -> Vec<Call> {
        self.lock().calls.clone()
    }

    pub fn count(&self) -> usize {
        self.lock().calls.len()
    }

    pub fn trace(&self) -> Trace {
        self.lock().trace.clone()
    }

    pub fn hits(&self) -> BTreeMap<(Phase, String), usize> {
        self.lock().hits.clone()
    }

    pub fn last_write(&self) -> Option<(Duration, String)> {
        self.lock().last_write.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub fn died(when: When) -> &'static str {
    match when {
        When::Before => "crash before",
        When::After => "crash after",
    }
}

impl Fault {
    pub fn name(self, side: Side) -> String {
        let order = |order| match order {
            Order::Before => "before",
            Order::After => "after",
        };
        let what = match self {
            Self::Refused => "refused".to_owned(),
            Self::Reset(at) => format!("reset {}", order(at)),
            Self::Error(at) => format!("500 {}", order(at)),
            Self::Throttled => "429".to_owned(),
            Self::Silent(at) => format!("silence {}", order(at)),
            Self::Slow => "slow".to_owned(),
            Self::Conflict => "conflict".to_owned(),
        };
        let side = match side {
            Side::Cloud => "cloud",
            Side::Kubernetes => "kubernetes",
        };
        format!("{side} {what}")
    }
}
