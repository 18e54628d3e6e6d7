//! What did each phase of a start take?

use std::time::{Duration, Instant};

pub(super) struct Phases {
    last: Instant,
    list: Vec<(String, Duration)>,
    print: bool,
}

impl Phases {
    pub(super) fn begin(print: bool) -> Self {
        Self {
            last: Instant::now(),
            list: Vec::new(),
            print,
        }
    }

    /// A phase ended now.
    pub(super) fn mark(&mut self, name: &str) {
        let took = self.last.elapsed();
        self.last = Instant::now();
        if self.print {
            eprintln!("  {name:<44} {:>6.2} s", took.as_secs_f64());
        }
        self.list.push((name.to_owned(), took));
    }

    pub(super) fn list(&self) -> &[(String, Duration)] {
        &self.list
    }
}
