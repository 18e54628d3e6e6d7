//! How fast is this cloud, and which of its known oddities are switched on?

use serde::{Deserialize, Serialize};

#[allow(clippy::struct_excessive_bools)] // each is a switch of its own; no two exclude each other
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// How long a token lives.
    pub token_seconds: u64,
    /// From the create call to a host.
    pub schedule_ms: u64,
    /// From the create call to `ACTIVE`.
    pub build_ms: u64,
    /// From the delete call to `DELETED`.
    pub delete_ms: u64,
    /// How long a deleted server still answers by id.
    pub deleted_ms: u64,
    pub reboot_ms: u64,
    /// Above 0: deleted servers are kept, `SOFT_DELETED`, for so long.
    pub soft_delete_seconds: u64,
    /// Nova's newest microversion is 2.this.
    pub max_microversion: u32,
    /// No page is longer, whatever the caller asks for.
    pub page_limit: usize,
    /// A new server is missing from lists for so long.
    pub list_lag_ms: u64,
    /// Filtered lists are empty, unfiltered ones show `UNKNOWN` (from 2.69) or nothing.
    pub cell_down: bool,
    /// `tags=` and its sisters return everything.
    pub ignore_tag_filters: bool,
    /// Policy hides extra specs from members.
    pub hide_extra_specs: bool,
    /// Neutron takes tags in the create body.
    pub tag_creation: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            token_seconds: 3600,
            schedule_ms: 100,
            build_ms: 2000,
            delete_ms: 500,
            deleted_ms: 200,
            reboot_ms: 2000,
            soft_delete_seconds: 0,
            max_microversion: 93,
            page_limit: 1000,
            list_lag_ms: 0,
            cell_down: false,
            ignore_tag_filters: false,
            hide_extra_specs: false,
            tag_creation: false,
        }
    }
}
