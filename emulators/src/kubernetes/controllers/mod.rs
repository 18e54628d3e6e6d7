//! Who keeps the cluster as its objects ask for it?
//!
//! Each controller learns from the change log which of its objects to look at ([`driver`], [`feed`]), and acts by
//! writing to the store, under the same rules as everybody else.

pub mod budgets;
pub mod conditions;
pub mod daemonsets;
mod deployment_status;
pub mod deployments;
pub mod driver;
pub mod evictor;
pub mod feed;
pub mod garbage;
pub mod jobs;
pub mod namespaces;
pub mod nodes;
pub mod pods;
pub mod recorder;
pub mod replicasets;
pub mod rollout;
pub mod statefulsets;
pub mod tokens;
pub mod volumes;

#[cfg(test)]
mod tests;

use self::driver::Driver;
use self::recorder::{Forgetter, Recorder};
use super::pace::Pace;
use super::world::Actor;

/// Everyone but scheduler and kubelets, in the order in which they look: owners before what they own.
pub fn all(pace: &Pace, ca: &str) -> Vec<Box<dyn Actor>> {
    let recorder = |component| Recorder::new(component, pace.events);
    let namespaces = namespaces::Namespaces { ca: ca.to_owned() };
    let deployments = deployments::Deployments {
        recorder: recorder("deployment-controller"),
    };
    let sets = replicasets::ReplicaSets {
        recorder: recorder("replicaset-controller"),
    };
    let daemons = daemonsets::DaemonSets::new(recorder("daemonset-controller"));
    vec![
        Box::new(Driver::new(namespaces)),
        Box::new(Driver::new(tokens::Tokens)),
        Box::new(nodes::Nodes::new(pace.silence)),
        Box::new(garbage::Garbage::default()),
        Box::new(Driver::new(deployments)),
        Box::new(Driver::new(sets)),
        Box::new(Driver::new(statefulsets::StatefulSets)),
        Box::new(Driver::new(daemons)),
        Box::new(Driver::new(jobs::Jobs)),
        Box::new(evictor::Evictor::new(pace.orphaned)),
        Box::new(Driver::new(volumes::Volumes)),
        Box::new(Driver::new(budgets::Budgets)),
        Box::new(Forgetter::new(pace.events)),
    ]
}
