//! How does a test make an emulated cloud beside it misbehave, and look at what happened there?

use anyhow::{Context, Result};
use serde_json::Value;

use crate::Emulator;

/// Replaces the fault script of the cloud; an empty list heals it.
pub async fn faults(emulator: &Emulator, faults: &Value) -> Result<()> {
    put(emulator, "faults", faults).await
}

/// Changes speeds and switches of the cloud.
pub async fn settings(emulator: &Emulator, change: &Value) -> Result<()> {
    put(emulator, "settings", change).await
}

/// The names of all servers the cloud has now.
pub async fn servers(emulator: &Emulator) -> Result<Vec<String>> {
    let state = emulator.admin("state").await?;
    let servers = state["servers"].as_object().context("servers")?;
    let name = |server: &Value| server["name"].as_str().map(str::to_owned);
    Ok(servers.values().filter_map(name).collect())
}

async fn put(emulator: &Emulator, what: &str, body: &Value) -> Result<()> {
    let url = emulator
        .env()
        .find_map(|(name, value)| (name == "EMULATED_ADMIN_URL").then_some(value))
        .context("openstack.env does not say EMULATED_ADMIN_URL")?;
    let client = reqwest::Client::new();
    let sent = client
        .put(format!("{url}/{what}"))
        .body(body.to_string())
        .send();
    let answer = sent.await?;
    let good = answer.status().is_success();
    let said = answer.text().await?;
    anyhow::ensure!(good, "PUT {what}: {said}");
    Ok(())
}
