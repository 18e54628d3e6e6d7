//! Whose owner is gone, and what must go with it?

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::feed::{Feed, News};
use crate::kubernetes::object::{Object, Owner};
use crate::kubernetes::reading::{list, text};
use crate::kubernetes::rules::{Deletion, Propagation};
use crate::kubernetes::store::{Event, Store, key};
use crate::kubernetes::world::Actor;

const FOREGROUND: &str = "foregroundDeletion";
const ORPHAN: &str = "orphan";

/// Follows the owner references of every kind there is.
#[derive(Default)]
pub struct Garbage {
    feeds: BTreeMap<String, Feed>,
    /// Owners that wait for their dependants: (kind, key).
    waiting: BTreeSet<(String, String)>,
}

type Place = (String, String);

impl Garbage {
    /// Uids that are gone, objects with owners that are new, and owners that wait.
    fn news(&mut self, store: &Store) -> (Vec<String>, BTreeSet<Place>) {
        let (mut gone, mut look) = (Vec::new(), BTreeSet::new());
        let kinds: Vec<String> = store.kinds.iter().map(|kind| kind.id.clone()).collect();
        for kind in kinds {
            let feed = self
                .feeds
                .entry(kind.clone())
                .or_insert_with(|| Feed::new(&kind));
            let concerns = |object: &Object| {
                !object.meta.owners.is_empty() || object.meta.deleted_at.is_some()
            };
            match feed.read(store) {
                News::All => look.extend(
                    store
                        .list(&kind, None)
                        .filter(|object| concerns(object))
                        .map(|object| (kind.clone(), key(object.namespace(), object.name()))),
                ),
                News::Since(changes) => {
                    for change in changes {
                        let object = &change.object;
                        if change.event == Event::Deleted {
                            gone.push(object.meta.uid.clone());
                        } else if concerns(object) && turned(change.previous.as_deref(), object) {
                            look.insert((kind.clone(), key(object.namespace(), object.name())));
                        }
                    }
                }
            }
        }
        (gone, look)
    }

    fn judge(&mut self, store: &mut Store, place: &Place, now: Timestamp) {
        let (kind, key) = place;
        let Some(object) = store.by_key(kind, key).cloned() else {
            self.waiting.remove(place);
            return;
        };
        if object.meta.deleted_at.is_some() {
            let has = |name: &str| object.meta.finalizers.iter().any(|have| have == name);
            if has(ORPHAN) {
                let_go(store, &object, now);
                take_off(store, (kind, &object), ORPHAN, now);
            } else if has(FOREGROUND) {
                self.waiting.insert(place.clone());
                if dependants_gone(store, &object, now) {
                    self.waiting.remove(place);
                    take_off(store, (kind, &object), FOREGROUND, now);
                }
            }
            return;
        }
        let owners = &object.meta.owners;
        if !owners.is_empty() && !owners.iter().any(|owner| lives(store, owner, &object)) {
            let how = Deletion {
                uid: Some(object.meta.uid.clone()),
                propagation: Some(Propagation::Background),
                ..Deletion::default()
            };
            let _ = store.delete(kind, (object.namespace(), object.name()), &how, now);
        }
    }
}

impl Actor for Garbage {
    fn tick(&mut self, store: &mut Store, now: Timestamp) -> Option<Timestamp> {
        // a removed dependant has dependants of its own
        loop {
            let (gone, mut look) = self.news(store);
            for uid in &gone {
                let owned = store.owned_by(uid);
                look.extend(owned.map(|(kind, object)| {
                    (kind.to_owned(), key(object.namespace(), object.name()))
                }));
            }
            if !gone.is_empty() {
                look.extend(self.waiting.iter().cloned());
            }
            if look.is_empty() {
                return None;
            }
            for place in look {
                self.judge(store, &place, now);
            }
        }
    }
}

/// Most writes change neither owners nor the mark of deletion.
fn turned(previous: Option<&Object>, object: &Object) -> bool {
    previous.is_none_or(|previous| {
        object.meta.deleted_at.is_some() || previous.meta.owners != object.meta.owners
    })
}

/// An owner of another kind or namespace than the reference says does not exist.
fn lives(store: &Store, owner: &Owner, dependant: &Object) -> bool {
    let value = dependant.value();
    let reference = list(&value["metadata"]["ownerReferences"])
        .iter()
        .find(|reference| text(reference, "uid") == owner.uid);
    let version = reference.map_or("", |reference| text(reference, "apiVersion"));
    let (group, _) = version.split_once('/').unwrap_or(("", version));
    let known = store
        .kinds
        .iter()
        .find(|kind| kind.kind == owner.kind && kind.group == group);
    // a kind nobody serves may come: its dependants wait
    known.is_none_or(|kind| {
        let namespace = if kind.namespaced {
            dependant.namespace()
        } else {
            ""
        };
        let owned_by = store.get(&kind.id, namespace, &owner.name);
        owned_by.is_some_and(|object| object.meta.uid == owner.uid)
    })
}

/// Deletes what blocks the owner's end. True if nothing does any more.
fn dependants_gone(store: &mut Store, owner: &Object, now: Timestamp) -> bool {
    let uid = &owner.meta.uid;
    let all: Vec<(String, std::sync::Arc<Object>)> = store
        .owned_by(uid)
        .map(|(kind, object)| (kind.to_owned(), object.clone()))
        .collect();
    for (kind, object) in &all {
        if object.meta.deleted_at.is_none() {
            let how = Deletion {
                propagation: Some(Propagation::Foreground),
                ..Deletion::default()
            };
            let _ = store.delete(kind, (object.namespace(), object.name()), &how, now);
        }
    }
    !store.owned_by(uid).any(|(_, object)| {
        let mut owners = object.meta.owners.iter();
        owners.any(|owner| owner.uid == *uid && owner.blocks_deletion)
    })
}

/// The dependants forget their owner.
fn let_go(store: &mut Store, owner: &Object, now: Timestamp) {
    let all: Vec<(String, String, String)> = store
        .owned_by(&owner.meta.uid)
        .map(|(kind, object)| {
            let (namespace, name) = (object.namespace().to_owned(), object.name().to_owned());
            (kind.to_owned(), namespace, name)
        })
        .collect();
    for (kind, namespace, name) in all {
        let _ = store.change(&kind, (&namespace, &name), now, |value| {
            without(&mut value["metadata"]["ownerReferences"], |reference| {
                text(reference, "uid") == owner.meta.uid
            });
        });
    }
}

fn take_off(store: &mut Store, what: (&str, &Object), finalizer: &str, now: Timestamp) {
    let (kind, object) = what;
    let _ = store.change(kind, (object.namespace(), object.name()), now, |value| {
        without(&mut value["metadata"]["finalizers"], |have| {
            have == finalizer
        });
    });
}

fn without(all: &mut Value, gone: impl Fn(&Value) -> bool) {
    let kept: Vec<Value> = list(all).iter().filter(|one| !gone(one)).cloned().collect();
    *all = json!(kept);
}
