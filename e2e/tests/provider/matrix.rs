//! Which faults are there to survive, and how did it go?

use std::collections::BTreeMap;

use emulators::faults::{Act, Fault};
use emulators::machine::Machine;

use crate::stage::Stage;

/// One way to spoil calls.
#[derive(Clone, Debug)]
pub(crate) struct Spoil {
    pub(crate) kind: &'static str,
    act: Act,
    pub(crate) after: bool,
    /// Every call of this kind from now on, instead of one.
    pub(crate) lasting: bool,
}

/// How often what came of what.
#[derive(Default)]
pub(crate) struct Table {
    rows: BTreeMap<(&'static str, &'static str), BTreeMap<&'static str, u32>>,
    pub(crate) count: u32,
}

impl Spoil {
    /// Every kind, before and after the effect, once and lasting.
    fn all() -> Vec<Self> {
        let status = |code| Act::Status {
            code,
            retry_after: None,
            body: None,
        };
        let kinds = [
            ("refuse", Act::Refuse),
            ("reset", Act::Reset),
            ("time-out", Act::Silence),
            ("cut short", Act::Truncate { keep: 9 }),
            ("401", status(401)),
            ("409", status(409)),
            ("429", status(429)),
            ("500", status(500)),
            ("slow", Act::Slow { ms: 5_000 }),
            ("too slow", Act::Slow { ms: 200_000 }),
        ];
        let mut all = Vec::new();
        for (kind, act) in kinds {
            // A call that was refused never arrived, and a slow one always has its effect.
            let arrives = !matches!(act, Act::Refuse | Act::Slow { .. });
            let whens: &[bool] = if arrives { &[false, true] } else { &[false] };
            for after in whens {
                all.extend([false, true].map(|lasting| Self {
                    kind,
                    act: act.clone(),
                    after: *after,
                    lasting,
                }));
            }
        }
        all
    }

    /// What can happen to the call at this place. A lasting fault of a call that came before would be the same world again.
    pub(crate) fn all_but_repetitions(calls: &[(String, String)], at: usize) -> Vec<Self> {
        let known = calls[..at].contains(&calls[at]);
        let mut all = Self::all();
        all.retain(|spoil| !(known && spoil.lasting));
        all
    }

    /// The cloud said "no" and did it all the same. No OpenStack does; the answer may repeat the lie, the rest holds.
    pub(crate) fn lies(&self) -> bool {
        self.after && matches!(self.kind, "401" | "409" | "429")
    }

    /// Strikes the `nth` call from now on (from 1), or every call like it.
    pub(crate) fn strike(&self, stage: &Stage, nth: usize, call: &(String, String)) {
        let mut fault = if self.lasting {
            Fault::on(&call.0, &call.1, self.act.clone())
        } else {
            let any = Fault {
                method: None,
                ..Fault::on("", "**", self.act.clone())
            };
            any.nth(nth as u64)
        };
        if self.after {
            fault = fault.after();
        }
        stage
            .cloud
            .engine
            .with(|cloud| cloud.script_mut().add(fault));
    }

    /// What an answer may mean when this happened to one of its calls.
    pub(crate) fn allows(&self, meaning: &str) -> bool {
        match self.kind {
            "slow" => meaning == "ok",
            "401" => matches!(meaning, "ok" | "unauthorized" | "unknown"),
            "409" => matches!(meaning, "ok" | "throttled" | "unauthorized"),
            "429" => matches!(meaning, "ok" | "throttled"),
            _ => matches!(meaning, "ok" | "unknown"),
        }
    }
}

impl Table {
    pub(crate) fn note(&mut self, operation: &'static str, spoil: &Spoil, meaning: &'static str) {
        self.answer(operation, spoil, meaning);
        self.count += 1;
    }

    /// One of several answers of one case.
    pub(crate) fn answer(&mut self, operation: &'static str, spoil: &Spoil, meaning: &'static str) {
        let row = self.rows.entry((operation, spoil.kind)).or_default();
        *row.entry(meaning).or_default() += 1;
    }

    pub(crate) fn print(&self) {
        for ((operation, kind), outcomes) in &self.rows {
            let cells = outcomes
                .iter()
                .map(|(word, count)| format!("{word} {count}"));
            println!(
                "{operation:<10} {kind:<10} {}",
                cells.collect::<Vec<_>>().join(", ")
            );
        }
        println!("{} cases", self.count);
    }
}
