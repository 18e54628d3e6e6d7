//! Does the operator converge when it is killed while a cloud call is held, whichever call it is, before and after its effect?
//!
//! The calls come from a plain run of the same story. The operator is killed at one after the other, each time started anew
//! until it comes to the next; then it is left alone and must come to the end.

use std::collections::BTreeSet;
use std::io::{Write, stderr};
use std::time::Instant;

use anyhow::{Result, ensure};
use emulators::faults::When;

use crate::calls::{Kind, Trap, opening_traps, traps};
use crate::lane::{Lane, SWEEPING};

/// The calls of a plain run.
struct Recorded {
    /// From the start to a class that can be bought from.
    opening: Vec<Kind>,
    launch: Vec<Kind>,
    terminate: Vec<Kind>,
}

async fn record(lane: &Lane) -> Result<Recorded> {
    let start = lane.cloud.now();
    lane.scale(3).await?;
    let mut operator = lane.operator(&[])?;
    lane.until("pods to run", &operator, Lane::all_run).await?;
    let (up, middle) = (lane.cloud.calls_since(start), lane.cloud.now());
    lane.scale_to_nothing().await?;
    lane.until("nothing to be left", &operator, Lane::nothing_left)
        .await?;
    let down = lane.cloud.calls_since(middle);
    operator.kill().await?;
    let first = up.iter().position(|call| call.path == crate::lane::LIST);
    let (opening, launch) = up.split_at(first.unwrap_or(up.len()));
    let of_class: BTreeSet<&Kind> = opening.iter().collect();
    let others = |calls: &[Kind]| {
        let others = calls.iter().filter(|call| !of_class.contains(call));
        others.cloned().collect::<Vec<_>>()
    };
    let recorded = Recorded {
        launch: others(launch),
        terminate: others(&down),
        opening: opening.to_vec(),
    };
    let names =
        |calls: &[Kind], method: &str| calls.iter().filter(|call| call.method == method).count();
    ensure!(
        names(&recorded.opening, "POST") == 1,
        "one token: {:?}",
        recorded.opening
    );
    ensure!(
        names(&recorded.launch, "POST") == 2,
        "a port and a server: {:?}",
        recorded.launch
    );
    ensure!(
        names(&recorded.terminate, "DELETE") >= 2,
        "a server and a port: {:?}",
        recorded.terminate
    );
    Ok(recorded)
}

/// Dies at each trap in turn; how many were reached.
async fn die_at(
    lane: &mut Lane,
    traps: &[Trap],
    over: impl AsyncFn(&Lane) -> Result<()>,
) -> Result<()> {
    for trap in traps {
        let reached = lane.kill_at(trap, &over).await?;
        println!("{} {trap}", if reached { "killed" } else { "passed" });
        lane.one_server_each()?;
    }
    Ok(())
}

/// Past the test harness, which swallows what a passing test prints.
fn report(what: &str, kills: usize, begun: Instant) {
    let took = begun.elapsed().as_secs();
    let _ = writeln!(stderr(), "crash matrix, {what}: {kills} kills in {took} s");
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_at_every_call_of_a_launch_it_buys_once_and_leaves_nothing() -> Result<()> {
    let Some(control_plane) = e2e::need_control_plane("crash: killed in a launch") else {
        return Ok(());
    };
    let begun = Instant::now();
    let mut lane = Lane::start(&control_plane).await?;
    let recorded = record(&lane).await?;
    lane.scale(3).await?;
    die_at(&mut lane, &opening_traps(&recorded.opening), Lane::all_run).await?;
    for when in [When::Before, When::After] {
        lane.scale(3).await?;
        die_at(&mut lane, &traps(&recorded.launch, when), Lane::all_run).await?;
        let mut operator = lane.operator(SWEEPING)?;
        lane.until("pods to run", &operator, Lane::all_run).await?;
        lane.clear(&mut operator).await?;
    }
    report("launch", lane.kills, begun);
    lane.cloud.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_at_every_call_of_a_termination_it_leaves_nothing() -> Result<()> {
    let Some(control_plane) = e2e::need_control_plane("crash: killed in a termination") else {
        return Ok(());
    };
    let begun = Instant::now();
    let mut lane = Lane::start(&control_plane).await?;
    let recorded = record(&lane).await?;
    for when in [When::Before, When::After] {
        lane.scale(3).await?;
        let mut operator = lane.operator(&[])?;
        lane.until("pods to run", &operator, Lane::all_run).await?;
        operator.kill().await?;
        lane.scale_to_nothing().await?;
        die_at(
            &mut lane,
            &traps(&recorded.terminate, when),
            Lane::nothing_left,
        )
        .await?;
        let mut operator = lane.operator(SWEEPING)?;
        lane.clear(&mut operator).await?;
    }
    report("terminate", lane.kills, begun);
    lane.cloud.stop().await;
    Ok(())
}
