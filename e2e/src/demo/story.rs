//! What happened, in order, and what does that add up to?
//!
//! Beats come from the Kubernetes API and from the cloud's own change log; every figure of the demo is made from them here, by
//! plain functions.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;

/// One thing that happened, to one object.
#[derive(Clone, Debug, PartialEq)]
pub struct Beat {
    pub at: Timestamp,
    pub name: String,
    pub what: What,
}

#[derive(Clone, Debug, PartialEq)]
pub enum What {
    PodPending,
    PodRunning { node: String },
    PodGone,
    ClaimOpened { offering: String, why: String },
    ClaimReady,
    ClaimGone,
    ServerCreated { flavor: String, hourly: Option<f64> },
    ServerActive,
    ServerGone,
    NodeReady,
    NodeGone,
}

#[derive(Clone, Debug, Default)]
pub struct Story {
    beats: Vec<Beat>,
}

/// One machine from its create call to its end.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    pub name: String,
    pub flavor: String,
    pub hourly: Option<f64>,
    pub created: Timestamp,
    pub ready: Option<Timestamp>,
    pub gone: Option<Timestamp>,
}

/// A value that holds from a moment on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct From<T> {
    pub at: Timestamp,
    pub value: T,
}

/// How many pods wait, and how many run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pods {
    pub pending: usize,
    pub running: usize,
}

impl Story {
    /// Beats of several sources arrive out of order.
    pub fn new(mut beats: Vec<Beat>) -> Self {
        beats.sort_by(|a, b| a.at.cmp(&b.at).then_with(|| a.name.cmp(&b.name)));
        Self { beats }
    }

    pub fn beats(&self) -> &[Beat] {
        &self.beats
    }

    pub fn first(&self, wanted: impl Fn(&What) -> bool) -> Option<Timestamp> {
        let found = self.beats.iter().find(|beat| wanted(&beat.what));
        found.map(|beat| beat.at)
    }

    pub fn last(&self, wanted: impl Fn(&What) -> bool) -> Option<Timestamp> {
        let found = self.beats.iter().rev().find(|beat| wanted(&beat.what));
        found.map(|beat| beat.at)
    }

    pub fn count(&self, wanted: impl Fn(&What) -> bool) -> usize {
        let names = self.beats.iter().filter(|beat| wanted(&beat.what));
        let mut names: Vec<&str> = names.map(|beat| beat.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names.len()
    }

    /// In the order of their creation.
    pub fn machines(&self) -> Vec<Machine> {
        let mut machines: Vec<Machine> = Vec::new();
        for Beat { at, name, what } in &self.beats {
            if let What::ServerCreated { flavor, hourly } = what {
                machines.push(Machine {
                    name: name.clone(),
                    flavor: flavor.clone(),
                    hourly: *hourly,
                    created: *at,
                    ready: None,
                    gone: None,
                });
                continue;
            }
            let Some(machine) = machines.iter_mut().rev().find(|one| one.name == *name) else {
                continue;
            };
            match what {
                What::NodeReady => machine.ready = machine.ready.or(Some(*at)),
                What::ServerGone => machine.gone = machine.gone.or(Some(*at)),
                _ => {}
            }
        }
        machines
    }

    pub fn pods(&self) -> Vec<From<Pods>> {
        let mut phase: BTreeMap<&str, bool> = BTreeMap::new();
        let mut steps: Vec<From<Pods>> = Vec::new();
        for beat in &self.beats {
            match beat.what {
                What::PodPending => phase.insert(&beat.name, false),
                What::PodRunning { .. } => phase.insert(&beat.name, true),
                What::PodGone => phase.remove(beat.name.as_str()),
                _ => continue,
            };
            let running = phase.values().filter(|running| **running).count();
            let pending = phase.len() - running;
            steps.push(From {
                at: beat.at,
                value: Pods { pending, running },
            });
        }
        steps
    }

    /// Price per hour of all machines together.
    pub fn hourly(&self) -> Vec<From<f64>> {
        let mut turns: Vec<(Timestamp, f64)> = Vec::new();
        for machine in self.machines() {
            let price = machine.hourly.unwrap_or(0.0);
            turns.push((machine.created, price));
            turns.extend(machine.gone.map(|gone| (gone, -price)));
        }
        turns.sort_by_key(|turn| turn.0);
        let mut sum = 0.0_f64;
        let steps = turns.into_iter().map(|(at, change)| {
            sum = (sum + change).max(0.0);
            From { at, value: sum }
        });
        steps.collect()
    }

    /// What the machines cost while they were there.
    pub fn spent(&self) -> f64 {
        let machines = self.machines();
        let spent = machines.iter().filter_map(|machine| {
            let alive = machine.gone?.duration_since(machine.created);
            Some(machine.hourly? * alive.as_secs_f64() / 3600.0)
        });
        spent.sum()
    }

    /// From the first pod that waits to the last machine that goes.
    pub fn length(&self) -> Duration {
        let span = self.beats.first().zip(self.beats.last());
        span.and_then(|(first, last)| Duration::try_from(last.at.duration_since(first.at)).ok())
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beat(second: i64, name: &str, what: What) -> Beat {
        Beat {
            at: Timestamp::from_second(second).unwrap(),
            name: name.to_owned(),
            what,
        }
    }

    fn bought(second: i64, name: &str) -> Beat {
        let flavor = "m1.small".to_owned();
        beat(
            second,
            name,
            What::ServerCreated {
                flavor,
                hourly: Some(3.6),
            },
        )
    }

    #[test]
    fn a_machine_costs_from_its_create_call_to_its_end() {
        let story = Story::new(vec![
            beat(110, "m", What::ServerGone),
            bought(100, "m"),
            beat(103, "m", What::NodeReady),
        ]);
        assert!((story.spent() - 0.01).abs() < 1e-9, "{}", story.spent());
        let steps: Vec<f64> = story.hourly().iter().map(|step| step.value).collect();
        assert_eq!(steps, [3.6, 0.0]);
        assert_eq!(story.machines()[0].ready.unwrap().as_second(), 103);
    }

    #[test]
    fn pods_wait_then_run_then_go() {
        let node = "m".to_owned();
        let story = Story::new(vec![
            beat(1, "a", What::PodPending),
            beat(2, "b", What::PodPending),
            beat(3, "a", What::PodRunning { node }),
            beat(4, "b", What::PodGone),
        ]);
        let steps: Vec<(usize, usize)> = story
            .pods()
            .iter()
            .map(|step| (step.value.pending, step.value.running))
            .collect();
        assert_eq!(steps, [(1, 0), (2, 0), (1, 1), (0, 1)]);
    }

    #[test]
    fn an_object_seen_twice_counts_once() {
        let story = Story::new(vec![
            beat(1, "a", What::PodPending),
            beat(2, "a", What::PodPending),
        ]);
        assert_eq!(story.count(|what| *what == What::PodPending), 1);
    }
}
