//! What is left when the operator dies in the middle of things, on a real control plane?
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod account;
mod calls;
mod cloud;
mod lane;
mod look_first;
mod matrix;
mod mutant;
mod mutants;
mod stopped;
mod twin;
