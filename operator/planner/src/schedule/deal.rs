//! How are many pods of one shape dealt evenly over domains without looking at each of them?
//!
//! A spread sends one pod after the other to the emptiest domain. While all domains are equally full, and in each of them
//! the next room or claim takes many, whole rounds are dealt at once: everybody gets what it would have got pod by pod.

use super::ask::Ask;
use super::choices::Choice;
use super::fill::Buckets;
use super::grow::Growth;
use super::opens::Room;
use super::place::count;
use super::rules::Rule;
use super::run::Run;
use super::strategy::Strategy;
use crate::snapshot::PodId;
use smallvec::SmallVec;

/// Who takes the next pod of a domain, in the order of turns.
type Takers = SmallVec<[(Room, usize, Growth); 8]>;

impl Run<'_> {
    /// Deals pods to the next room of each domain; the rest is returned, `None` if each pod has to be looked at.
    pub(super) fn deal_into_rooms<'p>(
        &mut self,
        ask: &Ask<'_>,
        buckets: &mut Buckets<'_>,
        pods: &'p [PodId],
    ) -> Option<&'p [PodId]> {
        let rule = self.dealt_by(ask)?;
        let domains = buckets.open().map(|bucket| bucket.domains[0]);
        let domains: SmallVec<[u32; 8]> = domains.collect();
        if pods.len() < domains.len() || !rule.is_level(&self.books, &domains) {
            return None;
        }
        let mut rounds = pods.len() / domains.len();
        let mut rooms: SmallVec<[usize; 8]> = SmallVec::new();
        for at in 0..buckets.list.len() {
            if buckets.list[at].is_open() {
                let (room, most) = self.next_room(ask, buckets, at)?;
                rooms.push(room);
                rounds = rounds.min(most as usize);
            }
        }
        rooms.sort_unstable();
        for (turn, room) in rooms.iter().enumerate() {
            let hand = hand(pods, (turn, rooms.len()), rounds);
            self.enter_room(ask, *room, count(&hand), &hand);
        }
        Some(&pods[rounds * rooms.len()..])
    }

    /// Deals pods to the claim of each domain that takes the next one; how many.
    pub(super) fn deal_into_claims(
        &mut self,
        ask: &Ask<'_>,
        buckets: &Buckets<'_>,
        choices: &mut [Choice],
        pods: &[PodId],
    ) -> usize {
        let Some(takers) = self.takers(ask, buckets, choices, pods.len()) else {
            return 0;
        };
        let affordable = usize::try_from(self.left).unwrap_or(usize::MAX);
        let most = takers.iter().map(|(_, _, growth)| growth.count as usize);
        let rounds = most.min().unwrap_or(0).min(affordable / takers.len());
        if rounds == 0 {
            return 0;
        }
        for (turn, (_, at, growth)) in takers.iter().enumerate() {
            let hand = hand(pods, (turn, takers.len()), rounds);
            let growth = Growth {
                count: count(&hand),
                ..*growth
            };
            self.apply(ask, *at, growth, &hand);
        }
        self.step(rounds * takers.len());
        rounds * takers.len()
    }

    /// The claim of each domain that takes the next pods, if they are not in each other's way.
    fn takers(
        &mut self,
        ask: &Ask<'_>,
        buckets: &Buckets<'_>,
        choices: &mut [Choice],
        waiting: usize,
    ) -> Option<Takers> {
        let rule = self.dealt_by(ask)?;
        let fills = matches!(self.strategy, Strategy::Efficient | Strategy::Largest);
        if !fills || ask.pins != ask.gates || buckets.open().next().is_some() {
            return None;
        }
        let alive = || (0..choices.len()).filter(|at| choices[*at].alive);
        let alive: SmallVec<[usize; 8]> = alive().collect();
        let domains = alive.iter().map(|at| choices[*at].domains[0]);
        let domains: SmallVec<[u32; 8]> = domains.collect();
        if waiting < alive.len() || !rule.is_level(&self.books, &domains) {
            return None;
        }
        let most = u32::try_from(waiting / alive.len()).unwrap_or(u32::MAX);
        let mut takers = Takers::new();
        for choice in &alive {
            let next = [Room::Spare, Room::Target].into_iter().find_map(|room| {
                let (at, growth) = self.next_growth(ask, &mut choices[*choice], room, most)?;
                Some((room, at, growth))
            });
            let (_, at, growth) = next?;
            let taken = takers.iter().any(|(_, other, _)| *other == at);
            if taken || !self.has_plenty(growth, alive.len()) {
                return None;
            }
            takers.extend(next);
        }
        takers.sort_by_key(|(room, ..)| *room as usize);
        Some(takers)
    }

    /// The one rule that says where pods of this shape go, if nothing else changes from pod to pod.
    fn dealt_by<'k>(&self, ask: &'k Ask<'_>) -> Option<&'k Rule> {
        let [rule] = ask.rules.as_slice() else {
            return None;
        };
        let shape = ask.wanted.shape;
        let alone = ask.hosts.is_empty() && shape.ports.is_empty() && ask.wanted.shared.is_empty();
        let counts = rule.balances() && !self.ground.counters.has_filter(rule.counter);
        let plain = self.reserves.is_empty() && self.strategy != Strategy::Even;
        let plain = plain && !self.one_by_one;
        (alone && counts && plain && ask.need == 1).then_some(rule)
    }

    /// Would no limit be in the way if so many claims of the lot became the largest there is?
    fn has_plenty(&self, growth: Growth, claims: usize) -> bool {
        let at = self.lots.list[growth.lot as usize].stock;
        let (Ok(stock), Some(till)) = (&self.ground.stocks[at], &self.tills[at]) else {
            return false;
        };
        let most = &stock.most_capacity;
        !stock.limited || till.times(most, most) >= claims
    }
}

/// Every so many pods, beginning with the one whose turn it is.
fn hand(pods: &[PodId], (turn, players): (usize, usize), rounds: usize) -> Vec<PodId> {
    let mine = pods.iter().skip(turn).step_by(players);
    mine.take(rounds).copied().collect()
}
