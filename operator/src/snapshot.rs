//! What is known at this moment, frozen for the planner?
//!
//! Refused while the mirror is incomplete or behind our own writes: planning on less than we did ourselves buys twice.

mod places;
pub mod settle;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use planner::drain::Owner;
use planner::labels::WellKnown;
use planner::snapshot::{Daemon, Options, Pods, PoolState, Spread};
use planner::{Catalog, Snapshot, snapshot};

use self::settle::{Rooms, Seen, is_unreadable};
use crate::hub::Hub;
use crate::ingest;
use crate::ingest::volume::{self, Storage};
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
struct Besides<'a> {
    passed_over: &'a PassedOver,
    /// For those that ask for no spread.
    spreads: &'a [Spread],
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
    Ok(fill(frozen, &hub.mirror, &besides))
}

/// Does any pod wait for a place? Cheap, unlike freezing.
pub fn somebody_waits(mirror: &Mirror) -> bool {
    mirror.pods.any(ingest::pod::is_pending)
}

/// Takes capacity first and pods last: a pod that was bound meanwhile then counts once.
fn fill(mut frozen: Snapshot, mirror: &Mirror, besides: &Besides<'_>) -> Snapshot {
    let pools = mirror.pools.all();
    let ours = pools.iter().filter(|pool| ingest::pool::is_ours(pool));
    frozen.pools = ours
        .map(|pool| braked(mirror, ingest::pool::pool(pool)))
        .collect();
    let (nodes, claims) = places::places(mirror);
    frozen.nodes = nodes;
    frozen.claims = claims;
    daemons(mirror, &mut frozen);
    let named = mirror.namespaces.all();
    frozen.namespaces = named
        .iter()
        .map(|namespace| snapshot::Namespace {
            name: namespace.name_any().into(),
            labels: ingest::labels(namespace.labels()),
        })
        .collect();
    let storage = storage(mirror);
    frozen.pods = pods(mirror, &mut frozen, &storage, besides);
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
fn daemons(mirror: &Mirror, frozen: &mut Snapshot) {
    let running = newest_daemon_pods(mirror);
    for set in mirror.daemons.all() {
        let name = mirror::key(&*set);
        let Some(mut shape) = ingest::pod::daemon_shape(&set) else {
            continue;
        };
        if ingest::pod::needs_devices(&shape) {
            continue;
        }
        // Admission may have given a pod more than its template says: overhead, defaults.
        let newest = set.uid().and_then(|uid| running.get(&uid)?.spec.as_ref());
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
fn newest_daemon_pods(mirror: &Mirror) -> BTreeMap<String, Arc<Pod>> {
    let mut newest: BTreeMap<String, Arc<Pod>> = BTreeMap::new();
    for pod in mirror.pods.all() {
        if ingest::pod::owner(&pod) != Owner::DaemonSet {
            continue;
        }
        let owners = pod.owner_references().iter();
        for owner in owners.filter(|owner| owner.controller == Some(true)) {
            let known = newest
                .entry(owner.uid.clone())
                .or_insert_with(|| pod.clone());
            if ingest::pod::created(known) < ingest::pod::created(&pod) {
                *known = pod.clone();
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

fn pods(mirror: &Mirror, frozen: &mut Snapshot, storage: &Storage, besides: &Besides<'_>) -> Pods {
    let known = &frozen.options.well_known;
    let mut rooms = Rooms::new(&mut frozen.nodes, storage);
    let mut list = Vec::new();
    for pod in mirror.pods.all() {
        let Some(mut seen) = seen(&pod) else { continue };
        let Some(mut shape) = ingest::pod::shape(&pod, known) else {
            continue;
        };
        if shape.spreads.is_empty() {
            shape.spreads = ingest::defaults::given(besides.spreads, &pod);
        }
        let times = besides.passed_over.get(&seen.pod.uid).copied();
        seen.pod.passed_over = times.unwrap_or(0);
        let kept = rooms.settle(seen, Cow::Owned(shape));
        list.extend(kept.map(|(pod, shape)| (pod, shape.into_owned())));
    }
    Pods::gather(list)
}

/// A pod that is on a node or waits for one; the others are not ours to look at yet, or any more.
fn seen(pod: &Pod) -> Option<Seen> {
    let node = ingest::pod::node_of(pod).filter(|_| ingest::pod::is_active(pod));
    if node.is_none() && !ingest::pod::is_pending(pod) {
        return None;
    }
    let created = ingest::pod::created(pod);
    Some(Seen {
        pod: snapshot::Pod::pending(mirror::key(pod), pod.uid()?, created),
        node: node.map(Arc::from),
        claims: volume::mounted(pod),
        daemon: ingest::pod::is_nobodys_to_place(pod),
        ending: pod.metadata.deletion_timestamp.is_some(),
        // It is evicted first, and waits then.
        moves: false,
    })
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
