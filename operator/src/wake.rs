//! Who has to look again when something changes?

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crds::karpenter::{NodeClaim, NodePool};
use crds::openstack::v1::OpenStackNodeClass;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::api::storage::v1::VolumeAttachment;
use kube::ResourceExt;
use runtime::Clock;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::brakes::is_paused;
use crate::ingest;
use crate::metrics::PodTimes;

type Keys = UnboundedSender<String>;

/// The mirror's side.
#[derive(Clone)]
pub struct Wake {
    claims: Keys,
    drains: Keys,
    pools: Keys,
    classes: Keys,
    plans: Keys,
    clock: Clock,
    pod_events: PodEvents,
    times: PodTimes,
}

/// The controllers' side.
pub struct Woken {
    pub claims: UnboundedReceiver<String>,
    pub drains: UnboundedReceiver<String>,
    pub pools: UnboundedReceiver<String>,
    pub classes: UnboundedReceiver<String>,
    pub plans: UnboundedReceiver<String>,
}

/// When a pod last came to or went from a node, by node name.
#[derive(Clone, Default)]
pub struct PodEvents(Arc<Mutex<BTreeMap<String, Timestamp>>>);

impl PodEvents {
    pub fn of(&self, node: &str) -> Option<Timestamp> {
        let events = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        events.get(node).copied()
    }

    fn note(&self, node: &str, at: Timestamp) {
        let mut events = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        events.insert(node.to_owned(), at);
    }

    fn forget(&self, node: &str) {
        let mut events = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        events.remove(node);
    }
}

pub fn channels(clock: Clock, times: PodTimes) -> (Wake, Woken) {
    let (claims, claims_woken) = unbounded_channel();
    let (drains, drains_woken) = unbounded_channel();
    let (pools, pools_woken) = unbounded_channel();
    let (classes, classes_woken) = unbounded_channel();
    let (plans, plans_woken) = unbounded_channel();
    let wake = Wake {
        claims,
        drains,
        pools,
        classes,
        plans,
        clock,
        pod_events: PodEvents::default(),
        times,
    };
    let woken = Woken {
        claims: claims_woken,
        drains: drains_woken,
        pools: pools_woken,
        classes: classes_woken,
        plans: plans_woken,
    };
    (wake, woken)
}

impl Wake {
    pub fn pod_events(&self) -> PodEvents {
        self.pod_events.clone()
    }

    /// Something the plan depends on has changed.
    pub fn plan(&self) {
        tell(&self.plans, String::new());
    }

    pub fn claim_named(&self, name: &str) {
        tell(&self.claims, name.to_owned());
    }

    /// Whatever is to be done about the instance of this claim; its node has the claim's name.
    pub fn instance_of(&self, claim: &str) {
        tell(&self.claims, claim.to_owned());
        tell(&self.drains, claim.to_owned());
    }

    pub fn pools_of(&self, pool: &str) {
        tell(&self.pools, pool.to_owned());
    }

    pub fn class_named(&self, name: &str) {
        tell(&self.classes, name.to_owned());
    }

    pub fn pod(&self, old: Option<&Pod>, new: Option<&Pod>, listing: bool) {
        self.times.changed(old, new, self.clock.now());
        if new.is_some_and(ingest::pod::is_pending) && !old.is_some_and(ingest::pod::is_pending) {
            tell(
                &self.plans,
                new.map(kube::ResourceExt::name_any).unwrap_or_default(),
            );
        }
        let node = |pod: Option<&Pod>| {
            pod.filter(|pod| ingest::pod::is_active(pod))
                .and_then(ingest::pod::node_of)
        };
        let (was, is) = (node(old), node(new));
        if was != is && !listing {
            for name in [was, is].into_iter().flatten() {
                self.pod_events.note(&name, self.clock.now());
                tell(&self.claims, name);
            }
        }
        let bound = new.or(old).and_then(ingest::pod::node_of);
        if let Some(name) = bound {
            tell(&self.drains, name);
        }
    }

    /// The node of a claim has the claim's name.
    pub fn node(&self, old: Option<&Node>, new: Option<&Node>) {
        let Some(node) = new.or(old) else { return };
        let name = node.name_any();
        tell(&self.claims, name.clone());
        if new.is_none() {
            self.pod_events.forget(&name);
            self.plan();
        }
        if let Some(pool) = node.labels().get(planner::labels::POOL) {
            tell(&self.pools, pool.clone());
        }
        tell(&self.drains, name);
    }

    /// A node that was drained may wait for its volumes.
    pub fn attachment(&self, old: Option<&VolumeAttachment>, new: Option<&VolumeAttachment>) {
        if let Some(attachment) = new.or(old) {
            tell(&self.drains, attachment.spec.node_name.clone());
        }
    }

    pub fn claim(&self, old: Option<&NodeClaim>, new: Option<&NodeClaim>) {
        let Some(claim) = new.or(old) else { return };
        tell(&self.claims, claim.name_any());
        if let Some(pool) = claim.labels().get(planner::labels::POOL) {
            tell(&self.pools, pool.clone());
        }
        if new.is_none() {
            // Its class may be waiting to go.
            tell(&self.classes, claim.spec.node_class_ref.name.clone());
            self.plan();
        }
    }

    pub fn pool(&self, old: Option<&NodePool>, new: Option<&NodePool>) {
        let Some(pool) = new.or(old) else { return };
        tell(&self.pools, pool.name_any());
        let generation = |pool: Option<&NodePool>| pool.and_then(|pool| pool.metadata.generation);
        let buys = |pool: Option<&NodePool>| {
            pool.map(|pool| (ingest::pool::is_ready(pool), is_paused(pool)))
        };
        if generation(old) != generation(new) || buys(old) != buys(new) {
            self.plan();
        }
    }

    pub fn class(&self, old: Option<&OpenStackNodeClass>, new: Option<&OpenStackNodeClass>) {
        let Some(class) = new.or(old) else { return };
        // Our own status must not wake us: every turn asks the cloud.
        let matters = |class: &OpenStackNodeClass| {
            let meta = &class.metadata;
            let leaves = meta.deletion_timestamp.clone();
            (
                meta.uid.clone(),
                meta.generation,
                meta.annotations.clone(),
                meta.finalizers.clone(),
                leaves,
            )
        };
        if old.map(matters) != new.map(matters) {
            tell(&self.classes, class.name_any());
        }
        // Pools say whether their class is ready, as the mirror knows it: this is the moment it does.
        let judged = |class: &OpenStackNodeClass| {
            let status = class.status.as_ref();
            let paused = is_paused(class);
            (status.and_then(|status| status.conditions.clone()), paused)
        };
        if old.map(judged) != new.map(judged) {
            tell(&self.pools, pools_of_class(&class.name_any()));
        }
    }
}

/// A key of the pool controller that means all pools of a class; no pool can have this name.
pub fn pools_of_class(class: &str) -> String {
    format!("class/{class}")
}

/// A controller that has ended needs no news.
fn tell(to: &Keys, key: String) {
    let _ = to.send(key);
}

#[cfg(test)]
mod tests {
    use super::*;
    use runtime::metrics::Metrics;
    use serde_json::json;

    fn class(ready: Option<&str>) -> OpenStackNodeClass {
        let conditions = ready.map(|status| {
            json!([{ "type": "Ready", "status": status, "reason": "Ready", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z" }])
        });
        serde_json::from_value(json!({
            "apiVersion": "karpenter.k8s.openstack/v1", "kind": "OpenStackNodeClass",
            "metadata": { "name": "default", "uid": "u" },
            "spec": { "imageSelectorTerms": [{ "name": "i" }], "ports": [{ "network": { "name": "n" } }] },
            "status": { "conditions": conditions },
        }))
        .unwrap()
    }

    #[test]
    fn pools_look_again_when_the_mirror_learns_that_their_class_was_judged() {
        let times = PodTimes::new(&Metrics::default());
        let (wake, mut woken) = channels(Clock::real(), times);
        wake.class(Some(&class(None)), Some(&class(Some("True"))));
        assert_eq!(woken.pools.try_recv().unwrap(), "class/default");
        assert!(
            woken.classes.try_recv().is_err(),
            "our own status must not wake the class"
        );
        wake.class(Some(&class(Some("True"))), Some(&class(Some("True"))));
        assert!(woken.pools.try_recv().is_err());
    }
}
