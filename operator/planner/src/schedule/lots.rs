//! What can a claim still become under the requirements it has so far?
//!
//! A lot is a pool with requirements: claims with the same ones share it, so requirements are compared once per pair and
//! not once per claim. Its ladder lists what can be bought, cheapest first.

use super::columns::Amounts;
use super::domains::{Domains, KeyId, NONE, OPEN, left_open, single};
use super::reserves::ReserveId;
use super::stock::Stock;
use crate::catalog::{CapacityType, OfferingId, Offerings};
use crate::labels;
use crate::requirements::{Requirement, Requirements, Text, Undefined};
use crate::why::Why;
use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;
use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::BTreeSet;

pub(super) type LotId = u32;
/// Requirements that were asked for, by number.
pub(super) type AskId = u32;

pub(super) struct Lot {
    pub(super) stock: usize,
    pub(super) requirements: Requirements,
    pub(super) offerings: Offerings,
    /// One rung per type and one per reservation, in buying order.
    pub(super) ladder: Vec<Rung>,
    /// By key: the domain, `OPEN` or `NONE`.
    pub(super) domains: Vec<u32>,
    pub(super) has_min_values: bool,
    /// Per column the most any of its types has; filled when first asked for.
    pub(super) most_free: OnceCell<Amounts>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Rung {
    pub(super) kind: usize,
    pub(super) rank: u32,
    /// Price in billionths; where nothing is priced the size takes its place.
    pub(super) cost: u64,
    pub(super) priced: bool,
    /// What an instance of it is taken from.
    pub(super) reserve: Option<ReserveId>,
}

/// What some rungs stand for.
pub(super) struct Sold {
    /// By type.
    kinds: Vec<bool>,
    reserves: Vec<(usize, ReserveId)>,
}

impl Sold {
    pub(super) fn on<'r>(stock: &Stock<'_>, rungs: impl Iterator<Item = &'r Rung>) -> Self {
        let mut sold = Self {
            kinds: vec![false; stock.free.len()],
            reserves: Vec::new(),
        };
        for rung in rungs {
            match rung.reserve {
                Some(reserve) => sold.reserves.push((rung.kind, reserve)),
                None => sold.kinds[rung.kind] = true,
            }
        }
        sold
    }

    pub(super) fn has(&self, stock: &Stock<'_>, id: OfferingId) -> bool {
        let kind = stock.type_of(id);
        match stock.reserve_of(id) {
            Some(reserve) => self.reserves.contains(&(kind, reserve)),
            None => self.kinds[kind],
        }
    }
}

#[derive(Default)]
pub(super) struct Lots {
    pub(super) list: Vec<Lot>,
    found: IndexMap<(usize, Requirements), LotId, FxBuildHasher>,
    asked: IndexMap<Requirements, (), FxBuildHasher>,
    narrowed: IndexMap<(LotId, AskId), Option<LotId>, FxBuildHasher>,
    pins: IndexMap<(KeyId, u32), AskId, FxBuildHasher>,
    met: IndexMap<(usize, Requirement), Offerings, FxBuildHasher>,
    roots: Vec<Option<LotId>>,
}

/// What lots are cut from.
#[derive(Clone, Copy)]
pub(super) struct Goods<'s, 'a> {
    pub(super) stocks: &'s [Result<Stock<'a>, Why>],
    pub(super) domains: &'s Domains,
}

impl Lots {
    /// The lot of everything a pool sells; `None` if that is nothing.
    pub(super) fn root(&mut self, stock: usize, goods: Goods<'_, '_>) -> Option<LotId> {
        if self.roots.is_empty() {
            self.roots = vec![None; goods.stocks.len()];
        }
        if self.roots[stock].is_none() {
            let sold = goods.stocks[stock].as_ref().ok()?;
            if sold.buyable.is_empty() {
                return None;
            }
            let template = sold.template.clone();
            let root = self.intern(stock, template, sold.buyable.clone(), goods);
            self.roots[stock] = Some(root);
        }
        self.roots[stock]
    }

    pub(super) fn ask(&mut self, requirements: &Requirements) -> AskId {
        if let Some(at) = self.asked.get_index_of(requirements) {
            return super::index(at);
        }
        super::index(self.asked.insert_full(requirements.clone(), ()).0)
    }

    /// The lot that is left when this is asked for too; `None` if nothing is.
    pub(super) fn narrow(
        &mut self,
        lot: LotId,
        asked: AskId,
        goods: Goods<'_, '_>,
    ) -> Option<LotId> {
        if let Some(known) = self.narrowed.get(&(lot, asked)) {
            return *known;
        }
        let found = self.cut(lot, asked, goods);
        self.narrowed.insert((lot, asked), found);
        found
    }

    /// The same for one domain of a key.
    pub(super) fn pin(
        &mut self,
        lot: LotId,
        (key, domain): (KeyId, u32),
        goods: Goods<'_, '_>,
    ) -> Option<LotId> {
        let has = self.list[lot as usize].domains[key];
        if has == domain {
            return Some(lot);
        }
        if has != OPEN || domain == NONE {
            return None;
        }
        let asked = if let Some(asked) = self.pins.get(&(key, domain)) {
            *asked
        } else {
            let value = goods.domains.values(key)[domain as usize].clone();
            let name = goods.domains.name(key);
            let wanted = Requirement::one_of_shared(name, [value]);
            let asked = self.ask(&[wanted].into_iter().collect());
            self.pins.insert((key, domain), asked);
            asked
        };
        self.narrow(lot, asked, goods)
    }

    /// The domains the lot can be narrowed to; only `NONE` if its nodes will not have the label.
    pub(super) fn possible(&self, lot: LotId, key: KeyId, goods: Goods<'_, '_>) -> Vec<u32> {
        let lot = &self.list[lot as usize];
        if lot.domains[key] != OPEN {
            return vec![lot.domains[key]];
        }
        let sold = goods.domains.sold_by(key, lot.stock);
        let admitted = lot.requirements.get(goods.domains.name(key));
        let values = goods.domains.values(key).iter().zip(0_u32..);
        values
            .filter(|(value, at)| {
                sold[*at as usize] && admitted.is_none_or(|admitted| admitted.has(value))
            })
            .map(|(_, at)| at)
            .collect()
    }

    /// The same pool and offerings under other requirements.
    pub(super) fn with_requirements(
        &mut self,
        lot: LotId,
        requirements: Requirements,
        goods: Goods<'_, '_>,
    ) -> LotId {
        let (stock, offerings) = {
            let lot = &self.list[lot as usize];
            (lot.stock, lot.offerings.clone())
        };
        self.intern(stock, requirements, offerings, goods)
    }

    fn cut(&mut self, lot: LotId, asked: AskId, goods: Goods<'_, '_>) -> Option<LotId> {
        let (asked, ()) = self.asked.get_index(asked as usize)?;
        let asked = asked.clone();
        let from = &self.list[lot as usize];
        let stock = goods.stocks[from.stock].as_ref().ok()?;
        from.requirements
            .compatible(&asked, Undefined::WellKnown(stock.known))
            .ok()?;
        if asked
            .get(labels::HOSTNAME)
            .is_some_and(|name| !name.accepts_absence())
        {
            return None; // nobody can ask for the name of a node that is not there
        }
        let mut requirements = from.requirements.clone();
        requirements.add_all(&asked);
        if requirements == from.requirements {
            return Some(lot);
        }
        let (at, mut offerings) = (from.stock, from.offerings.clone());
        let before = from.requirements.clone();
        for key in asked.iter().map(Requirement::key) {
            let both = requirements.get(key)?;
            if Some(both) != before.get(key) {
                let both = both.clone().with_min_values(None);
                let met = self.met.entry((at, both));
                let met = met.or_insert_with_key(|(_, asked)| stock.find_meeting(asked));
                offerings.keep_only(met);
            }
        }
        if offerings.is_empty() {
            return None;
        }
        Some(self.intern(at, requirements, offerings, goods))
    }

    fn intern(
        &mut self,
        stock: usize,
        requirements: Requirements,
        offerings: Offerings,
        goods: Goods<'_, '_>,
    ) -> LotId {
        let key = (stock, requirements);
        if let Some(known) = self.found.get(&key) {
            return *known;
        }
        let id = super::index(self.list.len());
        let lot = Lot::new(&key, offerings, goods);
        self.found.insert(key, id);
        self.list.push(lot);
        id
    }
}

impl Lot {
    fn new(key: &(usize, Requirements), offerings: Offerings, goods: Goods<'_, '_>) -> Self {
        let (at, requirements) = key;
        let mut lot = Self {
            stock: *at,
            requirements: requirements.clone(),
            ladder: Vec::new(),
            domains: Vec::new(),
            has_min_values: requirements.has_min_values(),
            most_free: OnceCell::new(),
            offerings,
        };
        if let Ok(stock) = &goods.stocks[*at] {
            lot.ladder = ladder(stock, &lot.offerings);
            let domain = |(key, name)| lot.domain(stock, (key, name), goods.domains);
            lot.domains = goods.domains.keys().map(domain).collect();
        }
        lot
    }

    /// The offerings that these rungs stand for.
    pub(super) fn sold_on<'r>(
        &self,
        stock: &Stock<'_>,
        rungs: impl Iterator<Item = &'r Rung>,
    ) -> Offerings {
        let sold = Sold::on(stock, rungs);
        let mut offerings = self.offerings.clone();
        offerings.retain(|id| sold.has(stock, id));
        offerings
    }

    fn domain(&self, stock: &Stock<'_>, key: (KeyId, &Text), domains: &Domains) -> u32 {
        let (at, name) = key;
        if let Some(value) = single(self.requirements.get(name)) {
            return domains.find(at, &value);
        }
        let mut values: BTreeSet<&str> = BTreeSet::new();
        for id in self.offerings.ids() {
            let offering = stock.catalog.offering(id);
            match name.as_ref() {
                labels::ZONE => drop(values.insert(&offering.zone)),
                labels::CAPACITY_TYPE => drop(values.insert(offering.capacity_type.as_str())),
                _ => {
                    let kind = stock.catalog.instance_type(stock.catalog.type_of(id));
                    let listed = kind.requirements.get(name).and_then(Requirement::listed);
                    values.extend(listed.into_iter().flatten().map(AsRef::as_ref));
                }
            }
            if values.len() > 1 {
                return OPEN;
            }
        }
        let listed = self.requirements.get(name).and_then(Requirement::listed);
        match values.first() {
            Some(value) => domains.find(at, value),
            None if listed.is_some_and(|listed| listed.len() > 1) => OPEN,
            None if listed.is_none() && left_open(stock, name).is_some() => OPEN,
            None => NONE,
        }
    }
}

/// One rung per type, by the first of its offerings to be bought, and one per reservation; where that ties the roomier type
/// comes first.
fn ladder(stock: &Stock<'_>, offerings: &Offerings) -> Vec<Rung> {
    let reserved =
        |id: OfferingId| stock.catalog.offering(id).capacity_type == CapacityType::Reserved;
    let priced = offerings
        .ids()
        .any(|id| stock.prices[id.0 as usize].is_some());
    let cost = |id: OfferingId| match stock.prices[id.0 as usize] {
        Some(price) => price.billionths(),
        // Paid for, whether somebody says how much or not.
        None if reserved(id) => 0,
        None if priced => u64::MAX / 1024,
        None => {
            let capacity = &stock
                .catalog
                .instance_type(stock.catalog.type_of(id))
                .capacity;
            let cpu = capacity.get(&crate::ResourceName::Cpu);
            u64::try_from(cpu).unwrap_or(0).saturating_add(1)
        }
    };
    let mut ladder: Vec<Rung> = Vec::new();
    for id in offerings.ids() {
        let rung = Rung {
            kind: stock.type_of(id),
            rank: stock.ranking.rank(id),
            cost: cost(id),
            priced: stock.prices[id.0 as usize].is_some() || reserved(id),
            reserve: stock.reserve_of(id),
        };
        let alike = |other: &&mut Rung| other.kind == rung.kind && other.reserve == rung.reserve;
        // Offerings of one type stand side by side.
        let side = ladder.iter_mut().rev();
        let known = side.take_while(|other| other.kind == rung.kind).find(alike);
        match known {
            Some(known) if known.rank <= rung.rank => {}
            Some(known) => *known = rung,
            None => ladder.push(rung),
        }
    }
    let room = |kind: usize| {
        stock.free[kind].as_ref().map_or(0, |free| {
            free.iter()
                .fold(0, |sum: i64, amount| sum.saturating_add(*amount))
        })
    };
    ladder.sort_by_cached_key(|rung| (rung.rank, Reverse::<i64>(room(rung.kind)), rung.kind));
    ladder
}
