//! What comes with a namespace, and what goes with it?

use jiff::Timestamp;
use serde_json::json;

use super::paths::set;
use super::rules::Deletion;
use super::store::Store;
use super::world::Actor;

pub(super) struct Namespaces;

impl Actor for Namespaces {
    fn tick(&mut self, store: &mut Store, now: Timestamp) -> Option<Timestamp> {
        let all: Vec<(String, bool)> = store
            .list("namespaces", None)
            .map(|home| (home.name().to_owned(), home.meta.deleted_at.is_some()))
            .collect();
        for (name, ending) in all {
            if ending {
                empty(store, &name, now);
            } else if store.get("serviceaccounts", &name, "default").is_none() {
                let account = json!({"metadata": {"name": "default", "namespace": name}});
                let _ = store.create("serviceaccounts", account, now);
            }
        }
        None
    }
}

/// Deletes what is inside; the last finalizer goes when nothing is left.
fn empty(store: &mut Store, name: &str, now: Timestamp) {
    let kinds: Vec<String> = store
        .kinds
        .iter()
        .filter(|kind| kind.namespaced && !kind.asked_only)
        .map(|kind| kind.id.clone())
        .collect();
    let mut left = 0;
    for kind in kinds {
        let inside: Vec<(String, bool)> = store
            .list(&kind, Some(name))
            .map(|object| (object.name().to_owned(), object.meta.deleted_at.is_some()))
            .collect();
        for (object, ending) in inside {
            if !ending {
                let _ = store.delete(&kind, (name, &object), &Deletion::default(), now);
            }
        }
        left += store.list(&kind, Some(name)).count();
    }
    if left == 0 {
        let _ = store.change("namespaces", ("", name), now, |value| {
            set(value, &["spec", "finalizers"], json!([]));
        });
    }
}
