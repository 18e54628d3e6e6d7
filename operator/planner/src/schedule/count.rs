//! Who is counted where while pods are placed, and who counts no more?

use super::ask::Ask;
use super::counters::CounterId;
use super::domains::{NONE, OPEN};
use super::lots::LotId;
use super::queue::Queued;
use super::run::Run;
use crate::snapshot::{NodeId, PodId, PreferencePolicy, ShapeId, Spread};

impl Run<'_> {
    /// Counts pods of a shape in a room.
    pub(super) fn count_in_room(&mut self, counted: &[CounterId], room: usize, pods: u32) {
        for counter in counted {
            let slot = self
                .ground
                .counters
                .slot(*counter, &self.ground.rooms, room);
            if slot != NONE {
                self.books.add(*counter, slot, pods);
            }
        }
    }

    /// Counts pods of a shape in a claim of this run.
    pub(super) fn count_in_open(&mut self, counted: &[CounterId], at: usize, pods: u32) {
        let lot = self.opens.list[at].lot;
        for counter in counted {
            let slot = self.slot_of_open(*counter, at, lot);
            if slot != NONE {
                self.books.add(*counter, slot, pods);
            }
        }
    }

    /// A claim that was narrowed may now be looked at where it was not before: its pods are counted there.
    pub(super) fn recount(&mut self, at: usize, before: LotId) {
        if !self.ground.counters.have_filters() {
            return;
        }
        let lot = self.opens.list[at].lot;
        for (shape, pods) in self.opens.list[at].shapes.clone() {
            for counter in self.wanted(shape).counted {
                let was = self.slot_of_open(counter, at, before);
                let is = self.slot_of_open(counter, at, lot);
                if was == NONE && is != NONE {
                    self.books.add(counter, is, pods);
                }
            }
        }
    }

    /// Does the claim have pods that a rule does not see yet, because the claim could still become something else?
    pub(super) fn has_unseen(&self, ask: &Ask<'_>, at: usize) -> bool {
        let ground = self.ground;
        if !ground.counters.have_filters() {
            return false;
        }
        let open = &self.opens.list[at];
        let lot = &self.lots.list[open.lot as usize];
        let taints = ground.stocks[lot.stock]
            .as_ref()
            .map_or(&[][..], |stock| &stock.pool.taints);
        ask.rules.iter().chain(&ask.hosts).any(|rule| {
            let counted = |(shape, _): &(ShapeId, u32)| {
                ground.traits[shape.0 as usize]
                    .counted
                    .contains(&rule.counter)
            };
            !ground
                .counters
                .is_within(rule.counter, &lot.requirements, taints)
                && open.shapes.iter().any(counted)
        })
    }

    fn slot_of_open(&mut self, counter: CounterId, at: usize, lot: LotId) -> u32 {
        let slot = match self.ground.counters.list[counter as usize].key {
            Some(key) => self.lots.list[lot as usize].domains[key],
            None => super::index(self.ground.rooms.len() + at),
        };
        if slot < OPEN && self.looks_at(counter, lot) {
            slot
        } else {
            NONE
        }
    }

    fn looks_at(&mut self, counter: CounterId, lot: LotId) -> bool {
        let ground = self.ground;
        if !ground.counters.has_filter(counter) {
            return true;
        }
        let lots = &self.lots;
        *self.passes.entry((counter, lot)).or_insert_with(|| {
            let lot = &lots.list[lot as usize];
            let taints = ground.stocks[lot.stock]
                .as_ref()
                .map_or(&[][..], |stock| &stock.pool.taints);
            ground
                .counters
                .is_within(counter, &lot.requirements, taints)
        })
    }

    /// Nodes that are thought away take nobody, and their pods count nowhere; nor do pods that are placed anew.
    pub(super) fn think_away(&mut self) {
        let ground = self.ground;
        let mut gone: Vec<(usize, PodId)> = Vec::new();
        for node in self.view.without.ids() {
            let Some((room, pods)) = ground.rooms.of_node(node) else {
                continue;
            };
            self.closed[room] = true;
            self.unsee(room);
            gone.extend(pods.iter().map(|pod| (room, *pod)));
        }
        for pod in self.view.extra {
            let name = ground.snapshot.pods.pod(*pod).node.as_ref();
            let nodes = &ground.snapshot.nodes;
            let at = name.and_then(|name| nodes.binary_search_by(|node| node.name.cmp(name)).ok());
            let room = at.and_then(|at| ground.rooms.of_node(NodeId(super::index(at))));
            gone.extend(room.map(|(room, _)| (room, *pod)));
        }
        gone.sort_unstable();
        gone.dedup();
        for (room, pod) in gone {
            let pod = ground.snapshot.pods.pod(pod);
            let traits = &ground.traits[pod.shape().0 as usize];
            for counter in traits.counted.iter().chain(&traits.owned) {
                let slot = ground.counters.slot(*counter, &ground.rooms, room);
                if slot != NONE && !pod.pending {
                    self.books.remove(*counter, slot);
                }
            }
        }
    }

    /// A room that is gone is in no domain any more.
    fn unsee(&mut self, room: usize) {
        let (counters, rooms) = (&self.ground.counters, &self.ground.rooms);
        if rooms.list[room].leaving {
            return;
        }
        for (at, counter) in counters.list.iter().enumerate() {
            let slot = counters.slot(super::index(at), rooms, room);
            if counter.key.is_some() && slot != NONE {
                self.books.unsee(super::index(at), slot);
            }
        }
    }

    /// Counters of those who are to be placed, and of anti-affinity that is already somewhere.
    pub(super) fn looked_at(&self, queue: &[Queued]) -> Vec<bool> {
        let counters = &self.ground.counters.list;
        let mut live: Vec<bool> = (0..counters.len())
            .map(|at| counters[at].owners && self.books.total(super::index(at)) > 0)
            .collect();
        let respect = self.preferences == PreferencePolicy::Respect;
        for queued in queue {
            let traits = &self.ground.traits[queued.shape.0 as usize];
            let shape = self.ground.snapshot.pods.shape(queued.shape);
            let looks = |spread: &Spread| spread.hard || respect;
            let spreads = traits.spreads.iter().zip(&shape.spreads);
            for (counter, _) in spreads.filter(|(_, spread)| looks(spread)) {
                live[*counter as usize] = true;
            }
            let own = [&traits.near, &traits.apart, &traits.owned];
            let liked = [&traits.preferred_near, &traits.preferred_apart];
            let liked = liked.into_iter().filter(|_| respect);
            for counter in own.into_iter().chain(liked).flatten() {
                live[*counter as usize] = true;
            }
        }
        live
    }
}
