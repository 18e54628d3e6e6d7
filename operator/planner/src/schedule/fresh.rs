//! Which new claim is opened for the pods that fit nowhere else?

use super::ask::Ask;
use super::choices::Choice;
use super::columns::Amounts;
use super::domains::OPEN;
use super::grow::{Cargo, Growth, most_free, plus};
use super::lots::LotId;
use super::meant::per_pod;
use super::min_values;
use super::opens::Open;
use super::run::Run;
use super::strategy::Strategy;
use crate::labels;
use crate::snapshot::PodId;

/// A claim that could be opened.
pub(super) struct Fresh {
    pub(super) stock: usize,
    lot: LotId,
    /// What it may grow to.
    target: Amounts,
    count: u32,
    /// Cost of the type it is meant to become, and how many such pods that carries.
    cost: u64,
    carries: u32,
    crowd: u32,
    relaxed: bool,
}

impl Run<'_> {
    /// The best claim to open under any of these choices: by pool, then price per pod, then the emptier zone.
    pub(super) fn best_fresh(
        &mut self,
        ask: &Ask<'_>,
        choices: &[Choice],
        front: &[usize],
        most: u32,
    ) -> Option<Fresh> {
        if self.standing {
            return None;
        }
        let mut stocks: Vec<usize> = front
            .iter()
            .flat_map(|at| choices[*at].lots.iter().map(|(stock, _)| *stock))
            .collect();
        stocks.sort_unstable();
        stocks.dedup();
        for stock in stocks {
            let mut best: Option<Fresh> = None;
            for at in front {
                let lots = choices[*at].lots.iter();
                for (_, lot) in lots.filter(|(known, _)| *known == stock) {
                    let fresh = self.fresh(ask, (stock, *lot), most);
                    let better =
                        fresh.filter(|fresh| best.as_ref().is_none_or(|best| fresh.beats(best)));
                    best = better.or(best);
                }
            }
            if best.is_some() {
                return best;
            }
        }
        None
    }

    /// Opens the claim and lets it take the first pods; `None` if the guard or the memory budget says stop.
    pub(super) fn open(&mut self, ask: &Ask<'_>, fresh: Fresh, pods: &[PodId]) -> Option<usize> {
        let width = self.ground.columns.width();
        let bytes = self.bytes(fresh.count as usize);
        let till = self.tills[fresh.stock].as_mut()?;
        // The guard makes pods wait for the pool that suits them; it does not push them to the next one.
        if till.guarded() {
            return None;
        }
        till.opened += 1;
        if !self.remember(bytes) {
            return None;
        }
        let nothing = Amounts::nothing(width);
        let at = self.opens.push(Open {
            lot: fresh.lot,
            rung: 0,
            target: fresh.target,
            total: nothing.clone(),
            pods: Vec::new(),
            shapes: Vec::new(),
            ports: Vec::new(),
            attached: Vec::new(),
            held: nothing,
            reserve: None,
            relaxed: fresh.relaxed,
            counted: false,
        });
        self.enter_zone(at);
        let growth = Growth {
            lot: fresh.lot,
            count: fresh.count,
            relaxed: fresh.relaxed,
        };
        Some(self.apply(ask, at, growth, pods))
    }

    /// What a new claim with so many pods takes of the memory budget.
    pub(super) fn bytes(&self, pods: usize) -> usize {
        let amounts = 3 * self.ground.columns.width() * std::mem::size_of::<i64>();
        std::mem::size_of::<Open>() + amounts + pods * std::mem::size_of::<PodId>()
    }

    /// A claim whose zone is decided counts there at once.
    pub(super) fn enter_zone(&mut self, at: usize) {
        let lot = &self.lots.list[self.opens.list[at].lot as usize];
        let Some(key) = self.ground.domains.key(labels::ZONE) else {
            return;
        };
        let domain = lot.domains[key];
        if domain >= OPEN {
            return;
        }
        let zone = &self.ground.domains.values(key)[domain as usize];
        if let Some(till) = &mut self.tills[lot.stock] {
            till.enter(zone);
            self.opens.list[at].counted = true;
        }
    }

    fn fresh(&mut self, ask: &Ask<'_>, (at, lot): (usize, LotId), most: u32) -> Option<Fresh> {
        let host = self.ground.rooms.len() + self.opens.list.len();
        let cap = self.cap_on_new(ask, host);
        let width = self.ground.columns.width();
        let nothing = Amounts::nothing(width);
        let mut total = nothing.clone();
        for (_, column) in &ask.wanted.shared {
            total[*column] += 1;
        }
        let cargo = Cargo {
            total: &total,
            ports: &ask.wanted.shape.ports,
            held: &nothing,
            reserve: None,
        };
        let meant = self.meant(ask, lot, cargo, (cap, most))?;
        let growth = Growth {
            lot,
            count: meant.carries.min(most),
            relaxed: false,
        };
        let wanted = growth.count;
        let growth = match self.with_choice(growth, cargo, ask) {
            Some(growth) => growth,
            None => self.with_less_choice(ask, (lot, wanted), cargo)?,
        };
        let stock = self.ground.stocks[at].as_ref().ok()?;
        let list = &self.lots.list[growth.lot as usize];
        let target = match self.strategy {
            Strategy::Largest | Strategy::Even => most_free(stock, list).into(),
            Strategy::Efficient | Strategy::Exact => {
                stock.free[list.ladder[meant.rung].kind].clone()?
            }
        };
        Some(Fresh {
            stock: at,
            target,
            count: growth.count,
            cost: meant.cost,
            carries: meant.carries,
            crowd: self.crowd_of(growth.lot),
            lot: growth.lot,
            relaxed: growth.relaxed,
        })
    }

    /// How many of the pods a new host takes, as far as others on it and ports are concerned.
    pub(super) fn cap_on_new(&self, ask: &Ask<'_>, host: usize) -> u32 {
        let cap = self.host_cap(ask, host);
        if ask.wanted.shape.ports.is_empty() {
            cap
        } else {
            cap.min(1)
        }
    }

    /// Lowers the minValues that cannot be met to what there is, if that is allowed.
    fn with_less_choice(
        &mut self,
        ask: &Ask<'_>,
        (lot, count): (LotId, u32),
        cargo: Cargo<'_>,
    ) -> Option<Growth> {
        if !self.best_effort() || count == 0 {
            return None;
        }
        let total = plus(cargo.total, ask, 1);
        let list = &self.lots.list[lot as usize];
        let unmet = min_values::unmet(self, list, &total, cargo);
        let mut requirements = list.requirements.clone();
        for unmet in unmet {
            let lowered = unmet.requirement.with_min_values(Some(unmet.found));
            requirements.replace(lowered);
        }
        let lot = self
            .lots
            .with_requirements(lot, requirements, self.ground.goods());
        let growth = Growth {
            lot,
            count,
            relaxed: true,
        };
        self.with_choice(growth, cargo, ask)
    }

    /// How many nodes of the pool are in the emptiest zone the lot can go to.
    fn crowd_of(&self, lot: LotId) -> u32 {
        let list = &self.lots.list[lot as usize];
        let (Some(key), Some(till)) = (
            self.ground.domains.key(labels::ZONE),
            &self.tills[list.stock],
        ) else {
            return 0;
        };
        let zones = self.ground.domains.values(key);
        match list.domains[key] {
            domain if domain < OPEN => till.crowd_in(&zones[domain as usize]),
            _ => 0,
        }
    }
}

impl Fresh {
    fn beats(&self, other: &Self) -> bool {
        let (a, b) = (
            per_pod(self.cost, other.carries),
            per_pod(other.cost, self.carries),
        );
        (a, self.crowd) < (b, other.crowd)
    }
}
