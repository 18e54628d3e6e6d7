//! Why does a pod get nothing, and is that said with the object and the numbers?

use super::check;
use super::world::world;
use crate::schedule::{Budget, solve};
use crate::snapshot::WhatIf;
use crate::why::Why;

fn whys(text: &str) -> Vec<Why> {
    let snapshot = world(text);
    let schedule = solve(&WhatIf::nothing_changes(&snapshot), Budget::UNLIMITED);
    schedule
        .refusals
        .into_iter()
        .flat_map(|(_, whys)| whys)
        .collect()
}

fn fixes(text: &str) -> Vec<String> {
    whys(text)
        .iter()
        .map(|why| format!("{}: {}", why.code(), why.fix()))
        .collect()
}

#[test]
fn without_any_pool_the_fix_is_a_pool() {
    assert_eq!(fixes("pod web cpu=1"), ["NoPool: create a NodePool"]);
}

#[test]
fn a_pod_that_fits_no_flavor_is_told_the_largest_it_could_have() {
    let text = "type a cpu=2 price=1\ntype b cpu=4 price=2\ndaemon log cpu=500m\npod web cpu=9";
    let expected = Why::NothingLargeEnough {
        pool: "default".into(),
        resource: crate::ResourceName::Cpu,
        asked: 9000,
        largest: 3500,
        daemons: 500,
        types: 2,
        of: 2,
    };
    assert_eq!(whys(text), [expected]);
    assert_eq!(
        fixes(text),
        [
            "NothingLargeEnough: ask for at most 3500m of cpu, or allow larger types in NodePool default"
        ]
    );
}

#[test]
fn types_are_grouped_by_what_they_are_short_of() {
    let text = "type a cpu=2 memory=64Gi price=1\ntype b cpu=8 memory=1Gi price=2\ntype c cpu=8 memory=2Gi price=2\npod web cpu=4 memory=16Gi";
    let counts: Vec<_> = whys(text)
        .into_iter()
        .map(|why| match why {
            Why::NothingLargeEnough {
                resource,
                types,
                of,
                ..
            } => format!("{types} of {of}: {resource}"),
            other => other.code().to_owned(),
        })
        .collect();
    assert_eq!(counts, ["1 of 3: cpu", "2 of 3: memory"]);
}

#[test]
fn a_taint_is_named_with_the_toleration_that_would_help() {
    assert_eq!(
        fixes("type t cpu=2 price=1\npool p taint=gpu\npod web cpu=1"),
        ["TaintNotTolerated: add a toleration for gpu:NoSchedule to the pod"]
    );
}

#[test]
fn a_misspelt_label_is_named_with_what_was_meant() {
    assert_eq!(
        fixes("type t cpu=2 price=1\npod web cpu=1 select.zone=a"),
        ["LabelUnknown: write topology.kubernetes.io/zone"]
    );
}

#[test]
fn a_zone_that_does_not_exist_is_named() {
    assert_eq!(
        fixes("type t cpu=2 price=1\npod web cpu=1 select.topology.kubernetes.io/zone=nowhere"),
        ["NoTypeWithLabel: change the pod's term topology.kubernetes.io/zone In [nowhere]"]
    );
}

#[test]
fn a_pool_that_asks_for_what_nobody_sells_is_named_with_its_own_requirement() {
    let text = "type t cpu=2 price=1\npool p need=zone:In:nowhere\npod web cpu=1 select.kubernetes.io/arch=arm64";
    let said = "none of 1 instance types has topology.kubernetes.io/zone In [nowhere]";
    let expected = Why::PoolNotReady {
        pool: "p".into(),
        said: said.into(),
    };
    assert_eq!(whys(text), [expected]);
}

#[test]
fn daemons_that_leave_nothing_on_any_type_are_named_with_what_they_take() {
    let text = "type a cpu=2 price=1\ntype b cpu=4 price=2\ndaemon log cpu=5\npod web cpu=1";
    let expected = Why::NothingLargeEnough {
        pool: "default".into(),
        resource: crate::ResourceName::Cpu,
        asked: 1000,
        largest: 0,
        daemons: 5000,
        types: 2,
        of: 2,
    };
    assert_eq!(whys(text), [expected]);
}

#[test]
fn what_is_sold_out_is_named_with_the_time_it_comes_back() {
    let whys = whys("type t cpu=2 price=1 gone=a\npod web cpu=1");
    let until = Some(super::world::now() + jiff::SignedDuration::from_mins(3));
    assert_eq!(
        whys,
        [Why::NothingAvailable {
            pool: "default".into(),
            offerings: 1,
            until
        }]
    );
}

#[test]
fn each_pool_gives_its_own_reason() {
    check(
        "type t cpu=2 price=1\npool a taint=x\npool b state=paused\npool c limit.cpu=1\npod web cpu=1",
        "web: PoolPaused, TaintNotTolerated, LimitReached",
    );
}

#[test]
fn a_pod_that_contradicts_itself_is_refused_and_never_placed() {
    check(
        "node n1 cpu=4 label.team=blue\npod web cpu=1 select.team=blue term=team:In:red",
        "web: Contradiction",
    );
    check(
        "node n1 cpu=4\npod web cpu=1 term=n:Gt:5;n:Lt:3",
        "web: Contradiction",
    );
    check(
        "node n1 cpu=4\npod web cpu=1 term=n:Gt:1;n:Lt:3;n:NotIn:2",
        "web: Contradiction",
    );
    check(
        "node n1 cpu=4 label.team=blue\npod web cpu=1 term=team:Exists;team:DoesNotExist",
        "web: Contradiction",
    );
}

#[test]
fn a_constraint_the_planner_does_not_know_is_refused_and_never_placed_wrongly() {
    check(
        "node n1 cpu=4\npod web cpu=1 beyond=spread\npod db cpu=1 beyond=volume\npod plain cpu=1",
        "web: UnknownConstraint\ndb: UnknownConstraint\nplain -> n1",
    );
}

#[test]
fn a_pod_that_opts_out_of_pools_is_left_alone() {
    check(
        "type t cpu=4 price=1\npod web cpu=1 term=karpenter.sh/nodepool:DoesNotExist",
        "web: OptedOut",
    );
}

#[test]
fn a_negative_request_is_refused_with_its_field() {
    assert_eq!(
        fixes("type t cpu=4 price=1\npod web cpu=-1"),
        ["Unreadable: correct requests.cpu"]
    );
}

#[test]
fn an_empty_catalog_is_a_reason() {
    check("pool p\npod web cpu=1", "web: NoCatalog");
}

#[test]
fn other_pods_are_served_meanwhile() {
    check(
        "type t cpu=4 price=1\npod huge cpu=99\npod web cpu=1",
        "huge: NothingLargeEnough\nweb -> default-0",
    );
}

#[test]
fn reasons_are_the_same_whatever_the_order_of_pools_and_types() {
    let one = "type a cpu=1 price=1\ntype b cpu=1 memory=1Gi price=1\npool p taint=x\npool q\npod web cpu=4";
    let other: Vec<&str> = one.lines().rev().collect();
    assert_eq!(whys(one), whys(&other.join("\n")));
}

#[test]
fn when_the_steps_run_out_the_rest_is_unserved_and_what_is_placed_stays() {
    let snapshot = world("node n1 cpu=9\npod a cpu=4\npod b cpu=3\npod c cpu=2");
    let schedule = solve(&WhatIf::nothing_changes(&snapshot), Budget::steps(2));
    assert_eq!(
        schedule.text(&snapshot),
        "a -> n1\nb -> n1\nshape 2 unserved"
    );
}

#[test]
fn when_memory_runs_out_no_claim_is_opened_and_rooms_are_still_filled() {
    let snapshot = world("type t cpu=4 price=1\nnode n1 cpu=2\npod web cpu=2 x3");
    let with = |memory| {
        let budget = Budget {
            memory,
            ..Budget::UNLIMITED
        };
        solve(&WhatIf::nothing_changes(&snapshot), budget)
    };
    assert_eq!(with(u64::MAX).placements.len(), 3);
    assert_eq!(with(0).text(&snapshot), "shape 0 unserved\nweb-1 -> n1");
}

#[test]
fn what_a_pod_only_prefers_is_never_the_reason() {
    for wish in [
        "prefer=1:zone:In:z",
        "prefer=1:zone:In:z prefer-near=5:host:app=db",
        "prefer=1:team:In:red prefer=2:arch:In:arm64",
        "prefer-apart=5:host:app=db",
    ] {
        check(
            &format!("type t cpu=2 price=1\npool p taint=x:Prefer\npod web cpu=9 {wish}"),
            "web: NothingLargeEnough",
        );
    }
    // What is required is, term by term.
    check(
        "type t cpu=2 price=1\npod web cpu=9 term=zone:In:y term=zone:In:a prefer=1:zone:In:z",
        "web: NoTypeWithLabel, NothingLargeEnough",
    );
}
