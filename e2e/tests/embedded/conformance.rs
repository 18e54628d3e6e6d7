//! Does the embedded API do what every Kubernetes API must, in process and over sockets?

use std::time::Instant;

use anyhow::Result;
use emulators::fronts::engine::{Clock, Engine};
use emulators::fronts::https;
use emulators::kubernetes::Kubernetes;

#[tokio::test(start_paused = true)]
async fn the_conformance_suite_holds_in_process_on_virtual_time() -> Result<()> {
    let started = Instant::now();
    let (client, time) = crate::in_process()?;
    let count = e2e::conformance::all(&client).await?;
    println!("{count} behaviours in {:?}", started.elapsed());
    time.abort();
    Ok(())
}

#[tokio::test]
async fn the_conformance_suite_holds_over_https() -> Result<()> {
    let engine = Engine::new(
        Kubernetes::new(1, jiff::Timestamp::now()),
        Clock::Wall,
        Box::new(|_| {}),
    );
    let served = https::serve("127.0.0.1:0".parse()?, engine).await?;
    let client = e2e::conformance::client(&served.kubeconfig()).await?;
    let count = e2e::conformance::all(&client).await?;
    println!("{count} behaviours");
    Ok(())
}
