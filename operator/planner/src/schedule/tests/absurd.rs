//! Does nonsense get a reason instead of a panic?

use super::checker::Checked;
use super::planned;
use super::world::world;
use crate::resources::{ResourceName, Resources};
use crate::schedule::{Budget, Ground};
use crate::snapshot::{Pod, Pods, Shape, WhatIf};
use proptest::prelude::*;
use rstest::rstest;

const MOST: &str = "9223372036854775807";

#[test]
fn the_largest_numbers_there_are_do_not_overflow() {
    let plan = planned(&format!(
        "type t cpu={MOST} memory={MOST} price=1\npool p limit.cpu={MOST}\nnode n1 cpu={MOST} used=1\nnode n2 cpu=1 used={MOST}\npod a cpu={MOST} memory={MOST} x3\npod b cpu=1 x3\ndaemon d cpu=1"
    ));
    assert!(plan.contains("b-1 -> "), "{plan}");
}

#[rstest]
#[case("spread=zone:0:app=a")]
#[case("spread=zone:4294967295:app=a")]
#[case("spread=zone:1:app=a:min4294967295")]
#[case("spread=:1:app=a")]
#[case("near=:app=a")]
#[case("apart=nope:app=a")]
#[case("near=host: apart=host:")]
#[case("near=zone: apart=zone: spread=zone:1: spread=zone:1:")]
#[case(
    "volume=a:csi:a|b|c|d|e volume=b:csi:a|b|c|d|e volume=c:csi:a|b|c|d|e volume=d:csi:a|b|c|d|e"
)]
#[case("prefer=2147483647:zone:In:a prefer=-2147483648:zone:In:b")]
#[case("term=zone:Gt:9223372036854775807")]
#[case("port=65535 port=65535")]
#[case("select.karpenter.sh/nodepool=")]
fn odd_constraints_end_with_places_or_reasons(#[case] words: &str) {
    let snapshot = world(&format!(
        "type t cpu=4 price=1 zones=a,b\nnode n1 cpu=4 zone=a\npod a cpu=1 label.app=a {words} x3\npod b cpu=2"
    ));
    let ground = Ground::of(&snapshot, None);
    let schedule = ground.solve(&WhatIf::nothing_changes(&snapshot), Budget::UNLIMITED);
    Checked::new(&snapshot, &schedule).all();
}

#[test]
fn no_pods_no_pools_no_types_no_plan() {
    assert_eq!(planned(""), "");
    assert_eq!(planned("pool p"), "");
    assert_eq!(planned("pod a"), "a: NoPool");
}

fn amount() -> impl Strategy<Value = i64> {
    prop_oneof![
        Just(i64::MIN),
        Just(-1),
        Just(0),
        Just(1),
        Just(i64::MAX / 2),
        Just(i64::MAX),
        any::<i64>()
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_amounts_end_with_places_or_reasons(asked in prop::collection::vec((amount(), amount()), 1..6), room in (amount(), amount()), used in amount(), limit in amount()) {
        let mut snapshot = world("type t cpu=4 price=1\npool p\nnode n1 cpu=1");
        let pod = |(at, (cpu, memory)): (usize, &(i64, i64))| {
            let requests = Resources::new().with(ResourceName::Cpu, *cpu).with(ResourceName::Memory, *memory);
            let name = format!("p{at}");
            (Pod::pending(name.clone(), name, snapshot.now), Shape { requests, ..Shape::default() })
        };
        let pods = Pods::gather(asked.iter().enumerate().map(pod));
        snapshot.pods = pods;
        snapshot.nodes[0].allocatable = Resources::new().with(ResourceName::Cpu, room.0).with(ResourceName::Memory, room.1).with(ResourceName::Pods, 10);
        snapshot.nodes[0].used = Resources::new().with(ResourceName::Cpu, used);
        snapshot.pools[0].limits = Resources::new().with(ResourceName::Cpu, limit);
        let ground = Ground::of(&snapshot, None);
        let schedule = ground.solve(&WhatIf::nothing_changes(&snapshot), Budget::UNLIMITED);
        let refused = schedule.refused(&snapshot.pods).count();
        prop_assert_eq!(schedule.placements.len() + refused, asked.len());
    }
}
