//! Which nodes may be removed, and which stay, and why?

pub mod budgets;
pub mod empty;
