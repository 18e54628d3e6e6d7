//! What does thinking cost, in steps?

use super::world::world;
use crate::schedule::{Budget, Ground, solve};
use crate::snapshot::WhatIf;
use std::fmt::Write;

fn steps(pods_per_shape: u32) -> (u64, usize) {
    let mut text = "type t cpu=64 price=1\n".to_owned();
    for node in 0..50 {
        let _ = writeln!(text, "node n{node} cpu=4000 pods=5000");
    }
    for shape in 1..=20 {
        let _ = writeln!(text, "pod s{shape} cpu={shape}0m x{pods_per_shape}");
    }
    let snapshot = world(&text);
    let schedule = solve(&WhatIf::nothing_changes(&snapshot), Budget::UNLIMITED);
    (schedule.steps, schedule.placements.len())
}

#[test]
fn ten_times_the_pods_of_the_same_shapes_cost_hardly_more() {
    let ((few, some), (many, all)) = (steps(10), steps(100));
    assert_eq!((some, all), (200, 2000));
    assert!(
        many * 2 < few * 3,
        "{few} steps for {some} pods, {many} for {all}"
    );
}

#[test]
fn steps_that_are_too_few_for_another_plan_are_not_spent() {
    let snapshot =
        world("type s cpu=2 price=2\ntype l cpu=8 price=7\npod a cpu=1 x9\npod b cpu=2 x9");
    let (view, ground) = (
        WhatIf::nothing_changes(&snapshot),
        Ground::of(&snapshot, None),
    );
    let steps = |most| ground.solve(&view, Budget::steps(most)).steps;
    let first = ground.sketch(&view, Budget::UNLIMITED).steps;
    assert_eq!(steps(first), first);
    assert_eq!(steps(2 * first - 1), first);
    assert!(steps(2 * first) > first);
}
