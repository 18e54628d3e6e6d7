//! Which shapes do several kinds share?

// `KubeSchema` copies each struct, `pub` included, into a function body.
#![allow(unreachable_pub)]

pub mod cel;
pub mod conditions;
pub mod duration;
pub mod quantity;
pub mod requirement;
