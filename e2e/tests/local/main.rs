//! Which scenarios hold on a real control plane?
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod access;
mod boot;
mod brakes;
mod cluster;
mod examples;
mod first_node;
mod large_list;
mod lease;
mod leftovers;
mod migrate;
mod outage;
mod rules;
mod validation;
mod versions;
mod volumes;
mod written;
