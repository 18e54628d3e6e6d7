//! Which calls does the operator make, in which order, and at which of them shall it die?

use std::collections::BTreeSet;

use emulators::faults::{Act, Fault, When};
use emulators::journal::Call;

/// A call without the ids in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Kind {
    pub(crate) method: String,
    /// With `*` where an id was, as a fault names it.
    pub(crate) path: String,
}

/// A place to die at: the nth call of a kind, before or after its effect.
#[derive(Clone, Debug)]
pub(crate) struct Trap {
    pub(crate) kind: Kind,
    pub(crate) nth: u64,
    pub(crate) when: When,
}

impl Kind {
    pub(crate) fn of(call: &Call) -> Self {
        let path = call.path.split('?').next().unwrap_or_default();
        let segments = path
            .split('/')
            .map(|segment| if is_id(segment) { "*" } else { segment });
        Self {
            method: call.method.clone(),
            path: segments.collect::<Vec<_>>().join("/"),
        }
    }

    fn changes(&self) -> bool {
        self.method != "GET"
    }
}

impl Trap {
    pub(crate) fn fault(&self) -> Fault {
        let Kind { method, path } = &self.kind;
        Fault {
            when: self.when,
            ..Fault::on(method, path, Act::Hold { late: false }).nth(self.nth)
        }
    }

    /// Later repetitions of a question depend on the time things take; everything else must come.
    pub(crate) fn must_come(&self) -> bool {
        self.nth == 1
    }
}

impl std::fmt::Display for Trap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Kind { method, path } = &self.kind;
        let when = match self.when {
            When::Before => "before",
            When::After => "after",
        };
        write!(f, "{when} {method} {path} no. {}", self.nth)
    }
}

/// One trap per call that was made, in the order of the run; of one that was repeated, the first two.
pub(crate) fn traps(made: &[Kind], when: When) -> Vec<Trap> {
    let mut traps: Vec<Trap> = Vec::new();
    for kind in made {
        let seen = traps.iter().filter(|trap| trap.kind == *kind).count();
        if seen < 2 {
            traps.push(Trap {
                kind: kind.clone(),
                nth: seen as u64 + 1,
                when,
            });
        }
    }
    traps
}

/// Each call once, as it first came; of those without effect only `before`, because there is no after.
pub(crate) fn opening_traps(made: &[Kind]) -> Vec<Trap> {
    let mut seen = BTreeSet::new();
    let first = made.iter().filter(|kind| seen.insert((*kind).clone()));
    let both = first.flat_map(|kind| {
        let after = kind.changes().then_some(When::After);
        let whens = std::iter::once(When::Before).chain(after);
        whens.map(|when| Trap {
            kind: kind.clone(),
            nth: 1,
            when,
        })
    });
    both.collect()
}

fn is_id(segment: &str) -> bool {
    segment.len() >= 32
        && segment
            .bytes()
            .all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}
