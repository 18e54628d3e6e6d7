//! Who acts in the cluster besides those who call its API?

use super::controllers;
use super::kubelet::{Door, Kubelets, Machines};
use super::pace::Pace;
use super::scheduler::Scheduler;
use super::world::Actor;

/// All actors, and how they are set up. The default: everyone, at the usual pace, and no machines.
#[derive(Clone, Default)]
pub struct Cast {
    pub pace: Pace,
    /// What booted machines meet.
    pub door: Door,
    /// Where clouds announce them: keep a clone and give [`Machines::hand`] to each cloud's engine.
    pub machines: Machines,
}

impl Cast {
    /// In the order in which they look: who asks before who gives.
    pub fn actors(&self) -> Vec<Box<dyn Actor>> {
        let ca = self.door.ca.clone().unwrap_or_default();
        let mut actors = controllers::all(&self.pace, &ca);
        actors.push(Box::new(Scheduler::new(&self.pace)));
        let (pace, door) = (self.pace.clone(), self.door.clone());
        actors.push(Box::new(Kubelets::new(pace, door, self.machines.clone())));
        actors
    }
}
