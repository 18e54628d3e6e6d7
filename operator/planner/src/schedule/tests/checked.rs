//! Is a broken plan told from a good one? A checker that never complains checks nothing.

use super::checker::Checked;
use super::world::world;
use crate::schedule::{Budget, Schedule, Spot, solve};
use crate::snapshot::{NodeId, Snapshot, WhatIf};
use rstest::rstest;
use std::panic::{AssertUnwindSafe, catch_unwind};

fn plan(text: &str) -> (Snapshot, Schedule) {
    let snapshot = world(text);
    let schedule = solve(&WhatIf::nothing_changes(&snapshot), Budget::UNLIMITED);
    (snapshot, schedule)
}

/// What the checker says, if it does not let the plan pass.
fn complaint(snapshot: &Snapshot, schedule: &Schedule) -> Option<String> {
    let checked = Checked::new(snapshot, schedule);
    let said = catch_unwind(AssertUnwindSafe(|| checked.all())).err()?;
    let plain = said.downcast_ref::<&str>().map(ToString::to_string);
    Some(
        plain
            .or_else(|| said.downcast_ref::<String>().cloned())
            .unwrap(),
    )
}

fn assert_complains(snapshot: &Snapshot, schedule: &Schedule, expected: &str) {
    let plan = schedule.text(snapshot);
    let said = complaint(snapshot, schedule);
    let said = said.unwrap_or_else(|| panic!("{expected:?} expected of\n{plan}"));
    assert!(
        said.contains(expected),
        "{expected:?} expected, not {said:?}, of\n{plan}"
    );
}

/// `cpu=4->3` stands for both: the plan is made for the first and looked at as if it were for the second.
fn notices(text: &str, expected: &str) {
    let side = |other: bool| {
        let word = |word: &str| match word.split_once("->") {
            None => word.to_owned(),
            Some((first, _)) if !other => first.to_owned(),
            Some((first, second)) => match first.split_once('=') {
                Some((key, _)) if !second.contains('=') => format!("{key}={second}"),
                _ => second.to_owned(),
            },
        };
        let line = |line: &str| line.split(' ').map(word).collect::<Vec<_>>().join(" ");
        text.lines().map(line).collect::<Vec<_>>().join("\n")
    };
    let (snapshot, schedule) = plan(&side(false));
    assert_eq!(
        complaint(&snapshot, &schedule),
        None,
        "{}",
        schedule.text(&snapshot)
    );
    assert_complains(&world(&side(true)), &schedule, expected);
}

#[rstest]
#[case("node n1 cpu=4->3\npod web cpu=2 x2", "n1 is overdrawn")]
#[case("node n1 cpu=4 used=0->1\npod web cpu=2 x2", "n1 is overdrawn")]
#[case("node n1 cpu=4 pods=2->1\npod web cpu=2 x2", "n1 is overdrawn")]
#[case("node n1 cpu=4 ->leaving\npod web cpu=2", "n1 is overdrawn")]
#[case("node n1 cpu=4\ndaemon log cpu=1->3\npod web cpu=2", "n1 is overdrawn")]
#[case(
    "node n1 cpu=4 used=3 daemons.cpu=3->2\ndaemon log cpu=3\npod web cpu=1",
    "n1 is overdrawn"
)]
#[case(
    "type t cpu=4->3 price=1\nclaim c1 offering=t/a\npod web cpu=4",
    "c1 is overdrawn"
)]
#[case(
    "type t cpu=4 price=1\nclaim c1 offering=t/a told.cpu=4->3\npod web cpu=4",
    "c1 is overdrawn"
)]
#[case(
    "type t cpu=4 price=1\nclaim c1 offering=t/a ->leaving\npod web cpu=4",
    "c1 is overdrawn"
)]
#[case(
    "type t cpu=4 price=1\nclaim c1 offering=t/a\ndaemon log cpu=1->2\npod web cpu=3",
    "c1 is overdrawn"
)]
#[case("type t cpu=4->3 price=1\npod web cpu=2 x2", "default-0 is overdrawn")]
#[case(
    "type t cpu=4 price=1\ndaemon log cpu=1->2\npod web cpu=3",
    "default-0 is overdrawn"
)]
#[case(
    "type t cpu=4 price=1 overhead.cpu=0->1\npod web cpu=4",
    "default-0 is overdrawn"
)]
#[case(
    "type t cpu=4 price=1\ntype u cpu=4->1 price=2\npod web cpu=2",
    "default-0 is overdrawn"
)]
#[case(
    "type t cpu=4 price=1\npod web cpu=1->2",
    "default-0 asks for less than its pods"
)]
fn who_is_given_more_than_there_is(#[case] text: &str, #[case] complaint: &str) {
    notices(text, complaint);
}

#[rstest]
#[case("node n1 cpu=4 ->taint=x\npod web cpu=1", "x:NoSchedule on n1")]
#[case(
    "type t cpu=4 price=1\nclaim c1 offering=t/a ->taint=x\npod web cpu=1",
    "x:NoSchedule on c1"
)]
#[case(
    "type t cpu=4 price=1\npool p ->taint=x\npod web cpu=1",
    "x:NoSchedule on p-0"
)]
#[case(
    "node n1 cpu=4\npod web cpu=1 ->select.team=red",
    "labels of a pod are not those of n1"
)]
#[case(
    "node n1 cpu=4 label.team=red->label.team=blue\npod web cpu=1 select.team=red",
    "labels of a pod are not those of n1"
)]
#[case(
    "node n1 cpu=4 zone=a\npod web cpu=1 ->term=zone:NotIn:a",
    "labels of a pod are not those of n1"
)]
#[case(
    "type t cpu=4 price=1\nclaim c1 offering=t/a->t/b\npod web cpu=1 term=zone:In:a",
    "labels of a pod are not those of c1"
)]
#[case(
    "type t cpu=4 price=1 zones=a,b\npod web cpu=1 ->select.topology.kubernetes.io/zone=a",
    "labels of a pod are not those of default-0"
)]
#[case(
    "type t cpu=4 price=1 label.kubernetes.io/arch=arm64\npod web cpu=1 ->term=arch:In:amd64",
    "labels of a pod are not those of default-0"
)]
#[case(
    "type t cpu=4 price=1\npool p label.team=red->label.team=blue\npod web cpu=1 ->select.team=blue",
    "labels of a pod are not those of p-0"
)]
fn who_is_placed_where_he_may_not_be(#[case] text: &str, #[case] complaint: &str) {
    notices(text, complaint);
}

#[rstest]
#[case("node n1 cpu=4\npod web cpu=1 x2 ->port=80", "port on n1")]
#[case("node n1 cpu=4 ->port=80\npod web cpu=1 port=80", "port on n1")]
#[case(
    "type t cpu=4 price=1\nclaim c1 offering=t/a\npod web cpu=1 x2 ->port=80",
    "port on c1"
)]
#[case(
    "type t cpu=4 price=1\npod web cpu=1 x2 ->port=80",
    "port on default-0"
)]
#[case(
    "type t cpu=4 price=1\ndaemon log ->port=80\npod web cpu=1 port=80",
    "port on default-0"
)]
#[case(
    "node n1 cpu=4 zone=a\npod web cpu=1 ->volume=data:csi:b",
    "a volume is not reached from n1"
)]
#[case(
    "type t cpu=4 price=1 zones=a,b\npod web cpu=1 ->volume=data:csi:a",
    "a volume is not reached from default-0"
)]
#[case(
    "node n1 cpu=4 volumes.csi=2->1\npod a cpu=1 volume=a:csi\npod b cpu=1 volume=b:csi",
    "2 volumes of csi on n1"
)]
#[case(
    "node n1 cpu=4 used=1 volumes.csi=2->1\nbound old volume=old:csi on=n1\npod a cpu=1 volume=a:csi",
    "2 volumes of csi on n1"
)]
#[case(
    "type t cpu=4 price=1\nvolume-limit csi most=2->1\nclaim c1 offering=t/a\npod a cpu=1 volume=a:csi volume=b:csi",
    "2 volumes of csi on c1"
)]
#[case(
    "type t cpu=4 price=1\nvolume-limit csi type=t most=2->1\npod a cpu=1 volume=a:csi volume=b:csi",
    "2 volumes of csi on default-0"
)]
fn who_cannot_have_his_port_or_his_volume(#[case] text: &str, #[case] complaint: &str) {
    notices(text, complaint);
}

#[rstest]
#[case(
    "node n1 cpu=4\npod web cpu=1 label.app=web x2 ->apart=host:app=web",
    "web-1 beside web-2"
)]
#[case(
    "node n1 cpu=4 used=1\nbound db label.app=db on=n1 ->apart=host:app=web\npod web cpu=1 label.app=web",
    "web beside db"
)]
#[case(
    "type t cpu=1 price=1\npod web cpu=1 label.app=web x2 ->apart=zone:app=web",
    "web-1 beside web-2"
)]
#[case(
    "node n1 cpu=4\npod web cpu=1 ->near=host:app=db",
    "nobody to be near to on n1"
)]
#[case(
    "node n1 cpu=1\nnode n2 cpu=1 used=1\nbound old label.app=web on=n2\npod web cpu=1 label.app=web ->near=host:app=web",
    "nobody to be near to on n1"
)]
#[case(
    "node n1 cpu=1\npod web cpu=1 label.app=web ->near=rack:app=web",
    "nobody to be near to on n1"
)]
#[case(
    "node n1 cpu=1\nnode n2 cpu=1\npod web cpu=1 label.app=web\npod api cpu=1 ->near=host:app=web",
    "nobody to be near to on"
)]
#[case(
    "node n1 cpu=4 zone=a\nnode n2 cpu=4 zone=b\npod web cpu=1 label.app=web x2 ->spread=zone:1:app=web",
    "skew of topology.kubernetes.io/zone"
)]
#[case(
    "node n1 cpu=4 zone=a\npod web cpu=1 label.app=web x2 spread=zone:1:app=web->spread=zone:1:app=web:min2",
    "skew of topology.kubernetes.io/zone"
)]
#[case(
    "node n1 cpu=4\nnode n2 cpu=4\npod web cpu=1 label.app=web x2 ->spread=host:1:app=web",
    "skew of kubernetes.io/hostname"
)]
#[case(
    "node n1 cpu=4\npod web cpu=1 label.app=web ->spread=zone:1:app=web",
    "n1 has no topology.kubernetes.io/zone"
)]
#[case(
    "node n1 cpu=4 zone=a\nnode n2 cpu=1 used=1 zone=b\npod web cpu=1 label.app=web term=zone:In:a x2 spread=zone:1:app=web->spread=zone:1:app=web:any-node",
    "skew of topology.kubernetes.io/zone"
)]
#[case(
    "node n1 cpu=4 zone=a\nnode n2 cpu=1 used=1 zone=b taint=x\npod web cpu=1 label.app=web x2 spread=zone:1:app=web:no-taints->spread=zone:1:app=web",
    "skew of topology.kubernetes.io/zone"
)]
#[case(
    "type t cpu=4 price=1 zones=a\nclaim c1 offering=t/b taint=x\npod web cpu=1 label.app=web x2 ->spread=zone:1:app=web",
    "skew of topology.kubernetes.io/zone"
)]
fn who_is_not_where_the_others_let_him_be(#[case] text: &str, #[case] complaint: &str) {
    notices(text, complaint);
}

#[rstest]
#[case(
    "type t cpu=4 price=1\npool p limit.cpu=4->3\npod web cpu=1",
    "limit cpu of p"
)]
#[case(
    "type t cpu=4 price=1\npool p limit.cpu=8->7\nnode n1 pool=p cpu=4 used=4\npod web cpu=1",
    "limit cpu of p"
)]
#[case(
    "type t cpu=4 price=1\npool p limit.cpu=8->7\nclaim c1 pool=p offering=t/a taint=x\npod web cpu=1",
    "limit cpu of p"
)]
#[case(
    "type t cpu=4 price=1\npool p limit.nodes=1->0\npod web cpu=1",
    "limit nodes of p"
)]
#[case(
    "guard 2->1\ntype t cpu=1 price=1\npod web cpu=1 x2",
    "too many claims of default"
)]
#[case(
    "guard 2->1\ntype t cpu=1 price=1\nclaim c1 offering=t/a taint=x\npod web cpu=1",
    "too many claims of default"
)]
#[case(
    "type t cpu=4 price=1 ->gone=a\npod web cpu=1",
    "t/a/on-demand is not to be had"
)]
#[case(
    "type t cpu=4 price=1 zones=a,b\npool p ->need=zone:In:a\npod web cpu=1",
    "t/b/on-demand is not what p-0 asks for"
)]
#[case(
    "type t cpu=1 price=1 reserved=a:2->a:1\npod web cpu=1 x2",
    "reservation t is overdrawn"
)]
#[case(
    "type t cpu=1 price=1 reserved=a:2\nclaim c1 offering=t/a/on-demand->t/a/reserved taint=x\npod web cpu=1 x2",
    "reservation t is overdrawn"
)]
fn what_may_not_be_bought(#[case] text: &str, #[case] complaint: &str) {
    notices(text, complaint);
}

const ONE: &str = "type t cpu=4 price=1 reserved=a:1\nnode n1 cpu=1\npod web cpu=500m\npod big cpu=2\npod huge cpu=9";

#[rstest]
#[case(|plan: &mut Schedule| plan.placements.truncate(1), "has 0 places and 0 refusals")]
#[case(|plan: &mut Schedule| plan.placements.push(plan.placements[1]), "web has 2 places and 0 refusals")]
#[case(|plan: &mut Schedule| plan.refusals.clear(), "huge has 0 places and 0 refusals")]
#[case(|plan: &mut Schedule| plan.refusals[0].1.clear(), "huge has 0 places and 0 refusals")]
#[case(|plan: &mut Schedule| plan.placements[0].1 = Spot::Node(NodeId(0)), "n1 is overdrawn")]
#[case(|plan: &mut Schedule| plan.openings[0].pods.clear(), "is for nobody")]
#[case(|plan: &mut Schedule| { let other = plan.openings[0].pods[0].0 + 1; plan.openings[0].pods.push(crate::snapshot::PodId(other)); }, "pods of default-0")]
fn what_is_forgotten_or_said_twice(#[case] harm: impl Fn(&mut Schedule), #[case] expected: &str) {
    let (snapshot, mut schedule) = plan(ONE);
    assert_eq!(complaint(&snapshot, &schedule), None);
    harm(&mut schedule);
    assert_complains(&snapshot, &schedule, expected);
}

#[test]
fn what_is_reserved_is_not_mixed_with_what_is_not() {
    let (snapshot, mut schedule) = plan("type t cpu=4 price=1 reserved=a:1\npod web cpu=1");
    let every = 0..u32::try_from(snapshot.catalogs[0].offerings().len()).unwrap();
    let every = every.map(crate::catalog::OfferingId);
    let opening = &mut schedule.openings[0];
    opening.offerings = every.collect();
    opening.requirements = std::sync::Arc::default();
    assert_complains(
        &snapshot,
        &schedule,
        "mixes what is reserved with what is not",
    );
}
