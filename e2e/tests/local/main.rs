//! Which scenarios hold on a real control plane?
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod access;
mod bad_input;
mod binding;
mod boot;
mod brakes;
mod canary;
mod cluster;
mod conformance;
mod examples;
mod first_node;
mod large_list;
mod lease;
mod leftovers;
mod migrate;
mod neighbours;
mod orphans;
mod outage;
mod pdb;
mod rotation;
mod rules;
mod topology;
mod validation;
mod versions;
mod volumes;
mod written;
