//! Does a plan hold what its pods ask for? Looked at from the outside: labels of places, pods in places, nothing else.
//!
//! Knows nothing of how the plan was made. Domains are those of nodes that are there or will be, as kube-scheduler sees them.

use crate::catalog::OfferingId;
use crate::labels;
use crate::resources::{ResourceName, Resources};
use crate::schedule::{Schedule, Spot};
use crate::snapshot::{NodeId, PodId, PodTerm, Selector, Shape, Snapshot};
use crate::taints::Effect;
use std::collections::{BTreeMap, BTreeSet};

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
            self.taints_and_labels(shape, *spot);
            self.volumes(shape, *spot);
            self.apart(*pod, shape, *spot);
            self.near(shape, *spot);
            self.skew(shape, *spot);
        }
        self.ports();
        self.room();
        self.limits();
        self.reservations();
    }

    fn name(&self, spot: Spot) -> String {
        match spot {
            Spot::Node(id) => self.snapshot.node(id).name.to_string(),
            Spot::Claim(id) => self.snapshot.claim(id).name.to_string(),
            Spot::Opening(at) => self.schedule.openings[at as usize].handle.to_string(),
        }
    }

    /// The value a label has there, if it is decided.
    fn label(&self, spot: Spot, key: &str) -> Option<String> {
        if key == labels::HOSTNAME {
            return Some(self.name(spot));
        }
        match spot {
            Spot::Node(id) => self.snapshot.node(id).label(key).map(str::to_owned),
            Spot::Claim(_) => None,
            Spot::Opening(at) => {
                let opening = &self.schedule.openings[at as usize];
                let catalog = &self.snapshot.catalogs[0];
                let first = catalog.offering(opening.offerings[0]);
                match key {
                    labels::ZONE => Some(first.zone.to_string()),
                    labels::CAPACITY_TYPE => Some(first.capacity_type.to_string()),
                    _ => {
                        let own = opening
                            .labels
                            .iter()
                            .find(|(known, _)| known.as_ref() == key);
                        let kind = catalog.instance_type(catalog.type_of(opening.offerings[0]));
                        let listed = kind.requirements.get(key).and_then(|one| one.listed());
                        own.map(|(_, value)| value.to_string())
                            .or_else(|| listed?.first().map(ToString::to_string))
                    }
                }
            }
        }
    }

    fn taints_and_labels(&self, shape: &Shape, spot: Spot) {
        let holds = |term: &crate::Requirement| match self.label(spot, term.key()) {
            Some(value) => term.has(&value),
            None => term.accepts_absence(),
        };
        let where_to = self.name(spot);
        assert!(
            shape.selector.iter().all(holds),
            "selector of a pod on {where_to}"
        );
        let terms = &shape.terms;
        assert!(
            terms.is_empty() || terms.iter().any(|term| term.iter().all(holds)),
            "terms of a pod on {where_to}"
        );
        let taints = match spot {
            Spot::Node(id) => &self.snapshot.node(id).taints,
            Spot::Claim(id) => &self.snapshot.claim(id).taints,
            Spot::Opening(at) => {
                &self
                    .snapshot
                    .pool(self.schedule.openings[at as usize].pool)
                    .taints
            }
        };
        for taint in taints
            .iter()
            .filter(|taint| taint.effect != Effect::PreferNoSchedule)
        {
            assert!(
                shape.tolerations.iter().any(|one| one.tolerates(taint)),
                "{taint} on {where_to}"
            );
        }
    }

    fn volumes(&self, shape: &Shape, spot: Spot) {
        for volume in shape
            .volumes
            .iter()
            .filter(|volume| !volume.alternatives.is_empty())
        {
            let reached = volume.alternatives.iter().any(|way| {
                way.iter().all(|one| {
                    self.label(spot, one.key())
                        .is_some_and(|value| one.has(&value))
                })
            });
            assert!(reached, "a volume is not reached from {}", self.name(spot));
        }
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

    fn near(&self, shape: &Shape, spot: Spot) {
        for term in &shape.near {
            let mine = self.label(spot, &term.key);
            let found = self.places.iter().any(|(other, at)| {
                let them = self.snapshot.pods.shape_of(*other);
                self.label(*at, &term.key) == mine && self.means(term, shape, them)
            });
            assert!(
                mine.is_some() && found,
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
                        && self.looked_at(shape, *at)
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
            let least = self
                .domains(shape, &spread.key)
                .iter()
                .map(|domain| count(&Some(domain.clone())))
                .min()
                .unwrap_or(0);
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

    /// The pod's own terms admit the place.
    fn looked_at(&self, shape: &Shape, spot: Spot) -> bool {
        let holds = |term: &crate::Requirement| match self.label(spot, term.key()) {
            Some(value) => term.has(&value),
            None => term.accepts_absence(),
        };
        let terms = &shape.terms;
        shape.selector.iter().all(holds)
            && (terms.is_empty() || terms.iter().any(|term| term.iter().all(holds)))
    }

    fn domains(&self, shape: &Shape, key: &str) -> BTreeSet<String> {
        let nodes =
            (0..self.snapshot.nodes.len()).map(|at| Spot::Node(NodeId(u32::try_from(at).unwrap())));
        let nodes =
            nodes.filter(|spot| !matches!(spot, Spot::Node(id) if self.snapshot.node(*id).leaving));
        let openings =
            (0..self.schedule.openings.len()).map(|at| Spot::Opening(u32::try_from(at).unwrap()));
        // kube-scheduler passes over nodes that lack the label of any hard spread.
        let hard = || shape.spreads.iter().filter(|spread| spread.hard);
        let labelled = |spot: Spot| hard().all(|spread| self.label(spot, &spread.key).is_some());
        let looked_at = nodes
            .chain(openings)
            .filter(|spot| self.looked_at(shape, *spot) && labelled(*spot));
        looked_at.filter_map(|spot| self.label(spot, key)).collect()
    }

    fn ports(&self) {
        for (pod, spot) in &self.schedule.placements {
            let ports = &self.snapshot.pods.shape_of(*pod).ports;
            let there = self
                .schedule
                .placements
                .iter()
                .filter(|(other, at)| other != pod && at == spot);
            for (other, _) in there {
                let theirs = &self.snapshot.pods.shape_of(*other).ports;
                assert!(
                    !ports
                        .iter()
                        .any(|port| theirs.iter().any(|their| port.conflicts(their))),
                    "port on {}",
                    self.name(*spot)
                );
            }
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
            match spot {
                Spot::Node(id) => {
                    let node = self.snapshot.node(*id);
                    assert!(
                        !node.leaving && asked.plus(&node.used).fits(&node.allocatable),
                        "{} is overdrawn",
                        node.name
                    );
                }
                Spot::Claim(_) => {}
                Spot::Opening(at) => {
                    let opening = &self.schedule.openings[*at as usize];
                    let catalog = &self.snapshot.catalogs[0];
                    assert!(
                        asked.fits(&opening.requests),
                        "{} asks for less than its pods",
                        opening.handle
                    );
                    for id in opening.offerings.iter() {
                        let room = catalog.allocatable(catalog.type_of(*id));
                        assert!(
                            opening.requests.fits(room),
                            "{} on {}",
                            opening.handle,
                            catalog.offering(*id)
                        );
                        assert!(catalog.offering(*id).is_available(self.snapshot.now));
                    }
                }
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
