//! May traffic come, and if not, which part of the process is not there yet?
//!
//! Every part that must be there first has a named gate. A gate starts closed with the reason it was made with; the
//! process is ready when all are open. A process without gates is ready.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use serde::Serialize;

#[derive(Debug, Clone, Default)]
pub struct Readiness {
    gates: Arc<RwLock<BTreeMap<&'static str, Option<String>>>>,
}

/// One part's own switch.
#[derive(Debug, Clone)]
pub struct Gate {
    name: &'static str,
    readiness: Readiness,
}

/// What `/readyz` prints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    pub ready: bool,
    pub gates: Vec<GateReport>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GateReport {
    pub name: &'static str,
    pub ready: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl Readiness {
    /// Adds a closed gate.
    pub fn gate(&self, name: &'static str, why_closed: &str) -> Gate {
        let gate = Gate {
            name,
            readiness: self.clone(),
        };
        gate.close(why_closed);
        gate
    }

    /// Gates in order of name, so that two reports can be compared.
    pub fn report(&self) -> Report {
        let gates = self.gates.read().unwrap_or_else(PoisonError::into_inner);
        let gates: Vec<_> = gates
            .iter()
            .map(|(name, why)| GateReport {
                name,
                ready: why.is_none(),
                why: why.clone(),
            })
            .collect();
        Report {
            ready: gates.iter().all(|gate| gate.ready),
            gates,
        }
    }

    fn set(&self, name: &'static str, why: Option<String>) {
        self.gates
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(name, why);
    }
}

impl Gate {
    pub fn open(&self) {
        self.readiness.set(self.name, None);
    }

    pub fn close(&self, why: &str) {
        self.readiness.set(self.name, Some(why.to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_closed_gate_keeps_the_process_unready_and_says_why() {
        let readiness = Readiness::default();
        let certificate = readiness.gate("certificate", "not loaded yet");
        let mirror = readiness.gate("mirror", "no list of nodes yet");
        certificate.open();
        let report = readiness.report();
        assert!(!report.ready);
        assert_eq!(
            report.gates[0],
            GateReport {
                name: "certificate",
                ready: true,
                why: None
            }
        );
        assert_eq!(report.gates[1].why.as_deref(), Some("no list of nodes yet"));
        mirror.open();
        assert!(readiness.report().ready);
        mirror.close("watch broke");
        assert!(!readiness.report().ready);
    }
}
