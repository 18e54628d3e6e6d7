//! Are the traps of a real OpenStack in the emulated one too? Each of these was seen to hurt somebody.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod cloud;
mod life;
mod lists;
