//! Which scenarios hold on a real control plane?
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod boot;
mod brakes;
mod cluster;
mod first_node;
mod large_list;
mod lease;
mod leftovers;
mod outage;
mod rules;
mod validation;
mod versions;
mod volumes;
mod written;
