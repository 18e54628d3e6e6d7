//! Which shapes do several kinds share?

pub mod bootstrap;
pub mod class_check;
pub mod class_rules;
pub mod class_status;
pub mod kubelet;
pub mod pieces;
pub mod pricing;
pub mod reference;
pub mod selector;
pub mod taint;
pub mod user_data;
