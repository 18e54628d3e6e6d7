//! Which claim of this run takes the next pods, or which one is opened for them?
//!
//! First room that costs nothing, then room up to a claim's target, then a new claim of the heaviest pool that suits; its
//! claims grow beyond their targets before a lighter pool is asked.

use super::ask::Ask;
use super::choices::Choice;
use super::fill::conflict;
use super::grow::Growth;
use super::opens::Room;
use super::place::count;
use super::rules::Floor;
use super::run::Run;
use super::strategy::Strategy;
use crate::snapshot::PodId;
use smallvec::SmallVec;

/// A choice that may take more pods.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Allowed {
    /// How crowded its domains are.
    weight: u32,
    at: usize,
    /// How many it may take.
    most: u32,
}

impl Run<'_> {
    /// Places some pods in one claim, new or not; how many.
    pub(super) fn buy(&mut self, ask: &Ask<'_>, choices: &mut [Choice], pods: &[PodId]) -> usize {
        loop {
            let allowed = self.allowed(ask, choices);
            let Some(lightest) = allowed.first().map(|one| one.weight) else {
                return 0;
            };
            if let Some(placed) = self.buy_anywhere(ask, choices, &allowed, pods) {
                return placed;
            }
            // A domain that is not the emptiest may be cheaper, and one strategy looks at that first.
            let thrifty = self.strategy == Strategy::Exact;
            let front = allowed
                .iter()
                .take_while(|one| thrifty || one.weight == lightest);
            let most = front.clone().map(|one| one.most).min().unwrap_or(0);
            let front: SmallVec<[usize; 8]> = front.map(|one| one.at).collect();
            let most = if ask.balances() {
                most.min(ask.need)
            } else {
                most
            };
            let pods = &pods[..most.min(count(pods)) as usize];
            match self.buy_in_front(ask, choices, &front, pods) {
                Some(placed) => return placed,
                None => front.iter().for_each(|at| choices[*at].alive = false),
            }
        }
    }

    /// Room in claims of this run that need not be in the emptiest domain, as long as its domain may take one more.
    fn buy_anywhere(
        &mut self,
        ask: &Ask<'_>,
        choices: &mut [Choice],
        allowed: &[Allowed],
        pods: &[PodId],
    ) -> Option<usize> {
        match self.strategy {
            Strategy::Efficient | Strategy::Largest => None,
            Strategy::Exact => allowed.iter().find_map(|one| {
                let most = if ask.balances() { ask.need } else { one.most };
                let pods = &pods[..most.min(count(pods)) as usize];
                self.grow(ask, &mut choices[one.at], Room::Spare, pods)
            }),
            Strategy::Even => {
                let pods = &pods[..pods.len().min(ask.need.max(1) as usize)];
                let enough = allowed.iter().filter(|one| one.most >= count(pods));
                let enough: SmallVec<[usize; 8]> = enough.map(|one| one.at).collect();
                self.grow_evenly(ask, choices, &enough, pods)
            }
        }
    }

    fn buy_in_front(
        &mut self,
        ask: &Ask<'_>,
        choices: &mut [Choice],
        front: &[usize],
        pods: &[PodId],
    ) -> Option<usize> {
        if self.strategy == Strategy::Even {
            let pods = &pods[..pods.len().min(ask.need.max(1) as usize)];
            let fresh = self.best_fresh(ask, choices, front, count(pods))?;
            return self.open(ask, fresh, pods);
        }
        for room in [Room::Spare, Room::Target] {
            for at in front {
                if let Some(placed) = self.grow(ask, &mut choices[*at], room, pods) {
                    return Some(placed);
                }
            }
        }
        let fresh = self.best_fresh(ask, choices, front, count(pods));
        let first = front.iter().filter_map(|at| choices[*at].lots.first());
        let heaviest = first.map(|(stock, _)| *stock).min();
        match fresh {
            Some(fresh) if Some(fresh.stock) == heaviest => self.open(ask, fresh, pods),
            fresh => {
                let lighter = fresh.as_ref().map(|fresh| fresh.stock);
                let room = lighter.map_or(Room::Any, |_| Room::Heavier);
                for at in front {
                    choices[*at].go_by(lighter);
                    if let Some(placed) = self.grow(ask, &mut choices[*at], room, pods) {
                        return Some(placed);
                    }
                }
                self.open(ask, fresh?, pods)
            }
        }
    }

    /// The choices that may take one more, the emptiest first.
    fn allowed(&self, ask: &Ask<'_>, choices: &[Choice]) -> SmallVec<[Allowed; 8]> {
        let floors: SmallVec<[Floor; 4]> = ask
            .rules
            .iter()
            .map(|rule| rule.floor(&self.books))
            .collect();
        let alive = choices.iter().enumerate().filter(|(_, one)| one.alive);
        let mut allowed: SmallVec<[Allowed; 8]> = alive
            .map(|(at, choice)| Allowed {
                weight: self.weight(ask, &ask.pins, &choice.domains),
                at,
                most: self.allowance(ask, &ask.pins, &choice.domains, &floors),
            })
            .filter(|one| one.most >= ask.need)
            .collect();
        allowed.sort_unstable();
        allowed
    }

    /// The next claim of this run that takes one of the pods in such room.
    fn grow(
        &mut self,
        ask: &Ask<'_>,
        choice: &mut Choice,
        room: Room,
        pods: &[PodId],
    ) -> Option<usize> {
        let (at, growth) = self.next_growth(ask, choice, room, count(pods))?;
        Some(self.apply(ask, at, growth, pods))
    }

    /// The next claim of this run that takes at least one of so many pods in such room, and how many.
    pub(super) fn next_growth(
        &mut self,
        ask: &Ask<'_>,
        choice: &mut Choice,
        room: Room,
        most: u32,
    ) -> Option<(usize, Growth)> {
        let cursor = room as usize;
        while let Some(at) = self
            .opens
            .next(room, choice.cursors[cursor], &ask.wanted.amounts)
        {
            choice.cursors[cursor] = at;
            let lot = self.opens.list[at].lot;
            let stock = self.lots.list[lot as usize].stock;
            if (room != Room::Heavier || stock < choice.lighter)
                && let Some(lot) = self.narrowed(ask, choice, lot)
                && let Some(growth) = self.growth(ask, (at, lot), room, most)
            {
                return Some((at, growth));
            }
            choice.cursors[cursor] = at + 1;
        }
        choice.cursors[cursor] = self.opens.list.len();
        None
    }

    /// The claim with the fewest pods that takes these at once, whatever type it becomes.
    fn grow_evenly(
        &mut self,
        ask: &Ask<'_>,
        choices: &mut [Choice],
        front: &[usize],
        pods: &[PodId],
    ) -> Option<usize> {
        let mut open: Vec<(usize, usize)> = Vec::new();
        let mut from = 0;
        while let Some(at) = self.opens.next(Room::Any, from, &ask.wanted.amounts) {
            open.push((self.opens.list[at].pods.len(), at));
            from = at + 1;
        }
        open.sort_unstable();
        for (_, at) in open {
            for choice in front {
                let choice = &mut choices[*choice];
                if choice.full.contains(&at) {
                    continue;
                }
                let lot = self.opens.list[at].lot;
                if let Some(lot) = self.narrowed(ask, choice, lot)
                    && let Some(growth) = self.growth(ask, (at, lot), Room::Any, count(pods))
                {
                    return Some(self.apply(ask, at, growth, pods));
                }
                choice.full.insert(at);
            }
        }
        None
    }

    /// May the claim take the pod's ports beside those it has?
    pub(super) fn ports_fit(&self, ask: &Ask<'_>, at: usize) -> bool {
        !conflict(&ask.wanted.shape.ports, &self.opens.list[at].ports)
    }
}
