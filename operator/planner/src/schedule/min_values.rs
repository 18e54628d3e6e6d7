//! Do enough different values remain for the labels that ask for a choice?

use super::grow::Cargo;
use super::lots::Lot;
use super::run::Run;
use super::stock::Stock;
use crate::catalog::Offerings;
use crate::labels;
use crate::requirements::{Requirement, Requirements};
use std::collections::BTreeSet;

/// A label with fewer values left than asked for.
pub(super) struct Unmet {
    pub(super) requirement: Requirement,
    pub(super) wanted: u32,
    pub(super) found: u32,
}

/// The labels whose minValues are not met by what of the lot carries this much.
pub(super) fn unmet(run: &Run<'_>, lot: &Lot, total: &[i64], cargo: Cargo<'_>) -> Vec<Unmet> {
    let Ok(stock) = &run.ground.stocks[lot.stock] else {
        return Vec::new();
    };
    let carrying = lot
        .ladder
        .iter()
        .filter(|rung| run.carries(lot, **rung, total, cargo));
    let offerings = lot.sold_on(stock, carrying);
    unmet_by(stock, &lot.requirements, &offerings)
}

/// The labels whose minValues are not met by these offerings. Only values that the requirement admits count.
pub(super) fn unmet_by(
    stock: &Stock<'_>,
    requirements: &Requirements,
    offerings: &Offerings,
) -> Vec<Unmet> {
    let asking = requirements
        .iter()
        .filter_map(|requirement| Some((requirement, requirement.min_values()?)));
    asking
        .map(|(requirement, wanted)| Unmet {
            requirement: requirement.clone(),
            wanted,
            found: distinct(stock, requirement, offerings),
        })
        .filter(|unmet| unmet.found < unmet.wanted)
        .collect()
}

fn distinct(stock: &Stock<'_>, requirement: &Requirement, offerings: &Offerings) -> u32 {
    let mut values: BTreeSet<&str> = BTreeSet::new();
    for id in offerings.ids() {
        let offering = stock.catalog.offering(id);
        match requirement.key() {
            labels::ZONE => drop(values.insert(&offering.zone)),
            labels::CAPACITY_TYPE => drop(values.insert(offering.capacity_type.as_str())),
            key => {
                let kind = stock.catalog.instance_type(stock.catalog.type_of(id));
                let listed = kind.requirements.get(key).and_then(Requirement::listed);
                values.extend(listed.into_iter().flatten().map(AsRef::as_ref));
            }
        }
    }
    u32::try_from(
        values
            .into_iter()
            .filter(|value| requirement.has(value))
            .count(),
    )
    .unwrap_or(u32::MAX)
}
