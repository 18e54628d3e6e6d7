//! Do the controllers do what Kubernetes documents?

use serde_json::{Value, json};

use crate::kubernetes::cast::Cast;
use crate::kubernetes::reading::{condition, list};
use crate::kubernetes::rules::{Deletion, Propagation};
use crate::kubernetes::stage::{Stage, deployment, node};

/// Everyone, and machines that never come.
fn stage() -> Stage {
    Stage::with_everyone(&Cast::default())
}

/// Plays the kubelets: every bound pod is Running and Ready.
fn run_all(stage: &mut Stage) {
    let bound: Vec<String> = stage
        .world
        .store
        .list("pods", Some("default"))
        .filter(|pod| !pod.meta.node.is_empty() && pod.meta.phase == "Pending")
        .map(|pod| pod.name().to_owned())
        .collect();
    for name in bound {
        stage.change("pods", ("default", &name), |pod| {
            pod["status"]["phase"] = "Running".into();
            pod["status"]["conditions"] =
                json!([{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]);
        });
    }
    stage.pass(100);
}

/// Plays them to the end: pods that are told to go are gone.
fn end_all(stage: &mut Stage) {
    let ending: Vec<String> = stage
        .world
        .store
        .list("pods", Some("default"))
        .filter(|pod| pod.meta.deleted_at.is_some())
        .map(|pod| pod.name().to_owned())
        .collect();
    let how = Deletion {
        grace_seconds: Some(0),
        ..Deletion::default()
    };
    for name in ending {
        let at = ("default", name.as_str());
        stage
            .world
            .store
            .delete("pods", at, &how, stage.now)
            .unwrap();
    }
    stage.pass(100);
}

#[test]
fn a_deployment_gets_its_pods_and_says_when_they_run() {
    let mut stage = stage();
    stage.add(node("n", "8", &json!({})));
    stage.add(deployment("web", 3, "1"));
    stage.pass(100);
    assert_eq!(stage.names("replicasets.apps").len(), 1);
    assert_eq!(stage.pods("Pending"), 3);
    run_all(&mut stage);
    let web = stage.get("deployments.apps", "web");
    assert_eq!(web["status"]["availableReplicas"], 3);
    assert_eq!(
        web["status"]["observedGeneration"],
        web["metadata"]["generation"]
    );
    assert_eq!(condition(&web, "Available").unwrap()["status"], "True");
    assert_eq!(
        condition(&web, "Progressing").unwrap()["reason"],
        "NewReplicaSetAvailable"
    );
    stage.change("deployments.apps", ("default", "web"), |web| {
        web["spec"]["replicas"] = 0.into();
    });
    stage.pass(100);
    end_all(&mut stage);
    assert_eq!(stage.names("pods").len(), 0);
    assert_eq!(
        stage.get("deployments.apps", "web")["status"]["replicas"],
        0
    );
}

#[test]
fn a_new_template_is_rolled_out_and_an_old_one_comes_back_under_a_new_revision() {
    let mut stage = stage();
    stage.add(node("n", "8", &json!({})));
    stage.add(deployment("web", 2, "100m"));
    stage.pass(100);
    run_all(&mut stage);
    let image = |stage: &mut Stage, image: &str| {
        stage.change("deployments.apps", ("default", "web"), |web| {
            web["spec"]["template"]["spec"]["containers"][0]["image"] = image.into();
        });
        stage.pass(100);
        for _ in 0..8 {
            run_all(stage);
            end_all(stage);
        }
    };
    image(&mut stage, "y");
    let pods = stage.names("pods");
    assert_eq!(pods.len(), 2);
    for name in &pods {
        assert_eq!(
            stage.get("pods", name)["spec"]["containers"][0]["image"],
            "y"
        );
    }
    let revision = |stage: &Stage| {
        let web = stage.get("deployments.apps", "web");
        web["metadata"]["annotations"]["deployment.kubernetes.io/revision"].clone()
    };
    assert_eq!(revision(&stage), "2");
    assert_eq!(stage.names("replicasets.apps").len(), 2);
    image(&mut stage, "x");
    assert_eq!(revision(&stage), "3");
    assert_eq!(stage.names("replicasets.apps").len(), 2);
}

#[test]
fn a_rollout_that_stands_still_says_so_after_its_deadline() {
    let mut stage = stage();
    let mut web = deployment("web", 1, "1");
    web["spec"]["progressDeadlineSeconds"] = 60.into();
    stage.add(web);
    stage.pass(30_000);
    let reason = |stage: &Stage| {
        let web = stage.get("deployments.apps", "web");
        condition(&web, "Progressing").unwrap()["reason"].clone()
    };
    assert_eq!(reason(&stage), "ReplicaSetUpdated");
    stage.pass(40_000);
    assert_eq!(reason(&stage), "ProgressDeadlineExceeded");
}

#[test]
fn pods_that_are_not_ready_go_first_when_a_set_shrinks() {
    let mut stage = stage();
    stage.add(node("n", "2", &json!({})));
    stage.add(deployment("web", 4, "1"));
    stage.pass(100);
    run_all(&mut stage);
    assert_eq!((stage.pods("Running"), stage.pods("Pending")), (2, 2));
    stage.change("deployments.apps", ("default", "web"), |web| {
        web["spec"]["replicas"] = 2.into();
    });
    stage.pass(100);
    assert_eq!((stage.pods("Running"), stage.pods("Pending")), (2, 0));
}

fn daemon(spec: &Value) -> Value {
    let mut all =
        json!({"containers": [{"name": "c", "resources": {"requests": {"cpu": "100m"}}}]});
    for (member, value) in spec.as_object().into_iter().flatten() {
        all[member] = value.clone();
    }
    json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "agent"},
        "spec": {"selector": {"matchLabels": {"app": "agent"}},
            "template": {"metadata": {"labels": {"app": "agent"}}, "spec": all}}})
}

#[test]
fn every_node_that_a_daemon_wants_gets_one_even_a_cordoned_one() {
    let mut stage = stage();
    let mut cordoned = node("cordoned", "4", &json!({}));
    cordoned["spec"]["unschedulable"] = true.into();
    let mut tainted = node("tainted", "4", &json!({}));
    tainted["spec"]["taints"] = json!([{"key": "team", "effect": "NoSchedule"}]);
    stage.add(cordoned);
    stage.add(tainted);
    stage.add(node("plain", "4", &json!({})));
    stage.add(daemon(&json!({})));
    stage.pass(100);
    let mut on: Vec<String> = stage
        .names("pods")
        .iter()
        .map(|name| {
            stage.get("pods", name)["spec"]["nodeName"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    on.sort();
    assert_eq!(on, ["cordoned", "plain"]);
    stage.add(node("later", "4", &json!({})));
    stage.pass(100);
    run_all(&mut stage);
    let status = stage.get("daemonsets.apps", "agent")["status"].clone();
    assert_eq!(
        (&status["desiredNumberScheduled"], &status["numberReady"]),
        (&json!(3), &json!(3))
    );
}

#[test]
fn a_daemon_stays_off_nodes_it_does_not_select_and_leaves_when_they_change() {
    let mut stage = stage();
    stage.add(node("yes", "4", &json!({"disk": "ssd"})));
    stage.add(node("no", "4", &json!({})));
    stage.add(daemon(&json!({"nodeSelector": {"disk": "ssd"}})));
    stage.pass(100);
    assert_eq!(stage.names("pods").len(), 1);
    stage.change("nodes", ("", "yes"), |node| {
        node["metadata"]["labels"]["disk"] = "hdd".into();
    });
    stage.pass(100);
    end_all(&mut stage);
    assert_eq!(stage.names("pods").len(), 0);
}

#[test]
fn a_statefulset_makes_its_pods_one_after_the_other_with_their_volumes() {
    let mut stage = stage();
    stage.add(node("n", "8", &json!({})));
    let set = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db"},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "db"}},
            "template": {"metadata": {"labels": {"app": "db"}}, "spec": {"containers": [{"name": "c"}]}},
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"],
                "storageClassName": "fast", "resources": {"requests": {"storage": "1Gi"}}}}]}});
    let class = json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "fast"},
        "provisioner": "csi", "volumeBindingMode": "WaitForFirstConsumer"});
    stage.add(class);
    stage.add(set);
    stage.pass(100);
    assert_eq!(stage.names("pods"), ["db-0"]);
    run_all(&mut stage);
    assert_eq!(stage.names("pods"), ["db-0", "db-1"]);
    run_all(&mut stage);
    assert_eq!(
        stage.get("statefulsets.apps", "db")["status"]["readyReplicas"],
        2
    );
    assert_eq!(
        stage.names("persistentvolumeclaims"),
        ["data-db-0", "data-db-1"]
    );
    stage.change("statefulsets.apps", ("default", "db"), |db| {
        db["spec"]["replicas"] = 1.into();
    });
    stage.pass(100);
    end_all(&mut stage);
    assert_eq!(stage.names("pods"), ["db-0"]);
    assert_eq!(stage.names("persistentvolumeclaims").len(), 2);
}

#[test]
fn a_job_ends_with_its_completions_or_with_too_many_failures() {
    let job = |name: &str| {
        json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name},
            "spec": {"completions": 2, "parallelism": 1, "backoffLimit": 0,
                "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c"}]}}}})
    };
    let mut stage = stage();
    stage.add(job("good"));
    stage.pass(100);
    for _ in 0..2 {
        let open: Vec<String> = stage.names("pods");
        for name in open {
            stage.change("pods", ("default", &name), |pod| {
                pod["status"]["phase"] = "Succeeded".into();
            });
        }
        stage.pass(100);
    }
    let good = stage.get("jobs.batch", "good");
    assert_eq!(good["status"]["succeeded"], 2);
    assert_eq!(condition(&good, "Complete").unwrap()["status"], "True");
    stage.add(job("bad"));
    stage.pass(100);
    let open: Vec<String> = stage
        .names("pods")
        .into_iter()
        .filter(|name| name.starts_with("bad"))
        .collect();
    stage.change("pods", ("default", &open[0]), |pod| {
        pod["status"]["phase"] = "Failed".into();
    });
    stage.pass(100);
    let bad = stage.get("jobs.batch", "bad");
    assert_eq!(
        condition(&bad, "Failed").unwrap()["reason"],
        "BackoffLimitExceeded"
    );
}

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
