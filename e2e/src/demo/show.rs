//! How is the story told on a terminal?
//!
//! One line per beat with its time; pods, of which there are many, are gathered into one line per moment. Colours only where
//! somebody looks.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{IsTerminal, stdout};
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::story::{Beat, Story, What};

/// Prints beats as they come.
pub struct Teller {
    start: Option<Timestamp>,
    colours: bool,
    running: BTreeMap<String, bool>,
    /// Pods changed since the last line about them.
    news: Option<Timestamp>,
    told: Instant,
}

/// Pods come and go by the dozen; this often is enough for a reader.
const GATHER: Duration = Duration::from_secs(1);

impl Default for Teller {
    fn default() -> Self {
        Self {
            start: None,
            colours: stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none(),
            running: BTreeMap::new(),
            news: None,
            told: Instant::now(),
        }
    }
}

impl Teller {
    pub fn tell(&mut self, beat: &Beat) {
        self.start.get_or_insert(beat.at);
        match &beat.what {
            What::PodPending => drop(self.running.insert(beat.name.clone(), false)),
            What::PodRunning { .. } => drop(self.running.insert(beat.name.clone(), true)),
            What::PodGone => drop(self.running.remove(&beat.name)),
            other => {
                self.flush();
                if let Some((sign, text)) = words(&beat.name, other) {
                    self.line(beat.at, sign, &text);
                }
                return;
            }
        }
        self.news = Some(beat.at);
        self.pause();
    }

    /// Says how the pods are, if that was not said a moment ago.
    pub fn pause(&mut self) {
        if self.told.elapsed() >= GATHER {
            self.flush();
        }
    }

    /// Says how the pods are, if anything happened to them.
    pub fn flush(&mut self) {
        let Some(at) = self.news.take() else {
            return;
        };
        self.told = Instant::now();
        let run = self.running.values().filter(|running| **running).count();
        match (self.running.len() - run, run) {
            (0, 0) => self.line(at, Sign::Gone, "no pod is left"),
            (0, run) => self.line(at, Sign::Good, &format!("{run} pods run")),
            (wait, 0) => self.line(at, Sign::Wait, &format!("{wait} pods wait")),
            (wait, run) => self.line(at, Sign::Wait, &format!("{run} pods run, {wait} wait")),
        }
    }

    fn line(&self, at: Timestamp, sign: Sign, text: &str) {
        let since = self
            .start
            .map_or(0.0, |start| at.duration_since(start).as_secs_f64());
        let (on, off) = if self.colours {
            (sign.colour(), "\x1b[0m")
        } else {
            ("", "")
        };
        println!("{since:>6.1} s  {on}{}{off} {text}", sign.mark());
    }
}

#[derive(Clone, Copy)]
enum Sign {
    Wait,
    Open,
    Good,
    Gone,
}

impl Sign {
    fn mark(self) -> char {
        match self {
            Self::Wait => '…',
            Self::Open => '+',
            Self::Good => '✓',
            Self::Gone => '−',
        }
    }

    fn colour(self) -> &'static str {
        match self {
            Self::Wait => "\x1b[33m",
            Self::Open => "\x1b[36m",
            Self::Good => "\x1b[32m",
            Self::Gone => "\x1b[35m",
        }
    }
}

fn words(name: &str, what: &What) -> Option<(Sign, String)> {
    Some(match what {
        What::ClaimOpened { offering, why } => {
            let why = if why.is_empty() {
                String::new()
            } else {
                format!(": {why}")
            };
            (Sign::Open, format!("claim {name} wants {offering}{why}"))
        }
        What::ServerCreated { flavor, hourly } => (
            Sign::Open,
            format!("server {name} created, {flavor}{}", each_hour(*hourly)),
        ),
        What::ServerActive => (Sign::Good, format!("server {name} is ACTIVE")),
        What::NodeReady => (Sign::Good, format!("node {name} is Ready")),
        What::ServerGone => (Sign::Gone, format!("server {name} is gone")),
        What::NodeGone => (Sign::Gone, format!("node {name} is gone")),
        What::ClaimGone => (Sign::Gone, format!("claim {name} is gone")),
        What::ClaimReady | What::PodPending | What::PodRunning { .. } | What::PodGone => {
            return None;
        }
    })
}

pub(super) fn each_hour(price: Option<f64>) -> String {
    price.map_or_else(
        || " at an unknown price".to_owned(),
        |price| format!(" at {price:.3} EUR/h"),
    )
}

/// The table at the end.
pub fn summary(story: &Story) -> String {
    let mut text = String::from(
        "\n  machine          type         EUR/h    created   node Ready   gone      seconds of life\n",
    );
    let start = story.beats().first().map(|beat| beat.at);
    let since = |at: Option<Timestamp>| match (at, start) {
        (Some(at), Some(start)) => format!("{:.1} s", at.duration_since(start).as_secs_f64()),
        _ => "–".to_owned(),
    };
    for machine in story.machines() {
        let life = machine
            .gone
            .map(|gone| gone.duration_since(machine.created).as_secs_f64());
        let _ = writeln!(
            text,
            "  {:<16} {:<12} {:<8} {:<9} {:<12} {:<9} {}",
            machine.name,
            machine.flavor,
            machine
                .hourly
                .map_or_else(|| "?".to_owned(), |price| format!("{price:.3}")),
            since(Some(machine.created)),
            since(machine.ready),
            since(machine.gone),
            life.map_or_else(|| "–".to_owned(), |life| format!("{life:.1}")),
        );
    }
    for (label, value) in figures(story) {
        let _ = writeln!(text, "  {label:<54} {value}");
    }
    text
}

/// What people ask first.
pub(super) fn figures(story: &Story) -> Vec<(&'static str, String)> {
    let first = story.first(|what| *what == What::PodPending);
    let after = |at: Option<Timestamp>| match (first, at) {
        (Some(first), Some(at)) => format!("{:.1} s", at.duration_since(first).as_secs_f64()),
        _ => "never".to_owned(),
    };
    let running = |what: &What| matches!(what, What::PodRunning { .. });
    let created = |what: &What| matches!(what, What::ServerCreated { .. });
    let most = story
        .hourly()
        .iter()
        .map(|step| step.value)
        .fold(0.0, f64::max);
    vec![
        (
            "first pod waits → first create call seen by the cloud",
            after(story.first(created)),
        ),
        (
            "first pod waits → last pod runs",
            after(story.last(running)),
        ),
        (
            "first pod waits → last machine gone",
            after(story.last(|what| *what == What::ServerGone)),
        ),
        ("pods that ran", story.count(running).to_string()),
        ("machines bought", story.machines().len().to_string()),
        ("most at one time", format!("{most:.3} EUR/h")),
        ("spent", format!("{:.6} EUR", story.spent())),
    ]
}
