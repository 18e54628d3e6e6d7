//! How does a watch fill its store, whatever the API server does meanwhile?

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use kube::runtime::WatchStreamExt;
use kube::runtime::utils::Backoff;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Resource, ResourceExt};
use runtime::readiness::Gate;
use serde::de::DeserializeOwned;
use tokio::time::Instant;

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
        .backoff(Patience::default())
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

/// 800 ms after the first failure, doubled up to 30 s; patient again after two minutes without any. No dice: order must replay.
#[derive(Default)]
struct Patience {
    failures: u32,
    last: Option<Instant>,
}

impl Iterator for Patience {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let doubled = Duration::from_millis(800).saturating_mul(1 << self.failures.min(6));
        self.failures = self.failures.saturating_add(1);
        self.last = Some(Instant::now());
        Some(doubled.min(Duration::from_secs(30)))
    }
}

impl Backoff for Patience {
    /// Called after every success, also when a list is only begun: that alone proves nothing.
    fn reset(&mut self) {
        if self
            .last
            .is_none_or(|last| last.elapsed() >= Duration::from_mins(2))
        {
            self.failures = 0;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn failures_are_retried_later_each_time_until_two_minutes_were_quiet() {
        let mut patience = Patience::default();
        let first: Vec<_> = patience.by_ref().take(3).collect();
        assert_eq!(first, [800, 1600, 3200].map(Duration::from_millis));
        patience.reset();
        assert_eq!(patience.next(), Some(Duration::from_millis(6400)));
        assert_eq!(patience.nth(9), Some(Duration::from_secs(30)));
        tokio::time::advance(Duration::from_mins(2)).await;
        patience.reset();
        assert_eq!(patience.next(), Some(Duration::from_millis(800)));
    }
}
