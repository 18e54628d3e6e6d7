//! Which scenarios hold on a real control plane?
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod cluster;
mod leftovers;
