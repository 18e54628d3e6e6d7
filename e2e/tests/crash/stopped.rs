//! Does an operator that was stopped past its lease, in the middle of a create, act when it goes on?

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use e2e::{Running, wait};
use emulators::faults::{Act, Fault, When};
use xtask::cluster::Pid;

use crate::lane::{CREATE, Lane, SOON};

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_stopped_past_its_lease_in_mid_create_and_its_successor_make_one_server()
-> Result<()> {
    let Some(control_plane) = e2e::need_control_plane("crash: two operators, one stopped") else {
        return Ok(());
    };
    let lane = Lane::start(&control_plane).await?;
    for when in [When::Before, When::After] {
        one_server(&lane, when)
            .await
            .with_context(|| format!("held {when:?} its effect"))?;
    }
    lane.cloud.stop().await;
    Ok(())
}

async fn one_server(lane: &Lane, when: When) -> Result<()> {
    let hold = Fault::on("POST", CREATE, Act::Hold { late: false }).nth(1);
    lane.cloud.script([Fault { when, ..hold }]);
    lane.scale(3).await?;
    let mut first = lane.operator(&[])?;
    wait::succeeds("the create to be held", SOON, async || {
        ensure!(lane.cloud.holds(), "{}", first.log());
        Ok(())
    })
    .await?;
    signal(&first, "STOP")?;
    let mut second = lane.operator(&[])?;
    lane.until("pods to run", &second, Lane::all_run).await?;
    ensure!(lane.servers().len() == 1);

    signal(&first, "CONT")?;
    let status = first.ended(Duration::from_secs(30)).await?;
    ensure!(
        !status.success(),
        "who lost the lease ends with an error: {status}"
    );
    lane.cloud.engine.release(None);
    lane.cloud.let_go().await?;
    ensure!(lane.servers().len() == 1, "{:?}", lane.servers());
    lane.one_server_each()?;
    lane.scale_to_nothing().await?;
    lane.until("nothing to be left", &second, Lane::nothing_left)
        .await?;
    second.terminate(Duration::from_secs(30)).await?;
    lane.untouched()
}

fn signal(operator: &Running, signal: &str) -> Result<()> {
    let pid = Pid::of(operator.pid()).context("it runs")?;
    pid.signal(signal);
    Ok(())
}
