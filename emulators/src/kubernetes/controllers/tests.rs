//! Do the controllers do what Kubernetes documents?

mod leaving;

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
