//! Is a second instance found that a late create made of a claim which lives on with the first?

use std::time::Duration;

use anyhow::{Result, ensure};
use e2e::wait;
use emulators::faults::{Act, Fault};
use tokio::time::sleep;

use crate::lane::{CREATE, Lane, SOON};

/// The operator dies, its create is still on the way; the next operator looks, finds nothing and creates. No look can prevent
/// that: only afterwards can be seen which of the two is the claim's.
#[tokio::test(flavor = "multi_thread")]
async fn a_create_that_takes_effect_after_the_look_leaves_a_twin_that_goes_and_only_that()
-> Result<()> {
    let Some(control_plane) = e2e::need_control_plane("crash: a late create makes a twin") else {
        return Ok(());
    };
    let lane = Lane::start(&control_plane).await?;
    lane.cloud
        .script([Fault::on("POST", CREATE, Act::Hold { late: true }).nth(1)]);
    lane.scale(3).await?;
    let mut operator = lane.operator(&[])?;
    wait::succeeds("the create to be on its way", SOON, async || {
        ensure!(lane.cloud.holds(), "{}", operator.log());
        Ok(())
    })
    .await?;
    operator.kill().await?;

    let mut operator = lane.operator(&["--sweep-interval=500ms", "--sweep-longest-create=3s"])?;
    lane.until("pods to run", &operator, Lane::all_run).await?;
    let own = lane.servers();
    ensure!(own.len() == 1, "{own:?}");
    lane.cloud.engine.release(None);
    let both = lane.servers();
    ensure!(both.len() == 2, "the late create took effect: {both:?}");

    let outcome = wait::succeeds("the twin to go", SOON, async || {
        ensure!(lane.servers() == own, "{:?}", lane.servers());
        Ok(())
    });
    outcome
        .await
        .map_err(|error| error.context(operator.log()))?;
    // Whoever removes one too many does so in one of the next sweeps.
    sleep(Duration::from_secs(5)).await;
    ensure!(
        lane.servers() == own,
        "the claim's own server went: {:?}",
        lane.servers()
    );
    lane.all_run().await?;
    lane.untouched()?;
    lane.scale_to_nothing().await?;
    wait::succeeds("nothing to be left", SOON, async || {
        lane.nothing_left().await
    })
    .await?;
    operator.terminate(Duration::from_secs(30)).await?;
    lane.cloud.stop().await;
    Ok(())
}
