//! What is user data allowed to be?

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether user data is a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Template {
    /// Handed over as it is.
    None,
    /// Rendered with the values of the claim and its class.
    Minijinja,
}

/// What reads the user data on the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum UserDataFormat {
    CloudConfig,
    Ignition,
    Script,
    Talos,
}
