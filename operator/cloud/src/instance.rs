//! What is ordered from a cloud, what came of it, and what must be gone in the end?

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use planner::{CapacityType, ClaimName, Identity, InstanceId};

use crate::bootstrap::UserData;
use crate::class::Resolved;
use crate::error::{CloudError, Scope};
use crate::said::Said;

/// One instance to be created. Everything is decided: the provider only says it in the cloud's words.
#[derive(Clone, Debug)]
pub struct Order {
    pub identity: Identity,
    /// Name of the instance, its host and its node.
    pub name: ClaimName,
    pub offering: Chosen,
    /// What the class resolved to when this was decided.
    pub on: Arc<Resolved>,
    pub user_data: UserData,
    /// Marks for people (pool, class, cluster name), with Kubernetes keys. The cloud's marks of identity are separate.
    pub marks: BTreeMap<String, String>,
}

/// The offering that was chosen, by the catalog's names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    pub instance_type: Arc<str>,
    pub zone: Arc<str>,
    pub capacity_type: CapacityType,
}

/// One instance that carries our identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    pub id: InstanceId,
    pub identity: Identity,
    pub name: String,
    pub state: InstanceState,
    /// When the cloud took the order, if it said so.
    pub created_at: Option<Timestamp>,
    /// The catalog's name of its type, or what the cloud calls it if the type has left the catalog.
    pub instance_type: Option<Arc<str>>,
    /// The zone as a label value; none before the cloud chose one.
    pub zone: Option<Arc<str>>,
    pub image: Option<Arc<str>>,
    /// Names of the groups it is in, if the cloud said so.
    pub security_groups: Option<Vec<Arc<str>>>,
    pub addresses: Vec<String>,
    /// Resources made for it that do not go away with it.
    pub side: Vec<SideResource>,
}

/// What an instance is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InstanceState {
    /// Being made.
    Pending,
    Running,
    /// Switched off, paused or otherwise not working, but kept.
    Stopped {
        said: Said,
    },
    /// Being deleted.
    Ending,
    /// The cloud gave up on it. With a scope, for lack of capacity.
    Failed {
        scope: Option<Scope>,
        said: Said,
    },
}

/// All that one claim may have left in a cloud.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Footprint {
    pub identity: Identity,
    /// None when the answer to the create call was lost.
    pub instance: Option<InstanceId>,
    pub side: Vec<SideResource>,
}

/// Something else in the cloud that belongs to an instance, by the vendor's kind and id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SideResource {
    pub kind: Arc<str>,
    pub id: Arc<str>,
}

/// Why an instance is no longer what its class describes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drift {
    pub cause: DriftCause,
    /// What it is and what it should be.
    pub said: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DriftCause {
    Image,
    Network,
    SecurityGroups,
    InstanceType,
    Zone,
}

impl Footprint {
    /// All of an instance we know.
    pub fn of(instance: &Instance) -> Self {
        Self {
            identity: instance.identity.clone(),
            instance: Some(instance.id.clone()),
            side: instance.side.clone(),
        }
    }
}

impl Instance {
    /// The failure of its launch, if the cloud gave up on it.
    pub fn failure(&self) -> Option<CloudError> {
        match &self.state {
            InstanceState::Failed {
                scope: Some(scope),
                said,
            } => Some(CloudError::NoCapacity {
                scope: scope.clone(),
                said: said.clone(),
            }),
            InstanceState::Failed { scope: None, said } => {
                Some(CloudError::Rejected { said: said.clone() })
            }
            InstanceState::Pending
            | InstanceState::Running
            | InstanceState::Stopped { .. }
            | InstanceState::Ending => None,
        }
    }
}

impl DriftCause {
    /// The reason as conditions and metrics spell it.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Image => "ImageDrifted",
            Self::Network => "NetworkDrifted",
            Self::SecurityGroups => "SecurityGroupsDrifted",
            Self::InstanceType => "InstanceTypeDrifted",
            Self::Zone => "ZoneDrifted",
        }
    }
}
