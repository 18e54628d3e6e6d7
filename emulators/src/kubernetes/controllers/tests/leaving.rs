//! What goes with what, and what may not go yet?

use super::*;

#[test]
fn dependants_go_with_the_last_of_their_owners() {
    let mut stage = stage();
    stage.add(deployment("web", 1, "1"));
    stage.pass(100);
    assert_eq!(stage.names("pods").len(), 1);
    stage.delete("deployments.apps", ("default", "web"));
    stage.pass(100);
    assert!(stage.names("replicasets.apps").is_empty());
    assert!(stage.names("pods").is_empty());
}

#[test]
fn an_owner_deleted_in_the_foreground_waits_for_what_it_owns() {
    let mut stage = stage();
    stage.add(node("n", "4", &json!({})));
    stage.add(deployment("web", 1, "1"));
    stage.pass(100);
    let how = Deletion {
        propagation: Some(Propagation::Foreground),
        ..Deletion::default()
    };
    let at = ("default", "web");
    stage
        .world
        .store
        .delete("deployments.apps", at, &how, stage.now)
        .unwrap();
    stage.pass(100);
    assert_eq!(stage.names("deployments.apps").len(), 1);
    end_all(&mut stage);
    assert!(stage.names("replicasets.apps").is_empty());
    assert!(stage.names("deployments.apps").is_empty());
}

#[test]
fn orphans_stay_without_their_owner() {
    let mut stage = stage();
    stage.add(deployment("web", 1, "1"));
    stage.pass(100);
    let how = Deletion {
        propagation: Some(Propagation::Orphan),
        ..Deletion::default()
    };
    let at = ("default", "web");
    stage
        .world
        .store
        .delete("deployments.apps", at, &how, stage.now)
        .unwrap();
    stage.pass(100);
    assert!(stage.names("deployments.apps").is_empty());
    let set = stage.names("replicasets.apps");
    assert_eq!(set.len(), 1);
    assert!(
        list(&stage.get("replicasets.apps", &set[0])["metadata"]["ownerReferences"]).is_empty()
    );
}

fn budget(spec: &Value) -> Value {
    let mut all = json!({"selector": {"matchLabels": {"app": "web"}}});
    for (member, value) in spec.as_object().into_iter().flatten() {
        all[member] = value.clone();
    }
    json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "keep"}, "spec": all})
}

#[test]
fn a_budget_counts_what_may_go() {
    let cases = [
        (json!({"minAvailable": 3}), 4, 3, 1),
        (json!({"minAvailable": "50%"}), 4, 2, 2),
        (json!({"maxUnavailable": 1}), 4, 3, 1),
        (json!({"maxUnavailable": "30%"}), 4, 2, 2),
        (json!({"maxUnavailable": 0}), 4, 4, 0),
    ];
    for (spec, expected, desired, allowed) in cases {
        let mut stage = stage();
        stage.add(node("n", "8", &json!({})));
        stage.add(deployment("web", 4, "1"));
        stage.add(budget(&spec));
        stage.pass(100);
        assert_eq!(
            stage.get("poddisruptionbudgets.policy", "keep")["status"]["disruptionsAllowed"],
            0
        );
        run_all(&mut stage);
        let status = stage.get("poddisruptionbudgets.policy", "keep")["status"].clone();
        let numbers = [
            "expectedPods",
            "desiredHealthy",
            "disruptionsAllowed",
            "currentHealthy",
        ];
        let numbers: Vec<i64> = numbers
            .iter()
            .map(|name| status[name].as_i64().unwrap())
            .collect();
        assert_eq!(numbers, [expected, desired, allowed, 4], "{spec}");
    }
}

#[test]
fn a_pod_whose_eviction_was_granted_does_not_count_as_healthy() {
    let mut stage = stage();
    stage.add(node("n", "8", &json!({})));
    stage.add(deployment("web", 2, "1"));
    stage.add(budget(&json!({"minAvailable": 1})));
    stage.pass(100);
    run_all(&mut stage);
    let first = stage.names("pods")[0].clone();
    let at = ("default", "keep");
    let now = crate::kubernetes::object::stamp(stage.now);
    stage.change("poddisruptionbudgets.policy", at, |budget| {
        budget["status"]["disruptionsAllowed"] = 0.into();
        budget["status"]["disruptedPods"] = json!({first: now});
    });
    stage.pass(1000);
    let allowed = |stage: &Stage| {
        stage.get("poddisruptionbudgets.policy", "keep")["status"]["disruptionsAllowed"].clone()
    };
    assert_eq!(allowed(&stage), 0);
    stage.change("poddisruptionbudgets.policy", at, |budget| {
        budget["status"]["disruptedPods"] = json!({});
    });
    stage.pass(1000);
    assert_eq!(allowed(&stage), 1);
}

#[test]
fn a_silent_node_becomes_unknown_and_its_pods_leave_in_time() {
    let mut stage = stage();
    stage.add(node("n", "8", &json!({})));
    let toleration = json!([{"key": "node.kubernetes.io/unreachable", "operator": "Exists",
        "effect": "NoExecute", "tolerationSeconds": 300}]);
    stage.add(json!({"kind": "Pod", "metadata": {"name": "patient"}, "spec": {"nodeName": "n", "tolerations": toleration}}));
    stage.pass(30_000);
    let ready =
        |stage: &Stage| condition(&stage.get("nodes", "n"), "Ready").unwrap()["status"].clone();
    assert_eq!(ready(&stage), "True");
    stage.pass(15_000);
    assert_eq!(ready(&stage), "Unknown");
    let taints = stage.get("nodes", "n")["spec"]["taints"].clone();
    let has = |effect: &str| {
        list(&taints).iter().any(|taint| {
            taint["key"] == "node.kubernetes.io/unreachable" && taint["effect"] == effect
        })
    };
    assert!(has("NoSchedule") && has("NoExecute"), "{taints}");
    let leaves =
        |stage: &Stage| stage.get("pods", "patient")["metadata"]["deletionTimestamp"].is_string();
    stage.pass(290_000);
    assert!(!leaves(&stage));
    stage.pass(20_000);
    assert!(leaves(&stage));
}

#[test]
fn a_node_that_is_ready_loses_the_taint_of_one_that_is_not() {
    let mut stage = stage();
    let mut young = node("n", "8", &json!({}));
    young["spec"]["taints"] = json!([{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"},
        {"key": "own", "effect": "NoSchedule"}]);
    stage.add(young);
    stage.pass(100);
    let taints = stage.get("nodes", "n")["spec"]["taints"].clone();
    assert_eq!(list(&taints).len(), 1);
    assert_eq!(taints[0]["key"], "own");
}

#[test]
fn pods_of_a_node_that_is_gone_are_removed_after_a_while() {
    let mut stage = stage();
    stage.add(node("n", "8", &json!({})));
    stage.add(json!({"kind": "Pod", "metadata": {"name": "left"}, "spec": {"nodeName": "n"}}));
    stage.pass(100);
    stage.delete("nodes", ("", "n"));
    stage.pass(30_000);
    assert_eq!(stage.names("pods"), ["left"]);
    stage.pass(15_000);
    assert!(stage.names("pods").is_empty());
}

#[test]
fn a_bootstrap_token_is_deleted_when_it_expires() {
    let mut stage = stage();
    let secret = |name: &str, until: &str| {
        use base64::Engine;
        let until = base64::engine::general_purpose::STANDARD.encode(until);
        json!({"kind": "Secret", "metadata": {"namespace": "kube-system", "name": name},
            "type": "bootstrap.kubernetes.io/token", "data": {"expiration": until}})
    };
    stage.add(secret("bootstrap-token-aaaaaa", "2026-01-01T00:01:00Z"));
    stage.add(secret("bootstrap-token-bbbbbb", "2026-01-01T01:00:00Z"));
    stage.pass(59_000);
    assert_eq!(stage.names("secrets").len(), 2);
    stage.pass(2_000);
    assert_eq!(stage.names("secrets"), ["bootstrap-token-bbbbbb"]);
}

#[test]
fn a_namespace_has_its_account_and_authority_and_takes_everything_with_it() {
    let mut stage = stage();
    stage.add(json!({"kind": "Namespace", "metadata": {"name": "team"}}));
    stage.pass(100);
    let store = &stage.world.store;
    assert!(store.get("serviceaccounts", "team", "default").is_some());
    assert!(
        store
            .get("configmaps", "team", "kube-root-ca.crt")
            .is_some()
    );
    let mut web = deployment("web", 2, "1");
    web["metadata"]["namespace"] = "team".into();
    stage.add(web);
    stage.pass(100);
    stage.delete("namespaces", ("", "team"));
    stage.pass(2_000);
    let store = &stage.world.store;
    assert!(store.get("namespaces", "", "team").is_none());
    assert_eq!(store.list("pods", Some("team")).count(), 0);
}

#[test]
fn events_tell_what_happened_and_are_forgotten_after_an_hour() {
    let mut stage = stage();
    stage.add(deployment("web", 1, "1"));
    stage.pass(100);
    let reasons: Vec<String> = stage
        .world
        .store
        .list("events", Some("default"))
        .map(|event| event.value()["reason"].as_str().unwrap().to_owned())
        .collect();
    for reason in ["ScalingReplicaSet", "SuccessfulCreate", "FailedScheduling"] {
        assert!(
            reasons.iter().any(|have| have == reason),
            "{reason} is not in {reasons:?}"
        );
    }
    stage.pass(3_601_000);
    assert_eq!(stage.names("events").len(), 0);
}

#[test]
fn objects_of_odd_shape_do_no_harm() {
    let mut stage = stage();
    for kind in ["Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"] {
        for (number, spec) in [json!({"template": 5, "selector": [], "strategy": "x", "replicas": "many"}),
            json!({"template": {"metadata": {"labels": "x"}, "spec": [1]}, "volumeClaimTemplates": [1], "updateStrategy": 3})]
            .into_iter().enumerate()
        {
            stage.add(json!({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": format!("odd{number}")}, "spec": spec}));
        }
    }
    stage.add(json!({"kind": "Node", "metadata": {"name": "odd"}, "spec": {"taints": "x"}, "status": {"conditions": 4}}));
    stage.add(json!({"kind": "Pod", "metadata": {"name": "odd"}, "spec": {"containers": 3, "tolerations": [1], "affinity": "x",
        "topologySpreadConstraints": [7], "volumes": [2], "overhead": "y"}}));
    stage.add(budget(&json!({"selector": 4, "minAvailable": {}})));
    stage.pass(60_000);
    assert!(stage.get("pods", "odd").is_object());
}
