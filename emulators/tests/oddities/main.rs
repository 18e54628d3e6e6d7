//! Are the traps of a real OpenStack in the emulated one too? Each of these was seen to hurt somebody.
// bodies are written in place with json!, references to them would only be noise
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::needless_pass_by_value
)]

mod cloud;
mod life;
mod lists;
