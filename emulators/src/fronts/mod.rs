//! Through which doors is an emulated cloud reached: a function call, wiremock, a tower service, or sockets of its own?

pub mod admin;
pub mod axum;
mod cut;
pub mod engine;
pub mod https;
pub mod inprocess;
pub mod kubernetes;
pub mod wiremock;
