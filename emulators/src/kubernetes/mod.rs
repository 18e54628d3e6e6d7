//! How does a Kubernetes API server behave, as a deterministic state machine?
//!
//! [`kinds`] what is served · [`store`] what there is and what changed · [`rules`] what every write obeys ·
//! [`world`] who acts by itself, and when.

pub mod cast;
pub mod controllers;
pub mod defaults;
pub mod kinds;
pub mod kubelet;
pub mod label_rules;
pub mod names;
pub mod node_affinity;
pub mod object;
pub mod pace;
pub mod reading;
pub mod rules;
pub mod scheduler;
#[cfg(test)]
mod stage;
pub mod status;
pub mod store;
pub mod taints;
pub mod world;
