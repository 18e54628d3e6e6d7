//! What changed, and who asked for what, in which order?

use std::collections::VecDeque;

use jiff::Timestamp;
use serde::Serialize;

/// Older entries fall out, so that a long run does not grow without end.
const KEEP: usize = 100_000;

#[derive(Debug, Default)]
pub struct Journal {
    changes: VecDeque<Change>,
    calls: VecDeque<Call>,
    next: u64,
}

/// One change of an object.
#[derive(Debug, Clone, Serialize)]
pub struct Change {
    pub seq: u64,
    pub at: Timestamp,
    pub kind: &'static str,
    pub id: String,
    pub name: String,
    pub change: String,
}

/// One request and how it ended. No headers and no bodies: they hold secrets.
#[derive(Debug, Clone, Serialize)]
pub struct Call {
    pub seq: u64,
    pub at: Timestamp,
    pub method: String,
    pub path: String,
    /// A status, or what a fault made of the call.
    pub outcome: String,
}

impl Journal {
    pub fn change(&mut self, at: Timestamp, object: (&'static str, &str, &str), change: String) {
        let (kind, id, name) = object;
        let seq = self.number();
        push(
            &mut self.changes,
            Change {
                seq,
                at,
                kind,
                id: id.to_owned(),
                name: name.to_owned(),
                change,
            },
        );
    }

    pub fn call(&mut self, at: Timestamp, method: &str, path: &str, outcome: String) {
        let seq = self.number();
        push(
            &mut self.calls,
            Call {
                seq,
                at,
                method: method.to_owned(),
                path: path.to_owned(),
                outcome,
            },
        );
    }

    pub fn changes(&self) -> impl Iterator<Item = &Change> {
        self.changes.iter()
    }

    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        self.calls.iter()
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
}

fn push<T>(entries: &mut VecDeque<T>, entry: T) {
    if entries.len() == KEEP {
        entries.pop_front();
    }
    entries.push_back(entry);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_entries_fall_out() {
        let mut journal = Journal::default();
        for _ in 0..=KEEP {
            journal.call(Timestamp::UNIX_EPOCH, "GET", "/", "200".into());
        }
        assert_eq!(journal.calls().count(), KEEP);
        assert_eq!(journal.calls().next().unwrap().seq, 2);
    }
}
