//! What comes of one seed: a workload, a storm, calm, and then rest?

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use emulators::kubernetes::Kubernetes;
use runtime::Dice;

use super::judge::leaked;
use super::on_virtual_time;
use super::phase::{CLAIMS, Phase, holds, of_claim};
use super::storm::{Aim, DOWN, Storm, WATCH_BREAKS, aims};
use super::trace::Trace;
use super::workload;
use super::world::{Bug, Sim};

const STEPS: usize = 10;
const LOOK: Duration = Duration::from_secs(1);
/// L1: so long without a write.
const REST: Duration = Duration::from_mins(10);
/// After the storm everything must have come to rest within this: far more than every time-out and back-off together.
const SETTLED: Duration = Duration::from_hours(2);

/// How a seed went.
pub struct Outcome {
    pub seed: u64,
    pub trace: Trace,
    pub hits: BTreeMap<(Phase, String), usize>,
    /// Nothing, if all is well.
    pub wrong: Vec<String>,
    /// Virtual.
    pub lasted: Duration,
}

pub fn run(seed: u64, bug: Arc<dyn Bug>) -> Result<Outcome> {
    on_virtual_time(story(seed, bug))?
}

async fn story(seed: u64, bug: Arc<dyn Bug>) -> Result<Outcome> {
    let mut sim = Sim::new(seed).await?;
    let mut dice = Dice::seeded(seed.wrapping_mul(0x9e37_79b9).wrapping_add(17));
    workload::begin(&sim, &mut dice).await?;
    let all = aims();
    let aim = all[usize::try_from(seed).unwrap_or(0) % all.len()];
    let rate = [0.0, 0.02, 0.1][usize::try_from(dice.below(3)).unwrap_or(0)];
    let (phase, fault) = aim.pair();
    sim.tap.remark(format!(
        "seed {seed}: {rate} of all calls break, and {fault} during {}",
        phase.name()
    ));
    sim.tap.set_weather(Some(Box::new(Storm {
        dice: dice.fork(),
        rate,
        deadly: rate / 20.0,
        aim,
        shots: 2,
    })));
    sim.operate(bug)?;
    storm(&sim, &mut dice, aim).await?;
    sim.tap.remark("calm".to_owned());
    sim.tap.set_weather(None);
    workload::end(&sim).await?;
    come_to_rest(&sim).await;
    judge_rest(&sim);
    Ok(Outcome {
        seed,
        trace: sim.tap.trace(),
        hits: sim.tap.hits(),
        wrong: sim.tap.wrong(),
        lasted: sim.tap.elapsed(),
    })
}

async fn storm(sim: &Sim, dice: &mut Dice, aim: Aim) -> Result<()> {
    // Something to work on at once.
    workload::scale(sim, "small", 2 + dice.below(3)).await?;
    workload::scale(sim, "large", dice.below(3)).await?;
    let mut waits = matches!(aim, Aim::Around(..)).then_some(aim);
    for _ in 0..STEPS {
        let longest = if dice.chance(0.3) { 120 } else { 30 };
        let seconds = 1 + dice.below(longest);
        for _ in 0..seconds * 4 {
            tokio::time::sleep(LOOK / 4).await;
            sim.judge.look();
            if let Some(Aim::Around(phase, what)) = waits
                && in_phase(sim, phase)
            {
                waits = None;
                around(sim, what, dice).await;
            }
            if !sim.tap.wrong().is_empty() {
                return Ok(());
            }
        }
        workload::step(sim, dice).await?;
        if dice.chance(0.05) {
            around(sim, DOWN, dice).await;
        }
    }
    Ok(())
}

fn in_phase(sim: &Sim, phase: Phase) -> bool {
    sim.cluster.peek(|cluster| {
        let mut claims = cluster.world.store.list(CLAIMS, None);
        claims.any(|claim| of_claim(&claim.value()) == phase)
    })
}

async fn around(sim: &Sim, what: &str, dice: &mut Dice) {
    if what == WATCH_BREAKS {
        workload::break_watches(sim);
        return;
    }
    sim.tap.remark("kubernetes answers nobody".to_owned());
    workload::note_phases(sim, DOWN);
    sim.tap.set_down(true);
    sim.cluster.with(Kubernetes::break_watches);
    tokio::time::sleep(Duration::from_secs(2 + dice.below(40))).await;
    sim.tap.set_down(false);
    sim.tap.remark("kubernetes answers again".to_owned());
}

/// Waits until nothing was written for a while, or far too long.
async fn come_to_rest(sim: &Sim) {
    let calm = sim.tap.elapsed();
    loop {
        tokio::time::sleep(LOOK * 10).await;
        sim.judge.look();
        let now = sim.tap.elapsed();
        let last = sim.tap.last_write();
        let since = last.as_ref().map_or(calm, |(at, _)| (*at).max(calm));
        if !sim.tap.wrong().is_empty() || now.saturating_sub(since) > REST {
            return;
        }
        if now.saturating_sub(calm) > SETTLED {
            let (at, what) = last.unwrap_or_default();
            let late = at.saturating_sub(calm).as_secs();
            sim.tap.accuse(format!(
                "L1: still writing {late} s after the storm: {what}"
            ));
            return;
        }
    }
}

/// At rest: nothing leaked, nothing foreign touched, every pod runs.
fn judge_rest(sim: &Sim) {
    if !sim.tap.wrong().is_empty() {
        return;
    }
    for thing in leaked(&sim.cluster, &sim.cloud.engine, &sim.judge.lookalikes) {
        sim.tap
            .accuse(format!("I2: {thing} has no claim and is still there"));
    }
    let untouched = sim
        .cloud
        .world(|world| sim.judge.lookalikes.untouched(world));
    if let Err(touched) = untouched {
        sim.tap.accuse(format!("I3: {touched:#}"));
    }
    let waiting: Vec<String> = sim.cluster.peek(|cluster| {
        let pods = cluster.world.store.list("pods", Some("default"));
        let waiting = pods.filter(|pod| !holds(&pod.value(), "Ready"));
        waiting.map(|pod| pod.name().to_owned()).collect()
    });
    if !waiting.is_empty() {
        sim.tap
            .accuse(format!("L2: pods still wait: {}", waiting.join(", ")));
    }
}
