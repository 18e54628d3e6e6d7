//! How does a watch fill its store, whatever the API server does meanwhile?

use std::fmt::Debug;
use std::sync::Arc;

use futures::StreamExt;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Resource, ResourceExt};
use runtime::readiness::Gate;
use serde::de::DeserializeOwned;

use super::Store;

/// Never ends. `told(old, new, listing)` is called for each change, after the store has it.
pub(super) async fn run<K>(
    api: Api<K>,
    store: &Store<K>,
    gate: Gate,
    told: impl Fn(Option<&K>, Option<&K>, bool),
) where
    K: Resource + ResourceExt + Clone + DeserializeOwned + Debug + Send + 'static,
{
    let mut events = watcher(api, watcher::Config::default())
        .default_backoff()
        .boxed();
    let mut listed: Vec<K> = Vec::new();
    loop {
        match events.next().await {
            None => return,
            Some(Err(error)) => {
                tracing::warn!(kind = store.kind(), %error, "watch failed; trying again");
                if !store.complete() {
                    gate.close(&format!("cannot be listed: {error}"));
                }
            }
            Some(Ok(Event::Init)) => listed.clear(),
            Some(Ok(Event::InitApply(object))) => listed.push(object),
            Some(Ok(Event::InitDone)) => {
                relist(store, std::mem::take(&mut listed), &told);
                gate.open();
            }
            Some(Ok(Event::Apply(object))) => {
                let (old, new) = store.put(object);
                told(old.as_deref(), Some(&new), false);
            }
            Some(Ok(Event::Delete(object))) => {
                let old = store.remove(&object);
                told(Some(old.as_deref().unwrap_or(&object)), None, false);
            }
        }
    }
}

fn relist<K: ResourceExt>(
    store: &Store<K>,
    list: Vec<K>,
    told: &impl Fn(Option<&K>, Option<&K>, bool),
) {
    let mut before = store.replace(list);
    for new in store.all() {
        let old: Option<Arc<K>> = before.remove(&super::key(&*new));
        told(old.as_deref(), Some(&new), true);
    }
    for gone in before.values() {
        told(Some(gone), None, true);
    }
}
