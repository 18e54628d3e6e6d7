//! Which HTTPS answers does the API server get for conversion and validation?
//!
//! Stateless: no Kubernetes client, no cloud, no leader. What is converted and refused is decided in `crds`; here is only
//! what it takes to be asked over a network by somebody who may be slow, wrong or hostile.

mod answer;
pub mod args;
mod body;
mod counts;
mod failure;
mod room;
mod routes;
mod serve;

pub use answer::{Answer, Outcome, Reviewer, Reviewers, Route, answer};
pub use counts::Counts;
pub use room::{Bounds, Room};
pub use routes::{App, router};
pub use serve::{CannotStart, Drain, Settings, Webhook};
