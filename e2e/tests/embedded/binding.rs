//! Does the embedded scheduler agree with the planner, and so with kube-scheduler, which the same cases are given to?

use std::time::Instant;

use anyhow::Result;
use e2e::binding::{Disks, play};

#[tokio::test(start_paused = true)]
async fn every_planned_pod_binds_and_every_refused_one_stays_pending() -> Result<()> {
    let began = Instant::now();
    let (client, time) = crate::in_process()?;
    let seeds: Vec<u64> = (1..=60).collect();
    let sum = play(&client, &seeds, Disks::Cluster).await?;
    println!("{sum}, in {:?}", began.elapsed());
    time.abort();
    sum.agrees()
}
