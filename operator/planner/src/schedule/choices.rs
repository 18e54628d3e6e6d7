//! Between which domains can a claim choose, and what is left of it then?
//!
//! Where constraints look at domains a claim's are decided when it takes its first pod: each combination under which something
//! can be bought is a choice.

use super::ask::Ask;
use super::fill::Tuple;
use super::lots::LotId;
use super::opens::Room;
use super::run::Run;
use crate::taints;
use rustc_hash::FxHashSet;

/// One choice of domains for a claim.
pub(super) struct Choice {
    pub(super) domains: Tuple,
    pub(super) alive: bool,
    /// By kind of room: claims before this one cannot take any more.
    pub(super) cursors: [usize; 4],
    /// The pool that the last of these cursors goes by.
    pub(super) lighter: usize,
    /// Claims that cannot take any more, where they are not taken in order.
    pub(super) full: FxHashSet<usize>,
    /// By lot of a claim: what it becomes with this choice.
    narrowed: Vec<Known>,
    /// What can be bought, by stock.
    pub(super) lots: Vec<(usize, LotId)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    NotYet,
    Nothing,
    Lot(LotId),
}

impl Choice {
    /// Claims of pools heavier than this one are looked at from the first on.
    pub(super) fn go_by(&mut self, lighter: Option<usize>) {
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

    /// What a claim's lot becomes when it takes such pods under this choice.
    pub(super) fn narrowed(
        &mut self,
        ask: &Ask<'_>,
        choice: &mut Choice,
        lot: LotId,
    ) -> Option<LotId> {
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
