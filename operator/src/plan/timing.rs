//! How long did it take, and how much memory?

use std::time::Instant;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Figures of one run of the program; they differ from run to run, so they are only there when asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Timing {
    /// Reading and lowering everything.
    pub read_ms: f64,
    /// Each solve, from the same snapshot.
    pub solve_ms: Vec<f64>,
    /// The most memory the process ever held.
    #[serde(rename = "peakRssKiB")]
    pub peak_rss_kib: u64,
    /// Steps of the last solve: the same on every machine.
    pub steps: u64,
}

pub(super) fn ms(since: Instant) -> f64 {
    let micros = since.elapsed().as_micros();
    f64::from(u32::try_from(micros).unwrap_or(u32::MAX)) / 1000.0
}

/// 0 where the system does not tell.
pub(super) fn peak_rss_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse().ok())
        .unwrap_or(0)
}
