//! What exists in the emulated cloud?

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::wire::Object;

/// Objects by id, in the shape the API shows them; Neutron and Glance need no other.
pub type Shelf = BTreeMap<String, Object>;

#[derive(Debug, Clone, Default, Serialize)]
pub struct World {
    pub region: String,
    /// Where a server goes that asks for no zone; `None`: wherever there is most room.
    pub default_zone: Option<String>,
    pub roles: Vec<Role>,
    pub projects: Vec<Project>,
    pub users: Vec<User>,
    pub credentials: Vec<Credential>,
    pub tokens: BTreeMap<String, Token>,
    pub flavors: Vec<Flavor>,
    pub hosts: Vec<Host>,
    pub keypairs: Vec<Keypair>,
    pub groups: Vec<ServerGroup>,
    pub servers: BTreeMap<String, Server>,
    /// Servers that no longer exist: known only to `changes-since`, markers and instance actions.
    pub past: BTreeMap<String, Server>,
    /// When which server takes its next step.
    pub agenda: BTreeSet<(Timestamp, String)>,
    /// In the order Glance lists them: the newest first.
    pub images: Vec<Object>,
    pub networks: Shelf,
    pub subnets: Shelf,
    pub ports: Shelf,
    pub security_groups: Shelf,
    pub routers: Shelf,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Role {
    pub id: String,
    pub name: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Project {
    pub id: String,
    pub name: String,
    pub quota: Quota,
}

/// -1 is unlimited.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Quota {
    pub instances: i64,
    pub cores: i64,
    pub ram: i64,
    pub server_groups: i64,
    pub server_group_members: i64,
    pub ports: i64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct User {
    pub id: String,
    pub name: String,
    pub password: String,
    /// Projects in which the user has a role.
    pub projects: Vec<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Credential {
    pub id: String,
    pub name: String,
    pub secret: String,
    pub user: String,
    pub project: String,
}

#[derive(Debug, Clone, Serialize)]
pub struct Token {
    pub user: String,
    pub project: Option<String>,
    pub methods: Vec<String>,
    pub audit_ids: Vec<String>,
    pub issued: Timestamp,
    pub expires: Timestamp,
    pub credential: Option<(String, String)>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Flavor {
    pub id: String,
    pub name: String,
    pub vcpus: u32,
    /// MiB.
    pub ram: u64,
    /// GiB.
    pub disk: u64,
    pub ephemeral: u64,
    /// MiB.
    pub swap: u64,
    pub extra_specs: BTreeMap<String, String>,
}

/// A hypervisor; several make a zone.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Host {
    pub name: String,
    pub zone: String,
    pub vcpus: u64,
    /// MiB.
    pub ram: u64,
    /// Every build ends with this text.
    pub broken: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Keypair {
    pub name: String,
    pub user: String,
    pub public_key: String,
    pub fingerprint: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ServerGroup {
    pub id: String,
    pub name: String,
    pub policy: String,
    pub max_per_host: Option<u64>,
    pub project: String,
    pub user: String,
}

#[derive(Debug, Clone, Serialize)]
pub struct Server {
    pub id: String,
    pub seq: u64,
    pub name: String,
    pub hostname: String,
    pub description: Option<String>,
    pub project: String,
    pub user: String,
    pub flavor: Flavor,
    pub image: Option<String>,
    pub zone_asked: Option<String>,
    pub zone: String,
    pub host: Option<String>,
    pub key_name: Option<String>,
    pub user_data: Option<String>,
    pub config_drive: bool,
    pub metadata: BTreeMap<String, String>,
    pub tags: BTreeSet<String>,
    pub nics: Vec<Nic>,
    /// Ids of the groups for ports that Nova makes.
    pub security_groups: Vec<String>,
    pub volumes: Vec<Attached>,
    pub group: Option<String>,
    pub created: Timestamp,
    pub updated: Timestamp,
    pub launched: Option<Timestamp>,
    pub locked: bool,
    pub phase: Phase,
    /// On its way out, in whatever phase it was.
    pub deleting: bool,
    pub trouble: Option<Trouble>,
    pub fates: BTreeSet<Fate>,
    /// What Nova last heard from Neutron; it is shown even when it is no longer true.
    pub addresses: Vec<Address>,
    pub actions: Vec<Action>,
    pub console: String,
}

/// A wish for a network; `port` is filled in when there is one.
#[derive(Debug, Clone, Serialize)]
pub struct Nic {
    pub network: String,
    pub port: Option<String>,
    pub fixed_ip: Option<String>,
    /// Made by Nova, and deleted by it.
    pub ours: bool,
}

#[derive(Debug, Clone, Serialize)]
pub struct Attached {
    pub id: String,
    pub delete_on_termination: bool,
}

#[derive(Debug, Clone, Serialize)]
pub struct Address {
    pub network: String,
    pub port: String,
    pub addr: String,
    pub mac: String,
}

#[derive(Debug, Clone, Serialize)]
pub struct Action {
    pub action: String,
    pub request_id: String,
    pub at: Timestamp,
}

/// What an `ERROR` server says about itself.
#[derive(Debug, Clone, Serialize)]
pub struct Trouble {
    pub code: u16,
    pub created: Timestamp,
    pub message: String,
    /// Recorded in the cell of lost servers, which lists do not read.
    pub hidden_in_lists: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Phase {
    Scheduling,
    Claimed,
    Networking,
    Mapping,
    Spawning,
    Active,
    Rebooting,
    Stopped,
    Error,
    SoftDeleted,
    /// Still answers by id.
    Deleted,
    /// Not among the servers any more, but in the past.
    Gone,
}

/// What the fault script decided for one server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Fate {
    NoValidHost,
    ErrorAfterBuild,
    StuckBuild,
    NeverJoins,
    DeleteHangs,
}

impl Fate {
    pub const NAMES: &'static [&'static str] = &[
        "no-valid-host",
        "error-after-build",
        "stuck-build",
        "never-joins",
        "delete-hangs",
    ];

    pub fn named(name: &str) -> Option<Self> {
        match name {
            "no-valid-host" => Some(Self::NoValidHost),
            "error-after-build" => Some(Self::ErrorAfterBuild),
            "stuck-build" => Some(Self::StuckBuild),
            "never-joins" => Some(Self::NeverJoins),
            "delete-hangs" => Some(Self::DeleteHangs),
            _ => None,
        }
    }
}

impl Server {
    /// A server that runs, without networks and owner: what everything else is said about with `..`.
    pub fn running(id: &str, flavor: Flavor, now: Timestamp) -> Self {
        Self {
            id: id.to_owned(),
            seq: 0,
            name: id.to_owned(),
            hostname: id.to_owned(),
            description: None,
            project: String::new(),
            user: String::new(),
            flavor,
            image: None,
            zone_asked: None,
            zone: String::new(),
            host: None,
            key_name: None,
            user_data: None,
            config_drive: false,
            metadata: BTreeMap::new(),
            tags: BTreeSet::new(),
            nics: Vec::new(),
            security_groups: Vec::new(),
            volumes: Vec::new(),
            group: None,
            created: now,
            updated: now,
            launched: Some(now),
            locked: false,
            phase: Phase::Active,
            deleting: false,
            trouble: None,
            fates: BTreeSet::new(),
            addresses: Vec::new(),
            actions: Vec::new(),
            console: String::new(),
        }
    }
}

impl World {
    pub fn project(&self, id: &str) -> Option<&Project> {
        self.projects.iter().find(|project| project.id == id)
    }

    pub fn user(&self, id: &str) -> Option<&User> {
        self.users.iter().find(|user| user.id == id)
    }

    pub fn zones(&self) -> BTreeSet<&str> {
        self.hosts.iter().map(|host| host.zone.as_str()).collect()
    }
}

impl Phase {
    pub fn is_build(self) -> bool {
        matches!(
            self,
            Self::Scheduling | Self::Claimed | Self::Networking | Self::Mapping | Self::Spawning
        )
    }

    /// Does a server in this phase still use quota, hosts and its name in lists?
    pub fn is_alive(self) -> bool {
        !matches!(self, Self::Deleted | Self::Gone | Self::SoftDeleted)
    }
}
