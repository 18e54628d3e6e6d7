//! May pods that a spread keeps out go where nodes stand, when no other domain can be had?
//!
//! A spread is planned over every domain that a pool sells in, so that the first one is not crowded while the others boot.
//! kube-scheduler compares only domains that have nodes. Who gets no place by the first rule is asked again by the second,
//! in rooms and claims that are there: a claim opened now would be one more domain.

use super::ask::Ask;
use super::counters::CounterId;
use super::domains::{KeyId, NONE, OPEN};
use super::lots::LotId;
use super::opens::Open;
use super::queue::Queued;
use super::rules::Says;
use super::run::Run;

impl Run<'_> {
    /// Is somebody without a place who has to be spread, and does nothing but that keep claims from being opened?
    pub(super) fn may_look_again(&self, line: &[Queued]) -> bool {
        let guarded = self.tills.iter().flatten().any(super::till::Till::guarded);
        let spread = |queued: &Queued| {
            let shape = self.ground.snapshot.pods.shape(queued.shape);
            shape.spreads.iter().any(|spread| spread.hard)
        };
        !guarded && self.schedule.unserved.is_empty() && line.iter().any(spread)
    }

    /// Lets the spreads compare what stands.
    pub(super) fn confine(&self, ask: &mut Ask<'_>) {
        let is_spread = |says: Says| matches!(says, Says::Spread { .. });
        let keys: Vec<KeyId> = ask
            .rules
            .iter()
            .filter(|rule| is_spread(rule.says))
            .filter_map(|rule| rule.key)
            .collect();
        for rule in ask.rules.iter_mut().filter(|rule| is_spread(rule.says)) {
            let Some(key) = rule.key else { continue };
            rule.known = self.domains_that_stand(rule.counter, key, &keys);
            rule.compared.clone_from(&rule.known);
        }
        for rule in &mut ask.hosts {
            if let Says::Spread { min_domains, .. } = rule.says {
                rule.least = self.emptiest_host(rule.counter, &keys, min_domains);
            }
        }
    }

    /// Rooms that are not thought away, and have all these labels.
    fn rooms_with<'r>(&'r self, keys: &'r [KeyId]) -> impl Iterator<Item = usize> + 'r {
        let rooms = &self.ground.rooms;
        let without = self.view.without.ids();
        let mut gone: Vec<usize> = without
            .filter_map(|node| rooms.of_node(node))
            .map(|(room, _)| room)
            .collect();
        gone.sort_unstable();
        let domain = |room: usize, key: &KeyId| self.ground.counters.domain_of_room(room, *key);
        (0..rooms.len()).filter(move |room| {
            gone.binary_search(room).is_err() && keys.iter().all(|key| domain(*room, key) != NONE)
        })
    }

    fn domains_that_stand(&self, counter: CounterId, key: KeyId, keys: &[KeyId]) -> Vec<bool> {
        let ground = self.ground;
        let mut stand = vec![false; ground.domains.values(key).len()];
        for room in self.rooms_with(keys) {
            let slot = ground.counters.slot(counter, &ground.rooms, room);
            if let Some(stands) = stand.get_mut(slot as usize) {
                *stands = true;
            }
        }
        let seen = |open: &&Open| self.may_see(counter, open.lot);
        for open in self.opens.list.iter().filter(seen) {
            // Where a claim is not decided it may come to stand anywhere.
            match self.lots.list[open.lot as usize].domains[key] {
                OPEN => {
                    for domain in self.lots.possible(open.lot, key, ground.goods()) {
                        stand[domain as usize] = true;
                    }
                }
                NONE => {}
                domain => stand[domain as usize] = true,
            }
        }
        stand
    }

    /// How many the emptiest host has; none where there are fewer hosts than the spread asks for.
    fn emptiest_host(&self, counter: CounterId, keys: &[KeyId], min_domains: u32) -> u32 {
        let ground = self.ground;
        let slots = self
            .rooms_with(keys)
            .map(|room| ground.counters.slot(counter, &ground.rooms, room));
        let rooms = slots.filter(|slot| *slot != NONE);
        let opens = self.opens.list.iter().enumerate();
        let opens = opens.filter(|(_, open)| {
            let domains = &self.lots.list[open.lot as usize].domains;
            let labelled = keys.iter().all(|key| domains[*key] != NONE);
            labelled && self.may_see(counter, open.lot)
        });
        let opens = opens.map(|(at, _)| super::index(ground.rooms.len() + at));
        let (mut hosts, mut least) = (0, u32::MAX);
        for slot in rooms.chain(opens) {
            hosts += 1;
            least = least.min(self.books.count(counter, slot));
        }
        if hosts < min_domains || hosts == 0 {
            0
        } else {
            least
        }
    }

    /// Does a claim of the lot pass the counter's filter, or could it when all its labels are decided?
    fn may_see(&self, counter: CounterId, lot: LotId) -> bool {
        let ground = self.ground;
        let lot = &self.lots.list[lot as usize];
        let stock = ground.stocks[lot.stock].as_ref();
        stock.is_ok_and(|stock| {
            let place = (&lot.requirements, &stock.pool.taints[..]);
            ground.counters.could_pass(counter, place, stock.known)
        })
    }
}
