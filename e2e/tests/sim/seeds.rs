//! Do a few seeds of storm and workload end well, twice the same, and are planted bugs found?

use std::sync::Arc;

use anyhow::{Result, bail, ensure};
use e2e::sim::planted::{DoubleCreate, EvictionPastBudgets, FinalizerDroppedEarly};
use e2e::sim::seeds::run;
use e2e::sim::world::{Bug, NoBug};

/// Two of many, and one that once disrupted more nodes than a budget allows (I7).
const SEEDS: [u64; 3] = [0, 1, 25];

#[test]
fn a_few_seeds_keep_every_invariant_and_replay() -> Result<()> {
    for seed in SEEDS {
        let (first, second) = (run(seed, Arc::new(NoBug))?, run(seed, Arc::new(NoBug))?);
        let shown = first.trace.tail(60);
        ensure!(
            first.wrong.is_empty(),
            "seed {seed}: {}\n{shown}",
            first.wrong.join("; ")
        );
        if let Some(difference) = first.trace.difference(&second.trace) {
            bail!("seed {seed} does not replay:\n{difference}");
        }
        ensure!(first.trace.hash() == second.trace.hash());
    }
    Ok(())
}

/// The first seed that finds the bug, by this invariant.
fn found(bug: &Arc<dyn Bug>, invariant: &str) -> Result<()> {
    for seed in 0..40 {
        let outcome = run(seed, Arc::clone(bug))?;
        if let Some(wrong) = outcome
            .wrong
            .iter()
            .find(|wrong| wrong.starts_with(invariant))
        {
            println!("seed {seed}: {wrong}");
            return Ok(());
        }
    }
    bail!("no seed found it");
}

#[test]
fn a_server_that_is_ordered_twice_is_found() -> Result<()> {
    found(&(Arc::new(DoubleCreate) as Arc<dyn Bug>), "I1")
}

#[test]
fn a_finalizer_that_is_dropped_too_early_is_found() -> Result<()> {
    found(&(Arc::new(FinalizerDroppedEarly) as Arc<dyn Bug>), "I11")
}

#[test]
fn an_eviction_past_a_budget_is_found() -> Result<()> {
    found(&(Arc::new(EvictionPastBudgets) as Arc<dyn Bug>), "I5")
}
