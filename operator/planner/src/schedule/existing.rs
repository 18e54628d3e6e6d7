//! Which rooms are there or on their way, and what does each have left?
//!
//! Order: initialized nodes by name, other nodes by name, claims in flight by name.

use super::Spot;
use super::columns::{Columns, PLENTY};
use super::daemons::{self, Lander};
use super::rows::Rows;
use crate::labels;
use crate::requirements::{Requirement, Requirements, Text};
use crate::resources::Resources;
use crate::snapshot::{Claim, ClaimId, HostPort, Node, NodeId, PodId, Snapshot};
use crate::taints::{self, Taint};
use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;
use std::sync::Arc;

/// Rooms with equal labels (but for the host name) and taints answer alike, so they are asked once.
type Kind = (Requirements, Vec<Taint>);

#[derive(Default)]
pub(super) struct Rooms {
    pub(super) list: Vec<Room>,
    kinds: IndexMap<Kind, (), FxBuildHasher>,
    /// One row per room.
    pub(super) free: Rows,
    /// By node: its room and the pods bound to it.
    nodes: Vec<(usize, Vec<PodId>)>,
}

pub(super) struct Room {
    pub(super) spot: Spot,
    pub(super) kind: usize,
    pub(super) hostname: Text,
    pub(super) ports: Vec<HostPort>,
    /// Claims of volumes that several pods share and that are attached here.
    pub(super) attached: Vec<Text>,
    /// Takes nobody: it is leaving or overdrawn.
    pub(super) closed: bool,
    /// On its way out: its domain may go with it.
    pub(super) leaving: bool,
}

impl Rooms {
    pub(super) fn of(snapshot: &Snapshot, columns: &Columns, landers: &[Lander<'_>]) -> Self {
        let mut rooms = Self {
            free: Rows::with_width(columns.width()),
            nodes: bound_pods(snapshot),
            ..Self::default()
        };
        let mut landing = Landing {
            landers,
            known: IndexMap::default(),
        };
        for initialized in [true, false] {
            for (at, node) in snapshot.nodes.iter().enumerate() {
                if node.initialized == initialized {
                    rooms.add_node((at, node), (snapshot, columns), &mut landing);
                }
            }
        }
        for (at, claim) in snapshot.claims.iter().enumerate() {
            if !claim.leaving {
                let id = ClaimId(super::index(at));
                rooms.add_claim(id, claim, (snapshot, columns), landers);
            }
        }
        rooms
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    pub(super) fn kinds(&self) -> impl ExactSizeIterator<Item = (&Requirements, &[Taint])> {
        self.kinds
            .keys()
            .map(|(place, taints)| (place, taints.as_slice()))
    }

    pub(super) fn kind(&self, at: usize) -> Option<(&Requirements, &[Taint])> {
        let ((place, taints), ()) = self.kinds.get_index(at)?;
        Some((place, taints))
    }

    pub(super) fn have_soft_taints(&self) -> bool {
        let soft = |taint: &Taint| taint.effect == taints::Effect::PreferNoSchedule;
        self.kinds.keys().any(|(_, taints)| taints.iter().any(soft))
    }

    /// The room of a node, and who is bound to it.
    pub(super) fn of_node(&self, id: NodeId) -> Option<(usize, &[PodId])> {
        let (room, pods) = self.nodes.get(id.0 as usize)?;
        Some((*room, pods))
    }

    pub(super) fn nodes(&self) -> impl Iterator<Item = (usize, &[PodId])> {
        self.nodes
            .iter()
            .map(|(room, pods)| (*room, pods.as_slice()))
    }

    fn add_node(
        &mut self,
        (at, node): (usize, &Node),
        (snapshot, columns): (&Snapshot, &Columns),
        landing: &mut Landing<'_, '_>,
    ) {
        let mut place = Requirements::from_shared_labels(&node.labels);
        let name = node.label(labels::HOSTNAME).unwrap_or(&node.name).into();
        place.remove(labels::HOSTNAME);
        let kind = self.kinds.insert_full((place, node.taints.clone()), ()).0;
        let coming = landing
            .on(kind, &self.kinds)
            .minus(&node.daemons)
            .at_least_zero();
        let free = node.allocatable.minus(&node.used).minus(&coming);
        let closed = node.leaving || free.iter().any(|(_, amount)| amount < 0);
        let mut row = columns.lower(&free);
        let attached = attach(&mut row, node, &self.nodes[at].1, (snapshot, columns));
        self.nodes[at].0 = self.list.len();
        self.free.push(&row);
        self.list.push(Room {
            spot: Spot::Node(NodeId(super::index(at))),
            kind,
            hostname: name,
            ports: node.ports.clone(),
            attached,
            closed,
            leaving: node.leaving,
        });
    }

    fn add_claim(
        &mut self,
        id: ClaimId,
        claim: &Claim,
        (snapshot, columns): (&Snapshot, &Columns),
        landers: &[Lander<'_>],
    ) {
        let mut place = place_of(claim, snapshot);
        let load = daemons::load_on(landers, &place, &claim.taints);
        let free = room_of(claim, snapshot, &load.requests);
        place.remove(labels::HOSTNAME);
        let kind = self.kinds.insert_full((place, claim.taints.clone()), ()).0;
        let mut row = columns.lower(&free);
        let kind_name = claim.offering.as_ref().map_or("", |(kind, _, _)| kind);
        for (at, driver) in columns.drivers().iter().enumerate() {
            let most = snapshot.volumes.limit(kind_name, driver);
            row[columns.first_driver() + at] = most.map_or(PLENTY, i64::from);
        }
        self.free.push(&row);
        self.list.push(Room {
            spot: Spot::Claim(id),
            kind,
            hostname: claim.name.clone(),
            ports: load.ports,
            attached: Vec::new(),
            closed: free.iter().any(|(_, amount)| amount < 0),
            leaving: false,
        });
    }
}

/// What daemons take on a kind of room; worked out once per kind.
struct Landing<'l, 'a> {
    landers: &'l [Lander<'a>],
    known: IndexMap<usize, Resources, FxBuildHasher>,
}

impl Landing<'_, '_> {
    fn on(&mut self, kind: usize, kinds: &IndexMap<Kind, (), FxBuildHasher>) -> &Resources {
        let landers = self.landers;
        self.known.entry(kind).or_insert_with(|| {
            let known = kinds.get_index(kind);
            known.map_or_else(Resources::new, |((place, taints), ())| {
                daemons::load_on(landers, place, taints).requests
            })
        })
    }
}

/// By node: who is bound to it. Rooms are filled in later.
fn bound_pods(snapshot: &Snapshot) -> Vec<(usize, Vec<PodId>)> {
    let mut nodes = vec![(0, Vec::new()); snapshot.nodes.len()];
    let mut last: Option<(&Arc<str>, usize)> = None;
    for (id, pod) in snapshot.pods.members() {
        let Some(name) = &pod.node else { continue };
        let at = match last {
            Some((known, at)) if known == name => Some(at),
            _ => snapshot
                .nodes
                .binary_search_by(|node| node.name.cmp(name))
                .ok(),
        };
        let Some(at) = at else { continue };
        last = Some((name, at));
        nodes[at].1.push(id);
    }
    nodes
}

/// Writes what is left of the node's volume limits into the row and tells which shared claims are attached.
fn attach(
    row: &mut [i64],
    node: &Node,
    pods: &[PodId],
    (snapshot, columns): (&Snapshot, &Columns),
) -> Vec<Text> {
    let mut attached: Vec<Text> = Vec::new();
    if columns.drivers().is_empty() {
        return attached;
    }
    let kind = node.label(labels::INSTANCE_TYPE).unwrap_or("");
    for (at, driver) in columns.drivers().iter().enumerate() {
        let said = node.volume_limits.iter().find(|(name, _)| name == driver);
        let most = match said {
            Some((_, most)) => *most,
            None => snapshot.volumes.limit(kind, driver),
        };
        row[columns.first_driver() + at] = most.map_or(PLENTY, i64::from);
    }
    for pod in pods {
        for volume in &snapshot.pods.shape_of(*pod).volumes {
            let Some(column) = volume.driver.as_ref().and_then(|name| columns.driver(name)) else {
                continue;
            };
            let shared = !volume.claim.is_empty();
            if shared && attached.contains(&volume.claim) {
                continue;
            }
            row[column] = (row[column] - 1).max(0);
            if shared {
                attached.push(volume.claim.clone());
            }
        }
    }
    attached
}

/// The labels a claim in flight will have: its own, and those of the offering it is launched as.
fn place_of(claim: &Claim, snapshot: &Snapshot) -> Requirements {
    let mut place = claim.requirements.clone();
    place.add_all(&Requirements::from_shared_labels(&claim.labels));
    for label in [labels::REGISTERED, labels::INITIALIZED] {
        place.replace(Requirement::one_of(label, ["true"]));
    }
    place.replace(Requirement::one_of(labels::POOL, [claim.pool.as_ref()]));
    let Some((kind, zone, capacity_type)) = &claim.offering else {
        return place;
    };
    place.replace(Requirement::one_of(labels::INSTANCE_TYPE, [kind.as_ref()]));
    place.replace(Requirement::one_of(labels::ZONE, [zone.as_ref()]));
    place.replace(Requirement::one_of(
        labels::CAPACITY_TYPE,
        [capacity_type.as_str()],
    ));
    if let Some((catalog, id)) = bought_as(claim, snapshot) {
        for requirement in catalog.instance_type(id).requirements.iter() {
            place.add(requirement.clone());
        }
    }
    place
}

/// What the claim will have left after its daemons. What nobody knows any more counts with what was asked for it.
fn room_of(claim: &Claim, snapshot: &Snapshot, daemons: &Resources) -> Resources {
    match (&claim.told, bought_as(claim, snapshot)) {
        (Some((_, allocatable)), _) => allocatable.minus(daemons),
        (None, Some((catalog, id))) => catalog.allocatable(id).minus(daemons),
        (None, None) => claim.requests.minus(daemons).at_least_zero(),
    }
}

pub(super) fn bought_as<'a>(
    claim: &Claim,
    snapshot: &'a Snapshot,
) -> Option<(&'a crate::Catalog, crate::TypeId)> {
    let pool = snapshot.pools.iter().find(|pool| pool.name == claim.pool)?;
    let catalog = snapshot.catalog_of(&pool.class)?;
    Some((catalog, catalog.find_type(&claim.offering.as_ref()?.0)?))
}
