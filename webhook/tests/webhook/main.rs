//! Does the webhook keep its promises, in this process and as a process of its own?
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod binary;
mod kit;
mod mangled;
mod misbehaving;
mod serving;
