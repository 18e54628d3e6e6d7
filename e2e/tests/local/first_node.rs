//! Does the first-node scenario hold on a real control plane, with the operator as a process under its own account?

use std::time::Duration;

use anyhow::Result;
use e2e::Emulator;
use e2e::first_node::{Stage, conclude, there_and_back};
use e2e::ground::Ground;
use e2e::install::Account;

#[tokio::test]
async fn twenty_pending_pods_run_on_machines_that_go_when_the_pods_do() -> Result<()> {
    let Some(control_plane) = e2e::need_control_plane("first node: pending pods run, machines go")
    else {
        return Ok(());
    };
    let ground = Ground::private(&control_plane).await?;
    let tools = xtask::tools::control_plane()?;
    let emulator = Emulator::start(Some(&tools.hollow_kubelet)).await?;
    let account = Account::of_operator(&ground).await?;
    let operator = account.operator(Some(&emulator))?.start()?;
    let stage = Stage {
        client: ground.cluster.client().await?,
        cloud: &emulator,
        patience: Duration::from_mins(3),
    };
    let outcome = there_and_back(&stage).await;
    conclude(outcome, operator, emulator).await
}
