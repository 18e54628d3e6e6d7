//! Which calls break in a storm, and which (phase × fault) pairs must all have been seen?

use std::time::Duration;

use emulators::faults::When;
use runtime::Dice;

use super::phase::Phase;
use super::tap::{Call, Fault, Order, Side, Verdict, Weather, died};

const CLOUD: [Fault; 9] = [
    Fault::Refused,
    Fault::Reset(Order::Before),
    Fault::Reset(Order::After),
    Fault::Error(Order::Before),
    Fault::Error(Order::After),
    Fault::Throttled,
    Fault::Silent(Order::Before),
    Fault::Silent(Order::After),
    Fault::Slow,
];
const KUBERNETES: [Fault; 9] = [
    Fault::Refused,
    Fault::Reset(Order::Before),
    Fault::Reset(Order::After),
    Fault::Error(Order::Before),
    Fault::Error(Order::After),
    Fault::Throttled,
    Fault::Silent(Order::After),
    Fault::Slow,
    Fault::Conflict,
];
/// What can become of a question to Kubernetes.
const QUESTIONS: [Fault; 5] = [
    Fault::Refused,
    Fault::Error(Order::Before),
    Fault::Throttled,
    Fault::Silent(Order::Before),
    Fault::Slow,
];
/// Phases in which the operator speaks with the cloud, and those in which it writes to Kubernetes.
const CLOUD_PHASES: [Phase; 3] = [Phase::Launch, Phase::Terminate, Phase::Sweep];
const WRITE_PHASES: [Phase; 5] = [
    Phase::Launch,
    Phase::Register,
    Phase::Initialize,
    Phase::Drain,
    Phase::Terminate,
];
/// Phases in which a whole API can be away: those that take time.
const LASTING: [Phase; 4] = [Phase::Launch, Phase::Register, Phase::Run, Phase::Terminate];

pub const WATCH_BREAKS: &str = "watches break";
pub const DOWN: &str = "kubernetes down";

/// What one seed aims at.
#[derive(Clone, Copy, Debug)]
pub enum Aim {
    Break(Side, Phase, Fault),
    Die(Phase, When),
    /// Watches break, or the whole API is away, while a claim is in this phase.
    Around(Phase, &'static str),
}

impl Aim {
    pub fn pair(&self) -> (Phase, String) {
        match self {
            Self::Break(side, phase, fault) => (*phase, fault.name(*side)),
            Self::Die(phase, when) => (*phase, died(*when).to_owned()),
            Self::Around(phase, what) => (*phase, (*what).to_owned()),
        }
    }
}

/// Every pair that two hundred seeds must hit.
pub fn aims() -> Vec<Aim> {
    let mut all = Vec::new();
    for fault in CLOUD {
        all.extend(CLOUD_PHASES.map(|phase| Aim::Break(Side::Cloud, phase, fault)));
    }
    for fault in KUBERNETES {
        all.extend(WRITE_PHASES.map(|phase| Aim::Break(Side::Kubernetes, phase, fault)));
    }
    for when in [When::Before, When::After] {
        all.extend(WRITE_PHASES.map(|phase| Aim::Die(phase, when)));
        all.push(Aim::Die(Phase::Sweep, when));
    }
    for what in [WATCH_BREAKS, DOWN] {
        all.extend(LASTING.map(|phase| Aim::Around(phase, what)));
    }
    all
}

/// Calls break by chance, and those that are aimed at more often.
pub struct Storm {
    pub dice: Dice,
    /// Of any call to break.
    pub rate: f64,
    /// Of any call to be the last one.
    pub deadly: f64,
    pub aim: Aim,
    /// How often the aim may still be hit.
    pub shots: u32,
}

impl Weather for Storm {
    fn strikes(&mut self, call: &Call, _at: Duration) -> Verdict {
        let aimed = match self.aim {
            Aim::Break(side, phase, fault) if (side, phase) == (call.side, call.phase) => {
                Some(Verdict::Break(fault))
            }
            Aim::Die(phase, when) if phase == call.phase => Some(Verdict::Die(when)),
            _ => None,
        };
        if let Some(verdict) = aimed
            && self.shots > 0
            && self.dice.chance(0.6)
        {
            self.shots -= 1;
            return verdict;
        }
        if self.dice.chance(self.deadly) {
            let before = self.dice.chance(0.5);
            return Verdict::Die(if before { When::Before } else { When::After });
        }
        if !self.dice.chance(self.rate) {
            return Verdict::Pass;
        }
        let faults = match call.side {
            Side::Cloud => CLOUD,
            Side::Kubernetes => KUBERNETES,
        };
        Verdict::Break(one_of(&mut self.dice, &faults))
    }

    fn disturbs(&mut self, _call: &Call) -> Option<Fault> {
        let strikes = self.dice.chance(self.rate);
        strikes.then(|| one_of(&mut self.dice, &QUESTIONS))
    }
}

fn one_of(dice: &mut Dice, faults: &[Fault]) -> Fault {
    let at = dice.below(faults.len() as u64);
    faults[usize::try_from(at).unwrap_or(0)]
}
