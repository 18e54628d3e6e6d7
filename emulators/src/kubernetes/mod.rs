//! How does a Kubernetes API server behave, as a deterministic state machine?
//!
//! [`kinds`] what is served · [`store`] what there is and what changed · [`rules`] what every write obeys ·
//! [`world`] who acts by itself, and when.

pub mod defaults;
pub mod kinds;
pub mod names;
pub mod object;
pub mod rules;
pub mod status;
pub mod store;
pub mod world;
