//! Which scenarios hold on the embedded Kubernetes?
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod binding;
mod conformance;
mod first_node;
mod kubectl;

use std::sync::Arc;

use anyhow::Result;
use emulators::fronts::engine::{Clock, Engine};
use emulators::fronts::kubernetes::ApiService;
use emulators::kubernetes::Kubernetes;
use emulators::kubernetes::users::User;
use kube::Client;
use tokio::task::JoinHandle;

/// A cluster inside this test on its virtual time, and the task that keeps that time.
fn in_process() -> Result<(Client, JoinHandle<()>)> {
    let start = "2026-01-01T00:00:00Z".parse()?;
    let engine = Engine::new(
        Kubernetes::new(1, start),
        Clock::tokio(start),
        Box::new(|_| {}),
    );
    let time = tokio::spawn(Arc::clone(&engine).keep_time());
    let client = Client::new(ApiService::new(engine, User::admin()), "default");
    Ok((client, time))
}
