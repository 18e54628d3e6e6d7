//! Does the first-node scenario hold in simulation, and does it replay?

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};
use e2e::first_node::{Stage, there_and_back};
use e2e::sim::on_virtual_time;
use e2e::sim::tap::{Call, Fault, Order, Verdict, Weather};
use e2e::sim::trace::Trace;
use e2e::sim::world::{NoBug, Sim};

async fn story(seed: u64) -> Result<Trace> {
    story_in(seed, None).await
}

async fn story_in(seed: u64, weather: Option<Box<dyn Weather>>) -> Result<Trace> {
    let mut sim = Sim::new(seed).await?;
    sim.tap.set_weather(weather);
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

/// The first questions about one thing meet an error.
struct Deaf {
    about: &'static str,
    left: u32,
}

impl Weather for Deaf {
    fn strikes(&mut self, _: &Call, _: Duration) -> Verdict {
        Verdict::Pass
    }

    fn disturbs(&mut self, call: &Call) -> Option<Fault> {
        if !call.text.contains(self.about) {
            return None;
        }
        self.left = self.left.checked_sub(1)?;
        Some(Fault::Error(Order::Before))
    }
}

#[test]
fn an_operator_that_was_not_told_where_the_cluster_is_asks_again() -> Result<()> {
    let weather = Deaf {
        about: "cluster-info",
        left: 3,
    };
    let trace = on_virtual_time(story_in(4, Some(Box::new(weather))))??;
    ensure!(trace.whole().contains("cluster-info meets"));
    Ok(())
}
