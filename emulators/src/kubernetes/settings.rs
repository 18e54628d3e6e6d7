//! Which speeds and switches does the emulated cluster have?

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// How many changes of its kind a stale read has not seen.
    pub stale_changes: usize,
    /// From a change until controllers, scheduler and kubelets see it.
    pub reaction_ms: u32,
    /// How many changes of one kind are kept for watches.
    pub log_length: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            stale_changes: 3,
            reaction_ms: 5,
            log_length: 10_000,
        }
    }
}
