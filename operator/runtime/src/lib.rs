//! How does any of our processes live: lead, serve, report, stop?

pub mod admin;
pub mod clock;
pub mod dice;
pub mod lease;
pub mod metrics;
pub mod readiness;
pub mod serve;
pub mod shutdown;
pub mod telemetry;
pub mod tls;

pub use clock::{Clock, Moment};
pub use dice::Dice;
