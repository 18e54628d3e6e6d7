//! Does kube-scheduler agree with the planner?

use std::time::Instant;

use anyhow::Result;
use e2e::Options;
use e2e::binding::{Disks, play};

#[tokio::test]
async fn every_planned_pod_binds_and_every_refused_one_stays_pending() -> Result<()> {
    let Some(control_plane) = e2e::need_control_plane("binding: plans against kube-scheduler")
    else {
        return Ok(());
    };
    let cluster = control_plane.private(options()).await?;
    let client = cluster.client().await?;
    let began = Instant::now();
    let seeds: Vec<u64> = (1..=300).collect();
    let sum = play(&client, &seeds, Disks::Test).await?;
    println!("{sum}, in {:?}", began.elapsed());
    sum.agrees()
}

/// Nobody looks after nodes and volumes here but the test; the scheduler is as it comes.
fn options() -> Options {
    let mut options = Options::unnamed();
    options.api_server_flags =
        vec!["--disable-admission-plugins=ServiceAccount,TaintNodesByCondition".to_owned()];
    let without = [
        "node-lifecycle-controller",
        "node-ipam-controller",
        "taint-eviction-controller",
        "pod-garbage-collector-controller",
        "persistentvolume-binder-controller",
    ];
    let without = without.map(|name| format!("--controllers=-{name}"));
    options.controller_flags = without.to_vec();
    options
}
