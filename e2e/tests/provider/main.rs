//! Does a provider tell the truth about its cloud, whatever the cloud does to its calls?
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod canary;
mod faults;
mod fronts;
mod lookalikes;
mod matrix;
mod plain;
mod stage;
mod twins;
mod unknown;
