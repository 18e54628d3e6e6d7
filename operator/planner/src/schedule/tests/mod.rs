//! What does `solve` decide?

mod absurd;
mod affinities;
mod bought;
mod capacity_types;
mod checked;
mod checker;
mod choice;
mod coming;
mod cost;
mod departures;
mod domains;
mod found;
mod landing;
mod limits;
mod packing;
mod placed;
mod properties;
mod refused;
mod reserved;
mod shortcuts;
mod spreads;
mod standing;
mod suite;
mod volumes;
mod what_ifs;
pub(crate) mod world;
mod written;

use super::{Budget, solve};
use crate::snapshot::WhatIf;
use world::world;

/// The world in a few words, the plan as text. Lines of openings are compared only if the plan mentions them.
pub(super) fn check(text: &str, plan: &str) {
    assert_eq!(
        shown(&planned(text), plan),
        tidy(plan),
        "all of it:\n{}",
        planned(text)
    );
}

pub(super) fn planned(text: &str) -> String {
    let snapshot = world(text);
    solve(&WhatIf::nothing_changes(&snapshot), Budget::UNLIMITED).text(&snapshot)
}

/// One line per item.
pub(super) fn lines<T>(items: impl IntoIterator<Item = T>, line: impl Fn(T) -> String) -> String {
    items.into_iter().map(line).collect::<Vec<_>>().join("\n")
}

fn tidy(plan: &str) -> String {
    let mut lines: Vec<&str> = plan
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    lines.sort_unstable();
    lines.join("\n")
}

/// Placements and refusals always, openings (`default-0: …`) as far as the expected plan tells of them.
fn shown(plan: &str, expected: &str) -> String {
    let bought = |line: &str| line.contains(": ") && line.contains(" at ");
    let expects = expected.lines().any(bought);
    let short = |line: &str| match (bought(line), expects) {
        (true, false) => None,
        (true, true) => line.split(" or ").next().map(str::to_owned),
        (false, _) => Some(line.to_owned()),
    };
    plan.lines()
        .filter_map(short)
        .collect::<Vec<_>>()
        .join("\n")
}
