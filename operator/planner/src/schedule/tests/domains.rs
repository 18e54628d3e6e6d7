//! How many pods did a plan put into each domain?

use super::world::world;
use crate::labels;
use crate::schedule::{Budget, Ground, Schedule, Spot, solve};
use crate::snapshot::{Snapshot, WhatIf};
use std::collections::BTreeMap;

fn plan(text: &str) -> (Snapshot, Schedule) {
    let snapshot = world(text);
    let schedule = solve(&WhatIf::nothing_changes(&snapshot), Budget::UNLIMITED);
    (snapshot, schedule)
}

/// Pods per zone, smallest first.
pub(super) fn zones(text: &str, expected: &str) {
    per(text, expected, zone_of);
}

/// Pods per capacity type, smallest first.
pub(super) fn capacity_types(text: &str, expected: &str) {
    per(text, expected, capacity_type_of);
}

fn per(text: &str, expected: &str, domain: impl Fn(&Snapshot, &Schedule, Spot) -> String) {
    let (snapshot, schedule) = plan(text);
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    for (_, spot) in &schedule.placements {
        *counts
            .entry(domain(&snapshot, &schedule, *spot))
            .or_default() += 1;
    }
    compare(
        counts.into_values().collect(),
        expected,
        &schedule.text(&snapshot),
    );
}

/// Pods per node or claim, smallest first.
pub(super) fn hosts(text: &str, expected: &str) {
    let (snapshot, schedule) = plan(text);
    let mut counts: BTreeMap<Spot, u32> = BTreeMap::new();
    for (_, spot) in &schedule.placements {
        *counts.entry(*spot).or_default() += 1;
    }
    compare(
        counts.into_values().collect(),
        expected,
        &schedule.text(&snapshot),
    );
}

pub(super) fn refused(text: &str, expected: usize) {
    let (snapshot, schedule) = plan(text);
    let found = schedule.refused(&snapshot.pods).count();
    assert_eq!(found, expected, "{}", schedule.text(&snapshot));
}

/// The same when nobody is served out of turn.
pub(super) fn refused_in_turn(text: &str, expected: usize) {
    let snapshot = world(text);
    let view = WhatIf::nothing_changes(&snapshot);
    let schedule = Ground::of(&snapshot, None).sketch(&view, Budget::UNLIMITED);
    let found = schedule.refused(&snapshot.pods).count();
    assert_eq!(found, expected, "{}", schedule.text(&snapshot));
}

/// The sum of the prices.
pub(super) fn price(text: &str, expected: &str) {
    let (snapshot, schedule) = plan(text);
    let prices = schedule.openings.iter().filter_map(|opening| opening.price);
    let sum = prices.reduce(crate::Price::plus);
    let sum = sum.map_or("0".to_owned(), |sum| sum.to_string());
    assert_eq!(sum, expected, "{}", schedule.text(&snapshot));
}

pub(super) fn zone_of(snapshot: &Snapshot, schedule: &Schedule, spot: Spot) -> String {
    let zone = match spot {
        Spot::Node(id) => snapshot.node(id).label(labels::ZONE).unwrap_or(""),
        Spot::Claim(id) => snapshot
            .claim(id)
            .offering
            .as_ref()
            .map_or("", |(_, zone, _)| zone),
        Spot::Opening(at) => {
            let opening = &schedule.openings[at as usize];
            let catalog = snapshot
                .catalog_of(&snapshot.pool(opening.pool).class)
                .unwrap();
            &catalog.offering(opening.offerings[0]).zone
        }
    };
    zone.to_owned()
}

fn capacity_type_of(snapshot: &Snapshot, schedule: &Schedule, spot: Spot) -> String {
    let kind = match spot {
        Spot::Node(id) => snapshot.node(id).label(labels::CAPACITY_TYPE).unwrap_or(""),
        Spot::Claim(id) => snapshot
            .claim(id)
            .offering
            .as_ref()
            .map_or("", |(_, _, kind)| kind.as_str()),
        Spot::Opening(at) => {
            let opening = &schedule.openings[at as usize];
            let catalog = snapshot
                .catalog_of(&snapshot.pool(opening.pool).class)
                .unwrap();
            catalog
                .offering(opening.offerings[0])
                .capacity_type
                .as_str()
        }
    };
    kind.to_owned()
}

fn compare(mut counts: Vec<u32>, expected: &str, plan: &str) {
    counts.sort_unstable();
    let found: Vec<String> = counts.iter().map(ToString::to_string).collect();
    assert_eq!(found.join(" "), expected, "{plan}");
}
