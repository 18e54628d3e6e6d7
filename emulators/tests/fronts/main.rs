//! Do the three fronts show the same cloud, and each fault as the script means it?
// bodies are written in place with json!, references to them would only be noise
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::needless_pass_by_value
)]

mod door;
mod faults;
mod same;
mod virtual_time;
