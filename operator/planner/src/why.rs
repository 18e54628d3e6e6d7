//! Why did the planner say no, and what is the smallest change that would turn it into a yes?
//!
//! A flat list of facts. `code()` is stable and goes into events, conditions and metrics; `fix()` is the remedy; whole
//! sentences are made once, by the operator's `explain`.

use crate::requirements::{BadTerm, Disjoint, Requirement};
use crate::resources::ResourceName;
use crate::taints::Taint;
use jiff::Timestamp;
use std::sync::Arc;

mod fix;

type Name = Arc<str>;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Why {
    // The pod itself.
    /// Its own terms exclude each other on this label.
    Contradiction {
        key: Name,
    },
    /// It carries a constraint that this planner does not know yet.
    UnknownConstraint {
        constraint: Constraint,
        name: Name,
    },
    /// It asks not to be given a node of ours.
    OptedOut,
    BadTerm(BadTerm),
    /// A field of it cannot be read.
    Unreadable {
        field: Name,
        said: Name,
    },

    /// Its volumes cannot all be reached from one place.
    VolumesApart,
    /// Its volumes can be reached only where its own terms on this label do not let it go.
    VolumeElsewhere {
        key: Name,
    },

    // Other pods.
    /// No node is or can be bought that has this label.
    TopologyUnknown {
        key: Name,
    },
    /// Only these domains may take one more, and nothing can be had there.
    SpreadUnmet {
        key: Name,
        max_skew: u32,
        selector: Name,
        allowed: Name,
    },
    /// No pod that it wants to be near to is where it could go.
    AffinityUnmet {
        key: Name,
        selector: Name,
    },
    /// Pods that it wants to be apart from are everywhere it could go.
    AntiAffinityUnmet {
        key: Name,
        selector: Name,
    },
    /// Pods that want to be apart from it are everywhere it could go.
    UnwantedThere {
        key: Name,
        selector: Name,
    },
    /// Each constraint can be met, all of them together cannot.
    NoPlace,

    // Pools.
    /// No pool could serve anybody.
    NoPool,
    PoolNotReady {
        pool: Name,
        said: Name,
    },
    PoolPaused {
        pool: Name,
    },
    /// The class of the pool has no catalog yet, or an empty one.
    NoCatalog {
        pool: Name,
        class: Name,
    },
    TaintNotTolerated {
        pool: Name,
        taint: Taint,
    },
    /// The pool does not define this label. `hint` is one that was perhaps meant.
    LabelUnknown {
        pool: Name,
        key: Name,
        hint: Option<Name>,
    },
    /// The pool allows other values of this label.
    LabelConflict {
        pool: Name,
        labels: Box<Disjoint>,
    },
    /// `types` of `of` instance types that the pool allows do not have the label as asked.
    NoTypeWithLabel {
        pool: Name,
        asked: Box<Requirement>,
        of: u32,
    },
    /// All matching offerings are unavailable; the first returns at `until`, if that is known.
    NothingAvailable {
        pool: Name,
        offerings: u32,
        until: Option<Timestamp>,
    },
    /// All matching offerings are taken from reservations, and nothing is left of these.
    ReservationUsedUp {
        pool: Name,
        offerings: u32,
    },
    /// `types` of `of` types are short of this resource; the largest leaves `largest` after `daemons`.
    NothingLargeEnough {
        pool: Name,
        resource: ResourceName,
        asked: i64,
        largest: i64,
        daemons: i64,
        types: u32,
        of: u32,
    },
    /// `types` of `of` types take fewer volumes of this driver than the pod has; the most is `most`.
    VolumeLimit {
        pool: Name,
        driver: Name,
        asked: i64,
        most: i64,
        types: u32,
        of: u32,
    },
    /// A daemon takes the host port on every type.
    HostPortTaken {
        pool: Name,
        port: u16,
    },
    /// `types` of `of` types would exceed the pool's limit; `left` of it is left.
    LimitReached {
        pool: Name,
        resource: ResourceName,
        limit: i64,
        left: i64,
        types: u32,
        of: u32,
    },
    /// Fewer distinct values than asked for remain.
    MinValuesUnmet {
        pool: Name,
        key: Name,
        wanted: u32,
        found: u32,
    },
    /// Runaway guard: too many claims of the pool have not become nodes yet.
    GuardReached {
        pool: Name,
        unregistered: u32,
        allowed: u32,
    },
    /// The step budget ended before this was tried.
    OutOfSteps,

    // Nodes that stay or wait.
    DoNotDisrupt {
        pod: Name,
    },
    NodeDoNotDisrupt,
    /// This PodDisruptionBudget allows no eviction now.
    BudgetBlocks {
        pod: Name,
        budget: Name,
    },
    /// Several PodDisruptionBudgets match; the Eviction API refuses that.
    SeveralBudgets {
        pod: Name,
    },
    /// The pool's disruption budget allows nothing more at this moment.
    DisruptionBudget {
        pool: Name,
        allowed: u32,
        disrupting: u32,
    },
    BadBudget {
        pool: Name,
        said: Name,
    },
    NotInitialized,
    /// On its way out already.
    Leaving,
    NotEmpty {
        pods: u32,
    },
    Nominated {
        pods: u32,
    },
    NeverConsolidates {
        pool: Name,
    },
    ConsolidatesAt {
        at: Timestamp,
    },
    StillTerminating {
        pod: Name,
    },
}

/// Constraints of pods that the full scheduler adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Constraint {
    TopologySpread,
    PodAffinity,
    PodAntiAffinity,
    Volume,
    ResourceClaim,
    MatchFields,
}

impl Why {
    /// Every word that `code` can say, in the order of the variants.
    pub const CODES: [&'static str; 43] = [
        "Contradiction",
        "UnknownConstraint",
        "OptedOut",
        "BadTerm",
        "Unreadable",
        "VolumesApart",
        "VolumeElsewhere",
        "TopologyUnknown",
        "SpreadUnmet",
        "AffinityUnmet",
        "AntiAffinityUnmet",
        "UnwantedThere",
        "NoPlace",
        "NoPool",
        "PoolNotReady",
        "PoolPaused",
        "NoCatalog",
        "TaintNotTolerated",
        "LabelUnknown",
        "LabelConflict",
        "NoTypeWithLabel",
        "NothingAvailable",
        "ReservationUsedUp",
        "NothingLargeEnough",
        "VolumeLimit",
        "HostPortTaken",
        "LimitReached",
        "MinValuesUnmet",
        "GuardReached",
        "OutOfSteps",
        "DoNotDisrupt",
        "NodeDoNotDisrupt",
        "BudgetBlocks",
        "SeveralBudgets",
        "DisruptionBudget",
        "BadBudget",
        "NotInitialized",
        "Leaving",
        "NotEmpty",
        "Nominated",
        "NeverConsolidates",
        "ConsolidatesAt",
        "StillTerminating",
    ];

    /// A stable word for events, conditions and metrics.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Contradiction { .. } => "Contradiction",
            Self::UnknownConstraint { .. } => "UnknownConstraint",
            Self::OptedOut => "OptedOut",
            Self::BadTerm(_) => "BadTerm",
            Self::Unreadable { .. } => "Unreadable",
            Self::VolumesApart => "VolumesApart",
            Self::VolumeElsewhere { .. } => "VolumeElsewhere",
            Self::TopologyUnknown { .. } => "TopologyUnknown",
            Self::SpreadUnmet { .. } => "SpreadUnmet",
            Self::AffinityUnmet { .. } => "AffinityUnmet",
            Self::AntiAffinityUnmet { .. } => "AntiAffinityUnmet",
            Self::UnwantedThere { .. } => "UnwantedThere",
            Self::NoPlace => "NoPlace",
            Self::NoPool => "NoPool",
            Self::PoolNotReady { .. } => "PoolNotReady",
            Self::PoolPaused { .. } => "PoolPaused",
            Self::NoCatalog { .. } => "NoCatalog",
            Self::TaintNotTolerated { .. } => "TaintNotTolerated",
            Self::LabelUnknown { .. } => "LabelUnknown",
            Self::LabelConflict { .. } => "LabelConflict",
            Self::NoTypeWithLabel { .. } => "NoTypeWithLabel",
            Self::NothingAvailable { .. } => "NothingAvailable",
            Self::ReservationUsedUp { .. } => "ReservationUsedUp",
            Self::NothingLargeEnough { .. } => "NothingLargeEnough",
            Self::VolumeLimit { .. } => "VolumeLimit",
            Self::HostPortTaken { .. } => "HostPortTaken",
            Self::LimitReached { .. } => "LimitReached",
            Self::MinValuesUnmet { .. } => "MinValuesUnmet",
            Self::GuardReached { .. } => "GuardReached",
            Self::OutOfSteps => "OutOfSteps",
            Self::DoNotDisrupt { .. } => "DoNotDisrupt",
            Self::NodeDoNotDisrupt => "NodeDoNotDisrupt",
            Self::BudgetBlocks { .. } => "BudgetBlocks",
            Self::SeveralBudgets { .. } => "SeveralBudgets",
            Self::DisruptionBudget { .. } => "DisruptionBudget",
            Self::BadBudget { .. } => "BadBudget",
            Self::NotInitialized => "NotInitialized",
            Self::Leaving => "Leaving",
            Self::NotEmpty { .. } => "NotEmpty",
            Self::Nominated { .. } => "Nominated",
            Self::NeverConsolidates { .. } => "NeverConsolidates",
            Self::ConsolidatesAt { .. } => "ConsolidatesAt",
            Self::StillTerminating { .. } => "StillTerminating",
        }
    }
}

impl Constraint {
    /// The field of a pod that carries it.
    pub fn field(self) -> &'static str {
        match self {
            Self::TopologySpread => "topologySpreadConstraints",
            Self::PodAffinity => "podAffinity",
            Self::PodAntiAffinity => "podAntiAffinity",
            Self::Volume => "persistent volume",
            Self::ResourceClaim => "resourceClaims",
            Self::MatchFields => "matchFields",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_codes_names_every_code_once() {
        let source = include_str!("why.rs");
        let body = source.split("pub fn code(").nth(1).unwrap();
        let body = body.split("impl Constraint").next().unwrap();
        let said: Vec<&str> = body
            .lines()
            .filter_map(|line| line.split("=> \"").nth(1)?.split('"').next())
            .collect();
        assert_eq!(said, Why::CODES);
    }

    #[test]
    fn a_spread_that_cannot_be_kept_says_what_to_change() {
        let why = Why::SpreadUnmet {
            key: "zone".into(),
            max_skew: 1,
            selector: "app In [web]".into(),
            allowed: "a".into(),
        };
        assert_eq!(why.code(), "SpreadUnmet");
        assert!(why.fix().contains("maxSkew above 1"), "{}", why.fix());
    }
}
