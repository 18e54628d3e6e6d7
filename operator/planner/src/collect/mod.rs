//! What is ours without anybody wanting it, and what is wanted without being there?
//!
//! Deleting here is the most dangerous thing we do, so both judgements need a complete list, a proof, patience and two passes.

pub mod ghosts;
pub mod orphans;

use crate::identity::InstanceId;
use std::sync::Arc;

/// How far one pass may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caution {
    /// At most this many are removed in one pass.
    pub most: usize,
    /// Nothing is removed; the pass only tells.
    pub report_only: bool,
}

/// Why something suspicious is left alone for now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Spared {
    /// Younger than the longest create, or of unknown age.
    TooYoung,
    /// The API server has not been asked in this pass, or did not answer.
    NotProven,
    /// Seen for the first time.
    FirstSeen,
    /// Its node is alive, whatever the list says.
    NodeAlive,
    /// The pass has removed enough.
    Capped,
    ReportOnly,
}

/// What the instances of a cloud look like: all of them, or not worth judging by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listing<T> {
    Complete(Vec<T>),
    /// An error or a part: nobody is judged.
    Incomplete,
}

impl Spared {
    pub fn code(self) -> &'static str {
        match self {
            Self::TooYoung => "TooYoung",
            Self::NotProven => "NotProven",
            Self::FirstSeen => "FirstSeen",
            Self::NodeAlive => "NodeAlive",
            Self::Capped => "Capped",
            Self::ReportOnly => "ReportOnly",
        }
    }
}

/// The answer of one pass over things named `T`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sweep<T> {
    /// To be removed, sorted.
    pub remove: Vec<T>,
    /// Suspicious but spared, sorted.
    pub spared: Vec<(T, Spared)>,
    /// To be handed to the next pass as `seen_before`, sorted.
    pub seen: Vec<T>,
}

/// Orphans are named by instance, ghosts by claim.
pub type OrphanSweep = Sweep<InstanceId>;
pub type GhostSweep = Sweep<Arc<str>>;

impl<T: Ord + Clone> Sweep<T> {
    /// Nothing judged: what was suspicious before stays on the list.
    fn nothing(seen_before: &[T]) -> Self {
        let mut seen = seen_before.to_vec();
        seen.sort_unstable();
        Self {
            remove: Vec::new(),
            spared: Vec::new(),
            seen,
        }
    }

    /// `judged`: each suspect with the reason that spares it before caution is asked.
    fn of(mut judged: Vec<(T, Option<Spared>)>, seen_before: &[T], caution: Caution) -> Self {
        judged.sort_unstable();
        judged.dedup_by(|a, b| a.0 == b.0);
        let mut sweep = Self {
            remove: Vec::new(),
            spared: Vec::new(),
            seen: Vec::new(),
        };
        for (name, spared) in judged {
            if spared.is_none() {
                sweep.seen.push(name.clone());
            }
            let reason = spared
                .or((!seen_before.contains(&name)).then_some(Spared::FirstSeen))
                .or(caution.report_only.then_some(Spared::ReportOnly))
                .or((sweep.remove.len() >= caution.most).then_some(Spared::Capped));
            match reason {
                Some(reason) => sweep.spared.push((name, reason)),
                None => sweep.remove.push(name),
            }
        }
        sweep
    }
}
