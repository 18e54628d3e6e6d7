//! Does the first-node scenario hold in simulation, and does it replay?

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};
use e2e::first_node::{Stage, there_and_back};
use e2e::sim::on_virtual_time;
use e2e::sim::trace::Trace;
use e2e::sim::world::{NoBug, Sim};

async fn story(seed: u64) -> Result<Trace> {
    let mut sim = Sim::new(seed).await?;
    sim.operate(Arc::new(NoBug))?;
    let stage = Stage {
        client: sim.client.clone(),
        cloud: &sim.cloud,
        patience: Duration::from_mins(10),
    };
    let outcome = there_and_back(&stage).await;
    let trace = sim.tap.trace();
    if outcome.is_err() {
        println!("{}", trace.tail(80));
    }
    outcome?;
    sim.judge.look();
    ensure!(sim.tap.wrong().is_empty(), "{:?}", sim.tap.wrong());
    Ok(trace)
}

#[test]
fn twenty_pending_pods_run_on_machines_that_go_when_the_pods_do() -> Result<()> {
    let started = std::time::Instant::now();
    let trace = on_virtual_time(story(1))??;
    println!("{} calls, {:?}", trace.lines().len(), started.elapsed());
    Ok(())
}

#[test]
fn the_same_seed_makes_the_same_calls_at_the_same_moments() -> Result<()> {
    let first = on_virtual_time(story(2))??;
    let second = on_virtual_time(story(2))??;
    let pairs = first.lines().iter().zip(second.lines());
    for (at, (one, other)) in pairs.enumerate() {
        let (one, other) = (one.to_string(), other.to_string());
        ensure!(one == other, "call {at}:\n{one}\n{other}");
    }
    ensure!(first.hash() == second.hash());
    let other = on_virtual_time(story(3))??;
    ensure!(
        first.hash() != other.hash(),
        "another seed is another story"
    );
    Ok(())
}
