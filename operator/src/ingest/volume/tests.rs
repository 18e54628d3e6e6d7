//! Where volumes can be reached from, and who attaches them, from Kubernetes objects.

use super::*;
use rstest::rstest;
use serde_json::{Value, from_value, json};

fn zonal(name: &str, operator: &str) -> PersistentVolume {
    let term = json!({ "matchExpressions": [{ "key": labels::ZONE, "operator": operator, "values": ["a"] }] });
    let object: Value = json!({ "metadata": { "name": name }, "spec": {
        "csi": { "driver": "csi.example.com", "volumeHandle": "x" },
        "nodeAffinity": { "required": { "nodeSelectorTerms": [term] } } } });
    from_value(object).unwrap()
}

fn bound_to(volume: &str) -> Storage {
    let mut storage = Storage::default();
    let claim = json!({ "metadata": { "name": "data", "annotations": { "pv.kubernetes.io/bind-completed": "yes" } },
        "spec": { "volumeName": volume } });
    storage.add_claim("d/data".into(), &from_value(claim).unwrap());
    storage
}

#[test]
fn a_bound_claim_is_reached_from_where_its_volume_is() {
    let mut storage = bound_to("pv");
    storage.add_volume(&zonal("pv", "In")).unwrap();
    let volume = storage.volume(&"d/data".into()).unwrap();
    assert_eq!(volume.driver.as_deref(), Some("csi.example.com"));
    assert_eq!(volume.alternatives.len(), 1);
    assert!(volume.alternatives[0][0].has("a") && !volume.alternatives[0][0].has("b"));
}

#[test]
fn a_volume_that_cannot_be_read_refuses_its_pods_and_is_not_everywhere() {
    let mut storage = bound_to("pv");
    assert!(storage.add_volume(&zonal("pv", "Around")).is_err());
    let why = storage.volume(&"d/data".into()).unwrap_err();
    assert_eq!(why.code(), "Unreadable");
}

#[test]
fn a_claim_without_its_volume_or_class_is_a_reason() {
    let why = bound_to("gone").volume(&"d/data".into()).unwrap_err();
    assert!(crate::explain::sentence(&why).contains("there is no PersistentVolume gone"));
    assert!(Storage::default().volume(&"d/data".into()).is_err());
}

/// A claim `d/data`, volume `pv` and class `slow`, as far as there are any.
fn found(claim: Value, volume: Value, class: Value) -> Result<Volume, String> {
    let mut storage = Storage::default();
    if !claim.is_null() {
        storage.add_claim("d/data".into(), &from_value(claim).unwrap());
    }
    if !volume.is_null() {
        storage.add_volume(&from_value(volume).unwrap()).unwrap();
    }
    if !class.is_null() {
        storage.add_class(&from_value(class).unwrap()).unwrap();
    }
    let found = storage.volume(&"d/data".into());
    found.map_err(|why| crate::explain::sentence(&why))
}

fn claim(spec: &Value) -> Value {
    json!({ "metadata": { "name": "data", "annotations": { "pv.kubernetes.io/bind-completed": "yes" } }, "spec": spec })
}

fn with(mut object: Value, field: &str, value: Value) -> Value {
    let (parent, name) = field.rsplit_once('/').unwrap();
    if object.pointer(parent).is_none() {
        object[parent.trim_start_matches('/')] = json!({});
    }
    object.pointer_mut(parent).unwrap()[name] = value;
    object
}

fn bound() -> Value {
    claim(&json!({ "volumeName": "pv" }))
}

fn unbound() -> Value {
    claim(&json!({ "storageClassName": "slow" }))
}

fn disk() -> Value {
    json!({ "metadata": { "name": "pv" }, "spec": { "csi": { "driver": "csi", "volumeHandle": "x" } } })
}

fn slow() -> Value {
    json!({ "metadata": { "name": "slow" }, "provisioner": "csi", "volumeBindingMode": "WaitForFirstConsumer" })
}

/// What is wrong with a claim, its volume or its class, and what the pod is told; empty if nothing.
#[rstest]
#[case(Value::Null, Value::Null, Value::Null, "there is none")]
#[case(bound(), disk(), Value::Null, "")]
#[case(with(bound(), "/metadata/deletionTimestamp", json!("2026-01-01T00:00:00Z")), disk(), Value::Null, "is being deleted")]
#[case(with(bound(), "/status/phase", json!("Lost")), disk(), Value::Null, "has lost its volume")]
#[case(with(bound(), "/status/phase", json!("Bound")), disk(), Value::Null, "")]
#[case(bound(), Value::Null, Value::Null, "there is no PersistentVolume pv")]
#[case(bound(), with(disk(), "/metadata/deletionTimestamp", json!("2026-01-01T00:00:00Z")), Value::Null, "PersistentVolume is being deleted")]
#[case(with(bound(), "/metadata/annotations", json!({})), disk(), Value::Null, "it is not bound yet")]
#[case(with(bound(), "/spec/storageClassName", json!("")), disk(), Value::Null, "")]
#[case(with(bound(), "/spec/storageClassName", json!("gone")), disk(), Value::Null, "")]
#[case(unbound(), Value::Null, slow(), "")]
#[case(unbound(), Value::Null, Value::Null, "there is no StorageClass slow")]
#[case(claim(&json!({ "storageClassName": "" })), Value::Null, slow(), "neither volume nor storage class")]
#[case(claim(&json!({})), Value::Null, slow(), "neither volume nor storage class")]
#[case(unbound(), Value::Null, with(slow(), "/metadata/annotations", json!({ "storageclass.kubernetes.io/is-default-class": "true" })), "")]
#[case(unbound(), Value::Null, with(slow(), "/volumeBindingMode", json!("Immediate")), "made at once")]
fn a_pod_waits_for_a_claim_that_cannot_be_used_now(
    #[case] claim: Value,
    #[case] volume: Value,
    #[case] class: Value,
    #[case] reason: &str,
) {
    match found(claim, volume, class) {
        Ok(_) => assert_eq!(reason, ""),
        Err(said) => assert!(!reason.is_empty() && said.contains(reason), "{said}"),
    }
}

/// Who attaches a volume of this kind: its own driver, the one that took over from the plugin, or nobody.
#[rstest]
#[case("csi", json!({ "driver": "my.driver", "volumeHandle": "x" }), "my.driver")]
#[case("cinder", json!({ "volumeID": "x" }), "cinder.csi.openstack.org")]
#[case("awsElasticBlockStore", json!({ "volumeID": "x" }), "ebs.csi.aws.com")]
#[case("gcePersistentDisk", json!({ "pdName": "x" }), "pd.csi.storage.gke.io")]
#[case("nfs", json!({ "server": "s", "path": "/" }), "")]
#[case("hostPath", json!({ "path": "/" }), "")]
#[case("local", json!({ "path": "/" }), "")]
fn a_bound_volume_is_attached_by_its_driver(
    #[case] kind: &str,
    #[case] source: Value,
    #[case] driver: &str,
) {
    let volume = json!({ "metadata": { "name": "pv" }, "spec": { kind: source } });
    let found = found(bound(), volume, Value::Null).unwrap();
    assert_eq!(found.driver.as_deref().unwrap_or(""), driver);
}

#[rstest]
#[case("my.driver", "my.driver")]
#[case("kubernetes.io/cinder", "cinder.csi.openstack.org")]
#[case("kubernetes.io/aws-ebs", "ebs.csi.aws.com")]
#[case("kubernetes.io/no-provisioner", "kubernetes.io/no-provisioner")]
fn a_volume_to_be_made_is_attached_by_the_driver_of_its_class(
    #[case] provisioner: &str,
    #[case] driver: &str,
) {
    let class = with(slow(), "/provisioner", json!(provisioner));
    let found = found(unbound(), Value::Null, class).unwrap();
    assert_eq!(found.driver.as_deref(), Some(driver));
}

/// The alternatives of a volume as text: terms of one behind `;`, alternatives behind ` or `.
fn reach(volume: &Volume) -> String {
    let term = |all: &Vec<Requirement>| {
        let terms: Vec<String> = all.iter().map(ToString::to_string).collect();
        terms.join("; ")
    };
    let all: Vec<String> = volume.alternatives.iter().map(term).collect();
    all.join(" or ")
}

const HOST: &str = "kubernetes.io/hostname";

/// Node affinity of a volume by its terms, and what is left of it; `anywhere` if a term asks for nothing.
#[rstest]
#[case("csi", json!([[[labels::ZONE, "a"]]]), "topology.kubernetes.io/zone In [a]")]
#[case("csi", json!([[[labels::ZONE, "a"]], [[labels::ZONE, "b"]]]), "topology.kubernetes.io/zone In [a] or topology.kubernetes.io/zone In [b]")]
#[case("csi", json!([[[labels::ZONE, "a"], ["rack", "r"]]]), "topology.kubernetes.io/zone In [a]; rack In [r]")]
#[case("csi", json!([[["failure-domain.beta.kubernetes.io/zone", "a"]]]), "topology.kubernetes.io/zone In [a]")]
#[case("csi", json!([[], [[labels::ZONE, "b"]]]), "topology.kubernetes.io/zone In [b]")]
#[case("csi", json!([[[HOST, "n"]]]), "kubernetes.io/hostname In [n]")]
#[case("local", json!([[[HOST, "n"]]]), "")]
#[case("hostPath", json!([[[HOST, "n"]]]), "")]
#[case("local", json!([[[HOST, "n"], [labels::ZONE, "a"]]]), "topology.kubernetes.io/zone In [a]")]
#[case("hostPath", json!([[[HOST, "n"], [labels::ZONE, "a"]]]), "topology.kubernetes.io/zone In [a]")]
#[case("local", json!([[[HOST, "n"]], [[labels::ZONE, "a"]]]), " or topology.kubernetes.io/zone In [a]")]
fn a_bound_volume_is_reached_where_its_affinity_says_and_a_local_one_is_left_behind(
    #[case] kind: &str,
    #[case] terms: Value,
    #[case] expected: &str,
) {
    let expression = |one: &Value| json!({ "key": one[0], "operator": "In", "values": [one[1]] });
    let term = |all: &Value| {
        let all: Vec<Value> = all.as_array().unwrap().iter().map(expression).collect();
        json!({ "matchExpressions": all })
    };
    let terms: Vec<Value> = terms.as_array().unwrap().iter().map(term).collect();
    let source = json!({ "driver": "csi", "volumeHandle": "x", "path": "/" });
    let volume = json!({ "metadata": { "name": "pv" },
        "spec": { kind: source, "nodeAffinity": { "required": { "nodeSelectorTerms": terms } } } });
    assert_eq!(
        reach(&found(bound(), volume, Value::Null).unwrap()),
        expected
    );
}

#[test]
fn a_volume_to_be_made_is_reached_where_its_class_allows() {
    let term = |zones: &[&str]| json!({ "matchLabelExpressions": [{ "key": labels::ZONE, "values": zones }] });
    let class = |terms: Value| with(slow(), "/allowedTopologies", terms);
    let reach = |terms| reach(&found(unbound(), Value::Null, class(terms)).unwrap());
    assert_eq!(reach(json!([])), "");
    assert_eq!(reach(json!([{}])), "");
    let several = json!([term(&["a", "b"]), term(&["c"])]);
    let expected = "topology.kubernetes.io/zone In [a b] or topology.kubernetes.io/zone In [c]";
    assert_eq!(reach(several), expected);
}

#[test]
fn a_pod_mounts_claims_by_name_and_those_made_for_it_by_its_own() {
    let pod = json!({ "metadata": { "name": "web", "namespace": "d" }, "spec": { "containers": [], "volumes": [
        { "name": "a", "persistentVolumeClaim": { "claimName": "data" } },
        { "name": "b", "ephemeral": { "volumeClaimTemplate": { "spec": {} } } },
        { "name": "c", "emptyDir": {} }] } });
    let one = |claim: &str, ephemeral| Mounted {
        claim: claim.into(),
        ephemeral,
    };
    let expected = [one("d/data", false), one("d/web-b", true)];
    assert_eq!(mounted(&from_value(pod).unwrap()), expected);
}

#[test]
fn a_driver_without_a_number_has_no_limit() {
    let driver = |name: &str, more: Value| {
        let mut driver = json!({ "name": name, "nodeID": "n", "topologyKeys": [] });
        if !more.is_null() {
            driver["allocatable"] = more;
        }
        driver
    };
    let drivers = json!([
        driver("one", json!({ "count": 5 })),
        driver("none", Value::Null),
        driver("empty", json!({}))
    ]);
    let node = json!({ "metadata": { "name": "n" }, "spec": { "drivers": drivers } });
    let expected = [
        ("empty".into(), None),
        ("none".into(), None),
        ("one".into(), Some(5)),
    ];
    assert_eq!(limits(&from_value(node).unwrap()), expected);
}
