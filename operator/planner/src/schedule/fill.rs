//! How many pods of a shape go into each room that is there or on its way?
//!
//! Rooms are sorted into buckets by the domains that the shape's constraints look at; the emptiest allowed bucket is
//! served first. Without such constraints there is one bucket and rooms are filled in order.

use super::ask::Ask;
use super::columns::{copies, take};
use super::counters::Counters;
use super::domains::{Domains, NONE};
use super::existing::Rooms;
use super::place::count;
use super::rules::Floor;
use super::run::Run;
use super::strategy::Strategy;
use crate::labels;
use crate::requirements::{Requirements, Undefined};
use crate::snapshot::{HostPort, PodId};
use crate::taints;
use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;
use std::borrow::Cow;

pub(super) type Tuple = SmallVec<[u32; 3]>;

/// Which bucket is served first: with the most room, if all pods must stay together; the emptiest; the first.
type Rank = (std::cmp::Reverse<u64>, u32, usize);

/// Rooms with the same domain under every key. All questions share them.
pub(super) struct Quarter {
    /// By key.
    domains: Tuple,
    rooms: Vec<usize>,
}

/// Rooms by the domains that one attempt looks at.
pub(super) struct Buckets<'g> {
    pub(super) list: Vec<Bucket<'g>>,
    /// By kind of room: does it suit?
    suits: Vec<Option<bool>>,
    /// Where a walk without buckets stands.
    cursor: usize,
}

pub(super) struct Bucket<'g> {
    pub(super) domains: Tuple,
    /// In order, suitable or not.
    rooms: Cow<'g, [usize]>,
    cursor: usize,
    /// How many pods its rooms take together, where that matters.
    room: u64,
}

impl<'g> Buckets<'g> {
    /// Those that may have room left.
    pub(super) fn open(&self) -> impl Iterator<Item = &Bucket<'g>> {
        self.list.iter().filter(|bucket| bucket.is_open())
    }
}

impl Bucket<'_> {
    pub(super) fn is_open(&self) -> bool {
        self.cursor < self.rooms.len()
    }
}

pub(super) fn quarters(rooms: &Rooms, counters: &Counters, domains: &Domains) -> Vec<Quarter> {
    let mut found: IndexMap<Tuple, Vec<usize>, FxBuildHasher> = IndexMap::default();
    let keys = domains.keys().count();
    for room in 0..rooms.len() {
        let domain = |key| counters.domain_of_room(room, key);
        let domains = (0..keys).map(domain).collect();
        found.entry(domains).or_default().push(room);
    }
    let quarter = |(domains, rooms)| Quarter { domains, rooms };
    found.into_iter().map(quarter).collect()
}

impl<'g> Run<'g> {
    pub(super) fn buckets(&self, ask: &Ask<'_>, wanted: usize) -> Buckets<'g> {
        let ground = self.ground;
        let mut buckets = Buckets {
            list: Vec::new(),
            suits: vec![None; ground.rooms.kinds().len()],
            cursor: 0,
        };
        if ask.gates.is_empty() {
            return buckets;
        }
        let mut found: IndexMap<Tuple, usize, FxBuildHasher> = IndexMap::default();
        for quarter in &ground.quarters {
            let domains: Tuple = ask.gates.iter().map(|key| quarter.domains[*key]).collect();
            if let Some(at) = found.get(&domains) {
                buckets.list[*at].rooms.to_mut().extend(&quarter.rooms);
                continue;
            }
            found.insert(domains.clone(), buckets.list.len());
            buckets.list.push(Bucket {
                domains,
                rooms: Cow::Borrowed(&quarter.rooms),
                cursor: 0,
                room: 0,
            });
        }
        for bucket in &mut buckets.list {
            if let Cow::Owned(rooms) = &mut bucket.rooms {
                rooms.sort_unstable();
            }
        }
        if ask.rules.iter().any(|rule| rule.begins(&self.books)) {
            self.measure(ask, &mut buckets, wanted as u64);
        }
        buckets
    }

    /// Pods that must stay together want to know where there is room for all.
    fn measure(&self, ask: &Ask<'_>, buckets: &mut Buckets<'_>, wanted: u64) {
        for bucket in &mut buckets.list {
            for room in bucket.rooms.iter() {
                let most = u64::from(self.room_cap(*room, ask));
                if most > 0 && self.room_suits(*room, ask, &mut buckets.suits) {
                    bucket.room = (bucket.room + most).min(wanted);
                }
            }
        }
    }

    /// How many pods the bucket's next room takes; rooms that take none are passed for ever, and if there were any the
    /// answer is `None`, because another bucket may come first now.
    fn head(
        &mut self,
        ask: &Ask<'_>,
        buckets: &mut Buckets<'_>,
        at: usize,
    ) -> Option<(usize, u32)> {
        let before = buckets.list[at].cursor;
        let next = self.next_room(ask, buckets, at);
        next.filter(|_| buckets.list[at].cursor == before)
    }

    /// The bucket's next room that takes any, and how many.
    pub(super) fn next_room(
        &mut self,
        ask: &Ask<'_>,
        buckets: &mut Buckets<'_>,
        at: usize,
    ) -> Option<(usize, u32)> {
        let bucket = &mut buckets.list[at];
        let asked = &ask.wanted.amounts;
        while let Some(next) = self.free.next_among(&bucket.rooms, bucket.cursor, asked) {
            bucket.cursor = next;
            let room = bucket.rooms[next];
            let most = self.room_cap(room, ask);
            if most > 0 && self.room_suits(room, ask, &mut buckets.suits) {
                return Some((room, most));
            }
            bucket.cursor += 1;
        }
        bucket.cursor = bucket.rooms.len();
        None
    }

    /// Puts pods into rooms as long as some room takes one; the rest is returned.
    pub(super) fn fill<'p>(
        &mut self,
        ask: &Ask<'_>,
        buckets: &mut Buckets<'_>,
        pods: &'p [PodId],
    ) -> &'p [PodId] {
        if ask.gates.is_empty() {
            return self.fill_in_order(ask, buckets, pods);
        }
        let mut waiting = pods;
        while !waiting.is_empty() {
            if let Some(rest) = self.deal_into_rooms(ask, buckets, waiting) {
                waiting = rest;
                continue;
            }
            let Some((at, allowed)) = self.next_bucket(ask, buckets) else {
                break;
            };
            let Some((room, most)) = self.head(ask, buckets, at) else {
                continue;
            };
            let most = if ask.balances() { ask.need } else { most };
            let pods = most.min(allowed).min(count(waiting));
            waiting = self.enter_room(ask, room, pods, waiting);
        }
        waiting
    }

    fn fill_in_order<'p>(
        &mut self,
        ask: &Ask<'_>,
        buckets: &mut Buckets<'_>,
        pods: &'p [PodId],
    ) -> &'p [PodId] {
        let mut waiting = pods;
        while !waiting.is_empty() {
            let next = self.free.next(buckets.cursor, &ask.wanted.amounts);
            buckets.cursor = next.map_or(self.ground.rooms.len(), |room| room + 1);
            let Some(room) = next else { break };
            let most = self.room_cap(room, ask);
            if most == 0 || !self.room_suits(room, ask, &mut buckets.suits) {
                continue;
            }
            let pods = most.min(count(waiting));
            waiting = self.enter_room(ask, room, pods, waiting);
            // Who began a group of pods that stay together has closed all other rooms.
        }
        waiting
    }

    /// The emptiest bucket that may take one more, and how many it may take.
    fn next_bucket(&self, ask: &Ask<'_>, buckets: &Buckets<'_>) -> Option<(usize, u32)> {
        let floors: SmallVec<[Floor; 4]> = ask
            .rules
            .iter()
            .map(|rule| rule.floor(&self.books))
            .collect();
        let begins = ask.rules.iter().any(|rule| rule.begins(&self.books));
        let mut best: Option<(Rank, usize, u32)> = None;
        for (at, bucket) in buckets.list.iter().enumerate() {
            if !bucket.is_open() {
                continue;
            }
            let allowed = self.allowance(ask, &ask.gates, &bucket.domains, &floors);
            if allowed < ask.need {
                continue;
            }
            // Rooms in order, as long as their domain may take one more, pack more tightly than even domains do.
            let weight = match self.strategy {
                Strategy::Even => 0,
                _ => self.weight(ask, &ask.gates, &bucket.domains),
            };
            let room = if begins { bucket.room } else { 0 };
            let rank = (std::cmp::Reverse(room), weight, bucket.rooms[bucket.cursor]);
            if best.as_ref().is_none_or(|(known, ..)| rank < *known) {
                best = Some((rank, at, allowed));
            }
        }
        best.map(|(_, at, allowed)| (at, allowed))
    }

    /// How many more pods the domains take, under all rules.
    pub(super) fn allowance(
        &self,
        ask: &Ask<'_>,
        keys: &[usize],
        domains: &[u32],
        floors: &[Floor],
    ) -> u32 {
        let mut least = u32::MAX;
        for (rule, floor) in ask.rules.iter().zip(floors) {
            let domain = domain_under(keys, domains, rule.key);
            least = least.min(rule.allowance(&self.books, domain, *floor));
            if least == 0 {
                break;
            }
        }
        least
    }

    pub(super) fn weight(&self, ask: &Ask<'_>, keys: &[usize], domains: &[u32]) -> u32 {
        let weight = |rule: &super::rules::Rule| {
            rule.weight(&self.books, domain_under(keys, domains, rule.key))
        };
        ask.rules.iter().map(weight).fold(0, u32::saturating_add)
    }

    /// How many more pods the host takes, as far as others on it are concerned.
    pub(super) fn host_cap(&self, ask: &Ask<'_>, host: usize) -> u32 {
        let host = super::index(host);
        let caps = ask
            .hosts
            .iter()
            .map(|rule| rule.allowance(&self.books, host, Floor::level(rule.least)));
        caps.min().unwrap_or(u32::MAX)
    }

    pub(super) fn enter_room<'p>(
        &mut self,
        ask: &Ask<'_>,
        room: usize,
        pods: u32,
        waiting: &'p [PodId],
    ) -> &'p [PodId] {
        let (placed, waiting) = waiting.split_at(pods as usize);
        self.free
            .change(room, |row| take(row, &ask.wanted.amounts, pods));
        let known = &self.ground.rooms.list[room];
        if !ask.wanted.shape.ports.is_empty() || !ask.wanted.shared.is_empty() {
            let taken = self.taken.entry(room).or_default();
            taken.ports.extend(&ask.wanted.shape.ports);
            for (claim, column) in &ask.wanted.shared {
                if !known.attached.contains(claim) && !taken.attached.contains(claim) {
                    self.free.change(room, |row| row[*column] -= 1);
                    taken.attached.push(claim.clone());
                }
            }
        }
        self.count_in_room(&ask.wanted.counted, room, pods);
        self.settle(known.spot, placed);
        waiting
    }

    /// How many pods of the shape the room takes by amounts, ports, volumes and hosts.
    fn room_cap(&self, at: usize, ask: &Ask<'_>) -> u32 {
        if self.closed[at] {
            return 0;
        }
        let row = self.free.row(at);
        let mut most = copies(row, &ask.wanted.amounts);
        if most == 0 {
            return 0;
        }
        if !ask.wanted.shared.is_empty() {
            most = most.min(self.beside_shared(at, row, ask));
        }
        if !ask.wanted.shape.ports.is_empty() && most > 0 {
            most = u32::from(!self.port_taken(at, &ask.wanted.shape.ports));
        }
        if !ask.hosts.is_empty() && most > 0 {
            most = most.min(self.host_cap(ask, at));
        }
        if most < ask.need { 0 } else { most }
    }

    /// Shared volumes that are not attached there take their part first.
    fn beside_shared(&self, at: usize, row: &[i64], ask: &Ask<'_>) -> u32 {
        let known = &self.ground.rooms.list[at].attached;
        let taken = self.taken.get(&at);
        let mut row: super::columns::Amounts = row.into();
        for (claim, column) in &ask.wanted.shared {
            let there =
                known.contains(claim) || taken.is_some_and(|taken| taken.attached.contains(claim));
            if !there {
                row[*column] -= 1;
                if row[*column] < 0 {
                    return 0;
                }
            }
        }
        copies(&row, &ask.wanted.amounts)
    }

    fn port_taken(&self, at: usize, ports: &[HostPort]) -> bool {
        let taken = self.taken.get(&at).map_or(&[][..], |taken| &taken.ports);
        conflict(ports, &self.ground.rooms.list[at].ports) || conflict(ports, taken)
    }

    fn room_suits(&self, at: usize, ask: &Ask<'_>, known: &mut [Option<bool>]) -> bool {
        let room = &self.ground.rooms.list[at];
        let named = |way: &Requirements| way.contains(labels::HOSTNAME);
        if ask.attempt.ways.iter().any(named) {
            // A volume that only one host reaches: each room has its own answer.
            return self.kind_suits(room.kind, ask, Some(&room.hostname));
        }
        *known[room.kind].get_or_insert_with(|| self.kind_suits(room.kind, ask, None))
    }

    fn kind_suits(&self, kind: usize, ask: &Ask<'_>, hostname: Option<&str>) -> bool {
        let Some((place, taints)) = self.ground.rooms.kind(kind) else {
            return false;
        };
        let shape = ask.wanted.shape;
        if taints::first_untolerated(taints, &shape.tolerations, ask.attempt.preferred).is_some() {
            return false;
        }
        let fits = |way: &Requirements| match (hostname, way.get(labels::HOSTNAME)) {
            (Some(name), Some(asked)) => {
                let mut rest = way.clone();
                rest.remove(labels::HOSTNAME);
                asked.has(name) && place.compatible(&rest, Undefined::Refused).is_ok()
            }
            _ => place.compatible(way, Undefined::Refused).is_ok(),
        };
        ask.attempt.ways.iter().any(fits)
    }
}

/// The domain of a key in a tuple of domains.
fn domain_under(keys: &[usize], domains: &[u32], key: Option<usize>) -> u32 {
    let at = key.and_then(|key| keys.iter().position(|known| *known == key));
    at.map_or(NONE, |at| domains[at])
}

pub(super) fn conflict(ours: &[HostPort], theirs: &[HostPort]) -> bool {
    ours.iter()
        .any(|our| theirs.iter().any(|their| our.conflicts(their)))
}
