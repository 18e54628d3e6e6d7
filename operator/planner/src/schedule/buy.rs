//! Which claim of this run takes the next pods, or which one is opened for them?
//!
//! First room that costs nothing, then room up to a claim's target, then a new claim of the heaviest pool that suits; its
//! claims grow beyond their targets before a lighter pool is asked.

use super::ask::Ask;
use super::fill::{Tuple, conflict};
use super::grow::Growth;
use super::lots::LotId;
use super::opens::Room;
use super::place::count;
use super::rules::Floor;
use super::run::Run;
use super::strategy::Strategy;
use crate::snapshot::PodId;
use crate::taints;
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

/// One choice of domains for a claim.
pub(super) struct Choice {
    pub(super) domains: Tuple,
    pub(super) alive: bool,
    /// By kind of room: claims before this one cannot take any more.
    cursors: [usize; 4],
    /// The pool that the last of these cursors goes by.
    lighter: usize,
    /// Claims that cannot take any more, where they are not taken in order.
    full: FxHashSet<usize>,
    /// By lot of a claim: what it becomes with this choice.
    narrowed: Vec<Known>,
    /// What can be bought, by stock.
    pub(super) lots: Vec<(usize, LotId)>,
}

/// A choice that may take more pods.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Allowed {
    /// How crowded its domains are.
    weight: u32,
    at: usize,
    /// How many it may take.
    most: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    NotYet,
    Nothing,
    Lot(LotId),
}

impl Choice {
    /// Claims of pools heavier than this one are looked at from the first on.
    fn go_by(&mut self, lighter: Option<usize>) {
        if let Some(lighter) = lighter.filter(|lighter| *lighter != self.lighter) {
            self.lighter = lighter;
            self.cursors[Room::Heavier as usize] = 0;
        }
    }

    /// Claims were copied behind the one at `last`: who got as far as that would get past them too.
    pub(super) fn pass_over(&mut self, last: usize, copies: usize) {
        for cursor in &mut self.cursors {
            if *cursor == last {
                *cursor += copies;
            }
        }
    }
}

impl Run<'_> {
    /// All choices of domains under which something can be bought, or a claim of this run can be narrowed.
    pub(super) fn choices(&mut self, ask: &Ask<'_>) -> Vec<Choice> {
        let goods = self.ground.goods();
        let mut choices: Vec<Choice> = Vec::new();
        for (at, stock) in self.ground.stocks.iter().enumerate() {
            let Ok(stock) = stock else { continue };
            let tolerations = &ask.wanted.shape.tolerations;
            let barred =
                taints::first_untolerated(&stock.pool.taints, tolerations, ask.attempt.preferred);
            let Some(root) = self.lots.root(at, goods).filter(|_| barred.is_none()) else {
                continue;
            };
            for asked in &ask.ways {
                let Some(lot) = self.lots.narrow(root, *asked, goods) else {
                    continue;
                };
                let lot = self.decided(ask, lot);
                for (domains, lot) in self.expanded(lot, &ask.pins) {
                    offer(&mut choices, domains, (at, lot));
                }
            }
        }
        choices
    }

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

    /// What a claim's lot becomes when it takes such pods under this choice.
    fn narrowed(&mut self, ask: &Ask<'_>, choice: &mut Choice, lot: LotId) -> Option<LotId> {
        let at = lot as usize;
        if at >= choice.narrowed.len() {
            choice.narrowed.resize(at + 1, Known::NotYet);
        }
        if choice.narrowed[at] == Known::NotYet {
            let found = self.narrow_to(ask, choice, lot);
            choice.narrowed[at] = found.map_or(Known::Nothing, Known::Lot);
        }
        match choice.narrowed[at] {
            Known::Lot(lot) => Some(lot),
            Known::NotYet | Known::Nothing => None,
        }
    }

    fn narrow_to(&mut self, ask: &Ask<'_>, choice: &Choice, lot: LotId) -> Option<LotId> {
        let goods = self.ground.goods();
        let stock = goods.stocks[self.lots.list[lot as usize].stock]
            .as_ref()
            .ok()?;
        let tolerations = &ask.wanted.shape.tolerations;
        let barred =
            taints::first_untolerated(&stock.pool.taints, tolerations, ask.attempt.preferred);
        if barred.is_some() {
            return None;
        }
        for asked in &ask.ways {
            let mut found = self.lots.narrow(lot, *asked, goods);
            for (key, domain) in ask.pins.iter().zip(&choice.domains) {
                found = found.and_then(|lot| self.lots.pin(lot, (*key, *domain), goods));
            }
            if let Some(lot) = found {
                return Some(self.decided(ask, lot));
            }
        }
        None
    }

    /// Spreads that look only at some nodes have to know whether the claim will be one of them: it is made one where that
    /// leaves a type for the pod.
    fn decided(&mut self, ask: &Ask<'_>, lot: LotId) -> LotId {
        if !ask.decides {
            return lot;
        }
        let (ground, mut lot) = (self.ground, lot);
        let Ok(stock) = &ground.stocks[self.lots.list[lot as usize].stock] else {
            return lot;
        };
        for counter in &ask.wanted.counted {
            let ways = ground.counters.ways_in(*counter, &stock.pool.taints);
            let requirements = &self.lots.list[lot as usize].requirements;
            if ways.iter().any(|way| requirements.is_within(way)) {
                continue;
            }
            for way in ways {
                let asked = self.lots.ask(way);
                let inside = self.lots.narrow(lot, asked, ground.goods());
                if let Some(inside) = inside.filter(|inside| self.suits_one(ask, *inside)) {
                    lot = inside;
                    break;
                }
            }
        }
        lot
    }

    fn suits_one(&self, ask: &Ask<'_>, lot: LotId) -> bool {
        let lot = &self.lots.list[lot as usize];
        let Ok(stock) = &self.ground.stocks[lot.stock] else {
            return false;
        };
        let mut kinds = lot.ladder.iter().map(|rung| rung.kind);
        kinds.any(|kind| stock.carries(kind, &ask.wanted.amounts, &ask.wanted.shape.ports))
    }

    /// The lot cut into one per combination of domains of these keys.
    fn expanded(&mut self, lot: LotId, keys: &[usize]) -> Vec<(Tuple, LotId)> {
        const MOST: usize = 4096;
        let goods = self.ground.goods();
        let mut all = vec![(Tuple::new(), lot)];
        for key in keys {
            let mut next = Vec::new();
            for (domains, lot) in all {
                for domain in self.lots.possible(lot, *key, goods) {
                    let Some(lot) = self.lots.pin(lot, (*key, domain), goods) else {
                        continue;
                    };
                    let mut domains = domains.clone();
                    domains.push(domain);
                    next.push((domains, lot));
                }
            }
            next.truncate(MOST);
            all = next;
        }
        all
    }

    /// May the claim take the pod's ports beside those it has?
    pub(super) fn ports_fit(&self, ask: &Ask<'_>, at: usize) -> bool {
        !conflict(&ask.wanted.shape.ports, &self.opens.list[at].ports)
    }
}

fn offer(choices: &mut Vec<Choice>, domains: Tuple, lot: (usize, LotId)) {
    let known = choices.iter_mut().find(|choice| choice.domains == domains);
    match known {
        // The first way that suits is the one a pod takes.
        Some(choice) if choice.lots.iter().any(|(stock, _)| *stock == lot.0) => {}
        Some(choice) => choice.lots.push(lot),
        None => choices.push(Choice {
            domains,
            alive: true,
            cursors: [0; 4],
            lighter: 0,
            full: FxHashSet::default(),
            narrowed: Vec::new(),
            lots: vec![lot],
        }),
    }
}
