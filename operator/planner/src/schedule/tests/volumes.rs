//! Do pods go where their volumes are, and never more than a node can attach?

use super::domains::{hosts, refused, zones};
use super::{check, planned};

const THREE: &str = "type t cpu=8 price=1 zones=a,b,c\n";

#[test]
fn a_pod_goes_to_the_zone_of_its_volume() {
    let plan = planned(&format!("{THREE}pod web cpu=1 volume=data:csi:b"));
    assert!(plan.contains("t/b/on-demand"), "{plan}");
}

#[test]
fn a_volume_of_several_zones_lets_the_pod_choose() {
    check(
        &format!("{THREE}node n1 cpu=8 zone=c\npod web cpu=1 volume=data:csi:b|c"),
        "web -> n1",
    );
}

#[test]
fn a_node_in_another_zone_is_not_used() {
    check(
        &format!("{THREE}node n1 cpu=8 zone=a\npod web cpu=1 volume=data:csi:b"),
        "web -> default-0",
    );
}

#[test]
fn two_volumes_in_different_zones_refuse_the_pod() {
    check(
        &format!("{THREE}pod web cpu=1 volume=one:csi:a volume=two:csi:b"),
        "web: VolumesApart",
    );
}

#[test]
fn two_volumes_meet_in_the_zone_they_share() {
    let plan = planned(&format!(
        "{THREE}pod web cpu=1 volume=one:csi:a|b volume=two:csi:b|c"
    ));
    assert!(plan.contains("t/b/on-demand"), "{plan}");
}

#[test]
fn a_volume_and_the_pods_own_zone_that_exclude_each_other_refuse_the_pod() {
    check(
        &format!("{THREE}pod web cpu=1 select.topology.kubernetes.io/zone=a volume=data:csi:b"),
        "web: VolumeElsewhere",
    );
}

#[test]
fn the_zone_of_a_volume_is_never_given_up_for_a_preference() {
    let plan = planned(&format!(
        "{THREE}pod web cpu=1 prefer=5:zone:In:a volume=data:csi:b"
    ));
    assert!(plan.contains("t/b/on-demand"), "{plan}");
}

#[test]
fn a_volume_zone_that_no_pool_sells_names_the_label() {
    check(
        &format!("{THREE}pod web cpu=1 volume=data:csi:z"),
        "web: NoTypeWithLabel",
    );
}

#[test]
fn a_node_takes_as_many_volumes_as_it_says() {
    check(
        "node n1 cpu=8 volumes.csi=2\nnode n2 cpu=8\npod a cpu=1 volume=a:csi\npod b cpu=1 volume=b:csi\npod c cpu=1 volume=c:csi",
        "a -> n1\nb -> n1\nc -> n2",
    );
}

#[test]
fn volumes_that_are_attached_already_count() {
    check(
        "node n1 cpu=8 used=1 volumes.csi=1\nnode n2 cpu=8\nbound old volume=old:csi on=n1\npod a cpu=1 volume=a:csi",
        "a -> n2",
    );
}

#[test]
fn a_claim_shared_by_pods_counts_once() {
    check(
        "node n1 cpu=8 volumes.csi=1\npod a cpu=1 volume=shared:csi x3",
        "a-1 -> n1\na-2 -> n1\na-3 -> n1",
    );
}

#[test]
fn a_claim_shared_with_a_pod_that_runs_takes_nothing_more() {
    check(
        "node n1 cpu=8 used=1 volumes.csi=1\nbound old volume=shared:csi on=n1\npod a cpu=1 volume=shared:csi",
        "a -> n1",
    );
}

#[test]
fn a_driver_without_a_limit_attaches_any_number() {
    check(
        "node n1 cpu=8 volumes.csi=none\nvolume-limit csi most=1\npod a cpu=1 volume=a:csi\npod b cpu=1 volume=b:csi",
        "a -> n1\nb -> n1",
    );
}

#[test]
fn a_node_that_says_nothing_has_the_limit_of_its_type() {
    check(
        "volume-limit csi type=t most=1\nnode n1 cpu=8 label.node.kubernetes.io/instance-type=t\nnode n2 cpu=8\npod a cpu=1 volume=a:csi\npod b cpu=1 volume=b:csi",
        "a -> n1\nb -> n2",
    );
}

#[test]
fn a_new_claim_takes_as_many_volumes_as_its_type() {
    let world = format!("{THREE}volume-limit csi most=2\npod web cpu=1 volume=data:csi x5");
    // One claim, five pods: shared, so it counts once.
    hosts(&world, "5");
    let own = super::lines(0..5, |at| format!("pod web{at} cpu=1 volume=data{at}:csi"));
    hosts(&format!("{THREE}volume-limit csi most=2\n{own}"), "1 2 2");
}

#[test]
fn a_type_that_takes_too_few_volumes_is_not_bought() {
    let plan = planned(
        "type small cpu=8 price=1\ntype big cpu=8 price=2\nvolume-limit csi type=small most=1\nvolume-limit csi type=big most=5\npod web cpu=1 volume=a:csi volume=b:csi",
    );
    assert!(plan.contains("big/a/on-demand"), "{plan}");
}

#[test]
fn a_pod_with_more_volumes_than_any_type_takes_is_refused_with_the_driver() {
    check(
        &format!("{THREE}volume-limit csi most=1\npod web cpu=1 volume=a:csi volume=b:csi"),
        "web: VolumeLimit",
    );
}

#[test]
fn several_drivers_are_counted_apart() {
    check(
        "node n1 cpu=8 volumes.csi=1 volumes.nfs=1\npod a cpu=1 volume=a:csi\npod b cpu=1 volume=b:nfs",
        "a -> n1\nb -> n1",
    );
}

#[test]
fn a_volume_without_a_driver_takes_no_room() {
    check(
        "node n1 cpu=8 volumes.csi=0\npod a cpu=1 volume=a: x2",
        "a-1 -> n1\na-2 -> n1",
    );
}

#[test]
fn a_local_volume_goes_only_to_its_host() {
    check(
        "node n1 cpu=8\nnode n2 cpu=8\npod a cpu=1 volume=a::@n2",
        "a -> n2",
    );
    refused(&format!("{THREE}pod a cpu=1 volume=a::@n2"), 1);
}

#[test]
fn the_zones_of_volumes_and_spreads_hold_together() {
    let pods = super::lines(["a", "b", "c"], |zone| {
        format!(
            "pod {zone} cpu=1 label.app=web spread=zone:1:app=web:min3 volume=d{zone}:csi:{zone}"
        )
    });
    zones(&format!("{THREE}{pods}"), "1 1 1");
}

#[test]
fn a_volumes_zone_does_not_narrow_what_a_spread_compares() {
    // The pod itself could go to b, so b is compared, although its volume never will be reached from there.
    let world = |term: &str| {
        format!(
            "type t cpu=8 price=1 zones=a,b\nnode n1 cpu=1 used=1 zone=a\nbound old label.app=web on=n1\npod web cpu=1 label.app=web {term} spread=zone:1:app=web volume=data:csi:a"
        )
    };
    refused(&world(""), 1);
    refused(&world("term=zone:In:a"), 0);
}

#[test]
fn of_three_volumes_only_what_all_reach_is_left() {
    let plan = planned(&format!(
        "{THREE}pod web cpu=1 volume=one:csi:a|b|c volume=two:csi:b|c volume=three:csi:a|c"
    ));
    assert!(plan.contains("t/c/on-demand"), "{plan}");
    check(
        &format!("{THREE}pod web cpu=1 volume=one:csi:a|b volume=two:csi:b|c volume=three:csi:a|c"),
        "web: VolumesApart",
    );
}

#[test]
fn pods_that_share_a_volume_meet_in_its_zone() {
    zones(
        &format!("{THREE}pod one cpu=1 volume=shared:csi:b\npod two cpu=2 volume=shared:csi:b"),
        "2",
    );
}

#[test]
fn pods_with_claims_of_their_own_are_one_shape() {
    let snapshot = super::world::world(
        "pod a cpu=1 volume=a:csi\npod b cpu=1 volume=b:csi\npod c cpu=1 volume=s:csi\npod d cpu=1 volume=s:csi",
    );
    assert_eq!(snapshot.pods.shapes().count(), 2);
}

#[test]
fn a_claim_that_running_pods_share_is_attached_once() {
    check(
        "node n1 cpu=8 used=2 volumes.csi=2\nbound old volume=shared:csi on=n1 x2\npod a cpu=1 volume=a:csi",
        "a -> n1",
    );
}

#[test]
fn shared_claims_take_their_part_of_a_nodes_limit() {
    check(
        "node n1 cpu=8 volumes.csi=1\nnode n2 cpu=8 volumes.csi=1\npod a cpu=2 volume=one:csi x2\npod b cpu=1 volume=two:csi x2",
        "a-1 -> n1\na-2 -> n1\nb-1 -> n2\nb-2 -> n2",
    );
}

#[test]
fn pods_of_different_sizes_that_share_a_claim_share_a_new_node() {
    hosts(
        "type t cpu=8 price=1\nvolume-limit csi most=1\npod a cpu=2 volume=shared:csi\npod b cpu=1 volume=shared:csi",
        "2",
    );
}

#[test]
fn a_shared_claim_needs_a_type_that_attaches_it() {
    let plan = planned(
        "type small cpu=8 price=1\ntype big cpu=8 price=2\nvolume-limit csi type=small most=0\npod web cpu=1 volume=shared:csi x2",
    );
    assert!(plan.contains("big/a/on-demand"), "{plan}");
    check(
        &format!("{THREE}volume-limit csi most=0\npod web cpu=1 volume=shared:csi x2"),
        "web-1: VolumeLimit\nweb-2: VolumeLimit",
    );
}
