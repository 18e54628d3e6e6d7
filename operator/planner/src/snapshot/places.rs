//! What room is there already, and what room is on its way?

use crate::catalog::CapacityType;
use crate::requirements::Requirements;
use crate::resources::Resources;
use crate::snapshot::HostPort;
use crate::taints::Taint;
use std::sync::Arc;

/// A node that is there, ours or somebody else's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    pub name: Arc<str>,
    /// Only ours have one; others are used for placement but never count against limits.
    pub pool: Option<Arc<str>>,
    pub labels: Vec<(Arc<str>, Arc<str>)>,
    /// Those that count for planning: see `taints::lasting`.
    pub taints: Vec<Taint>,
    pub capacity: Resources,
    pub allocatable: Resources,
    /// Requests of all pods bound to it, daemons included.
    pub used: Resources,
    /// The part of `used` that daemons take.
    pub daemons: Resources,
    pub ports: Vec<HostPort>,
    /// How many volumes of a driver it takes, as its CSINode says: `None` is no limit. A driver that is not named takes its
    /// type's limit.
    pub volume_limits: Vec<(Arc<str>, Option<u32>)>,
    pub initialized: bool,
    /// Being deleted or disrupted: gives no room and counts against no limit.
    pub leaving: bool,
}

/// A claim that is no node yet. It counts with the allocatable of its first offering.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claim {
    pub name: Arc<str>,
    pub pool: Arc<str>,
    pub labels: Vec<(Arc<str>, Arc<str>)>,
    /// `spec.requirements`.
    pub requirements: Requirements,
    /// `spec.taints`, without start-up taints.
    pub taints: Vec<Taint>,
    /// `spec.resources.requests`: the least it will have, if nothing better is known.
    pub requests: Resources,
    /// Instance type, zone and capacity type it is launched as, from the ledger or the offerings annotation.
    pub offering: Option<(Arc<str>, Arc<str>, CapacityType)>,
    /// `status.capacity` and `status.allocatable`, once the cloud has said them.
    pub told: Option<(Resources, Resources)>,
    pub leaving: bool,
}

impl Node {
    pub fn label(&self, key: &str) -> Option<&str> {
        self.labels
            .iter()
            .find(|(known, _)| known.as_ref() == key)
            .map(|(_, value)| value.as_ref())
    }
}
