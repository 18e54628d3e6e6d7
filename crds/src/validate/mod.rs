//! What can CEL not say about an object, and how would its author fix it?

pub mod cron;
pub mod labels;
pub mod node_pool;
mod requirements;
mod review;

pub use review::review;

/// One thing wrong with one field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Path as `kubectl explain` writes it, with list indexes: `spec.disruption.budgets[0].schedule`.
    pub field: String,
    /// What is wrong, with the offending value.
    pub problem: String,
    /// What to write instead.
    pub fix: String,
}

impl Finding {
    pub fn new(field: &str, problem: String, fix: &str) -> Self {
        Self {
            field: field.to_owned(),
            problem,
            fix: fix.to_owned(),
        }
    }
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}; {}", self.field, self.problem, self.fix)
    }
}

/// The answer to one admission question.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    pub refusals: Vec<Finding>,
    pub warnings: Vec<String>,
}
