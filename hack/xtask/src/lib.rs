//! What can a contributor ask of this repository with one command?

pub mod bench;
pub mod cluster;
pub mod demo;
pub mod generated;
pub mod progress;
pub mod sim;
pub mod test;
pub mod tidy;
pub mod tools;

use std::path::{Path, PathBuf};

/// The root of the checkout this binary was built from.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .components()
        .collect::<PathBuf>()
}
