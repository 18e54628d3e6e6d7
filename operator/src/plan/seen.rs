//! What is kept of an object once it has been read?

use std::sync::Arc;

use planner::snapshot::{Claim, Node, Pool};
use planner::{Taint, labels};

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

impl NodeSeen {
    pub(super) fn pool(&self) -> Option<Arc<str>> {
        self.node.label(labels::POOL).map(Arc::from)
    }
}
