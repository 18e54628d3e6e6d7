//! What is known at this moment, frozen for the planner?
//!
//! Refused while the mirror is incomplete or behind our own writes: planning on less than we did ourselves buys twice.

pub mod meaning;
mod places;
mod readings;
pub mod settle;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use planner::labels::WellKnown;
use planner::snapshot::{Daemon, Options, PoolState, Spread};
use planner::{Catalog, Snapshot, snapshot};

pub use self::readings::Readings;
use self::settle::{Rooms, is_unreadable};
use crate::hub::Hub;
use crate::ingest;
use crate::ingest::volume::Storage;
use crate::mirror::{self, Mirror};

/// Why there is no snapshot.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Behind {
    #[error("{kind} have not been listed yet")]
    Incomplete { kind: &'static str },
    #[error("the mirror has not seen our own write of {name}")]
    Own { name: String },
}

/// By uid: how often planning ended before it came to this pod. Those go first.
pub type PassedOver = BTreeMap<Arc<str>, u32>;

/// What pods come with that is not written on them.
pub struct Besides<'a> {
    pub passed_over: &'a PassedOver,
    /// For those that ask for no spread.
    pub spreads: &'a [Spread],
}

pub async fn freeze(hub: &Hub) -> Result<Snapshot, Behind> {
    freeze_after(hub, &PassedOver::new()).await
}

pub async fn freeze_after(hub: &Hub, passed_over: &PassedOver) -> Result<Snapshot, Behind> {
    if let Some(kind) = hub.mirror.incomplete() {
        return Err(Behind::Incomplete { kind });
    }
    caught_up(hub).await?;
    let catalogs = hub.providers.all().into_iter();
    let catalogs: Vec<Catalog> = catalogs
        .filter_map(|(_, known)| known.catalog().map(|catalog| (*catalog).clone()))
        .collect();
    let options = Options {
        well_known: well_known(&catalogs),
        min_values: hub.settings.min_values,
        preferences: hub.settings.preferences,
        ..Options::default()
    };
    let mut frozen = Snapshot::empty(hub.clock.now());
    frozen.catalogs = catalogs;
    frozen.options = options;
    let besides = Besides {
        passed_over,
        spreads: &hub.settings.spreads,
    };
    let mut readings = hub.readings.lock().unwrap_or_else(PoisonError::into_inner);
    let frozen = fill(frozen, &hub.mirror, &besides, &mut readings);
    tracing::debug!(
        pods = frozen.pods.len(),
        read = readings.fresh(),
        "frozen for planning"
    );
    Ok(frozen)
}

/// Does any pod wait for a place? Cheap, unlike freezing.
pub fn somebody_waits(mirror: &Mirror) -> bool {
    mirror.pods.any(ingest::pod::is_pending)
}

/// Takes capacity before pods: one that was bound meanwhile then counts once.
pub fn fill(
    mut frozen: Snapshot,
    mirror: &Mirror,
    besides: &Besides<'_>,
    readings: &mut Readings,
) -> Snapshot {
    let pools = mirror.pools.all();
    let ours = pools.iter().filter(|pool| ingest::pool::is_ours(pool));
    frozen.pools = ours
        .map(|pool| braked(mirror, ingest::pool::pool(pool)))
        .collect();
    let (nodes, claims) = places::places(mirror);
    frozen.nodes = nodes;
    frozen.claims = claims;
    let named = mirror.namespaces.all();
    frozen.namespaces = named
        .iter()
        .map(|namespace| snapshot::Namespace {
            name: namespace.name_any().into(),
            labels: ingest::labels(namespace.labels()),
        })
        .collect();
    let storage = storage(mirror);
    let well_known = &frozen.options.well_known;
    readings.catch_up(mirror.pods.all(), well_known, besides.spreads);
    let mut rooms = Rooms::new(&mut frozen.nodes, &storage);
    frozen.pods = rooms.settle(readings.seen(), besides.passed_over);
    daemons(mirror, readings, &mut frozen);
    frozen.freeze()
}

/// A pool whose class is paused is paused: its claims could not be launched.
fn braked(mirror: &Mirror, mut pool: snapshot::Pool) -> snapshot::Pool {
    let class = mirror.classes.get(&pool.class.name);
    if class.is_some_and(|class| crate::brakes::is_paused(&*class)) {
        pool.state = PoolState::Paused;
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
fn well_known(catalogs: &[Catalog]) -> WellKnown {
    let types = catalogs.iter().flat_map(Catalog::types);
    let keys = types.flat_map(|kind| kind.requirements.iter().map(|one| Arc::from(one.key())));
    WellKnown::with(keys)
}

/// A daemon of which something cannot be read takes nobody knows how much of every node: no pool can be bought from.
fn daemons(mirror: &Mirror, readings: &Readings, frozen: &mut Snapshot) {
    let running = newest(readings.of_daemon_sets());
    for set in mirror.daemons.all() {
        let name = mirror::key(&*set);
        let Some(mut shape) = ingest::pod::daemon_shape(&set) else {
            continue;
        };
        if ingest::pod::needs_devices(&shape) {
            continue;
        }
        // Admission may have given a pod more than its template says: overhead, defaults.
        let newest = set
            .uid()
            .and_then(|uid| running.get(uid.as_str())?.spec.as_ref());
        if let Some(Ok(requests)) = newest.map(ingest::pod::requests) {
            shape.requests = requests;
        }
        if let Some(why) = shape.unreadable.iter().find(|why| is_unreadable(why)) {
            let said = format!("DaemonSet {name}: {}", crate::explain::sentence(why));
            let ready = |pool: &&mut snapshot::Pool| pool.state == PoolState::Ready;
            for pool in frozen.pools.iter_mut().filter(ready) {
                pool.state = PoolState::NotReady {
                    said: said.as_str().into(),
                };
            }
        }
        frozen.daemons.push(Daemon {
            name: name.into(),
            shape,
        });
    }
}

/// By uid of the DaemonSet.
fn newest<'p>(pods: impl Iterator<Item = &'p Arc<Pod>>) -> BTreeMap<&'p str, &'p Pod> {
    let mut newest: BTreeMap<&str, &Pod> = BTreeMap::new();
    for pod in pods {
        let owners = pod.owner_references().iter();
        for owner in owners.filter(|owner| owner.controller == Some(true)) {
            let known = newest.entry(&owner.uid).or_insert(pod);
            if ingest::pod::created(known) < ingest::pod::created(pod) {
                *known = pod;
            }
        }
    }
    newest
}

/// What cannot be read refuses the pods that need it: `Storage` keeps the reason.
fn storage(mirror: &Mirror) -> Storage {
    let mut storage = Storage::default();
    for claim in mirror.volume_claims.all() {
        storage.add_claim(mirror::key(&*claim).into(), &claim);
    }
    for volume in mirror.volumes.all() {
        let _ = storage.add_volume(&volume);
    }
    for class in mirror.storage_classes.all() {
        let _ = storage.add_class(&class);
    }
    storage
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
