//! What does each pod of the mirror mean? Worked out once per version of it.
//!
//! Nothing but a cache: an empty one gives the same snapshot, later.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use planner::drain::Owner;
use planner::labels::WellKnown;
use planner::snapshot::Spread;

use super::meaning::{Reader, Seen};
use crate::{ingest, mirror};

#[derive(Default)]
pub struct Readings {
    reader: Reader,
    /// In the order of the mirror.
    all: Vec<Reading>,
    fresh: usize,
}

struct Reading {
    /// Another version of a pod is another object. Held, so that no other object takes its address.
    of: Arc<Pod>,
    /// `None`: it is nobody to plan for.
    seen: Option<Seen>,
    of_daemon_set: bool,
}

impl Readings {
    /// Reads the pods that it does not know in this version, and forgets those that are not among them.
    pub fn catch_up(&mut self, pods: Vec<Arc<Pod>>, well_known: &WellKnown, spreads: &[Spread]) {
        if !self.reader.knows(well_known, spreads) {
            self.reader = Reader::new(well_known.clone(), spreads.to_vec());
            self.all.clear();
        }
        let mut before = std::mem::take(&mut self.all).into_iter().peekable();
        self.all.reserve(pods.len());
        self.fresh = 0;
        for pod in pods {
            // Both are sorted by key: who stands before this pod has gone, who stands in its place has changed.
            let gone = |one: &Reading| {
                !Arc::ptr_eq(&one.of, &pod) && mirror::key(&*one.of) <= mirror::key(&*pod)
            };
            while before.next_if(gone).is_some() {}
            let known = before.next_if(|one| Arc::ptr_eq(&one.of, &pod));
            let reading = known.unwrap_or_else(|| {
                self.fresh += 1;
                Reading {
                    seen: seen(&mut self.reader, &pod),
                    of_daemon_set: ingest::pod::owner(&pod) == Owner::DaemonSet,
                    of: pod,
                }
            });
            self.all.push(reading);
        }
        drop(before);
        self.reader.forget_unused();
    }

    pub fn seen(&self) -> impl Iterator<Item = &Seen> {
        self.all.iter().filter_map(|one| one.seen.as_ref())
    }

    pub fn of_daemon_sets(&self) -> impl Iterator<Item = &Arc<Pod>> {
        let daemons = self.all.iter().filter(|one| one.of_daemon_set);
        daemons.map(|one| &one.of)
    }

    /// How many pods there were to read the last time.
    pub fn fresh(&self) -> usize {
        self.fresh
    }

    /// How many pods it knows, and how many shapes.
    #[cfg(test)]
    pub(super) fn sizes(&self) -> (usize, usize) {
        (self.all.len(), self.reader.shapes())
    }
}

/// A pod that is on a node or waits for one; the others are not ours to look at yet, or any more.
fn seen(reader: &mut Reader, pod: &Pod) -> Option<Seen> {
    let runs = ingest::pod::is_active(pod) && ingest::pod::node_of(pod).is_some();
    if !runs && !ingest::pod::is_pending(pod) {
        return None;
    }
    Some(Seen {
        name: mirror::key(pod).into(),
        uid: pod.uid()?.into(),
        meaning: reader.read(pod)?,
    })
}
