//! Through which doors is an emulated cloud reached: a function call, wiremock, or sockets of its own?

pub mod admin;
pub mod axum;
mod cut;
pub mod engine;
pub mod inprocess;
pub mod wiremock;
