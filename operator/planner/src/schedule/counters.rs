//! How many pods that somebody cares about are in each domain?
//!
//! A counter is shared by all constraints that ask the same question: same key, same selector, same namespaces, same nodes
//! looked at. For required anti-affinity a second counter counts those who *own* the term: it keeps away whom it means.

use super::domains::{Domains, KeyId, NONE, single};
use super::existing::Rooms;
use super::relax;
use super::scope::Scope;
use crate::labels::WellKnown;
use crate::requirements::{Requirement, Requirements, Text, Undefined};
use crate::snapshot::{PodTerm, Policy, Selector, Shape, Snapshot, Spread};
use crate::taints::{self, Preferred, Taint, Toleration};
use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

pub(super) type CounterId = u32;

/// What a counter counts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Counter {
    /// `None`: by host.
    pub(super) key: Option<KeyId>,
    pub(super) selector: Option<Selector>,
    scope: Scope,
    filter: Option<Filter>,
    /// Counts who owns the term instead of whom it means.
    pub(super) owners: bool,
}

/// Only nodes that pass are looked at.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Filter {
    /// One of these must hold; empty: all nodes.
    ways: Vec<Requirements>,
    /// `None`: taints do not matter.
    tolerations: Option<Vec<Toleration>>,
}

/// How a shape stands to the counters.
#[derive(Clone, Debug, Default)]
pub(super) struct Traits {
    /// Counters that count it.
    pub(super) counted: Vec<CounterId>,
    /// Anti-affinity of others that means it.
    pub(super) unwanted: Vec<CounterId>,
    /// Counters of its own terms, in the order of its fields.
    pub(super) spreads: Vec<CounterId>,
    pub(super) near: Vec<CounterId>,
    pub(super) apart: Vec<CounterId>,
    pub(super) preferred_near: Vec<CounterId>,
    pub(super) preferred_apart: Vec<CounterId>,
    /// Its required anti-affinity, seen from the others.
    pub(super) owned: Vec<CounterId>,
}

#[derive(Default)]
pub(super) struct Counters {
    pub(super) list: Vec<Counter>,
    /// By counter with a filter: by kind of room.
    kinds: Vec<Option<Vec<bool>>>,
    /// By counter, by domain: how many nodes are there that are looked at?
    pub(super) seen: Vec<Vec<u32>>,
    /// By counter: by domain, or by room.
    pub(super) base: Vec<Vec<u32>>,
    /// By counter: all of them.
    pub(super) totals: Vec<u64>,
    /// By room, by key.
    pub(super) room_domains: Vec<u32>,
    keys: usize,
}

impl Counters {
    pub(super) fn of(snapshot: &Snapshot, domains: &Domains, rooms: &Rooms) -> (Self, Vec<Traits>) {
        let mut found: IndexMap<Counter, (), FxBuildHasher> = IndexMap::default();
        let mut traits: Vec<Traits> = snapshot
            .pods
            .shapes()
            .map(|(_, shape)| own_terms(shape, snapshot, domains, &mut found))
            .collect();
        let mut counters = Self {
            list: found.into_keys().collect(),
            keys: domains.keys().count(),
            ..Self::default()
        };
        if counters.list.is_empty() {
            return (counters, traits);
        }
        let finder = Finder::of(&counters.list);
        for (id, shape) in snapshot.pods.shapes() {
            let traits = &mut traits[id.0 as usize];
            for counter in finder.meaning(shape, &counters.list) {
                if counters.list[counter as usize].owners {
                    traits.unwanted.push(counter);
                } else {
                    traits.counted.push(counter);
                }
            }
        }
        counters.look_at(domains, rooms);
        counters.count_bound(snapshot, rooms, &traits);
        let total = |counts: &Vec<u32>| counts.iter().map(|count| u64::from(*count)).sum();
        counters.totals = counters.base.iter().map(total).collect();
        (counters, traits)
    }

    pub(super) fn domain_of_room(&self, room: usize, key: KeyId) -> u32 {
        self.room_domains[room * self.keys + key]
    }

    /// Is a room of this kind looked at?
    pub(super) fn passes_kind(&self, counter: CounterId, kind: usize) -> bool {
        self.kinds[counter as usize]
            .as_ref()
            .is_none_or(|kinds| kinds[kind])
    }

    pub(super) fn has_filter(&self, counter: CounterId) -> bool {
        self.list[counter as usize].filter.is_some()
    }

    pub(super) fn have_filters(&self) -> bool {
        self.kinds.iter().any(Option::is_some)
    }

    /// Will a node be looked at, whatever its claim becomes within these requirements?
    pub(super) fn is_within(
        &self,
        counter: CounterId,
        place: &Requirements,
        taints: &[Taint],
    ) -> bool {
        let filter = self.list[counter as usize].filter.as_ref();
        filter.is_none_or(|filter| {
            let inside = |way: &Requirements| place.is_within(way);
            let ways = &filter.ways;
            filter.tolerates(taints) && (ways.is_empty() || ways.iter().any(inside))
        })
    }

    /// What a node with such taints must meet to be looked at; nothing if that does not depend on its labels.
    pub(super) fn ways_in(&self, counter: CounterId, taints: &[Taint]) -> &[Requirements] {
        let filter = self.list[counter as usize].filter.as_ref();
        let filter = filter.filter(|filter| filter.tolerates(taints));
        filter.map_or(&[], |filter| filter.ways.as_slice())
    }

    /// Could such a node be looked at, once all its labels are decided?
    pub(super) fn could_pass(
        &self,
        counter: CounterId,
        (place, taints): (&Requirements, &[Taint]),
        known: &WellKnown,
    ) -> bool {
        let filter = self.list[counter as usize].filter.as_ref();
        filter.is_none_or(|filter| filter.passes((place, taints), Undefined::WellKnown(known)))
    }

    /// Where in its counts a counter keeps this room; `NONE` if it does not.
    pub(super) fn slot(&self, counter: CounterId, rooms: &Rooms, room: usize) -> u32 {
        if !self.passes_kind(counter, rooms.list[room].kind) {
            return NONE;
        }
        match self.list[counter as usize].key {
            Some(key) => self.domain_of_room(room, key),
            None => super::index(room),
        }
    }

    fn look_at(&mut self, domains: &Domains, rooms: &Rooms) {
        let by_kind: Vec<Vec<u32>> = rooms
            .kinds()
            .map(|(place, _)| {
                let value = |name: &Text| single(place.get(name));
                let find =
                    |(key, name)| value(name).map_or(NONE, |value| domains.find(key, &value));
                domains.keys().map(find).collect()
            })
            .collect();
        for room in &rooms.list {
            self.room_domains.extend_from_slice(&by_kind[room.kind]);
        }
        for counter in &self.list {
            let passes = |filter: &Filter| {
                let kinds = rooms.kinds();
                kinds
                    .map(|kind| filter.passes(kind, Undefined::Refused))
                    .collect()
            };
            let kinds: Option<Vec<bool>> = counter.filter.as_ref().map(passes);
            let mut seen = vec![0; counter.key.map_or(0, |key| domains.values(key).len())];
            if let Some(key) = counter.key {
                let looked_at = rooms.list.iter().filter(|room| !room.leaving);
                for room in looked_at {
                    let domain = by_kind[room.kind][key];
                    let passes = kinds.as_ref().is_none_or(|kinds| kinds[room.kind]);
                    if domain != NONE && passes {
                        seen[domain as usize] += 1;
                    }
                }
            }
            self.kinds.push(kinds);
            self.base.push(vec![0; seen.len()]);
            self.seen.push(seen);
        }
        for (counter, base) in self.list.iter().zip(&mut self.base) {
            if counter.key.is_none() {
                base.resize(rooms.len(), 0);
            }
        }
    }

    fn count_bound(&mut self, snapshot: &Snapshot, rooms: &Rooms, traits: &[Traits]) {
        for (room, pods) in rooms.nodes() {
            for pod in pods.iter().map(|pod| snapshot.pods.pod(*pod)) {
                if pod.pending {
                    continue;
                }
                let traits = &traits[pod.shape().0 as usize];
                for counter in traits.counted.iter().chain(&traits.owned) {
                    let slot = self.slot(*counter, rooms, room);
                    if slot != NONE {
                        self.base[*counter as usize][slot as usize] += 1;
                    }
                }
            }
        }
    }
}

impl Filter {
    fn passes(&self, (place, taints): (&Requirements, &[Taint]), open: Undefined<'_>) -> bool {
        let fits = |way: &Requirements| place.compatible(way, open).is_ok();
        (self.ways.is_empty() || self.ways.iter().any(fits)) && self.tolerates(taints)
    }

    fn tolerates(&self, taints: &[Taint]) -> bool {
        let tolerated = |tolerations: &Vec<Toleration>| {
            taints::first_untolerated(taints, tolerations, Preferred::Accept).is_none()
        };
        self.tolerations.as_ref().is_none_or(tolerated)
    }
}

type Found = IndexMap<Counter, (), FxBuildHasher>;

fn own_terms(shape: &Shape, snapshot: &Snapshot, domains: &Domains, found: &mut Found) -> Traits {
    let mut add = |counter: Counter| super::index(found.insert_full(counter, ()).0);
    let of_term = |term: &PodTerm, owners: bool| Counter {
        key: domains.key(&term.key),
        selector: term.selector.clone(),
        scope: Scope::of(term, &shape.namespace, &snapshot.namespaces),
        filter: None,
        owners,
    };
    let near = shape.near.iter().map(|term| {
        let mut counter = of_term(term, false);
        // Only a pod that all terms mean can be the one to be near to.
        let others = shape.near.iter().filter(|other| *other != term);
        for other in others {
            let expressions = other.selector.as_ref().map(Selector::expressions);
            counter.selector = counter
                .selector
                .zip(expressions)
                .map(|(mine, theirs)| mine.and(theirs.iter().cloned()));
            let theirs = Scope::of(other, &shape.namespace, &snapshot.namespaces);
            counter.scope = counter.scope.both(theirs);
        }
        counter
    });
    let weighted = |list: &[(i32, PodTerm)]| -> Vec<Counter> {
        list.iter().map(|(_, term)| of_term(term, false)).collect()
    };
    Traits {
        spreads: shape
            .spreads
            .iter()
            .map(|spread| add(of_spread(spread, shape, domains)))
            .collect(),
        near: near.collect::<Vec<_>>().into_iter().map(&mut add).collect(),
        apart: shape
            .apart
            .iter()
            .map(|term| add(of_term(term, false)))
            .collect(),
        preferred_near: weighted(&shape.preferred_near)
            .into_iter()
            .map(&mut add)
            .collect(),
        preferred_apart: weighted(&shape.preferred_apart)
            .into_iter()
            .map(&mut add)
            .collect(),
        owned: shape
            .apart
            .iter()
            .map(|term| add(of_term(term, true)))
            .collect(),
        ..Traits::default()
    }
}

fn of_spread(spread: &Spread, shape: &Shape, domains: &Domains) -> Counter {
    let bound = !shape.selector.is_empty() || !shape.terms.is_empty();
    let ways = if spread.node_affinity == Policy::Honor && bound {
        relax::ways(shape).unwrap_or_default()
    } else {
        Vec::new()
    };
    let tolerations = (spread.node_taints == Policy::Honor).then(|| shape.tolerations.clone());
    let filter = Filter { ways, tolerations };
    let trivial = filter.ways.is_empty() && filter.tolerations.is_none();
    Counter {
        key: domains.key(&spread.key),
        selector: spread.selector.clone(),
        scope: Scope::Names(vec![shape.namespace.clone()]),
        filter: (!trivial).then_some(filter),
        owners: false,
    }
}

/// Finds the counters that mean a pod without asking all of them: most selectors name a value of a label.
struct Finder {
    by_label: IndexMap<(Text, Text), Vec<CounterId>, FxBuildHasher>,
    rest: Vec<CounterId>,
}

impl Finder {
    fn of(list: &[Counter]) -> Self {
        let mut finder = Self {
            by_label: IndexMap::default(),
            rest: Vec::new(),
        };
        for (at, counter) in list.iter().enumerate() {
            let at = super::index(at);
            let Some(selector) = &counter.selector else {
                continue;
            };
            let named = |one: &&Requirement| one.listed().is_some_and(|values| !values.is_empty());
            let Some(one) = selector.expressions().iter().find(named) else {
                finder.rest.push(at);
                continue;
            };
            for value in one.listed().into_iter().flatten() {
                let label = (Text::from(one.key()), value.clone());
                finder.by_label.entry(label).or_default().push(at);
            }
        }
        finder
    }

    fn meaning(&self, shape: &Shape, list: &[Counter]) -> Vec<CounterId> {
        let named = shape
            .labels
            .iter()
            .filter_map(|label| self.by_label.get(label));
        let candidates = named.flatten().chain(&self.rest).copied();
        let mut all: Vec<CounterId> = candidates
            .filter(|at| list[*at as usize].means(shape))
            .collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

impl Counter {
    pub(super) fn means(&self, shape: &Shape) -> bool {
        self.scope.has(&shape.namespace)
            && self
                .selector
                .as_ref()
                .is_some_and(|selector| selector.matches(&shape.labels))
    }
}
