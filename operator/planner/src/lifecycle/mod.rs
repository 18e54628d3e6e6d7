//! What is the next step in the life of one claim?
//!
//! Each file is one phase: a state goes in, the next step comes out. None of them acts.

pub mod consolidatable;
pub mod initialize;
pub mod launch;
pub mod ledger;
pub mod liveness;
pub mod register;
pub mod terminate;
