//! How does a controller learn which of its objects to look at, and when again?

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;

use super::feed::{Feed, News};
use crate::kubernetes::object::Object;
use crate::kubernetes::store::{Event, Store, key};
use crate::kubernetes::world::Actor;

/// Brings one object closer to what it asks for.
pub trait Controller: Send {
    /// The kind it looks after, as the store names it.
    fn kind(&self) -> &'static str;

    /// Kinds whose changes concern it.
    fn children(&self) -> &'static [&'static str];

    /// Keys of the objects that a changed child concerns. Usually its controller.
    fn concerned(&self, store: &Store, child: &Object) -> Vec<String> {
        let Some(owner) = child.controller() else {
            return Vec::new();
        };
        let key = key(child.namespace(), &owner.name);
        let known = store.by_key(self.kind(), &key);
        let mine = known.is_some_and(|object| object.meta.uid == owner.uid);
        if mine { vec![key] } else { Vec::new() }
    }

    /// Look and act. Returns when to look again even if nothing changes.
    fn reconcile(
        &mut self,
        store: &mut Store,
        object: &Arc<Object>,
        now: Timestamp,
    ) -> Option<Timestamp>;
}

/// Runs a controller from the change log.
pub struct Driver<C> {
    controller: C,
    own: Feed,
    children: Vec<Feed>,
    alarms: Alarms<String>,
}

/// Who is to be looked at when.
#[derive(Debug)]
pub struct Alarms<K> {
    set: BTreeSet<(Timestamp, K)>,
}

impl<C: Controller> Driver<C> {
    pub fn new(controller: C) -> Self {
        let children = controller.children().iter().map(|kind| Feed::new(kind));
        Self {
            own: Feed::new(controller.kind()),
            children: children.collect(),
            alarms: Alarms::default(),
            controller,
        }
    }

    fn dirty(&mut self, store: &Store, now: Timestamp) -> BTreeSet<String> {
        let mut dirty = BTreeSet::new();
        let mut all = false;
        match self.own.read(store) {
            News::All => all = true,
            News::Since(changes) => dirty.extend(
                changes
                    .iter()
                    .filter(|change| change.event != Event::Deleted)
                    .map(|change| key(change.object.namespace(), change.object.name())),
            ),
        }
        for feed in &mut self.children {
            let News::Since(changes) = feed.read(store) else {
                all = true;
                continue;
            };
            for change in changes {
                dirty.extend(self.controller.concerned(store, &change.object));
                if let Some(previous) = &change.previous {
                    dirty.extend(self.controller.concerned(store, previous));
                }
            }
        }
        if all {
            let objects = store.list(self.controller.kind(), None);
            dirty.extend(objects.map(|object| key(object.namespace(), object.name())));
        }
        dirty.extend(self.alarms.ring(now));
        dirty
    }
}

impl<C: Controller> Actor for Driver<C> {
    fn tick(&mut self, store: &mut Store, now: Timestamp) -> Option<Timestamp> {
        for key in self.dirty(store, now) {
            let Some(object) = store.by_key(self.controller.kind(), &key).cloned() else {
                continue;
            };
            if let Some(again) = self.controller.reconcile(store, &object, now) {
                self.alarms.set(again, key);
            }
        }
        self.alarms.next()
    }
}

impl<K: Ord + Clone> Alarms<K> {
    pub fn set(&mut self, at: Timestamp, what: K) {
        self.set.insert((at, what));
    }

    /// What is due, in order of time.
    pub fn ring(&mut self, now: Timestamp) -> Vec<K> {
        let mut due = Vec::new();
        while let Some((at, _)) = self.set.first() {
            if *at > now {
                break;
            }
            due.extend(self.set.pop_first().map(|(_, what)| what));
        }
        due
    }

    pub fn next(&self) -> Option<Timestamp> {
        self.set.first().map(|(at, _)| *at)
    }
}

impl<K> Default for Alarms<K> {
    fn default() -> Self {
        Self {
            set: BTreeSet::new(),
        }
    }
}
