//! Which scenarios hold on a real control plane?
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod bad_input;
mod boot;
mod canary;
mod cluster;
mod first_node;
mod large_list;
mod lease;
mod leftovers;
mod neighbours;
mod orphans;
mod outage;
mod pdb;
mod rotation;
mod rules;
mod validation;
mod versions;
mod written;
