//! What is known at this moment, frozen for the planner?
//!
//! Refused while the mirror is incomplete or behind our own writes: planning on less than we did ourselves buys twice.

use std::collections::BTreeMap;
use std::sync::Arc;

use crds::karpenter::NodeClaim;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::ResourceExt;
use planner::labels::{self, WellKnown};
use planner::snapshot::{Daemon, MinValuesPolicy, Pods};
use planner::taints::{UNREGISTERED, lasting};
use planner::{Resources, Snapshot, snapshot};

use crate::hub::Hub;
use crate::ingest;
use crate::mirror::Mirror;

/// Why there is no snapshot.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Behind {
    #[error("{kind} have not been listed yet")]
    Incomplete { kind: &'static str },
    #[error("the mirror has not seen our own write of {name}")]
    Own { name: String },
}

/// Freezes capacity first and pending pods last: a pod that was bound meanwhile then counts once.
pub async fn freeze(hub: &Hub) -> Result<Snapshot, Behind> {
    let mirror = &hub.mirror;
    if let Some(kind) = mirror.incomplete() {
        return Err(Behind::Incomplete { kind });
    }
    caught_up(hub).await?;
    let mut frozen = Snapshot::empty(hub.clock.now());
    let catalogs = hub.providers.all().into_iter();
    frozen.catalogs = catalogs
        .filter_map(|(_, known)| known.catalog().map(|catalog| (*catalog).clone()))
        .collect();
    frozen.options.well_known = well_known(&frozen);
    frozen.options.min_values = if hub.settings.min_values_strict {
        MinValuesPolicy::Strict
    } else {
        MinValuesPolicy::BestEffort
    };
    let pools = mirror.pools.all();
    frozen.pools = pools
        .iter()
        .filter(|pool| ingest::pool::is_ours(pool))
        .map(|pool| braked(mirror, ingest::pool::pool(pool)))
        .collect();
    let (nodes, claims) = places(mirror);
    frozen.nodes = nodes;
    frozen.claims = claims;
    frozen.daemons = daemons(mirror, &frozen.options.well_known);
    frozen.pods = pending(mirror, &frozen.options.well_known);
    Ok(frozen.freeze())
}

/// A pool whose class is paused is paused: its claims could not be launched.
fn braked(mirror: &Mirror, mut pool: snapshot::Pool) -> snapshot::Pool {
    let class = mirror.classes.get(&pool.class.name);
    if class.is_some_and(|class| crate::brakes::is_paused(&*class)) {
        pool.state = snapshot::PoolState::Paused;
    }
    pool
}

/// The mirror has seen everything we wrote, or the API server says that it is gone.
pub async fn caught_up(hub: &Hub) -> Result<(), Behind> {
    let seen = |name: &str| {
        let claim = hub.mirror.claims.get(name)?;
        let version = claim.resource_version()?.parse().ok()?;
        Some((claim.uid()?, version))
    };
    for name in hub.write.written().unseen(seen) {
        if hub.mirror.claims.get(&name).is_none() {
            // Deleted before the mirror saw it, or simply late: only the API server knows.
            if let Ok(None) = hub.access.claims().get_opt(&name).await {
                hub.write.written().forget(&name);
                continue;
            }
        }
        return Err(Behind::Own { name });
    }
    Ok(())
}

/// Labels that the clouds fill in.
fn well_known(frozen: &Snapshot) -> WellKnown {
    let types = frozen.catalogs.iter().flat_map(planner::Catalog::types);
    let keys = types.flat_map(|kind| kind.requirements.iter().map(|one| Arc::from(one.key())));
    WellKnown::with(keys)
}

fn pending(mirror: &Mirror, known: &WellKnown) -> Pods {
    let pods = mirror.pods.all();
    let waiting = pods.iter().filter(|pod| ingest::pod::is_pending(pod));
    Pods::gather(waiting.filter_map(|pod| {
        let shape = ingest::pod::shape(pod.spec.as_ref()?, known);
        let name = crate::mirror::key(&**pod);
        let value = snapshot::Pod::pending(name, pod.uid()?, ingest::pod::created(pod));
        Some((value, shape))
    }))
}

fn daemons(mirror: &Mirror, known: &WellKnown) -> Vec<Daemon> {
    let all = mirror.daemons.all();
    let one = |set: &k8s_openapi::api::apps::v1::DaemonSet| {
        let spec = set.spec.template.spec.as_ref()?;
        Some(Daemon {
            name: crate::mirror::key(set).into(),
            shape: ingest::pod::shape(spec, known),
        })
    };
    all.iter().filter_map(|set| one(set)).collect()
}

/// Rooms that are there and rooms on their way; a machine is counted as one of both.
fn places(mirror: &Mirror) -> (Vec<snapshot::Node>, Vec<snapshot::Claim>) {
    let bound = by_node(&mirror.pods.all());
    let claims = mirror.claims.all();
    let mut flying = Vec::new();
    let mut claim_of: BTreeMap<String, Arc<NodeClaim>> = BTreeMap::new();
    for claim in claims.iter().filter(|claim| ingest::claim::is_ours(claim)) {
        let node = claim
            .status
            .as_ref()
            .and_then(|status| status.node_name.clone());
        let there = node
            .as_ref()
            .is_some_and(|node| mirror.nodes.get(node).is_some());
        if ingest::claim::holds(claim, "Registered")
            && (there || claim.metadata.deletion_timestamp.is_some())
        {
            claim_of.insert(node.unwrap_or_else(|| claim.name_any()), claim.clone());
        } else {
            flying.push(ingest::claim::in_flight(claim));
        }
    }
    let unregistered = |node: &Node| {
        ingest::node::taints(node)
            .iter()
            .any(|taint| taint.key.as_ref() == UNREGISTERED)
    };
    let nodes = mirror.nodes.all();
    let standing = nodes.iter().filter(|node| {
        // Still counted as its claim.
        !(unregistered(node) && flying.iter().any(|claim| *claim.name == node.name_any()))
    });
    let rooms = standing.map(|node| {
        let name = node.name_any();
        let pods = bound.get(&name).map_or(&[][..], Vec::as_slice);
        room(node, claim_of.get(&name).map(|claim| &**claim), pods)
    });
    (rooms.collect(), flying)
}

pub fn by_node(pods: &[Arc<Pod>]) -> BTreeMap<String, Vec<Arc<Pod>>> {
    let mut bound: BTreeMap<String, Vec<Arc<Pod>>> = BTreeMap::new();
    for pod in pods.iter().filter(|pod| ingest::pod::is_active(pod)) {
        if let Some(node) = ingest::pod::node_of(pod) {
            bound.entry(node).or_default().push(pod.clone());
        }
    }
    bound
}

fn room(node: &Node, claim: Option<&NodeClaim>, pods: &[Arc<Pod>]) -> snapshot::Node {
    let initialized = claim.is_none() || ingest::node::has_label(node, labels::INITIALIZED, "true");
    let startup = ingest::crd_taints(claim.and_then(|claim| claim.spec.startup_taints.as_ref()));
    let (mut capacity, mut allocatable) = ingest::node::room(node);
    if !initialized && let Some(status) = claim.and_then(|claim| claim.status.as_ref()) {
        // Devices register late: until then the cloud's word counts.
        let told = |list| ingest::amounts(list).unwrap_or_default();
        capacity = capacity.larger(&told(status.capacity.as_ref()));
        allocatable = allocatable.larger(&told(status.allocatable.as_ref()));
    }
    let mut used = Resources::new();
    let mut daemons = Resources::new();
    let mut ports = Vec::new();
    for spec in pods
        .iter()
        .filter_map(|pod| Some((pod, pod.spec.as_ref()?)))
    {
        let (pod, spec) = spec;
        let takes = ingest::pod::requests(spec).unwrap_or_default();
        let takes = takes.with(planner::ResourceName::Pods, 1);
        if ingest::pod::owner(pod) == planner::drain::Owner::DaemonSet {
            daemons = daemons.plus(&takes);
        }
        used = used.plus(&takes);
        ports.extend(ingest::pod::ports(spec));
    }
    let deleted = claim.is_some_and(|claim| claim.metadata.deletion_timestamp.is_some());
    snapshot::Node {
        name: node.name_any().into(),
        pool: claim
            .and_then(|claim| claim.labels().get(labels::POOL))
            .map(|pool| pool.as_str().into()),
        labels: ingest::labels(node.labels()),
        taints: lasting(&ingest::node::taints(node), &startup, initialized),
        capacity,
        allocatable,
        used,
        daemons,
        ports,
        volume_limits: Vec::new(),
        initialized,
        leaving: deleted || ingest::node::is_leaving(node),
    }
}
