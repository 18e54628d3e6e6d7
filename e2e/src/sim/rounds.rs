//! What does a round of many seeds, or of all deaths, tell the person who started it?

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Result, bail, ensure};

use super::crash::{Deaths, Place, die_at_each, places};
use super::phase::Phase;
use super::planted::{DoubleCreate, EvictionPastBudgets, FinalizerDroppedEarly};
use super::seeds::run;
use super::storm::aims;
use super::tap::Call;
use super::world::{Bug, NoBug};

/// From so many seeds on, each enumerated pair must have been hit.
const ENOUGH: u64 = 200;
/// So many seeds are a step that is shown.
const SHOW_EACH: u64 = 25;
/// Lines of a failing seed's trace.
const SHOWN: usize = 25;

type Hits = BTreeMap<(Phase, String), usize>;

#[derive(Default)]
struct Round {
    hits: Hits,
    calls: usize,
    simulated: f64,
    done: u64,
    failed: Vec<u64>,
}

/// Each seed twice; prints what went wrong and how to see it again.
pub fn seeds(first: u64, count: u64) -> Result<()> {
    let begun = Instant::now();
    let round = Mutex::new(Round::default());
    let next = AtomicU64::new(first);
    side_by_side(|| {
        loop {
            let seed = next.fetch_add(1, Ordering::SeqCst);
            if seed >= first + count {
                return;
            }
            one(seed, &round);
        }
    });
    let took = begun.elapsed().as_secs_f64();
    let round = round.into_inner().unwrap_or_else(PoisonError::into_inner);
    #[allow(clippy::cast_precision_loss)] // a figure for people
    let speed = (2 * count) as f64 / took;
    println!(
        "{count} seeds, each twice with the same hash unless said above: {} outbound calls, {:.0} simulated hours, {took:.0} s",
        round.calls,
        round.simulated / 3600.0
    );
    println!("{speed:.2} seeds per second");
    let missing = pairs(&round.hits);
    let unfound = planted(first)?;
    ensure!(
        round.failed.is_empty(),
        "{} seeds failed: {:?}",
        round.failed.len(),
        round.failed
    );
    ensure!(
        unfound.is_empty(),
        "planted bugs were not found: {}",
        unfound.join(", ")
    );
    ensure!(
        count < ENOUGH || missing == 0,
        "{missing} enumerated pairs were not hit"
    );
    Ok(())
}

fn one(seed: u64, round: &Mutex<Round>) {
    let twice = [(); 2].map(|()| run(seed, Arc::new(NoBug)));
    let mut round = round.lock().unwrap_or_else(PoisonError::into_inner);
    round.done += 1;
    if round.done.is_multiple_of(SHOW_EACH) {
        eprintln!("{} seeds done", round.done);
    }
    let said = match twice {
        [Ok(one), Ok(other)] => {
            round.calls += one.trace.lines().len() + other.trace.lines().len();
            round.simulated += one.lasted.as_secs_f64() + other.lasted.as_secs_f64();
            for (pair, count) in &one.hits {
                *round.hits.entry(pair.clone()).or_default() += count;
            }
            match one.wrong.first() {
                Some(wrong) => format!("{wrong}\n{}", one.trace.tail(SHOWN)),
                None if one.trace.hash() == other.trace.hash() => return,
                None => "two runs differ".to_owned(),
            }
        }
        [Err(error), _] | [_, Err(error)] => format!("{error:#}"),
    };
    round.failed.push(seed);
    println!("seed {seed}: {said}\n  replay: cargo xtask sim --seed {seed}");
}

/// Prints which pairs were hit how often; returns how many of the enumerated ones were not.
fn pairs(hits: &Hits) -> usize {
    let mut missing = 0;
    println!("(phase × fault) pairs hit:");
    let mut wanted: Vec<_> = aims().iter().map(super::storm::Aim::pair).collect();
    wanted.sort();
    for (phase, fault) in &wanted {
        let count = hits.get(&(*phase, fault.clone())).copied().unwrap_or(0);
        missing += usize::from(count == 0);
        let mark = if count == 0 { "  <- missing" } else { "" };
        println!("  {:<10} {fault:<26} {count:>6}{mark}", phase.name());
    }
    println!(
        "{} of {} enumerated pairs",
        wanted.len() - missing,
        wanted.len()
    );
    missing
}

/// Looks for each planted bug; returns those that no seed found.
fn planted(first: u64) -> Result<Vec<&'static str>> {
    let bugs: [(&str, Arc<dyn Bug>); 3] = [
        ("double create", Arc::new(DoubleCreate)),
        (
            "finalizer dropped too early",
            Arc::new(FinalizerDroppedEarly),
        ),
        ("eviction past a budget", Arc::new(EvictionPastBudgets)),
    ];
    let mut unfound = Vec::new();
    for (name, bug) in bugs {
        let mut found = false;
        for seed in first..first + 60 {
            let outcome = run(seed, Arc::clone(&bug))?;
            if let Some(wrong) = outcome.wrong.first() {
                println!("planted: {name} is found by seed {seed}: {wrong}");
                found = true;
                break;
            }
        }
        if !found {
            unfound.push(name);
        }
    }
    Ok(unfound)
}

/// One seed twice, with what went out; `whole` shows also questions that were answered, and the lease.
pub fn replay(seed: u64, whole: bool) -> Result<()> {
    let [one, other] = [(); 2].map(|()| run(seed, Arc::new(NoBug)));
    let (one, other) = (one?, other?);
    let shown = if whole {
        one.trace.whole()
    } else {
        one.trace.tail(usize::MAX)
    };
    print!("{shown}");
    println!(
        "seed {seed}: {} lines in {:.0} simulated minutes, hash {:016x}",
        one.trace.lines().len(),
        one.lasted.as_secs_f64() / 60.0,
        one.trace.hash()
    );
    ensure!(
        one.trace.hash() == other.trace.hash(),
        "the second run has another hash: {:016x}",
        other.trace.hash()
    );
    ensure!(one.wrong.is_empty(), "{}", one.wrong.join("; "));
    Ok(())
}

/// Every place to die at.
pub fn crashes() -> Result<()> {
    let begun = Instant::now();
    let (calls, all) = places(None)?;
    let next = AtomicUsize::new(0);
    let rounds: Mutex<Vec<Deaths>> = Mutex::default();
    side_by_side(|| {
        while let Some(place) = all.get(next.fetch_add(1, Ordering::SeqCst)) {
            let deaths = one_death(&calls, *place);
            rounds
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(deaths);
        }
    });
    let rounds = rounds.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut by_phase: BTreeMap<_, usize> = BTreeMap::new();
    for (key, count) in rounds.iter().flat_map(|round| &round.by_phase) {
        *by_phase.entry(*key).or_default() += count;
    }
    for ((phase, when), count) in by_phase {
        println!("  {:<10} {when:<13} {count:>4}", phase.name());
    }
    let failed = rounds.iter().map(|round| round.failed.len()).sum::<usize>();
    println!(
        "{} deaths at {} of {} outbound calls (of the lease's renewals every tenth), {failed} stories went wrong, {:.0} s",
        all.len(),
        all.len() / 2,
        calls.len(),
        begun.elapsed().as_secs_f64()
    );
    if failed > 0 {
        bail!("{failed} stories went wrong");
    }
    Ok(())
}

fn one_death(calls: &[Call], place: Place) -> Deaths {
    let deaths = die_at_each(calls, &[place]);
    for failure in &deaths.failed {
        println!("{failure}");
    }
    deaths
}

/// On every core.
fn side_by_side(work: impl Fn() + Sync) {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(&work);
        }
    });
}
