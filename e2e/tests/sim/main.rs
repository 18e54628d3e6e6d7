//! Which scenarios hold on virtual time, with the whole operator in this process?
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod crash;
mod first_node;
mod seeds;
