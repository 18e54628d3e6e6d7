//! Does it make no difference what was read before, but for how much there is to read?

use std::collections::BTreeSet;

use planner::labels::WellKnown;
use runtime::Dice;

use super::*;

/// What pods are read with, and what is known of them so far.
#[derive(Default)]
struct Frozen {
    readings: Readings,
    passed_over: PassedOver,
    spreads: Vec<Spread>,
    well_known: WellKnown,
}

impl Frozen {
    fn again(&mut self, mirror: &Mirror) -> Snapshot {
        let mut empty = Snapshot::empty(Timestamp::UNIX_EPOCH);
        empty.options.well_known = self.well_known.clone();
        let besides = Besides {
            passed_over: &self.passed_over,
            spreads: &self.spreads,
        };
        fill(empty, mirror, &besides, &mut self.readings)
    }

    /// By somebody who knows nothing yet.
    fn afresh(&self, mirror: &Mirror) -> Snapshot {
        let mut other = Self {
            readings: Readings::default(),
            passed_over: self.passed_over.clone(),
            spreads: self.spreads.clone(),
            well_known: self.well_known.clone(),
        };
        other.again(mirror)
    }

    /// How many pods there are to read.
    fn read(&mut self, mirror: &Mirror) -> usize {
        self.again(mirror);
        self.readings.fresh()
    }
}

fn drop_pod(mirror: &Mirror, name: &str) -> bool {
    let gone = mirror.pods.get(&format!("d/{name}"));
    gone.is_some_and(|pod| mirror.pods.remove(&pod).is_some())
}

fn selecting(key: &str) -> Value {
    json!({ "nodeSelector": { key: "x" } })
}

#[test]
fn a_pod_is_read_once_for_each_version_of_it() {
    let mirror = mirror();
    let mut frozen = Frozen::default();
    assert_eq!(frozen.read(&mirror), 0);
    for name in ["a", "b", "c"] {
        put(&mirror.pods, pod(name, Some("n"), &json!({})));
    }
    assert_eq!(frozen.read(&mirror), 3);
    assert_eq!(frozen.read(&mirror), 0);
    put(&mirror.pods, pod("b", None, &json!({})));
    assert_eq!(frozen.read(&mirror), 1);
    put(&mirror.pods, pod("aa", None, &json!({})));
    drop_pod(&mirror, "a");
    assert_eq!(frozen.read(&mirror), 1);
    drop_pod(&mirror, "c");
    assert_eq!(frozen.read(&mirror), 0);
}

#[test]
fn a_pod_made_again_under_its_old_name_is_read_again() {
    let mirror = mirror();
    let mut frozen = Frozen::default();
    put(&mirror.pods, pod("a", Some("n"), &json!({})));
    frozen.again(&mirror);
    drop_pod(&mirror, "a");
    put(&mirror.pods, pod("a", None, &json!({})));
    assert_eq!(said(&frozen.again(&mirror)), ["d/a - waits"]);
    assert_eq!(frozen.readings.fresh(), 1);
}

#[test]
fn what_has_gone_is_forgotten_with_the_shapes_that_nobody_has_any_more() {
    let mirror = mirror();
    let mut frozen = Frozen::default();
    for name in ["a", "b", "c"] {
        put(&mirror.pods, pod(name, None, &json!({})));
    }
    put(&mirror.pods, pod("d", None, &selecting("disk")));
    frozen.again(&mirror);
    assert_eq!(frozen.readings.sizes(), (4, 2));
    drop_pod(&mirror, "a");
    frozen.again(&mirror);
    assert_eq!(frozen.readings.sizes(), (3, 2));
    put(&mirror.pods, pod("d", None, &json!({})));
    frozen.again(&mirror);
    assert_eq!(frozen.readings.sizes(), (3, 1));
    for name in ["b", "c", "d"] {
        drop_pod(&mirror, name);
    }
    frozen.again(&mirror);
    assert_eq!(frozen.readings.sizes(), (0, 0));
}

#[test]
fn when_other_labels_are_well_known_every_pod_is_read_again() {
    let mirror = mirror();
    let mut frozen = Frozen::default();
    put(
        &mirror.pods,
        pod("a", None, &selecting("x.karpenter.sh/size")),
    );
    put(&mirror.pods, pod("b", Some("n"), &json!({})));
    let refused = |frozen: &Snapshot| !shape_of_waiting(frozen).unreadable.is_empty();
    assert!(refused(&frozen.again(&mirror)));
    frozen.well_known = WellKnown::with(["x.karpenter.sh/size".into()]);
    assert!(!refused(&frozen.again(&mirror)));
    assert_eq!(frozen.readings.fresh(), 2);
    assert_eq!(frozen.read(&mirror), 0);
}

fn shape_of_waiting(frozen: &Snapshot) -> &planner::snapshot::Shape {
    let mut waiting = frozen.pods.members().filter(|(_, pod)| pod.pending);
    frozen.pods.shape_of(waiting.next().unwrap().0)
}

#[test]
fn when_the_default_spreads_are_others_every_pod_is_read_again() {
    let mirror = mirror();
    let mut frozen = Frozen::default();
    put(&mirror.pods, pod("a", None, &json!({})));
    put(&mirror.pods, pod("b", Some("n"), &json!({})));
    assert_eq!(frozen.read(&mirror), 2);
    frozen.spreads = vec![Spread::new(ZONE, 1, None)];
    assert_eq!(frozen.read(&mirror), 2);
    assert_eq!(frozen.read(&mirror), 0);
}

/// One of these.
fn one<'a, T>(dice: &mut Dice, of: &'a [T]) -> &'a T {
    let end = u64::try_from(of.len()).unwrap();
    &of[usize::try_from(dice.below(end)).unwrap()]
}

const NAMES: [&str; 12] = [
    "a", "a-1", "a.b", "b", "c", "c0", "d", "e", "f", "g", "h", "zz",
];

/// A pod as it may be found: it waits, runs, ends, has ended, is lost, spreads, mounts, belongs to a DaemonSet, …
fn any_pod(dice: &mut Dice, name: &str) -> Value {
    let disk = json!({ "volumes": [{ "name": "disk", "persistentVolumeClaim": { "claimName": "data" } }] });
    let scratch = json!({ "volumes": [{ "name": "s", "ephemeral": { "volumeClaimTemplate": { "spec": {} } } }] });
    let spread = json!({ "topologySpreadConstraints": [{ "maxSkew": 1, "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule", "labelSelector": { "matchLabels": { "app": "web" } } }] });
    let odd = json!({ "containers": [{ "name": "main", "resources": { "requests": { "cpu": "much" } } }] });
    let own = selecting("x.karpenter.sh/size");
    let plain = || json!({});
    let specs = [plain(), plain(), plain(), disk, scratch, spread, own, odd];
    let node = *one(
        dice,
        &[None, None, Some("n"), Some("n"), Some("m"), Some("lost")],
    );
    let mut pod = pod(name, node, one(dice, &specs));
    let owner = *one(dice, &["", "ReplicaSet", "ReplicaSet", "DaemonSet", "Node"]);
    if !owner.is_empty() {
        pod["metadata"]["ownerReferences"] = json!([{ "apiVersion": "apps/v1", "kind": owner,
            "name": "set", "uid": "set", "controller": true }]);
    }
    pod["metadata"]["labels"]["app"] = json!(*one(dice, &["web", "web", "other"]));
    let day = 1 + dice.below(9);
    pod["metadata"]["creationTimestamp"] = json!(format!("2026-01-0{day}T00:00:00Z"));
    match dice.below(10) {
        0 => pod["metadata"]["deletionTimestamp"] = json!("2026-02-01T00:00:00Z"),
        1 => pod["status"]["phase"] = json!("Succeeded"),
        2 => pod["status"]["conditions"] = json!([]),
        3 => pod["metadata"]["uid"] = Value::Null,
        _ => {}
    }
    pod
}

/// Something else than a pod that pods are judged by.
fn any_change(dice: &mut Dice, mirror: &Mirror, frozen: &mut Frozen) {
    let bound = json!({ "pv.kubernetes.io/bind-completed": "yes" });
    let claim = json!({ "metadata": { "name": "data", "namespace": "d", "annotations": bound },
        "spec": { "volumeName": "pv" } });
    let term = |zone: &str| json!({ "matchExpressions": [{ "key": ZONE, "operator": "In", "values": [zone] }] });
    match dice.below(6) {
        0 => put(&mirror.volume_claims, claim),
        1 => {
            let zone = *one(dice, &["a", "b"]);
            put(
                &mirror.volumes,
                json!({ "metadata": { "name": "pv" }, "spec": { "csi": { "driver": "csi", "volumeHandle": "x" },
                    "nodeAffinity": { "required": { "nodeSelectorTerms": [term(zone)] } } } }),
            );
        }
        2 => {
            if let Some(claim) = mirror.volume_claims.get("d/data") {
                mirror.volume_claims.remove(&claim);
            }
        }
        3 => put(
            &mirror.nodes,
            json!({ "metadata": { "name": "m", "labels": { ZONE: "b" } },
                "status": { "allocatable": { "cpu": "8", "pods": "110" } } }),
        ),
        4 => {
            let uid = *one(dice, &NAMES);
            frozen.passed_over.insert(uid.into(), 1);
        }
        _ => daemon(
            mirror,
            &json!({ "containers": [{ "name": "main", "resources": { "requests": { "cpu": "100m" } } }] }),
        ),
    }
}

/// Up to three pods come, change or go; returns those that are there in a new version.
fn pods_change(dice: &mut Dice, mirror: &Mirror) -> BTreeSet<&'static str> {
    let mut changed = BTreeSet::new();
    for _ in 0..dice.below(4) {
        let name = *one(dice, &NAMES);
        if dice.below(3) == 0 {
            drop_pod(mirror, name);
            changed.remove(name);
        } else {
            put(&mirror.pods, any_pod(dice, name));
            changed.insert(name);
        }
    }
    changed
}

#[test]
fn whatever_was_read_before_the_snapshot_is_that_of_who_reads_for_the_first_time() {
    let mut dice = Dice::seeded(7);
    let mirror = mirror();
    let mut frozen = Frozen::default();
    let mut counted = 0;
    for round in 0..600 {
        let mut to_read = pods_change(&mut dice, &mirror).len();
        if dice.below(4) == 0 {
            any_change(&mut dice, &mirror, &mut frozen);
        }
        if round % 97 == 96 {
            frozen.spreads = vec![Spread::new(ZONE, round, None)];
            let known = one(&mut dice, &["x.karpenter.sh/size", "size"]);
            frozen.well_known = WellKnown::with([(*known).into()]);
            to_read = mirror.pods.all().len();
        }
        let again = frozen.again(&mirror);
        assert_eq!(again, frozen.afresh(&mirror), "round {round}");
        assert_eq!(frozen.readings.fresh(), to_read, "round {round}");
        assert_eq!(frozen.readings.sizes().0, mirror.pods.all().len());
        counted += again.pods.len();
    }
    assert!(counted > 600, "hardly a pod was in any snapshot");
}
