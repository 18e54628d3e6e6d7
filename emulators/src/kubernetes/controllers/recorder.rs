//! How do actors say what they did, so that `kubectl describe` shows it?

use std::collections::VecDeque;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::kubernetes::object::{Object, stamp};
use crate::kubernetes::reading::{after, count};
use crate::kubernetes::rules::Deletion;
use crate::kubernetes::store::Store;

/// Who speaks.
#[derive(Debug, Clone, Copy)]
pub struct Recorder {
    pub component: &'static str,
    /// Events live so long; zero: nothing is written.
    pub keep: SignedDuration,
}

/// Removes events that are over.
#[derive(Debug)]
pub struct Forgetter {
    keep: SignedDuration,
    feed: super::feed::Feed,
    queue: VecDeque<(Timestamp, String)>,
}

impl Recorder {
    pub fn new(component: &'static str, keep: SignedDuration) -> Self {
        Self { component, keep }
    }

    /// The same words about the same object are counted, not repeated.
    pub fn normal(self, store: &mut Store, about: &Object, said: (&str, &str), now: Timestamp) {
        self.say(store, about, ("Normal", said.0, said.1), now);
    }

    pub fn warning(self, store: &mut Store, about: &Object, said: (&str, &str), now: Timestamp) {
        self.say(store, about, ("Warning", said.0, said.1), now);
    }

    fn say(self, store: &mut Store, about: &Object, said: (&str, &str, &str), now: Timestamp) {
        if self.keep.is_zero() {
            return;
        }
        let (kind, reason, message) = said;
        let value = about.value();
        let namespace = match about.namespace() {
            "" => "default",
            namespace => namespace,
        };
        let digest = super::pods::hash(&json!([about.meta.uid, reason, message]));
        let name = format!("{}.{digest}", about.name());
        if store.get("events", namespace, &name).is_some() {
            let _ = store.change("events", (namespace, &name), now, |event| {
                event["count"] = (count(&event["count"], 1) + 1).into();
                event["lastTimestamp"] = stamp(now).into();
            });
            return;
        }
        let _ = store.create(
            "events",
            json!({
                "metadata": {"namespace": namespace, "name": name},
                "involvedObject": involved(about, &value),
                "type": kind, "reason": reason, "message": message, "count": 1,
                "firstTimestamp": stamp(now), "lastTimestamp": stamp(now),
                "source": {"component": self.component},
                "reportingComponent": self.component, "reportingInstance": "",
            }),
            now,
        );
    }
}

fn involved(about: &Object, value: &Value) -> Value {
    let mut involved = json!({
        "apiVersion": value["apiVersion"], "kind": value["kind"], "name": about.name(),
        "uid": about.meta.uid, "resourceVersion": about.meta.revision.to_string(),
    });
    if !about.namespace().is_empty() {
        involved["namespace"] = about.namespace().into();
    }
    involved
}

impl Forgetter {
    pub fn new(keep: SignedDuration) -> Self {
        Self {
            keep: if keep.is_zero() {
                SignedDuration::from_hours(1)
            } else {
                keep
            },
            feed: super::feed::Feed::new("events"),
            queue: VecDeque::new(),
        }
    }
}

impl crate::kubernetes::world::Actor for Forgetter {
    /// Others write events too, so that these are forgotten even if ours are not written.
    fn tick(&mut self, store: &mut Store, now: Timestamp) -> Option<Timestamp> {
        use crate::kubernetes::store::{Event, key};
        let until = after(now, self.keep);
        let keys: Vec<String> = match self.feed.read(store) {
            super::feed::News::All => store
                .list("events", None)
                .map(|event| key(event.namespace(), event.name()))
                .collect(),
            super::feed::News::Since(changes) => changes
                .iter()
                .filter(|change| change.event == Event::Added)
                .map(|change| key(change.object.namespace(), change.object.name()))
                .collect(),
        };
        self.queue.extend(keys.into_iter().map(|key| (until, key)));
        while let Some((_, key)) = self.queue.pop_front_if(|(until, _)| *until <= now) {
            if let Some((namespace, name)) = key.split_once('/') {
                let _ = store.delete("events", (namespace, name), &Deletion::default(), now);
            }
        }
        self.queue.front().map(|(until, _)| *until)
    }
}
