//! What can a contributor ask of this repository with one command?

pub mod cluster;
pub mod progress;
pub mod tools;
