//! What runs on the nodes? One kubelet per booted machine: it joins, stays Ready, runs the pods bound to it and ends them.
//!
//! [`machines`] how orders to boot and halt arrive · [`join`] may it join, and as which node · [`pod`] what it writes
//! about a pod.

mod join;
pub mod machines;
mod pod;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

pub use self::join::Door;
use self::join::Member;
pub use self::machines::Machines;
use self::machines::{Order, Screen};
use super::controllers::driver::Alarms;
use super::controllers::feed::{Feed, News};
use super::controllers::pods::over;
use super::object::Object;
use super::pace::Pace;
use super::reading::{after, count};
use super::rules::Deletion;
use super::store::{Store, key};
use super::world::Actor;

/// All kubelets of the cluster.
pub struct Kubelets {
    pace: Pace,
    door: Door,
    orders: Machines,
    /// Machine → what runs on it.
    running: BTreeMap<String, Running>,
    /// Node name → machine.
    by_node: BTreeMap<String, String>,
    pods: BTreeMap<String, Stage>,
    feed: Feed,
    alarms: Alarms<Alarm>,
    /// For addresses.
    joined: u32,
    started: u32,
}

struct Running {
    boot: crate::machine::Boot,
    screen: Screen,
    /// Once it has joined.
    member: Option<Member>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Alarm {
    Join { machine: String },
    Ready { machine: String, member: u32 },
    Renew { machine: String, member: u32 },
    Pod { key: String },
}

/// Where a pod is in its life, and when the next part of it begins.
#[derive(Debug, Clone)]
struct Stage {
    uid: String,
    machine: String,
    now: Life,
    until: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Life {
    Starting,
    Initializing,
    Running,
    Stopping,
}

/// What is written, and what comes next and when.
struct Turn {
    write: fn(&mut Value, &str, Timestamp),
    next: Option<(Life, Option<Timestamp>)>,
}

impl Kubelets {
    pub fn new(pace: Pace, door: Door, orders: Machines) -> Self {
        Self {
            pace,
            door,
            orders,
            running: BTreeMap::new(),
            by_node: BTreeMap::new(),
            pods: BTreeMap::new(),
            feed: Feed::new("pods"),
            alarms: Alarms::default(),
            joined: 0,
            started: 0,
        }
    }

    fn obey(&mut self, order: Order, now: Timestamp) {
        match order {
            Order::Boot { boot, screen } => {
                let machine = boot.machine.clone();
                self.halt(&machine);
                let running = Running {
                    boot,
                    screen,
                    member: None,
                };
                self.running.insert(machine.clone(), running);
                let at = after(now, self.pace.join);
                self.alarms.set(at, Alarm::Join { machine });
            }
            Order::Halt { machine } => self.halt(&machine),
        }
    }

    /// Nothing is written any more; what is in the store stays as it was.
    fn halt(&mut self, machine: &str) {
        self.running.remove(machine);
        self.by_node.retain(|_, runs| runs != machine);
        self.pods.retain(|_, stage| stage.machine != machine);
    }

    fn ring(&mut self, alarm: Alarm, store: &mut Store, now: Timestamp) {
        match alarm {
            Alarm::Join { machine } => self.join(&machine, store, now),
            Alarm::Ready { machine, member } => {
                if let Some(member) = self.member(&machine, member) {
                    member.say_ready(store, now);
                }
            }
            Alarm::Renew { machine, member } => {
                if let Some(alive) = self.member(&machine, member) {
                    alive.renew(store, now);
                    let at = after(now, self.pace.renew);
                    self.alarms.set(at, Alarm::Renew { machine, member });
                }
            }
            Alarm::Pod { key } => {
                let due = self.pods.get(&key).and_then(|stage| stage.until);
                if due.is_some_and(|due| due <= now) {
                    self.advance(&key, store, now);
                }
            }
        }
    }

    /// Unless the machine was halted or started again meanwhile.
    fn member(&self, machine: &str, number: u32) -> Option<&Member> {
        let running = self.running.get(machine)?;
        running
            .member
            .as_ref()
            .filter(|member| member.number() == number)
    }

    fn join(&mut self, machine: &str, store: &mut Store, now: Timestamp) {
        let Some(running) = self.running.get_mut(machine) else {
            return;
        };
        if running.member.is_some() {
            return;
        }
        self.joined += 1;
        let member = match Member::join(&running.boot, &self.door, (&mut *store, self.joined), now)
        {
            Ok((member, words)) => {
                running.screen.show_all(machine, &words);
                member
            }
            Err(words) => {
                running.screen.show_all(machine, &words);
                return;
            }
        };
        let (node, number) = (member.name().to_owned(), member.number());
        running.member = Some(member);
        self.by_node.insert(node.clone(), machine.to_owned());
        let machine = machine.to_owned();
        let at = after(now, self.pace.ready);
        self.alarms.set(
            at,
            Alarm::Ready {
                machine: machine.clone(),
                member: number,
            },
        );
        let at = after(now, self.pace.renew);
        let member = number;
        self.alarms.set(at, Alarm::Renew { machine, member });
        let here: Vec<_> = store.pods_on(&node).cloned().collect();
        for pod in here {
            self.look(&pod, now);
        }
    }

    /// A pod changed, or was just found: what comes next?
    fn look(&mut self, pod: &Object, now: Timestamp) {
        let Some(machine) = self.by_node.get(&pod.meta.node) else {
            return;
        };
        let key = key(pod.namespace(), pod.name());
        let known = self
            .pods
            .get(&key)
            .filter(|stage| stage.uid == pod.meta.uid);
        let (life, until) = if pod.meta.deleted_at.is_some() {
            if known.is_none() && over(pod) {
                return; // somebody else's finalizer holds it
            }
            let value = pod.value();
            let started = known.is_none_or(|stage| stage.now != Life::Starting);
            let until = after(now, self.ending(&value, started && !over(pod)));
            match known {
                // a second deletion may shorten the grace, never stretch it
                Some(stage) if stage.now == Life::Stopping => {
                    (Life::Stopping, stage.until.map(|at| at.min(until)))
                }
                _ => (Life::Stopping, Some(until)),
            }
        } else if known.is_some() || over(pod) {
            return;
        } else if pod.meta.phase == "Running" {
            // from before a restart of the machine
            (Life::Running, Some(now))
        } else {
            (Life::Starting, Some(after(now, self.pace.start)))
        };
        let stage = Stage {
            uid: pod.meta.uid.clone(),
            machine: machine.clone(),
            now: life,
            until,
        };
        self.keep(key, stage);
    }

    fn keep(&mut self, key: String, stage: Stage) {
        if let Some(until) = stage.until {
            self.alarms.set(until, Alarm::Pod { key: key.clone() });
        }
        self.pods.insert(key, stage);
    }

    /// How long its containers take to end: their own time or the usual one, within the grace period.
    fn ending(&self, pod: &Value, started: bool) -> SignedDuration {
        if !started {
            return SignedDuration::ZERO;
        }
        let grace = count(&pod["metadata"]["deletionGracePeriodSeconds"], 30);
        let own = pod::wish(pod, "stop-seconds").unwrap_or(self.pace.stop);
        own.min(SignedDuration::from_secs(grace))
    }

    fn advance(&mut self, key: &str, store: &mut Store, now: Timestamp) {
        let Some(mut stage) = self.pods.get(key).cloned() else {
            return;
        };
        let Some(object) = store.by_key("pods", key).cloned() else {
            self.pods.remove(key);
            return;
        };
        if object.meta.uid != stage.uid {
            self.pods.remove(key);
            return self.look(&object, now);
        }
        let value = object.value();
        let Some(Turn { write, next }) = self.turn(stage.now, &object, now) else {
            return;
        };
        let address = self.address(&value);
        let at = (object.namespace(), object.name());
        let _ = store.change("pods", at, now, |value| write(value, &address, now));
        if stage.now == Life::Stopping {
            let how = Deletion {
                grace_seconds: Some(0),
                uid: Some(stage.uid.clone()),
                ..Deletion::default()
            };
            let _ = store.delete("pods", at, &how, now);
        }
        match next {
            Some((life, until)) => {
                (stage.now, stage.until) = (life, until);
                self.keep(key.to_owned(), stage);
            }
            None => {
                self.pods.remove(key);
            }
        }
    }

    /// What happens now and what after it. `None`: it just goes on.
    fn turn(&self, life: Life, object: &Object, now: Timestamp) -> Option<Turn> {
        let value = object.value();
        let inits = pod::init_containers(&value);
        let end = pod::ends_after(&value, self.pace.run);
        let run = Turn {
            write: pod::running,
            next: Some((Life::Running, end.map(|end| after(now, end)))),
        };
        let unready = object.meta.phase == "Running" && object.meta.ready_since.is_none();
        match life {
            Life::Starting if inits > 0 => {
                let time = self.pace.init.saturating_mul(inits);
                Some(Turn {
                    write: pod::initializing,
                    next: Some((Life::Initializing, Some(after(now, time)))),
                })
            }
            Life::Starting | Life::Initializing => Some(run),
            Life::Running if unready => Some(run),
            Life::Running if end.is_none() => None,
            Life::Running | Life::Stopping => Some(Turn {
                write: pod::ended,
                next: None,
            }),
        }
    }

    /// The address it has, or the next free one.
    fn address(&mut self, pod: &Value) -> String {
        if let Some(have) = pod["status"]["podIP"].as_str() {
            return have.to_owned();
        }
        self.started = self.started.wrapping_add(1);
        let [_, high, middle, low] = self.started.to_be_bytes();
        format!("10.{}.{middle}.{low}", 128 + high % 64)
    }
}

impl Actor for Kubelets {
    fn tick(&mut self, store: &mut Store, now: Timestamp) -> Option<Timestamp> {
        for order in self.orders.take() {
            self.obey(order, now);
        }
        match self.feed.read(store) {
            News::All => {
                let all: Vec<_> = store.list("pods", None).cloned().collect();
                for pod in &all {
                    self.look(pod, now);
                }
            }
            News::Since(changes) => {
                for change in changes {
                    let object = &change.object;
                    match store
                        .get("pods", object.namespace(), object.name())
                        .cloned()
                    {
                        Some(pod) => self.look(&pod, now),
                        None => {
                            self.pods.remove(&key(object.namespace(), object.name()));
                        }
                    }
                }
            }
        }
        for alarm in self.alarms.ring(now) {
            self.ring(alarm, store, now);
        }
        self.alarms.next()
    }
}
