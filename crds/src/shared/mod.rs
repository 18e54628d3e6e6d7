//! Which shapes do several kinds share?

// `KubeSchema` copies each struct, `pub` included, into a function body.
#![allow(unreachable_pub)]

pub mod bootstrap;
pub mod cel;
pub mod class_check;
pub mod class_rules;
pub mod class_status;
pub mod conditions;
pub mod duration;
pub mod kubelet;
pub mod pricing;
pub mod quantity;
pub mod reference;
pub mod requirement;
pub mod selector;
pub mod taint;
pub mod user_data;
