//! What do the selections of a class amount to in its cloud, and what is wrong with them?

use std::fmt;
use std::sync::Arc;

/// What a class resolved to. Launching needs nothing else, so that a create call never looks anything up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resolved {
    /// The account, project or tenant in which all this was found. Instances of another one look as if they did not exist.
    pub account: Option<Arc<str>>,
    /// Newest first.
    pub images: Vec<Image>,
    /// One per network interface, in the class's order.
    pub ports: Vec<PortPlan>,
    /// Groups of every port that has none of its own.
    pub security_groups: Vec<Named>,
    /// What may be bought.
    pub types: Vec<TypeRef>,
    /// The cloud's name of the zone as `id`, its label value as `name`.
    pub zones: Vec<Named>,
    /// Where instances are kept apart or together.
    pub placement_group: Option<Named>,
}

/// Something of the cloud.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Named {
    pub id: Arc<str>,
    pub name: Arc<str>,
}

/// An instance type: the cloud's id, the catalog's name, and the image its instances get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeRef {
    pub id: Arc<str>,
    pub name: Arc<str>,
    pub image: Arc<str>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    pub id: Arc<str>,
    pub name: Arc<str>,
    /// As Kubernetes names it; none if the image does not say.
    pub architecture: Option<Arc<str>>,
    pub min_disk_gib: u64,
    pub min_memory_mib: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortPlan {
    pub network: Named,
    /// One address of each; empty means any of the network.
    pub subnets: Vec<Named>,
    /// Groups of this port alone; none means those of the class.
    pub security_groups: Option<Vec<Named>>,
}

/// What is left to create; none means unlimited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quota {
    pub instances: Option<u64>,
    pub cores: Option<u64>,
    pub memory_mib: Option<u64>,
}

/// What is wrong with a class: an entry per resource, and what was found all the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassTrouble {
    pub troubles: Vec<Trouble>,
    pub found: Resolved,
}

/// One condition that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// The condition, for example `ImagesReady`.
    pub condition: &'static str,
    /// One word for machines.
    pub reason: &'static str,
    /// The field, the problem and the fix.
    pub message: String,
    /// The cloud did not answer: what was true before may still be true.
    pub transient: bool,
}

pub mod conditions {
    //! Names of the conditions a provider reports on.

    pub const CREDENTIALS: &str = "CredentialsReady";
    pub const IMAGES: &str = "ImagesReady";
    pub const NETWORKS: &str = "NetworksReady";
    pub const SECURITY_GROUPS: &str = "SecurityGroupsReady";
    pub const TYPES: &str = "FlavorsReady";
    pub const ZONES: &str = "ZonesReady";
    pub const VALIDATION: &str = "ValidationSucceeded";
}

impl Named {
    pub fn new(id: impl Into<Arc<str>>, name: impl Into<Arc<str>>) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
        }
    }
}

impl Resolved {
    /// The cloud's name of the zone with this label value.
    pub fn zone_id(&self, label: &str) -> Option<&str> {
        let zone = self.zones.iter().find(|zone| zone.name.as_ref() == label);
        zone.map(|zone| zone.id.as_ref())
    }

    /// The type with this name in the catalog.
    pub fn type_named(&self, name: &str) -> Option<&TypeRef> {
        self.types.iter().find(|kind| kind.name.as_ref() == name)
    }
}

impl fmt::Display for ClassTrouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, trouble) in self.troubles.iter().enumerate() {
            let gap = if at == 0 { "" } else { "; " };
            write!(f, "{gap}{}: {}", trouble.condition, trouble.message)?;
        }
        Ok(())
    }
}

impl std::error::Error for ClassTrouble {}
