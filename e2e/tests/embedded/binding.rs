//! Does the embedded scheduler agree with the planner, and so with kube-scheduler, which the same cases are given to?

use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;
use e2e::binding::{Disks, play};
use emulators::fronts::engine::{Clock, Engine};
use emulators::fronts::kubernetes::ApiService;
use emulators::kubernetes::Kubernetes;
use emulators::kubernetes::users::User;
use kube::Client;

#[tokio::test(start_paused = true)]
async fn every_planned_pod_binds_and_every_refused_one_stays_pending() -> Result<()> {
    let began = Instant::now();
    let start = "2026-01-01T00:00:00Z".parse()?;
    let engine = Engine::new(
        Kubernetes::new(1, start),
        Clock::tokio(start),
        Box::new(|_| {}),
    );
    let time = tokio::spawn(Arc::clone(&engine).keep_time());
    let client = Client::new(ApiService::new(engine, User::admin()), "default");
    let seeds: Vec<u64> = (1..=60).collect();
    let sum = play(&client, &seeds, Disks::Cluster).await?;
    println!("{sum}, in {:?}", began.elapsed());
    time.abort();
    sum.agrees()
}
