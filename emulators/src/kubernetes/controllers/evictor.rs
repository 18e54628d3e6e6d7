//! Who must leave a node with NoExecute taints, and when? And who stayed on a node that is no more?

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::driver::Alarms;
use super::feed::{Feed, News};
use crate::kubernetes::object::Object;
use crate::kubernetes::reading::after;
use crate::kubernetes::rules::Deletion;
use crate::kubernetes::store::{Store, key};
use crate::kubernetes::taints::{Taint, Toleration};
use crate::kubernetes::world::Actor;

pub struct Evictor {
    /// Pods of a node that does not exist stay so long.
    orphaned: SignedDuration,
    nodes: Feed,
    pods: Feed,
    /// Only nodes that have such taints.
    taints: BTreeMap<String, Vec<Taint>>,
    /// Since when a pod has been unwelcome: (pod, since).
    unwelcome: BTreeMap<String, Timestamp>,
    alarms: Alarms<String>,
}

impl Evictor {
    pub fn new(orphaned: SignedDuration) -> Self {
        Self {
            orphaned,
            nodes: Feed::new("nodes"),
            pods: Feed::new("pods"),
            taints: BTreeMap::new(),
            unwelcome: BTreeMap::new(),
            alarms: Alarms::default(),
        }
    }

    fn dirty(&mut self, store: &Store, now: Timestamp) -> BTreeSet<String> {
        let key_of = |object: &Object| key(object.namespace(), object.name());
        let mut dirty: BTreeSet<String> = self.alarms.ring(now).into_iter().collect();
        let names: Vec<String> = match self.nodes.read(store) {
            News::All => {
                dirty.extend(store.list("pods", None).map(|pod| key_of(pod)));
                let all = store.list("nodes", None);
                all.map(|node| node.name().to_owned()).collect()
            }
            News::Since(changes) => {
                let names = changes.iter().map(|change| change.object.name().to_owned());
                names.collect()
            }
        };
        for name in names {
            let node = store.get("nodes", "", &name);
            let taints = node.map(|node| Taint::of_node(&node.value()));
            let mut taints = taints.unwrap_or_default();
            taints.retain(|taint| taint.effect == "NoExecute");
            let before = if taints.is_empty() {
                self.taints.remove(&name)
            } else {
                self.taints.insert(name.clone(), taints.clone())
            };
            if before.unwrap_or_default() != taints || node.is_none() {
                dirty.extend(store.pods_on(&name).map(|pod| key_of(pod)));
            }
        }
        match self.pods.read(store) {
            News::All => dirty.extend(store.list("pods", None).map(|pod| key_of(pod))),
            News::Since(changes) => {
                dirty.extend(changes.iter().map(|change| key_of(&change.object)));
            }
        }
        dirty
    }

    /// When this pod must go, if it must.
    fn deadline(&mut self, store: &Store, pod: &Object, now: Timestamp) -> Option<Timestamp> {
        let key = key(pod.namespace(), pod.name());
        let node = &pod.meta.node;
        let nowhere = !node.is_empty() && store.get("nodes", "", node).is_none();
        let taints = self.taints.get(node);
        if !nowhere && (taints.is_none() || pod.meta.deleted_at.is_some()) {
            self.unwelcome.remove(&key);
            return None;
        }
        let since = *self.unwelcome.entry(key).or_insert(now);
        if nowhere {
            return Some(after(since, self.orphaned));
        }
        let tolerations = Toleration::of_pod(&pod.value());
        let patience = patience(taints?, &tolerations)?;
        Some(after(since, patience))
    }
}

/// How long a pod may stay; `None`: for ever.
fn patience(taints: &[Taint], tolerations: &[Toleration]) -> Option<SignedDuration> {
    let mut shortest: Option<SignedDuration> = None;
    for taint in taints {
        let covering = tolerations.iter().filter(|one| one.covers(taint));
        let covering: Vec<&Toleration> = covering.collect();
        if covering.is_empty() {
            return Some(SignedDuration::ZERO);
        }
        let limits = covering.iter().filter_map(|one| one.seconds);
        shortest = limits.chain(shortest).min();
    }
    shortest.map(|limit| limit.max(SignedDuration::ZERO))
}

impl Actor for Evictor {
    fn tick(&mut self, store: &mut Store, now: Timestamp) -> Option<Timestamp> {
        for key in self.dirty(store, now) {
            let Some(pod) = store.by_key("pods", &key).cloned() else {
                self.unwelcome.remove(&key);
                continue;
            };
            let Some(until) = self.deadline(store, &pod, now) else {
                continue;
            };
            if until > now {
                self.alarms.set(until, key);
                continue;
            }
            let nowhere = store.get("nodes", "", &pod.meta.node).is_none();
            let how = Deletion {
                grace_seconds: nowhere.then_some(0),
                ..Deletion::default()
            };
            let _ = store.delete("pods", (pod.namespace(), pod.name()), &how, now);
            self.unwelcome.remove(&key);
        }
        self.alarms.next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_shortest_toleration_counts_and_an_untolerated_taint_leaves_no_time() {
        let taints = [
            Taint::new("a", "", "NoExecute"),
            Taint::new("b", "", "NoExecute"),
        ];
        let toleration = |key: &str, seconds: Option<i64>| {
            Toleration::of(&json!({"key": key, "operator": "Exists", "tolerationSeconds": seconds}))
        };
        let both = [toleration("a", Some(300)), toleration("b", Some(5))];
        assert_eq!(patience(&taints, &both), Some(SignedDuration::from_secs(5)));
        let endless = [toleration("a", None), toleration("b", None)];
        assert_eq!(patience(&taints, &endless), None);
        assert_eq!(patience(&taints, &both[..1]), Some(SignedDuration::ZERO));
    }
}
