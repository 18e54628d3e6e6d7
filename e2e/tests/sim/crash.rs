//! Does every story end well, wherever the operator dies? A part of all places; `cargo xtask sim --crashes` tries all.

use anyhow::{Result, ensure};
use e2e::sim::crash::{die_at_each, places};

/// Of each phase; about two seconds each without optimization.
const PLACES: usize = 2;

#[test]
fn wherever_the_operator_dies_another_one_finishes_the_story() -> Result<()> {
    let (calls, chosen) = places(Some(PLACES))?;
    let deaths = die_at_each(&calls, &chosen);
    println!("{} of {} places to die at", deaths.told, 2 * deaths.calls);
    for ((phase, when), count) in &deaths.by_phase {
        println!("  {:<10} {when}: {count}", phase.name());
    }
    ensure!(deaths.failed.is_empty(), "{}", deaths.failed.join("\n"));
    Ok(())
}
