//! What do the tests of conversion share with the round-trip example?
#![allow(dead_code, reason = "every test binary uses a part of it")]
#![allow(clippy::unwrap_used, clippy::expect_used)]

pub mod dice;
pub mod kinds;
pub mod laws;
pub mod random;
