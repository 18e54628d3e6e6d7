//! Which scenarios hold on the embedded Kubernetes?
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod binding;
mod conformance;
mod first_node;
mod kubectl;
