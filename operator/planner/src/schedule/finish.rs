//! What is written on the claims that were opened?

use super::Opening;
use super::columns::Columns;
use super::grow::Open;
use super::run::Run;
use super::stock::Stock;
use crate::catalog::OfferingId;
use crate::labels;
use crate::requirements::{Requirement, Requirements};
use crate::resources::Resources;
use std::sync::Arc;

/// Decides the buying order of every opening, the fullest knowledge of zones last: each choice counts for the next.
pub(super) fn openings(run: &mut Run<'_>) -> Vec<Opening> {
    let opens = std::mem::take(&mut run.opens);
    let max_types = run.view.base.options.max_types;
    let mut numbers = vec![0_u32; run.stocks.len()];
    let mut openings = Vec::with_capacity(opens.len());
    for open in opens {
        let Ok(stock) = &mut run.stocks[open.stock] else {
            continue;
        };
        let number = &mut numbers[open.stock];
        let handle = format!("{}-{number}", stock.pool.name).into();
        *number += 1;
        let offerings = bought_in_order(stock, &open, max_types);
        if let Some(first) = offerings.first() {
            *stock
                .crowd
                .entry(stock.catalog.offering(*first).zone.clone())
                .or_default() += 1;
        }
        let price = offerings
            .first()
            .and_then(|first| run.view.price(stock.catalog_at, *first));
        let requirements = final_requirements(stock, &open, &offerings);
        openings.push(Opening {
            pool: stock.id,
            handle,
            labels: final_labels(stock, &requirements),
            requirements,
            requests: requests(stock, &open, &offerings, &run.columns),
            offerings,
            pods: open.pods,
            price,
            min_values_relaxed: open.relaxed,
        });
    }
    openings
}

/// Cheapest first, of at most `max_types` types; a choice that minValues ask for is never cut away.
fn bought_in_order(stock: &Stock<'_>, open: &Open, max_types: usize) -> Vec<OfferingId> {
    let crowd = |zone: &str| stock.crowd.get(zone).copied().unwrap_or(0);
    let sorted = stock
        .ranking
        .sorted(stock.catalog, open.offerings.ids(), crowd);
    if open.requirements.has_min_values() {
        return sorted;
    }
    let mut taken = vec![false; stock.catalog.types().len()];
    let mut room = max_types.max(1);
    let kept = |id: &OfferingId| {
        let taken = &mut taken[stock.type_of(*id)];
        if !*taken && room > 0 {
            *taken = true;
            room -= 1;
        }
        *taken
    };
    sorted.into_iter().filter(kept).collect()
}

fn final_requirements(stock: &Stock<'_>, open: &Open, offerings: &[OfferingId]) -> Requirements {
    let mut requirements = open.requirements.clone();
    requirements.remove(labels::HOSTNAME);
    let bought = offerings.iter().map(|id| stock.catalog.offering(*id));
    let types = Requirement::one_of(
        labels::INSTANCE_TYPE,
        bought
            .clone()
            .map(|offering| offering.instance_type.as_ref()),
    );
    let capacity = Requirement::one_of(
        labels::CAPACITY_TYPE,
        bought.map(|offering| offering.capacity_type.as_str()),
    );
    for requirement in [types, capacity] {
        let min_values = requirements
            .get(requirement.key())
            .and_then(Requirement::min_values);
        requirements.replace(requirement.with_min_values(min_values));
    }
    requirements
}

/// Template labels, and one value for every custom label that a requirement leaves open.
fn final_labels(stock: &Stock<'_>, requirements: &Requirements) -> Vec<(Arc<str>, Arc<str>)> {
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
    all
}

/// Its pods, and the least the daemons will take on any type it can become.
fn requests(
    stock: &Stock<'_>,
    open: &Open,
    offerings: &[OfferingId],
    columns: &Columns,
) -> Resources {
    let mut kinds: Vec<usize> = offerings.iter().map(|id| stock.type_of(*id)).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let loads = kinds
        .into_iter()
        .map(|kind| stock.load[kind].requests.clone());
    let least = loads
        .reduce(|a, b| a.smaller_of_shared(&b))
        .unwrap_or_default();
    columns.raise(&open.total).plus(&least)
}
