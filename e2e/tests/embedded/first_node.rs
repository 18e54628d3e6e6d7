//! Does the first-node scenario hold on the embedded Kubernetes, with everything as processes over HTTPS?

use std::time::Duration;

use anyhow::Result;
use e2e::demo::stage::install;
use e2e::first_node::{Stage, conclude, there_and_back};
use e2e::{Binary, Emulator};

#[tokio::test]
async fn twenty_pending_pods_run_on_machines_that_go_when_the_pods_do() -> Result<()> {
    let emulator = Emulator::with_kubernetes().await?;
    let kubeconfig = emulator.kubeconfig();
    let client = e2e::cluster::client(&std::fs::read_to_string(&kubeconfig)?).await?;
    install(&client).await?;
    let mut operator = Binary::named("joiner")?
        .arg("run")
        .arg("--kubeconfig")
        .arg(&kubeconfig)
        .arg("--namespace=joiner")
        .arg("--cluster-name=embedded")
        .arg("--metrics-port=0")
        .arg("--health-probe-port=0")
        .arg("--admin-address=127.0.0.1");
    for (name, value) in emulator.env() {
        operator = operator.env(name, value);
    }
    let operator = operator.start()?;
    let stage = Stage {
        client,
        cloud: &emulator,
        patience: Duration::from_mins(3),
    };
    let outcome = there_and_back(&stage).await;
    conclude(outcome, operator, emulator).await
}
