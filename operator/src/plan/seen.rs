//! What is kept of an object once it has been read?

use std::collections::HashMap;
use std::sync::Arc;

use planner::snapshot::{Claim, Node, Pod, Pool, Shape};
use planner::{Taint, labels};
use rustc_hash::FxBuildHasher;

/// Shapes, each once: a hundred thousand pods have a few hundred.
#[derive(Default)]
pub(super) struct Shapes {
    all: Vec<Shape>,
    known: HashMap<Shape, u32, FxBuildHasher>,
}

/// A pod that uses room or asks for it.
pub(super) struct PodSeen {
    pub(super) pod: Pod,
    pub(super) shape: u32,
    pub(super) node: Option<Arc<str>>,
    /// Volume claims it mounts, `namespace/name`.
    pub(super) claims: Vec<Arc<str>>,
    /// Lands on nodes by itself: counts where it is, and is never placed.
    pub(super) daemon: bool,
    /// On its way out: counts where it is, and is never placed.
    pub(super) ending: bool,
}

pub(super) struct NodeSeen {
    /// Its taints are all it has; usage and standing are filled in when everything has been read.
    pub(super) node: Node,
    pub(super) provider_id: Option<Arc<str>>,
}

pub(super) struct ClaimSeen {
    pub(super) claim: Claim,
    pub(super) provider_id: Option<Arc<str>>,
    pub(super) node_name: Option<Arc<str>>,
    pub(super) initialized: bool,
    pub(super) startup_taints: Vec<Taint>,
    pub(super) counts_as_room: bool,
}

pub(super) struct PoolSeen {
    pub(super) pool: Pool,
}

/// A NodeClass: what matters is whether it is ready.
pub(super) struct ClassSeen {
    pub(super) key: (String, String, String),
    /// What it said, if it is not.
    pub(super) not_ready: Option<String>,
}

impl Shapes {
    pub(super) fn intern(&mut self, shape: Shape) -> u32 {
        if let Some(at) = self.known.get(&shape) {
            return *at;
        }
        let at = u32::try_from(self.all.len()).unwrap_or(u32::MAX);
        self.known.insert(shape.clone(), at);
        self.all.push(shape);
        at
    }

    pub(super) fn get(&self, at: u32) -> &Shape {
        &self.all[at as usize]
    }
}

impl NodeSeen {
    pub(super) fn pool(&self) -> Option<Arc<str>> {
        self.node.label(labels::POOL).map(Arc::from)
    }
}
