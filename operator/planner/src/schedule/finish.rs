//! What is written on the claims that were opened?

use super::columns::Amounts;
use super::lots::{Lot, LotId, Sold};
use super::opens::Open;
use super::run::Run;
use super::stock::Stock;
use super::till::Till;
use super::{Labels, Opening};
use crate::catalog::{Offering, OfferingId};
use crate::labels;
use crate::requirements::{Requirement, Requirements};
use crate::resources::Resources;
use fixedbitset::FixedBitSet;
use indexmap::{IndexMap, IndexSet};
use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;
use std::sync::Arc;

/// What claims share that can become the same things, with zones in the same order.
struct Label {
    offerings: Arc<[OfferingId]>,
    requirements: Arc<Requirements>,
    labels: Labels,
    /// The least the daemons will take on any type it can become.
    daemons: Resources,
}

/// Rungs of a ladder that carry a claim, each set of them once.
type Carriers = IndexSet<FixedBitSet, FxBuildHasher>;
/// Claims with the same load are carried by the same rungs, where nothing else is in the way.
type Alike = IndexMap<(LotId, usize, Amounts), usize, FxBuildHasher>;
/// By lot, order of zones and carriers.
type Known = IndexMap<(usize, usize), Label, FxBuildHasher>;
/// All that a lot sells, in buying order, by the order of zones.
type Ordered = IndexMap<(LotId, Zones), Vec<OfferingId>, FxBuildHasher>;
type Zones = SmallVec<[u32; 4]>;

/// Decides the buying order of every opening; each choice of a zone counts for the next.
pub(super) fn openings(run: &mut Run<'_>) -> Vec<Opening> {
    let opens = std::mem::take(&mut run.opens.list);
    let mut known = Known::default();
    let mut ordered = Ordered::default();
    let mut alike = Alike::default();
    let mut carriers = Carriers::default();
    let mut numbers = vec![0_u32; run.tills.len()];
    let mut openings = Vec::with_capacity(opens.len());
    for open in opens {
        let at = run.lots.list[open.lot as usize].stock;
        let Ok(stock) = &run.ground.stocks[at] else {
            continue;
        };
        let Some(till) = &run.tills[at] else { continue };
        let tight = stock.limited && !till.is_plenty(&stock.most_capacity);
        let mut carried = || carriers.insert_full(carrying(run, stock, till, &open)).0;
        let carried = if tight || !open.ports.is_empty() {
            carried()
        } else {
            let key = (open.lot, open.rung, open.total.clone());
            *alike.entry(key).or_insert_with(carried)
        };
        let zones = zone_order(run, stock, till, open.lot);
        let lot = &run.lots.list[open.lot as usize];
        let entry = ordered.entry((open.lot, zones));
        let order = entry.index();
        let all = entry.or_insert_with(|| in_order(stock, till, lot));
        let label = known
            .entry((order, carried))
            .or_insert_with(|| Label::of(run, stock, (lot, all), &carriers[carried]));
        let number = &mut numbers[at];
        let first = label.offerings.first().copied();
        openings.push(Opening {
            pool: stock.id,
            handle: format!("{}-{number}", stock.pool.name).into(),
            labels: label.labels.clone(),
            requirements: label.requirements.clone(),
            requests: run.ground.columns.raise(&open.total).plus(&label.daemons),
            offerings: label.offerings.clone(),
            price: first.and_then(|first| stock.prices[first.0 as usize]),
            pods: open.pods,
            min_values_relaxed: open.relaxed,
        });
        *number += 1;
        if let (Some(first), false, Some(till)) = (first, open.counted, &mut run.tills[at]) {
            till.enter(&stock.catalog.offering(first).zone);
        }
    }
    openings
}

/// The rungs of its ladder that carry the claim.
fn carrying(run: &Run<'_>, stock: &Stock<'_>, till: &Till, open: &Open) -> FixedBitSet {
    let ladder = &run.lots.list[open.lot as usize].ladder;
    let mut set = FixedBitSet::with_capacity(ladder.len());
    let rungs = ladder.iter().enumerate().skip(open.rung);
    for (at, rung) in rungs.filter(|(_, rung)| rung.reserve == open.reserve) {
        // Only the first is tried: what minValues need stays on the list, whatever others have taken of the limits since.
        let fits = stock.carries(rung.kind, &open.total, &open.ports)
            && (!stock.limited
                || run.lots.list[open.lot as usize].has_min_values
                || till.within_limits(&stock.capacity[rung.kind], &open.held));
        set.set(at, fits);
    }
    // The one it was given to is always among them.
    set.insert(open.rung);
    set
}

/// By zone of the catalog: its place in the order from empty to crowded. Nothing to order in a single zone.
fn zone_order(run: &Run<'_>, stock: &Stock<'_>, till: &Till, lot: LotId) -> Zones {
    let zones = stock.zones();
    let one = run.lots.list[lot as usize]
        .requirements
        .get(labels::ZONE)
        .and_then(Requirement::listed)
        .is_some_and(|listed| listed.len() == 1);
    if one || zones.len() < 2 {
        return Zones::new();
    }
    let crowds: Zones = zones.iter().map(|zone| till.crowd_in(zone)).collect();
    let mut levels = crowds.clone();
    levels.sort_unstable();
    levels.dedup();
    let place = |crowd: &u32| super::index(levels.binary_search(crowd).unwrap_or(0));
    crowds.iter().map(place).collect()
}

impl Label {
    /// Of all that the lot sells, in order, what is sold on these rungs.
    fn of(
        run: &Run<'_>,
        stock: &Stock<'_>,
        (lot, all): (&Lot, &[OfferingId]),
        carriers: &FixedBitSet,
    ) -> Self {
        let sold = Sold::on(stock, carriers.ones().map(|at| &lot.ladder[at]));
        let sold = all.iter().copied().filter(|id| sold.has(stock, *id));
        let max_types = if lot.has_min_values {
            usize::MAX // a choice that minValues ask for is never cut away
        } else {
            run.ground.snapshot.options.max_types.max(1)
        };
        let (offerings, kinds) = cut(stock, sold, max_types);
        let requirements = final_requirements(stock, &lot.requirements, (&offerings, &kinds));
        Self {
            labels: final_labels(stock, &requirements),
            requirements: Arc::new(requirements),
            daemons: least_daemons(stock, &kinds),
            offerings: offerings.into(),
        }
    }
}

/// The lot's offerings in buying order.
fn in_order(stock: &Stock<'_>, till: &Till, lot: &Lot) -> Vec<OfferingId> {
    let crowd = |zone: &str| till.crowd_in(zone);
    stock
        .ranking
        .sorted(stock.catalog, lot.offerings.ids(), crowd)
}

/// The first offerings of at most `max_types` types, and these types by name.
fn cut(
    stock: &Stock<'_>,
    sorted: impl Iterator<Item = OfferingId>,
    max_types: usize,
) -> (Vec<OfferingId>, Vec<usize>) {
    let mut taken = FixedBitSet::with_capacity(stock.catalog.types().len());
    let mut room = max_types;
    let kept = |id: &OfferingId| {
        let kind = stock.type_of(*id);
        if room > 0 && !taken.put(kind) {
            room -= 1;
        }
        taken.contains(kind)
    };
    let offerings = sorted.filter(kept).collect();
    (offerings, taken.ones().collect())
}

fn final_requirements(
    stock: &Stock<'_>,
    asked: &Requirements,
    (offerings, kinds): (&[OfferingId], &[usize]),
) -> Requirements {
    let mut requirements = asked.clone();
    requirements.remove(labels::HOSTNAME);
    let bought = offerings.iter().map(|id| stock.catalog.offering(*id));
    if offerings.iter().any(|id| stock.reserve_of(*id).is_some()) {
        return pinned(requirements, bought);
    }
    let types = kinds.iter();
    let types = types.map(|kind| stock.catalog.types()[*kind].name.clone());
    let types = Requirement::one_of_shared(labels::INSTANCE_TYPE, types);
    let mut capacity: SmallVec<[&str; 3]> = SmallVec::new();
    for sold in bought.map(|offering| offering.capacity_type.as_str()) {
        if !capacity.contains(&sold) {
            capacity.push(sold);
        }
    }
    let capacity = Requirement::one_of(labels::CAPACITY_TYPE, capacity);
    for requirement in [types, capacity] {
        let min_values = requirements
            .get(requirement.key())
            .and_then(Requirement::min_values);
        requirements.replace(requirement.with_min_values(min_values));
    }
    requirements
}

/// What holds an instance of a reservation is launched from that, whatever choice was asked for.
fn pinned<'o>(
    mut requirements: Requirements,
    bought: impl Iterator<Item = &'o Offering> + Clone,
) -> Requirements {
    let kinds = bought.clone().map(|one| one.instance_type.clone());
    let zones = bought.clone().map(|one| one.zone.clone());
    let capacity = bought.map(|one| one.capacity_type.as_str());
    for requirement in [
        Requirement::one_of_shared(labels::INSTANCE_TYPE, kinds),
        Requirement::one_of_shared(labels::ZONE, zones),
        Requirement::one_of(labels::CAPACITY_TYPE, capacity),
    ] {
        requirements.replace(requirement);
    }
    requirements
}

/// Template labels, and one value for every custom label that a requirement leaves open.
fn final_labels(stock: &Stock<'_>, requirements: &Requirements) -> Labels {
    let mut all = stock.pool.labels.clone();
    let have = |all: &[(Arc<str>, Arc<str>)], key: &str| {
        all.iter().any(|(known, _)| known.as_ref() == key)
    };
    for requirement in requirements.iter() {
        let key = requirement.key();
        let ours = key == labels::POOL;
        if have(&all, key) || (stock.known.contains(key) && !ours) {
            continue;
        }
        if let Some(value) = requirement.any() {
            all.push((key.into(), value));
        }
    }
    all.sort_unstable();
    all.into()
}

fn least_daemons(stock: &Stock<'_>, kinds: &[usize]) -> Resources {
    let mut loads = kinds.iter().map(|kind| &stock.load[*kind].requests);
    let first = loads.next().cloned().unwrap_or_default();
    // Most types carry the same daemons.
    loads.fold(first, |least, load| {
        if least == *load {
            least
        } else {
            least.smaller_of_shared(load)
        }
    })
}
