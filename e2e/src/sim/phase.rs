//! Which part of a node's life does an outbound call belong to?
//!
//! Judged from outside: by the call, and by what the cluster holds of the claim that it is about.

use emulators::kubernetes::store::Store;
use emulators::openstack::world::World;
use http::Method;
use serde_json::Value;

pub const CLAIMS: &str = "nodeclaims.karpenter.sh";

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    Launch,
    Register,
    Initialize,
    /// Initialized and wanted.
    Run,
    Drain,
    Terminate,
    Sweep,
    /// What a class amounts to: images, networks, flavors, prices.
    Class,
    Lease,
    /// Events, and the state of pools and classes.
    Telling,
}

impl Phase {
    pub fn name(self) -> &'static str {
        match self {
            Self::Launch => "launch",
            Self::Register => "register",
            Self::Initialize => "initialize",
            Self::Run => "run",
            Self::Drain => "drain",
            Self::Terminate => "terminate",
            Self::Sweep => "sweep",
            Self::Class => "class",
            Self::Lease => "lease",
            Self::Telling => "telling",
        }
    }
}

/// Where a claim stands.
pub fn of_claim(claim: &Value) -> Phase {
    if claim["metadata"]["deletionTimestamp"].is_string() {
        return Phase::Terminate;
    }
    if !holds(claim, "Launched") {
        Phase::Launch
    } else if !holds(claim, "Registered") {
        Phase::Register
    } else if !holds(claim, "Initialized") {
        Phase::Initialize
    } else {
        Phase::Run
    }
}

pub fn holds(object: &Value, condition: &str) -> bool {
    let conditions = object["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|one| one["type"] == condition && one["status"] == "True")
}

pub fn of_write(method: &Method, path: &str, store: &Store) -> Phase {
    let words: Vec<&str> = path.trim_matches('/').split('/').collect();
    let at = |kind: &str| words.iter().position(|word| *word == kind);
    if at("leases").is_some() {
        return Phase::Lease;
    }
    if at("pods").is_some() {
        return Phase::Drain;
    }
    if at("secrets").is_some() {
        return match *method {
            Method::DELETE => Phase::Register,
            _ => Phase::Launch,
        };
    }
    let named = |kind: &str| at(kind).map(|at| words.get(at + 1).copied().unwrap_or_default());
    let claim = |name: &str| {
        let claim = store.get(CLAIMS, "", name);
        claim.map_or(Phase::Terminate, |claim| of_claim(&claim.value()))
    };
    match (named("nodeclaims"), named("nodes")) {
        (Some(""), _) => Phase::Launch,
        (Some(_), _) if *method == Method::DELETE => Phase::Drain,
        (Some(name), _) => claim(name),
        (None, Some(_)) if *method == Method::DELETE => Phase::Terminate,
        (None, Some(name)) => match claim(name) {
            Phase::Run | Phase::Terminate => Phase::Drain,
            phase => phase,
        },
        (None, None) => Phase::Telling,
    }
}

/// `text` is the call's path, query and body.
pub fn of_cloud_call(path: &str, text: &str, store: &Store, cloud: &World) -> Phase {
    let claim = marked(text).or_else(|| path.split(['/', '?']).find_map(|id| owner(id, cloud)));
    match claim {
        Some(uid) => {
            let mut claims = store.list(CLAIMS, None);
            let claim = claims.find(|claim| claim.value()["metadata"]["uid"] == *uid);
            claim.map_or(Phase::Sweep, |claim| of_claim(&claim.value()))
        }
        None if text.contains("joiner-cluster") || path.ends_with("/servers/detail") => {
            Phase::Sweep
        }
        None => Phase::Class,
    }
}

/// The claim that a text names in a mark.
fn marked(text: &str) -> Option<String> {
    let at = text.find("joiner-claim")? + "joiner-claim".len();
    let rest = text.get(at..)?;
    let rest = ["=", "%3D", "\":\"", "\": \""]
        .iter()
        .find_map(|between| rest.strip_prefix(between))?;
    rest.get(..36).map(str::to_owned)
}

/// The claim that a server or port of this id is marked with.
fn owner(id: &str, cloud: &World) -> Option<String> {
    let server = cloud.servers.get(id).or_else(|| cloud.past.get(id));
    if let Some(server) = server {
        return server.tags.iter().find_map(|tag| marked(tag));
    }
    let port = Value::Object(cloud.ports.get(id)?.clone());
    let tags = port["tags"].as_array()?.iter().filter_map(Value::as_str);
    tags.into_iter().find_map(marked)
}
