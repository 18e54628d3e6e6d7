//! What does each reason of the planner look like to a reader?
//!
//! One sample per variant. The list is a match as well: a new variant does not compile before it has its sample here.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use planner::requirements::{BadTerm, Disjoint};
use planner::{Constraint, Effect, Requirement, ResourceName, Taint, Why};

macro_rules! one_of_each {
    ($($variant:pat => $sample:expr,)*) => {
        /// One of each, in the order of the planner.
        pub fn samples() -> Vec<Why> {
            vec![$($sample),*]
        }

        /// Where in [`samples`] a reason has its like. The compiler counts the arms.
        pub fn place(why: &Why) -> Option<usize> {
            match why {
                $($variant => samples().iter().position(|one| matches!(one, $variant)),)*
            }
        }
    };
}

one_of_each! {
    Why::Contradiction { .. } => Why::Contradiction { key: name(ZONE) },
    Why::UnknownConstraint { .. } => Why::UnknownConstraint {
        constraint: Constraint::ResourceClaim,
        name: name("gpu"),
    },
    Why::OptedOut => Why::OptedOut,
    Why::BadTerm(_) => Why::BadTerm(BadTerm::NoValues { key: ZONE.to_owned() }),
    Why::Unreadable { .. } => Why::Unreadable {
        field: name("spec.containers[0].resources.requests.cpu"),
        said: name("\"1x\" is no quantity"),
    },
    Why::VolumesApart => Why::VolumesApart,
    Why::VolumeElsewhere { .. } => Why::VolumeElsewhere { key: name(ZONE) },
    Why::TopologyUnknown { .. } => Why::TopologyUnknown { key: name("rack") },
    Why::SpreadUnmet { .. } => Why::SpreadUnmet {
        key: name(ZONE),
        max_skew: 1,
        selector: name("app=web"),
        allowed: name("az-c"),
    },
    Why::AffinityUnmet { .. } => Why::AffinityUnmet { key: name(ZONE), selector: name("app=cache") },
    Why::AntiAffinityUnmet { .. } => Why::AntiAffinityUnmet { key: name(ZONE), selector: name("app=web") },
    Why::UnwantedThere { .. } => Why::UnwantedThere { key: name(ZONE), selector: name("app=web") },
    Why::NoPlace => Why::NoPlace,
    Why::NoPool => Why::NoPool,
    Why::PoolNotReady { .. } => Why::PoolNotReady { pool: pool(), said: name("its class is not ready") },
    Why::PoolPaused { .. } => Why::PoolPaused { pool: pool() },
    Why::NoCatalog { .. } => Why::NoCatalog { pool: pool(), class: name("OpenStackNodeClass default") },
    Why::TaintNotTolerated { .. } => Why::TaintNotTolerated {
        pool: pool(),
        taint: Taint::new("team", "a", Effect::NoSchedule),
    },
    Why::LabelUnknown { .. } => Why::LabelUnknown { pool: pool(), key: name("disk"), hint: None },
    Why::LabelConflict { .. } => Why::LabelConflict {
        pool: pool(),
        labels: Box::new(Disjoint {
            asked: Requirement::one_of(ZONE, ["az-c"]),
            allowed: Requirement::one_of(ZONE, ["az-a", "az-b"]),
        }),
    },
    Why::NoTypeWithLabel { .. } => Why::NoTypeWithLabel {
        pool: pool(),
        asked: Box::new(Requirement::one_of("kubernetes.io/arch", ["arm64"])),
        of: 12,
    },
    Why::NothingAvailable { .. } => Why::NothingAvailable { pool: pool(), offerings: 3, until: Some(noon()) },
    Why::ReservationUsedUp { .. } => Why::ReservationUsedUp { pool: pool(), offerings: 2 },
    Why::NothingLargeEnough { .. } => Why::NothingLargeEnough {
        pool: pool(),
        resource: ResourceName::Cpu,
        asked: 64_000,
        largest: 15_500,
        daemons: 500,
        types: 12,
        of: 12,
    },
    Why::VolumeLimit { .. } => Why::VolumeLimit {
        pool: pool(),
        driver: name("cinder.csi.openstack.org"),
        asked: 30,
        most: 26,
        types: 12,
        of: 12,
    },
    Why::HostPortTaken { .. } => Why::HostPortTaken { pool: pool(), port: 9100 },
    Why::LimitReached { .. } => Why::LimitReached {
        pool: pool(),
        resource: ResourceName::Cpu,
        limit: 100_000,
        left: 2_000,
        types: 9,
        of: 12,
    },
    Why::MinValuesUnmet { .. } => Why::MinValuesUnmet { pool: pool(), key: name(ZONE), wanted: 3, found: 2 },
    Why::GuardReached { .. } => Why::GuardReached { pool: pool(), unregistered: 5, allowed: 5 },
    Why::OutOfSteps => Why::OutOfSteps,
    Why::DoNotDisrupt { .. } => Why::DoNotDisrupt { pod: pod() },
    Why::NodeDoNotDisrupt => Why::NodeDoNotDisrupt,
    Why::BudgetBlocks { .. } => Why::BudgetBlocks { pod: pod(), budget: name("default/web") },
    Why::SeveralBudgets { .. } => Why::SeveralBudgets { pod: pod() },
    Why::DisruptionBudget { .. } => Why::DisruptionBudget { pool: pool(), allowed: 1, disrupting: 1 },
    Why::BadBudget { .. } => Why::BadBudget { pool: pool(), said: name("\"10x\" is neither a number nor a percentage") },
    Why::NotInitialized => Why::NotInitialized,
    Why::Leaving => Why::Leaving,
    Why::NotEmpty { .. } => Why::NotEmpty { pods: 4 },
    Why::Nominated { .. } => Why::Nominated { pods: 2 },
    Why::NeverConsolidates { .. } => Why::NeverConsolidates { pool: pool() },
    Why::ConsolidatesAt { .. } => Why::ConsolidatesAt { at: noon() },
    Why::StillTerminating { .. } => Why::StillTerminating { pod: pod() },
}

const ZONE: &str = "topology.kubernetes.io/zone";

fn name(text: &str) -> Arc<str> {
    text.into()
}

fn pool() -> Arc<str> {
    name("general")
}

fn pod() -> Arc<str> {
    name("default/web-0")
}

fn noon() -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_hours(24 * 365 * 57 + 12)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sample_stands_for_its_own_variant() {
        for (at, sample) in samples().iter().enumerate() {
            assert_eq!(place(sample), Some(at), "{}", sample.code());
        }
    }
}
