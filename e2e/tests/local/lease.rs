//! Does the leader stop acting when a real API server is gone, and does another take over when it is back?

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use e2e::{Cluster, Options};
use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig};
use runtime::lease::{self, Candidate, Ended, KubeLease, Leadership, Run, Timings};
use runtime::{Clock, Dice};
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

const DURATION: Duration = Duration::from_secs(9);
const RENEW_DEADLINE: Duration = Duration::from_secs(6);

#[tokio::test]
async fn the_holder_stops_before_its_lease_ends_when_the_api_server_is_stopped() -> Result<()> {
    let Some(control_plane) = e2e::need_control_plane("local: the lease without an API server")
    else {
        return Ok(());
    };
    let cluster = control_plane.private(Options::unnamed()).await?;
    let (mut first, run) = candidate(&cluster, "first").await?;
    let first_run = tokio::spawn(run.run());
    let held = first
        .acquired()
        .await
        .context("the only candidate gets the lease")?;
    ensure!(first.may_act());

    let local = Arc::clone(cluster.local());
    spawn_blocking(move || local.stop_api_server()).await??;
    let cut = Instant::now();
    let ended = first_run.await?;
    let acted_for = cut.elapsed();
    println!("cut off, the holder stopped acting after {acted_for:?} of a lease of {DURATION:?}");
    ensure!(matches!(ended, Ended::Lost { .. }), "{ended:?}");
    ensure!(!first.may_act(), "lost, and still acting");
    // The last renewal was before the cut, so a lease that ends in time ends before `DURATION` from here.
    ensure!(
        acted_for < DURATION,
        "acted on for {acted_for:?}, longer than the lease"
    );

    let local = Arc::clone(cluster.local());
    spawn_blocking(move || local.start_api_server()).await??;
    let (mut second, run) = candidate(&cluster, "second").await?;
    let second_run = tokio::spawn(run.run());
    let taken = second
        .acquired()
        .await
        .context("the second candidate takes over")?;
    ensure!(
        taken.epoch > held.epoch,
        "epoch {} after {}",
        taken.epoch,
        held.epoch
    );
    second_run.abort();
    Ok(())
}

async fn candidate(cluster: &Cluster, name: &str) -> Result<(Leadership, Run<KubeLease>)> {
    let text = std::fs::read_to_string(cluster.kubeconfig())?;
    let config = Config::from_custom_kubeconfig(
        Kubeconfig::from_yaml(&text)?,
        &KubeConfigOptions::default(),
    )
    .await?;
    let api = KubeLease::new(lease::client(config)?, "default", lease::NAME);
    let timings = Timings::new(DURATION, RENEW_DEADLINE, Duration::from_secs(1))?;
    let me = Candidate::named(name).with_timings(timings);
    Ok(lease::contest(
        api,
        me,
        Clock::real(),
        Dice::seeded(1),
        CancellationToken::new(),
    ))
}
