//! Do two candidates ever lead at the same moment, whatever the network, the clocks and the scheduler do?
//!
//! Three candidates over one fake API server in virtual time. A seed decides latencies, lost requests, lost answers,
//! cut links, frozen processes, crashes and clocks that disagree by hours. Every tenth of a second, and for every seed:
//! at most one may act, epochs only grow, and after the faults end somebody leads.
//!
//! The simulation is itself tested: with the deadline check taken out of the judgement, or with a deadline after the end of
//! the lease, it must find two leaders.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::task::JoinHandle;
use tokio::time::{Instant, Sleep};
use tokio_util::sync::CancellationToken;

use super::fake::{FakeServer, Link, Trip};
use super::{Candidate, Leadership, Timings, contest};
use crate::clock::Clock;
use crate::dice::Dice;

const CANDIDATES: usize = 3;
const TROUBLE: Duration = Duration::from_mins(5);
const CALM: Duration = Duration::from_secs(90);
const TICK: Duration = Duration::from_millis(100);

/// How a candidate's right to act is judged, and how patient all of them are.
#[derive(Clone, Copy)]
struct Rules {
    may_act: fn(&Leadership) -> bool,
    timings: Timings,
}

#[test]
fn no_two_candidates_ever_lead_at_once() {
    let rules = Rules {
        may_act: Leadership::may_act,
        timings: Timings::default(),
    };
    let mut leaders = 0;
    for seed in 0..seeds() {
        leaders += simulate(seed, rules).unwrap_or_else(|broken| panic!("seed {seed}: {broken}"));
    }
    // Faults that never unseat anybody would prove nothing.
    assert!(
        leaders > 2 * seeds(),
        "only {leaders} changes of leader in {} runs",
        seeds()
    );
}

#[test]
fn the_simulation_notices_a_leader_that_ignores_its_deadline() {
    let rules = Rules {
        may_act: |leadership| leadership.held.borrow().is_some(),
        timings: Timings::default(),
    };
    assert!(finds_two_leaders(rules));
}

#[test]
fn the_simulation_notices_a_deadline_after_the_end_of_the_lease() {
    let seconds = Duration::from_secs;
    let rules = Rules {
        may_act: Leadership::may_act,
        timings: Timings::unsafe_for_tests(seconds(5), seconds(20), seconds(2)),
    };
    assert!(finds_two_leaders(rules));
}

/// Not any complaint will do: it must be the one that a removed check causes.
fn finds_two_leaders(rules: Rules) -> bool {
    let two = |seed| simulate(seed, rules).is_err_and(|broken| broken.contains("lead at once"));
    (0..seeds()).any(two)
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let rules = Rules {
        may_act: Leadership::may_act,
        timings: Timings::default(),
    };
    assert_eq!(simulate(11, rules), simulate(11, rules));
}

/// `JOINER_LEASE_SEEDS` runs more than the usual few.
fn seeds() -> u64 {
    std::env::var("JOINER_LEASE_SEEDS")
        .ok()
        .and_then(|seeds| seeds.parse().ok())
        .unwrap_or(60)
}

/// The number of leaders there were, or what was broken.
fn simulate(seed: u64, rules: Rules) -> Result<u64, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(story(seed, rules))
}

async fn story(seed: u64, rules: Rules) -> Result<u64, String> {
    let mut dice = Dice::seeded(seed);
    let server = FakeServer::default();
    let mut cast: Vec<Actor> = (0..CANDIDATES)
        .map(|n| Actor::new(n, rules.timings, &server, dice.fork()))
        .collect();
    let mut epochs: BTreeMap<i32, String> = BTreeMap::new();
    let begun = Instant::now();
    while begun.elapsed() < TROUBLE + CALM {
        tokio::time::sleep(TICK).await;
        let trouble = begun.elapsed() < TROUBLE;
        for actor in &mut cast {
            actor.live(trouble);
        }
        let leaders: Vec<&Actor> = cast.iter().filter(|actor| actor.leads(rules)).collect();
        if leaders.len() > 1 {
            let names: Vec<_> = leaders.iter().map(|actor| &actor.identity).collect();
            return Err(format!(
                "{names:?} lead at once after {:?}",
                begun.elapsed()
            ));
        }
        for leader in leaders {
            let held = *leader.leadership.held.borrow();
            let epoch = held.map_or(-1, |held| held.epoch);
            let owner = epochs
                .entry(epoch)
                .or_insert_with(|| leader.identity.clone());
            if *owner != leader.identity {
                return Err(format!(
                    "epoch {epoch} belongs to {owner} and {}",
                    leader.identity
                ));
            }
            if epochs
                .last_key_value()
                .is_some_and(|(&last, _)| last != epoch)
            {
                return Err(format!(
                    "{} leads under epoch {epoch} after a later one",
                    leader.identity
                ));
            }
        }
    }
    match cast.iter().filter(|actor| actor.leads(rules)).count() {
        1 => Ok(epochs.len() as u64),
        leaders => Err(format!("{leaders} leaders when the faults were long over")),
    }
}

/// One candidate's process: it is cut off, frozen, killed, and started again with a new identity.
struct Actor {
    number: usize,
    life: u32,
    identity: String,
    dice: Dice,
    timings: Timings,
    server: FakeServer,
    weather: Arc<Mutex<Weather>>,
    thaw: Arc<Mutex<Instant>>,
    leadership: Leadership,
    process: JoinHandle<()>,
    starts_at: Instant,
}

/// The state of one candidate's link.
struct Weather {
    dice: Dice,
    cut_until: Instant,
    slow_until: Instant,
    calm: bool,
}

impl Actor {
    fn new(number: usize, timings: Timings, server: &FakeServer, mut dice: Dice) -> Self {
        let now = Instant::now();
        let weather = Arc::new(Mutex::new(Weather {
            dice: dice.fork(),
            cut_until: now,
            slow_until: now,
            calm: false,
        }));
        let thaw = Arc::new(Mutex::new(now));
        let (leadership, process) = launch(
            &format!("{number}-0"),
            timings,
            link(server, &weather),
            &mut dice,
            &thaw,
        );
        Actor {
            number,
            life: 0,
            identity: format!("{number}-0"),
            dice,
            timings,
            server: server.clone(),
            weather,
            thaw,
            leadership,
            process,
            starts_at: now,
        }
    }

    /// A dead process cannot act; a frozen one is judged all the same, because it may wake at any moment.
    fn leads(&self, rules: Rules) -> bool {
        !self.process.is_finished() && (rules.may_act)(&self.leadership)
    }

    fn live(&mut self, trouble: bool) {
        let now = Instant::now();
        if self.process.is_finished() && now >= self.starts_at {
            self.life += 1;
            self.identity = format!("{}-{}", self.number, self.life);
            let link = link(&self.server, &self.weather);
            (self.leadership, self.process) = launch(
                &self.identity,
                self.timings,
                link,
                &mut self.dice,
                &self.thaw,
            );
        }
        let mut weather = self.weather.lock().unwrap();
        if !trouble {
            (weather.cut_until, weather.slow_until, weather.calm) = (now, now, true);
            *self.thaw.lock().unwrap() = now;
            return;
        }
        // About one event in twelve seconds for each candidate: often enough to overlap, rare enough that somebody is well.
        if !self.dice.chance(0.008) {
            return;
        }
        let lasts = now + Duration::from_millis(self.dice.below(40_000));
        match self.dice.below(4) {
            0 => weather.cut_until = lasts,
            1 => weather.slow_until = lasts,
            2 => *self.thaw.lock().unwrap() = lasts,
            _ => {
                self.process.abort();
                self.starts_at = now + Duration::from_millis(self.dice.below(5_000));
            }
        }
    }
}

fn launch(
    identity: &str,
    timings: Timings,
    link: Link,
    dice: &mut Dice,
    thaw: &Arc<Mutex<Instant>>,
) -> (Leadership, JoinHandle<()>) {
    let hours_off = i64::try_from(dice.below(5)).unwrap() - 2;
    let wall: Timestamp = "2026-11-18T00:00:00Z".parse().unwrap();
    let clock = Clock::starting_at(wall + SignedDuration::from_hours(hours_off));
    let me = Candidate::named(identity).with_timings(timings);
    let (leadership, run) = contest(link, me, clock, dice.fork(), CancellationToken::new());
    let process = async move {
        run.run().await;
    };
    let frozen = Freezable {
        inner: Box::pin(process),
        thaw: thaw.clone(),
        nap: Box::pin(tokio::time::sleep(Duration::ZERO)),
    };
    (leadership, tokio::spawn(frozen))
}

fn link(server: &FakeServer, weather: &Arc<Mutex<Weather>>) -> Link {
    let weather = weather.clone();
    server.link(move || {
        let mut weather = weather.lock().unwrap();
        let now = Instant::now();
        let longest = if now < weather.slow_until { 12_000 } else { 50 };
        let mut leg = || Duration::from_millis(weather.dice.below(longest));
        let (there, back) = (leg(), leg());
        if now < weather.cut_until {
            return if weather.dice.chance(0.3) {
                Trip::Refused
            } else {
                Trip::Vanishes
            };
        }
        match weather.dice.below(20) {
            _ if weather.calm => Trip::Arrives(there, back),
            0 => Trip::Vanishes,
            1 => Trip::AnswerVanishes(there),
            _ => Trip::Arrives(there, back),
        }
    })
}

/// A process that the machine does not let run for a while: time passes, it does not notice.
struct Freezable {
    inner: Pin<Box<dyn Future<Output = ()> + Send>>,
    thaw: Arc<Mutex<Instant>>,
    nap: Pin<Box<Sleep>>,
}

impl Future for Freezable {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let thaw = *self.thaw.lock().unwrap();
        if Instant::now() < thaw {
            self.nap.as_mut().reset(thaw);
            if self.nap.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
        }
        self.inner.as_mut().poll(cx)
    }
}
