//! What does the cluster hold, and what changed in which order?
//!
//! Objects by kind (`pods`, `deployments.apps`) and key (`namespace/name`, `/name` for cluster-wide ones), and for each
//! kind a log of its last changes, from which watches are fed. The rules of writing are in [`super::rules`]:
//! [`Store::create`], [`Store::update`], [`Store::change`], [`Store::delete`].

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use serde_json::Value;

use super::kinds::{Kind, Kinds};
use super::object::Object;
use super::status::Status;
use crate::dice::Dice;

/// Above so many objects only their text is kept.
const SMALL: usize = 10_000;

pub struct Store {
    pub kinds: Kinds,
    shelves: BTreeMap<String, Shelf>,
    revision: u64,
    count: usize,
    /// How many changes of one kind a watch may lag behind.
    log_length: usize,
    /// Uid of an owner → (kind, key) of what it owns.
    owned: BTreeMap<String, BTreeSet<(String, String)>>,
    /// Node name → keys of the pods bound to it.
    on_node: BTreeMap<String, BTreeSet<String>>,
    pub(super) dice: Dice,
}

#[derive(Default)]
struct Shelf {
    objects: BTreeMap<String, Arc<Object>>,
    log: VecDeque<Arc<Change>>,
    /// Changes up to this revision are forgotten.
    compacted: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    Added,
    Modified,
    Deleted,
}

#[derive(Debug)]
pub struct Change {
    pub revision: u64,
    pub event: Event,
    /// As it is now; of a deleted one the last state, with the revision of the deletion.
    pub object: Arc<Object>,
    pub previous: Option<Arc<Object>>,
}

/// The log does not reach back that far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooOld {
    pub oldest: u64,
}

impl Store {
    pub fn new(seed: u64) -> Self {
        Self {
            kinds: Kinds::built_in(),
            shelves: BTreeMap::new(),
            revision: 1,
            count: 0,
            log_length: 10_000,
            owned: BTreeMap::new(),
            on_node: BTreeMap::new(),
            dice: Dice::new(seed),
        }
    }

    /// The revision of the last write.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.count
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// `namespace` is empty for cluster-wide kinds.
    pub fn get(&self, kind: &str, namespace: &str, name: &str) -> Option<&Arc<Object>> {
        self.by_key(kind, &key(namespace, name))
    }

    pub fn by_key(&self, kind: &str, key: &str) -> Option<&Arc<Object>> {
        self.shelves.get(kind)?.objects.get(key)
    }

    /// In order of namespace and name. `None`: all namespaces.
    pub fn list<'a>(
        &'a self,
        kind: &str,
        namespace: Option<&str>,
    ) -> Box<dyn Iterator<Item = &'a Arc<Object>> + 'a> {
        let Some(rack) = self.shelves.get(kind) else {
            return Box::new(std::iter::empty());
        };
        let Some(namespace) = namespace else {
            return Box::new(rack.objects.values());
        };
        let start = format!("{namespace}/");
        let inside = rack.objects.range(start.clone()..);
        let inside = inside.take_while(move |(key, _)| key.starts_with(&start));
        Box::new(inside.map(|(_, object)| object))
    }

    /// Everything after `key`, for lists in pages.
    pub fn list_after<'a>(
        &'a self,
        kind: &str,
        after: &str,
    ) -> Box<dyn Iterator<Item = (&'a String, &'a Arc<Object>)> + 'a> {
        use std::ops::Bound::{Excluded, Unbounded};
        match self.shelves.get(kind) {
            None => Box::new(std::iter::empty()),
            Some(rack) => Box::new(rack.objects.range::<str, _>((Excluded(after), Unbounded))),
        }
    }

    /// Who names this uid as an owner: kind and object.
    pub fn owned_by(&self, uid: &str) -> impl Iterator<Item = (&str, &Arc<Object>)> {
        let owned = self.owned.get(uid).into_iter().flatten();
        owned.filter_map(|(kind, key)| Some((kind.as_str(), self.by_key(kind, key)?)))
    }

    /// Pods bound to a node, finished ones included.
    pub fn pods_on(&self, node: &str) -> impl Iterator<Item = &Arc<Object>> {
        let keys = self.on_node.get(node).into_iter().flatten();
        keys.filter_map(|key| self.by_key("pods", key))
    }

    /// Changes of one kind after `revision`, in order.
    pub fn changes_since(
        &self,
        kind: &str,
        revision: u64,
    ) -> Result<impl Iterator<Item = &Arc<Change>> + use<'_>, TooOld> {
        let log = self.shelves.get(kind).map(|rack| {
            let from = rack
                .log
                .partition_point(|change| change.revision <= revision);
            (rack.compacted, rack.log.range(from..))
        });
        match log {
            Some((compacted, _)) if revision < compacted => Err(TooOld { oldest: compacted }),
            Some((_, changes)) => Ok(Some(changes).into_iter().flatten()),
            None => Ok(None.into_iter().flatten()),
        }
    }

    /// The revision of the last change of one kind, as far as the log knows.
    pub fn last_change(&self, kind: &str) -> u64 {
        self.shelves.get(kind).map_or(0, |rack| {
            let last = rack.log.back();
            last.map_or(rack.compacted, |change| change.revision)
        })
    }

    /// The object before its last `back` changes, for stale reads. `None` for one that was not there.
    pub fn shelf_before(&self, kind: &str, back: usize) -> BTreeMap<String, Arc<Object>> {
        let Some(rack) = self.shelves.get(kind) else {
            return BTreeMap::new();
        };
        let mut objects = rack.objects.clone();
        for change in rack.log.iter().rev().take(back) {
            let key = key(change.object.namespace(), change.object.name());
            match &change.previous {
                Some(previous) => objects.insert(key, Arc::clone(previous)),
                None => objects.remove(&key),
            };
        }
        objects
    }

    /// Forget the log: every watch from an older revision is answered 410.
    pub fn compact(&mut self) {
        let revision = self.revision;
        for rack in self.shelves.values_mut() {
            rack.log.clear();
            rack.compacted = revision;
        }
    }

    /// Keep this many changes of each kind.
    pub fn keep_changes(&mut self, length: usize) {
        self.log_length = length;
        for rack in self.shelves.values_mut() {
            rack.trim(length);
        }
    }

    pub fn kind(&self, id: &str) -> Result<Arc<Kind>, Status> {
        self.kinds.get(id).cloned().ok_or_else(Status::no_such_path)
    }

    /// Writes without asking any rule; numbers the write.
    pub(super) fn put(&mut self, kind: &str, mut value: Value) -> Arc<Object> {
        self.revision += 1;
        value["metadata"]["resourceVersion"] = self.revision.to_string().into();
        let object = Arc::new(Object::new(value, self.count < SMALL));
        let key = key(object.namespace(), object.name());
        let rack = self.shelves.entry(kind.to_owned()).or_default();
        let previous = rack.objects.insert(key.clone(), Arc::clone(&object));
        match &previous {
            Some(previous) => self.unindex(kind, &key, previous),
            None => self.count += 1,
        }
        self.index(kind, &key, &object);
        let event = if previous.is_some() {
            Event::Modified
        } else {
            Event::Added
        };
        self.note(kind, event, Arc::clone(&object), previous);
        object
    }

    /// Removes without asking any rule; returns the last state with the revision of the deletion.
    pub(super) fn remove(&mut self, kind: &str, key: &str) -> Option<Arc<Object>> {
        let previous = self.shelves.get_mut(kind)?.objects.remove(key)?;
        self.unindex(kind, key, &previous);
        self.count -= 1;
        self.revision += 1;
        let mut last = Arc::unwrap_or_clone(previous.value());
        last["metadata"]["resourceVersion"] = self.revision.to_string().into();
        let last = Arc::new(Object::new(last, self.count < SMALL));
        self.note(kind, Event::Deleted, Arc::clone(&last), Some(previous));
        Some(last)
    }

    fn note(
        &mut self,
        kind: &str,
        event: Event,
        object: Arc<Object>,
        previous: Option<Arc<Object>>,
    ) {
        let revision = self.revision;
        let rack = self.shelves.entry(kind.to_owned()).or_default();
        rack.log.push_back(Arc::new(Change {
            revision,
            event,
            object,
            previous,
        }));
        rack.trim(self.log_length);
    }

    fn index(&mut self, kind: &str, key: &str, object: &Object) {
        for owner in &object.meta.owners {
            let owned = self.owned.entry(owner.uid.clone()).or_default();
            owned.insert((kind.to_owned(), key.to_owned()));
        }
        if kind == "pods" && !object.meta.node.is_empty() {
            let here = self.on_node.entry(object.meta.node.clone()).or_default();
            here.insert(key.to_owned());
        }
    }

    fn unindex(&mut self, kind: &str, key: &str, object: &Object) {
        for owner in &object.meta.owners {
            if let Some(owned) = self.owned.get_mut(&owner.uid) {
                owned.remove(&(kind.to_owned(), key.to_owned()));
                if owned.is_empty() {
                    self.owned.remove(&owner.uid);
                }
            }
        }
        if kind == "pods"
            && let Some(here) = self.on_node.get_mut(&object.meta.node)
        {
            here.remove(key);
        }
    }
}

impl Shelf {
    fn trim(&mut self, length: usize) {
        while self.log.len() > length {
            if let Some(old) = self.log.pop_front() {
                self.compacted = old.revision;
            }
        }
    }
}

/// Names hold no slash, so this is unique and sorts by namespace, then name.
pub fn key(namespace: &str, name: &str) -> String {
    format!("{namespace}/{name}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pod(name: &str, node: &str) -> Value {
        json!({"metadata": {"namespace": "a", "name": name}, "spec": {"nodeName": node}})
    }

    #[test]
    fn the_log_says_what_changed_since_and_when_it_cannot() {
        let mut store = Store::new(1);
        let before = store.revision();
        store.put("pods", pod("x", ""));
        store.put("pods", pod("x", "n"));
        store.remove("pods", "a/x");
        let events: Vec<Event> = store
            .changes_since("pods", before)
            .unwrap()
            .map(|change| change.event)
            .collect();
        assert_eq!(events, [Event::Added, Event::Modified, Event::Deleted]);
        store.keep_changes(1);
        assert!(store.changes_since("pods", before).is_err());
        assert_eq!(store.changes_since("pods", before + 2).unwrap().count(), 1);
    }

    #[test]
    fn pods_are_found_by_their_node() {
        let mut store = Store::new(1);
        store.put("pods", pod("x", "n"));
        store.put("pods", pod("y", "m"));
        store.put("pods", pod("y", "n"));
        assert_eq!(store.pods_on("n").count(), 2);
        store.remove("pods", "a/x");
        assert_eq!(store.pods_on("n").count(), 1);
        assert_eq!(store.pods_on("m").count(), 0);
    }

    #[test]
    fn a_shelf_can_be_seen_as_it_was_before_its_last_changes() {
        let mut store = Store::new(1);
        store.put("pods", pod("x", ""));
        store.put("pods", pod("x", "n"));
        store.put("pods", pod("y", ""));
        let old = store.shelf_before("pods", 2);
        assert_eq!(old.len(), 1);
        assert_eq!(old["a/x"].meta.node, "");
    }
}
