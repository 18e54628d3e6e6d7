//! Do the three fronts show the same cloud, and each fault as the script means it?
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod door;
mod faults;
mod same;
mod virtual_time;
