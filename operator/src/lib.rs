//! How do eyes and hands (watches, writes, cloud calls) surround the planner?

pub mod access;
pub mod args;
pub mod bootstrap;
pub mod brakes;
pub mod conditions;
pub mod controllers;
pub mod events;
pub mod explain;
pub mod hub;
pub mod ingest;
pub mod ledger;
pub mod metrics;
pub mod mirror;
pub mod plan;
pub mod providers;
pub mod reference;
pub mod reread;
pub mod run;
pub mod secrets;
pub mod snapshot;
mod think;
pub mod wake;
pub mod wire;
pub mod write;

pub use hub::Settings;
pub use providers::{CannotOpen, ClassSecrets, Open};
pub use run::{World, run};
