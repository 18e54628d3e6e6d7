//! Does a plan hold what its pods ask for? Looked at from the outside: labels of places, pods in places, nothing else.
//!
//! Knows nothing of how the plan was made. Domains are those of nodes that are there or will be, as kube-scheduler sees them.

use crate::catalog::{OfferingId, TypeId};
use crate::labels;
use crate::requirements::{Requirement, Text};
use crate::resources::{ResourceName, Resources};
use crate::schedule::{Schedule, Spot};
use crate::snapshot::{
    Claim, ClaimId, HostPort, NodeId, PodId, PodTerm, Policy, Selector, Shape, Snapshot, Spread,
    Volume,
};
use crate::taints::{Effect, Taint};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A spot, and for an opening what it becomes.
#[derive(Clone, Copy)]
struct Place(Spot, Option<OfferingId>);

/// By driver: volumes that are attached; those of one pod alone get a name of their own.
#[derive(Default)]
struct Attached(BTreeMap<Text, BTreeSet<String>>);

impl Attached {
    fn add(&mut self, volume: &Volume) {
        let Some(driver) = &volume.driver else { return };
        let volumes = self.0.entry(driver.clone()).or_default();
        let name = if volume.claim.is_empty() {
            format!("#{}", volumes.len())
        } else {
            volume.claim.to_string()
        };
        volumes.insert(name);
    }
}

pub(super) struct Checked<'a> {
    snapshot: &'a Snapshot,
    schedule: &'a Schedule,
    /// Every pod that runs or will run.
    places: BTreeMap<PodId, Spot>,
}

impl<'a> Checked<'a> {
    pub(super) fn new(snapshot: &'a Snapshot, schedule: &'a Schedule) -> Self {
        let mut places: BTreeMap<PodId, Spot> = schedule.placements.iter().copied().collect();
        for (id, pod) in snapshot.pods.members().filter(|(_, pod)| !pod.pending) {
            let at = pod
                .node
                .as_ref()
                .and_then(|name| snapshot.nodes.iter().position(|node| &node.name == name));
            places.extend(at.map(|at| (id, Spot::Node(NodeId(u32::try_from(at).unwrap())))));
        }
        Self {
            snapshot,
            schedule,
            places,
        }
    }

    pub(super) fn all(&self) {
        self.what_is_placed();
        self.everybody();
    }

    /// A part of a plan: nobody is left out by mistake because nobody was promised anything.
    pub(super) fn what_is_placed(&self) {
        for (pod, spot) in &self.schedule.placements {
            let shape = self.snapshot.pods.shape_of(*pod);
            for place in self.ways_to_be(*spot) {
                self.labels(shape, place);
                self.volumes(shape, place);
            }
            self.taints(shape, *spot);
            self.apart(*pod, shape, *spot);
            self.near(*pod, shape, *spot);
            self.skew(shape, *spot);
        }
        self.ports();
        self.room();
        self.attached();
        self.offerings();
        self.limits();
        self.guard();
        self.reservations();
    }

    fn name(&self, spot: Spot) -> String {
        match spot {
            Spot::Node(id) => self.snapshot.node(id).name.to_string(),
            Spot::Claim(id) => self.snapshot.claim(id).name.to_string(),
            Spot::Opening(at) => self.schedule.openings[at as usize].handle.to_string(),
        }
    }

    /// An opening may become anything that is written on it; a label must be right whatever it becomes.
    fn ways_to_be(&self, spot: Spot) -> Vec<Place> {
        match spot {
            Spot::Opening(at) => {
                let offerings = self.schedule.openings[at as usize].offerings.iter();
                offerings.map(|id| Place(spot, Some(*id))).collect()
            }
            Spot::Node(_) | Spot::Claim(_) => vec![Place(spot, None)],
        }
    }

    /// The value a label has there, if it is decided; an opening becomes what is bought first.
    fn label(&self, spot: Spot, key: &str) -> Option<String> {
        self.label_of(self.ways_to_be(spot)[0], key)
    }

    fn label_of(&self, Place(spot, offering): Place, key: &str) -> Option<String> {
        if key == labels::HOSTNAME {
            return Some(self.name(spot));
        }
        let catalog = &self.snapshot.catalogs[0];
        let find = |own: &[(Arc<str>, Arc<str>)]| {
            let mut own = own.iter().filter(|(known, _)| known.as_ref() == key);
            own.next().map(|(_, value)| value.to_string())
        };
        let of_type = |id: TypeId| {
            let listed = catalog.instance_type(id).requirements.get(key);
            let listed = listed.and_then(|one| one.listed())?;
            listed.first().map(ToString::to_string)
        };
        match (spot, offering) {
            (Spot::Node(id), _) => self.snapshot.node(id).label(key).map(str::to_owned),
            (Spot::Claim(id), _) => {
                let claim = self.snapshot.claim(id);
                let (kind, zone, capacity_type) = claim.offering.as_ref()?;
                match key {
                    labels::ZONE => Some(zone.to_string()),
                    labels::CAPACITY_TYPE => Some(capacity_type.to_string()),
                    labels::POOL => Some(claim.pool.to_string()),
                    labels::INSTANCE_TYPE => Some(kind.to_string()),
                    _ => find(&claim.labels).or_else(|| of_type(self.type_of(claim)?)),
                }
            }
            (Spot::Opening(at), offering) => {
                let id = offering?;
                match key {
                    labels::ZONE => Some(catalog.offering(id).zone.to_string()),
                    labels::CAPACITY_TYPE => Some(catalog.offering(id).capacity_type.to_string()),
                    _ => find(&self.schedule.openings[at as usize].labels)
                        .or_else(|| of_type(catalog.type_of(id))),
                }
            }
        }
    }

    /// Does the place have all that one of these ways asks for?
    fn holds(&self, place: Place, way: &[Requirement]) -> bool {
        way.iter()
            .all(|term| match self.label_of(place, term.key()) {
                Some(value) => term.has(&value),
                None => term.accepts_absence(),
            })
    }

    /// The pod's own terms admit the place.
    fn admits(&self, shape: &Shape, place: Place) -> bool {
        let terms = &shape.terms;
        let any = terms.is_empty() || terms.iter().any(|term| self.holds(place, term));
        self.holds(place, &shape.selector) && any
    }

    fn labels(&self, shape: &Shape, place: Place) {
        let where_to = self.name(place.0);
        assert!(
            self.admits(shape, place),
            "labels of a pod are not those of {where_to}"
        );
    }

    fn hard_taints(&self, spot: Spot) -> impl Iterator<Item = &Taint> {
        let taints = match spot {
            Spot::Node(id) => &self.snapshot.node(id).taints,
            Spot::Claim(id) => &self.snapshot.claim(id).taints,
            Spot::Opening(at) => {
                let opening = &self.schedule.openings[at as usize];
                &self.snapshot.pool(opening.pool).taints
            }
        };
        taints
            .iter()
            .filter(|taint| taint.effect != Effect::PreferNoSchedule)
    }

    fn taints(&self, shape: &Shape, spot: Spot) {
        for taint in self.hard_taints(spot) {
            assert!(
                shape.tolerations.iter().any(|one| one.tolerates(taint)),
                "{taint} on {}",
                self.name(spot)
            );
        }
    }

    fn volumes(&self, shape: &Shape, place: Place) {
        for volume in shape
            .volumes
            .iter()
            .filter(|volume| !volume.alternatives.is_empty())
        {
            let reached = volume.alternatives.iter().any(|way| {
                way.iter().all(|one| {
                    self.label_of(place, one.key())
                        .is_some_and(|value| one.has(&value))
                })
            });
            assert!(
                reached,
                "a volume is not reached from {}",
                self.name(place.0)
            );
        }
    }

    /// Daemons that will be on the place, whether they are there yet or not.
    fn daemons(&self, place: Place) -> Vec<&Shape> {
        let shapes = self.snapshot.daemons.iter().map(|daemon| &daemon.shape);
        let tolerates =
            |shape: &Shape, taint: &Taint| shape.tolerations.iter().any(|one| one.tolerates(taint));
        shapes
            .filter(|shape| {
                self.hard_taints(place.0)
                    .all(|taint| tolerates(shape, taint))
            })
            .filter(|shape| self.admits(shape, place))
            .collect()
    }

    fn daemon_load(&self, place: Place) -> Resources {
        let one = Resources::new().with(ResourceName::Pods, 1);
        let daemons = self.daemons(place).into_iter();
        daemons.fold(Resources::new(), |sum, shape| {
            sum.plus(&shape.requests).plus(&one)
        })
    }

    fn means(&self, term: &PodTerm, owner: &Shape, other: &Shape) -> bool {
        let here = match &term.namespace_selector {
            Some(selector) => {
                selector.expressions().is_empty()
                    || term.namespaces.contains(&other.namespace)
                    || self.snapshot.namespaces.iter().any(|namespace| {
                        namespace.name == other.namespace && selector.matches(&namespace.labels)
                    })
            }
            None if term.namespaces.is_empty() => owner.namespace == other.namespace,
            None => term.namespaces.contains(&other.namespace),
        };
        here && selects(term.selector.as_ref(), other)
    }

    fn apart(&self, pod: PodId, shape: &Shape, spot: Spot) {
        for (other, at) in self.places.iter().filter(|(other, _)| **other != pod) {
            let them = self.snapshot.pods.shape_of(*other);
            let pairs = shape.apart.iter().map(|term| (term, shape, them));
            let back = them.apart.iter().map(|term| (term, them, shape));
            for (term, owner, meant) in pairs.chain(back) {
                let (mine, theirs) = (self.label(spot, &term.key), self.label(*at, &term.key));
                let together = mine.is_some() && mine == theirs;
                assert!(
                    !(together && self.means(term, owner, meant)),
                    "{} beside {} by {}",
                    self.snapshot.pods.pod(pod).name,
                    self.snapshot.pods.pod(*other).name,
                    term.key
                );
            }
        }
    }

    fn near(&self, pod: PodId, shape: &Shape, spot: Spot) {
        for term in &shape.near {
            let mine = self.label(spot, &term.key);
            let meant = |other: &PodId| {
                let them = self.snapshot.pods.shape_of(*other);
                shape.near.iter().all(|term| self.means(term, shape, them))
            };
            let there = |at: Spot| mine.is_some() && self.label(at, &term.key) == mine;
            let mut others = self.places.iter().filter(|(other, _)| **other != pod);
            let company = others.any(|(other, at)| there(*at) && meant(other));
            // Who is meant himself may be the first, but only where nobody ran before.
            let ran_before = self.places.iter().any(|(other, at)| {
                let ran = !self.snapshot.pods.pod(*other).pending;
                ran && meant(other) && self.label(*at, &term.key).is_some()
            });
            assert!(
                mine.is_some() && (company || (meant(&pod) && !ran_before)),
                "nobody to be near to on {} by {}",
                self.name(spot),
                term.key
            );
        }
    }

    /// Only for pods that all others they count share the constraint with: then it must hold at the end as well.
    fn skew(&self, shape: &Shape, spot: Spot) {
        for spread in shape.spreads.iter().filter(|spread| spread.hard) {
            let counted: Vec<(&Shape, Spot)> = self
                .places
                .iter()
                .map(|(pod, at)| (self.snapshot.pods.shape_of(*pod), *at))
                .filter(|(them, at)| {
                    them.namespace == shape.namespace
                        && selects(spread.selector.as_ref(), them)
                        && self.looked_at(shape, spread, *at)
                })
                .collect();
            let placed_alike = counted
                .iter()
                .all(|(them, _)| alike(them, shape) || !self.is_new(them));
            if !placed_alike || !selects(spread.selector.as_ref(), shape) {
                continue;
            }
            let mine = self.label(spot, &spread.key);
            assert!(mine.is_some(), "{} has no {}", self.name(spot), spread.key);
            let count = |domain: &Option<String>| {
                counted
                    .iter()
                    .filter(|(_, at)| self.label(*at, &spread.key) == *domain)
                    .count()
            };
            let domains = self.domains(shape, spread);
            let counts = domains.iter().map(|domain| count(&Some(domain.clone())));
            let enough = domains.len() >= spread.min_domains as usize;
            let least = counts.min().filter(|_| enough).unwrap_or(0);
            assert!(
                count(&mine) <= least + spread.max_skew as usize,
                "skew of {} on {mine:?}: {} over {least}",
                spread.key,
                count(&mine)
            );
        }
    }

    fn is_new(&self, shape: &Shape) -> bool {
        let mut pods = self.snapshot.pods.members();
        pods.any(|(id, pod)| pod.pending && self.snapshot.pods.shape_of(id) == shape)
    }

    /// Nodes that a spread of the pod compares and counts.
    fn looked_at(&self, shape: &Shape, spread: &Spread, spot: Spot) -> bool {
        let admitted = || self.admits(shape, self.ways_to_be(spot)[0]);
        let accepts = |taint: &Taint| shape.tolerations.iter().any(|one| one.tolerates(taint));
        let tolerated = || self.hard_taints(spot).all(accepts);
        (spread.node_affinity == Policy::Ignore || admitted())
            && (spread.node_taints == Policy::Ignore || tolerated())
    }

    /// Nodes that are there or will be.
    fn nodes(&self) -> impl Iterator<Item = Spot> {
        let number = |at: usize| u32::try_from(at).unwrap();
        let nodes = self.snapshot.nodes.iter().enumerate();
        let nodes = nodes.filter(|(_, node)| !node.leaving);
        let claims = self.snapshot.claims.iter().enumerate();
        let claims = claims.filter(|(_, claim)| !claim.leaving);
        let nodes = nodes.map(move |(at, _)| Spot::Node(NodeId(number(at))));
        let claims = claims.map(move |(at, _)| Spot::Claim(ClaimId(number(at))));
        let openings = 0..self.schedule.openings.len();
        let openings = openings.map(move |at| Spot::Opening(number(at)));
        nodes.chain(claims).chain(openings)
    }

    fn domains(&self, shape: &Shape, spread: &Spread) -> BTreeSet<String> {
        // kube-scheduler passes over nodes that lack the label of any hard spread.
        let hard = || shape.spreads.iter().filter(|spread| spread.hard);
        let labelled = |spot: Spot| hard().all(|spread| self.label(spot, &spread.key).is_some());
        let looked_at = self
            .nodes()
            .filter(|spot| self.looked_at(shape, spread, *spot) && labelled(*spot));
        looked_at
            .filter_map(|spot| self.label(spot, &spread.key))
            .collect()
    }

    fn ports(&self) {
        for (pod, spot) in &self.schedule.placements {
            let ports = &self.snapshot.pods.shape_of(*pod).ports;
            let others = self.schedule.placements.iter();
            let others = others.filter(|(other, at)| other != pod && at == spot);
            let theirs = others.flat_map(|(other, _)| &self.snapshot.pods.shape_of(*other).ports);
            let mut taken: Vec<&HostPort> = theirs.collect();
            match spot {
                Spot::Node(id) => taken.extend(&self.snapshot.node(*id).ports),
                Spot::Claim(_) | Spot::Opening(_) => {
                    let places = self.ways_to_be(*spot).into_iter();
                    let daemons = places.flat_map(|place| self.daemons(place));
                    taken.extend(daemons.flat_map(|shape| &shape.ports));
                }
            }
            assert!(
                !ports
                    .iter()
                    .any(|port| taken.iter().any(|their| port.conflicts(their))),
                "port on {}",
                self.name(*spot)
            );
        }
    }

    /// Every type a claim may become carries its pods and the daemons; nodes are not overdrawn.
    fn room(&self) {
        let mut asked: BTreeMap<Spot, Resources> = BTreeMap::new();
        for (pod, spot) in &self.schedule.placements {
            let sum = asked.entry(*spot).or_default();
            *sum = sum.plus(&self.snapshot.pods.shape_of(*pod).requests);
        }
        for (spot, asked) in &asked {
            for place in self.ways_to_be(*spot) {
                let coming = self.daemon_load(place);
                let (used, room) = self.used_and_room(place, &coming);
                assert!(
                    asked.plus(&used).fits(&room),
                    "{} is overdrawn",
                    self.name(*spot)
                );
            }
            if let Spot::Opening(at) = spot {
                let opening = &self.schedule.openings[*at as usize];
                assert!(
                    asked.fits(&opening.requests),
                    "{} asks for less than its pods",
                    opening.handle
                );
            }
        }
        for opening in &self.schedule.openings {
            assert!(
                !opening.pods.is_empty() && !opening.offerings.is_empty(),
                "{} is for nobody",
                opening.handle
            );
        }
    }

    /// What a place carries beside the pods of the plan, and what it has; one that is leaving has nothing.
    fn used_and_room(
        &self,
        Place(spot, offering): Place,
        coming: &Resources,
    ) -> (Resources, Resources) {
        let catalog = &self.snapshot.catalogs[0];
        match spot {
            Spot::Node(id) if self.snapshot.node(id).leaving => Default::default(),
            Spot::Claim(id) if self.snapshot.claim(id).leaving => Default::default(),
            Spot::Node(id) => {
                let node = self.snapshot.node(id);
                let coming = coming.minus(&node.daemons).at_least_zero();
                (node.used.plus(&coming), node.allocatable.clone())
            }
            Spot::Claim(id) => {
                let claim = self.snapshot.claim(id);
                let of_type = self
                    .type_of(claim)
                    .map(|kind| catalog.allocatable(kind).clone());
                let told = claim.told.as_ref().map(|(_, room)| room.clone());
                (
                    coming.clone(),
                    told.or(of_type).unwrap_or_else(|| claim.requests.clone()),
                )
            }
            Spot::Opening(_) => {
                let room = offering.map(|id| catalog.allocatable(catalog.type_of(id)).clone());
                (coming.clone(), room.unwrap_or_default())
            }
        }
    }

    /// Nobody brings a volume to where it cannot be attached any more.
    fn attached(&self) {
        let spots: BTreeSet<Spot> = self.schedule.placements.iter().map(|(_, at)| *at).collect();
        for spot in spots {
            let (mut before, mut after) = (Attached::default(), Attached::default());
            for (pod, _) in self.places.iter().filter(|(_, at)| **at == spot) {
                for volume in &self.snapshot.pods.shape_of(*pod).volumes {
                    after.add(volume);
                    if !self.snapshot.pods.pod(*pod).pending {
                        before.add(volume);
                    }
                }
            }
            for (driver, count) in &after.0 {
                let brought = before
                    .0
                    .get(driver)
                    .is_none_or(|known| known.len() < count.len());
                for place in self.ways_to_be(spot) {
                    let most = self.most_volumes(place, driver).unwrap_or(u32::MAX);
                    assert!(
                        !brought || count.len() <= most as usize,
                        "{} volumes of {driver} on {}",
                        count.len(),
                        self.name(spot)
                    );
                }
            }
        }
    }

    fn most_volumes(&self, place: Place, driver: &str) -> Option<u32> {
        let limits = &self.snapshot.volumes;
        let kind = self
            .label_of(place, labels::INSTANCE_TYPE)
            .unwrap_or_default();
        let said = match place.0 {
            Spot::Node(id) => self.snapshot.node(id).volume_limits.iter(),
            Spot::Claim(_) | Spot::Opening(_) => [].iter(),
        };
        let mut said = said.filter(|(name, _)| name.as_ref() == driver);
        said.next()
            .map_or_else(|| limits.limit(&kind, driver), |(_, most)| *most)
    }

    /// What is written on a claim can be had, and is what the claim and its pool ask for.
    fn offerings(&self) {
        let catalog = &self.snapshot.catalogs[0];
        for (at, opening) in self.schedule.openings.iter().enumerate() {
            let spot = Spot::Opening(u32::try_from(at).unwrap());
            let pool = self.snapshot.pool(opening.pool);
            for place in self.ways_to_be(spot) {
                let offering = catalog.offering(place.1.unwrap());
                assert!(
                    offering.is_available(self.snapshot.now),
                    "{offering} is not to be had"
                );
                let asked: Vec<_> = opening
                    .requirements
                    .iter()
                    .chain(pool.requirements.iter())
                    .cloned()
                    .collect();
                assert!(
                    self.holds(place, &asked),
                    "{offering} is not what {} asks for",
                    opening.handle
                );
            }
            let listed: BTreeSet<PodId> = opening.pods.iter().copied().collect();
            let placed = self
                .schedule
                .placements
                .iter()
                .filter(|(_, to)| *to == spot);
            assert_eq!(
                listed,
                placed.map(|(pod, _)| *pod).collect(),
                "pods of {}",
                opening.handle
            );
        }
    }

    /// No more claims of a pool are on their way than the guard allows.
    fn guard(&self) {
        let Some(guard) = self.snapshot.options.guard else {
            return;
        };
        for pool in &self.snapshot.pools {
            let ours = |name: Option<&Arc<str>>| name == Some(&pool.name);
            let nodes = self
                .snapshot
                .nodes
                .iter()
                .filter(|node| !node.leaving && ours(node.pool.as_ref()));
            let allowed = guard.allowed(u32::try_from(nodes.count()).unwrap()) as usize;
            let claims = self
                .snapshot
                .claims
                .iter()
                .filter(|claim| !claim.leaving && ours(Some(&claim.pool)));
            let openings = self
                .schedule
                .openings
                .iter()
                .filter(|one| self.snapshot.pool(one.pool).name == pool.name);
            let opened = openings.count();
            assert!(
                opened == 0 || claims.count() + opened <= allowed,
                "too many claims of {} on their way",
                pool.name
            );
        }
    }

    fn limits(&self) {
        let one = Resources::new().with(ResourceName::Nodes, 1);
        for pool in self
            .snapshot
            .pools
            .iter()
            .filter(|pool| !pool.limits.is_empty())
        {
            let nodes = self
                .snapshot
                .nodes
                .iter()
                .filter(|node| node.pool.as_ref() == Some(&pool.name) && !node.leaving);
            let mut used = nodes.fold(Resources::new(), |sum, node| {
                sum.plus(&node.capacity).plus(&one)
            });
            let openings = self
                .schedule
                .openings
                .iter()
                .filter(|opening| self.snapshot.pool(opening.pool).name == pool.name);
            let mut any = false;
            for claim in &self.snapshot.claims {
                if claim.pool == pool.name && !claim.leaving {
                    used = used.plus(&self.capacity_of(claim)).plus(&one);
                }
            }
            for opening in openings {
                let catalog = &self.snapshot.catalogs[0];
                let kind = catalog.instance_type(catalog.type_of(opening.offerings[0]));
                used = used.plus(&kind.capacity).plus(&one);
                any = true;
            }
            for (name, limit) in pool.limits.iter().filter(|_| any) {
                assert!(used.get(name) <= limit, "limit {name} of {}", pool.name);
            }
        }
    }

    /// Nobody knows what a claim of a pool that is gone was bought as.
    fn type_of(&self, claim: &Claim) -> Option<TypeId> {
        let known = self
            .snapshot
            .pools
            .iter()
            .any(|pool| pool.name == claim.pool);
        let (kind, ..) = claim.offering.as_ref().filter(|_| known)?;
        self.snapshot.catalogs[0].find_type(kind)
    }

    fn capacity_of(&self, claim: &Claim) -> Resources {
        let catalog = &self.snapshot.catalogs[0];
        let of_type = self
            .type_of(claim)
            .map(|kind| catalog.instance_type(kind).capacity.clone());
        let told = claim.told.as_ref().map(|(capacity, _)| capacity.clone());
        told.or(of_type).unwrap_or_else(|| claim.requests.clone())
    }

    /// No reservation is used beyond what is left of it, and who uses one can become nothing else.
    fn reservations(&self) {
        let catalog = &self.snapshot.catalogs[0];
        let mut used: BTreeMap<&str, u32> = BTreeMap::new();
        for opening in &self.schedule.openings {
            let of = |id: &OfferingId| catalog.offering(*id).reservation.as_ref();
            let name = |id: &OfferingId| of(id).map(|one| one.name.as_ref());
            let first = name(&opening.offerings[0]);
            assert!(
                opening.offerings.iter().all(|id| name(id) == first),
                "{} mixes what is reserved with what is not",
                opening.handle
            );
            *used.entry(first.unwrap_or("")).or_default() += 1;
        }
        // What is not launched yet is not in what the cloud said.
        let launching = self.snapshot.claims.iter().filter(|claim| {
            claim.told.is_none() && !claim.leaving && self.type_of(claim).is_some()
        });
        for (kind, zone, capacity_type) in launching.filter_map(|claim| claim.offering.as_ref()) {
            let id = catalog.find_offering(kind, zone, *capacity_type);
            let held = id.and_then(|id| catalog.offering(id).reservation.as_ref());
            if let Some(held) = held.filter(|held| used.contains_key(held.name.as_ref())) {
                *used.entry(&held.name).or_default() += 1;
            }
        }
        // Offerings of one reservation may say different numbers: each of them holds.
        for one in catalog
            .offerings()
            .iter()
            .filter_map(|one| one.reservation.as_ref())
        {
            let used = used.get(one.name.as_ref()).copied().unwrap_or(0);
            assert!(used <= one.left, "reservation {} is overdrawn", one.name);
        }
    }

    fn everybody(&self) {
        let refused: BTreeMap<PodId, usize> = self
            .schedule
            .refused(&self.snapshot.pods)
            .map(|(pod, whys)| (pod, whys.len()))
            .collect();
        for (id, pod) in self.snapshot.pods.members().filter(|(_, pod)| pod.pending) {
            let placed = self
                .schedule
                .placements
                .iter()
                .filter(|(known, _)| *known == id)
                .count();
            let reasons = refused.get(&id).map_or(0, |whys| usize::from(*whys > 0));
            assert_eq!(
                placed + reasons,
                1,
                "{} has {placed} places and {reasons} refusals",
                pod.name
            );
        }
    }
}

fn selects(selector: Option<&Selector>, shape: &Shape) -> bool {
    selector.is_some_and(|selector| selector.matches(&shape.labels))
}

/// Both count the same pods on the same nodes.
fn alike(one: &Shape, other: &Shape) -> bool {
    let asked = |shape: &Shape| {
        (
            shape.spreads.clone(),
            shape.selector.clone(),
            shape.terms.clone(),
            shape.tolerations.clone(),
        )
    };
    asked(one) == asked(other)
}
