//! Which rooms are there or on their way, and how many pods of a shape go into each?
//!
//! Order: initialized nodes by name, other nodes by name, claims in flight by name.

use super::Spot;
use super::columns::{Amounts, Columns, copies, take};
use super::daemons::{self, Lander};
use super::relax::Attempt;
use crate::labels;
use crate::requirements::{Requirement, Requirements, Undefined};
use crate::resources::Resources;
use crate::snapshot::{Claim, ClaimId, HostPort, Node, NodeId, Shape, Snapshot, WhatIf};
use crate::taints::{self, Taint};
use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

/// Rooms with equal labels (but for the host name) and taints answer alike, so they are asked once.
type Kind = (Requirements, Vec<Taint>);

#[derive(Default)]
pub(super) struct Rooms {
    rooms: Vec<Room>,
    kinds: IndexMap<Kind, (), FxBuildHasher>,
}

struct Room {
    spot: Spot,
    kind: usize,
    hostname: Requirement,
    free: Amounts,
    ports: Vec<HostPort>,
}

impl Rooms {
    pub(super) fn of(view: &WhatIf<'_>, columns: &Columns, landers: &[Lander<'_>]) -> Self {
        let mut rooms = Self::default();
        let snapshot = view.base;
        for initialized in [true, false] {
            for (id, node) in numbered(&snapshot.nodes, NodeId) {
                if node.initialized == initialized && !node.leaving && !view.without.contains(id) {
                    rooms.add_node(id, node, columns, landers);
                }
            }
        }
        for (id, claim) in numbered(&snapshot.claims, ClaimId) {
            if !claim.leaving {
                rooms.add_claim(id, claim, (snapshot, columns), landers);
            }
        }
        rooms
    }

    /// Puts up to `wanted` pods of the shape into the rooms that take them: how many go where.
    pub(super) fn fill(
        &mut self,
        shape: &Shape,
        attempt: &Attempt,
        asked: &[i64],
        wanted: usize,
    ) -> Vec<(Spot, usize)> {
        let mut answers: Vec<Option<bool>> = vec![None; self.kinds.len()];
        let mut filled = Vec::new();
        let mut left = wanted;
        for room in &mut self.rooms {
            if left == 0 {
                break;
            }
            let most = room.copies(shape, asked);
            if most == 0 {
                continue;
            }
            let kinds = &self.kinds;
            let suits =
                *answers[room.kind].get_or_insert_with(|| suits(kinds, room.kind, shape, attempt));
            if !suits || !room.has_asked_name(&attempt.requirements) {
                continue;
            }
            let count = left.min(most as usize);
            take(
                &mut room.free,
                asked,
                u32::try_from(count).unwrap_or(u32::MAX),
            );
            room.ports.extend(&shape.ports);
            filled.push((room.spot, count));
            left -= count;
        }
        filled
    }

    pub(super) fn len(&self) -> usize {
        self.rooms.len()
    }

    pub(super) fn have_soft_taints(&self) -> bool {
        let soft = |taint: &Taint| taint.effect == taints::Effect::PreferNoSchedule;
        self.kinds.keys().any(|(_, taints)| taints.iter().any(soft))
    }

    fn add_node(&mut self, id: NodeId, node: &Node, columns: &Columns, landers: &[Lander<'_>]) {
        let place = Requirements::from_labels(
            node.labels
                .iter()
                .map(|(key, value)| (key.as_ref(), value.as_ref())),
        );
        let name = node.label(labels::HOSTNAME).unwrap_or(&node.name);
        let coming = daemons::load_on(landers, &place, &node.taints)
            .requests
            .minus(&node.daemons)
            .at_least_zero();
        let free = node.allocatable.minus(&node.used).minus(&coming);
        let room = Bare {
            spot: Spot::Node(id),
            name,
            free,
            ports: node.ports.clone(),
        };
        self.add(room, place, node.taints.clone(), columns);
    }

    fn add_claim(
        &mut self,
        id: ClaimId,
        claim: &Claim,
        world: (&Snapshot, &Columns),
        landers: &[Lander<'_>],
    ) {
        let (snapshot, columns) = world;
        let place = place_of(claim, snapshot);
        let load = daemons::load_on(landers, &place, &claim.taints);
        let free = room_of(claim, snapshot, &load.requests);
        let room = Bare {
            spot: Spot::Claim(id),
            name: &claim.name,
            free,
            ports: load.ports,
        };
        self.add(room, place, claim.taints.clone(), columns);
    }

    fn add(
        &mut self,
        room: Bare<'_>,
        mut place: Requirements,
        taints: Vec<Taint>,
        columns: &Columns,
    ) {
        // A room that is overdrawn in any resource takes nobody, whatever they ask for.
        if room.free.iter().any(|(_, amount)| amount < 0) {
            return;
        }
        place.remove(labels::HOSTNAME);
        let kind = self.kinds.insert_full((place, taints), ()).0;
        self.rooms.push(Room {
            spot: room.spot,
            kind,
            hostname: Requirement::one_of(labels::HOSTNAME, [room.name]),
            free: columns.lower(&room.free),
            ports: room.ports,
        });
    }
}

/// A room before its labels are known to be like another's.
struct Bare<'a> {
    spot: Spot,
    name: &'a str,
    free: Resources,
    ports: Vec<HostPort>,
}

impl Room {
    fn copies(&self, shape: &Shape, asked: &[i64]) -> u32 {
        let most = copies(&self.free, asked);
        if shape.ports.is_empty() || most == 0 {
            return most;
        }
        let taken = shape
            .ports
            .iter()
            .any(|port| self.ports.iter().any(|other| port.conflicts(other)));
        u32::from(!taken)
    }

    fn has_asked_name(&self, asked: &Requirements) -> bool {
        asked
            .get(labels::HOSTNAME)
            .is_none_or(|asked| asked.agrees(&self.hostname))
    }
}

fn suits(
    kinds: &IndexMap<Kind, (), FxBuildHasher>,
    kind: usize,
    shape: &Shape,
    attempt: &Attempt,
) -> bool {
    let Some(((place, taints), ())) = kinds.get_index(kind) else {
        return false;
    };
    if taints::first_untolerated(taints, &shape.tolerations, attempt.preferred).is_some() {
        return false;
    }
    // The host name is compared room by room.
    let mut asked = attempt.requirements.clone();
    asked.remove(labels::HOSTNAME);
    place.compatible(&asked, Undefined::Refused).is_ok()
}

/// The labels a claim in flight will have: its own, and those of the offering it is launched as.
fn place_of(claim: &Claim, snapshot: &Snapshot) -> Requirements {
    let mut place = claim.requirements.clone();
    let own = claim
        .labels
        .iter()
        .map(|(key, value)| (key.as_ref(), value.as_ref()));
    place.add_all(&Requirements::from_labels(own));
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

fn numbered<'a, T, I: 'a>(
    list: &'a [T],
    id: impl Fn(u32) -> I + 'a,
) -> impl Iterator<Item = (I, &'a T)> {
    list.iter()
        .enumerate()
        .map(move |(at, item)| (id(u32::try_from(at).unwrap_or(u32::MAX)), item))
}
