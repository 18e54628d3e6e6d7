//! Can this test run here, and if not, who gets to know?

use std::fs::OpenOptions;
use std::io::Write;
use std::sync::OnceLock;

use xtask::tools;

use crate::cluster::ControlPlane;

/// The control plane's programs, built if need be. Without a Go toolchain: `None`, and `<test>: no Go toolchain` is
/// printed and appended to the file named by `JOINER_SKIPS`, from which `cargo xtask test` makes its last lines.
///
/// # Panics
/// When there is a toolchain but the build fails: that is a failure, not a skip.
pub fn need_control_plane(test: &str) -> Option<ControlPlane> {
    static TOOLS: OnceLock<Result<(), tools::Error>> = OnceLock::new();
    match TOOLS.get_or_init(|| tools::control_plane().map(drop)) {
        Ok(()) => Some(ControlPlane::ready()),
        Err(tools::Error::NoGo(_)) => {
            skip(test, "no Go toolchain");
            None
        }
        Err(error) => panic!("{test}: the control plane's programs could not be built: {error:#}"),
    }
}

/// Names a test that could not run.
pub fn skip(test: &str, why: &str) {
    let line = format!("{test}: {why}");
    println!("skipped: {line}");
    if let Some(file) = std::env::var_os("JOINER_SKIPS") {
        // One write per line: several test binaries append to the same file.
        let written = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&file)
            .and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
        if let Err(error) = written {
            panic!("cannot write JOINER_SKIPS {}: {error}", file.display());
        }
    }
}
