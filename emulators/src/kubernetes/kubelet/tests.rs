//! Does a kubelet join, run pods and stop?

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedReceiver;

use super::machines::Line;
use super::*;
use crate::fronts::engine::Hand;
use crate::kubernetes::cast::Cast;
use crate::kubernetes::reading::{condition, list, text};
use crate::kubernetes::stage::{Stage, deployment};
use crate::machine::{Boot, Effect, Size};

const SECRET: &str = "0123456789abcdef";

struct Place {
    stage: Stage,
    hand: Hand,
    lines: UnboundedReceiver<Line>,
}

fn place() -> Place {
    let cast = Cast {
        door: Door {
            ca: Some("CA-PEM\n".into()),
            endpoints: vec!["https://api:6443".into()],
        },
        ..Cast::default()
    };
    let (hand, lines) = cast.machines.hand();
    let mut stage = Stage::with_everyone(&cast);
    let encoded = |text: &str| STANDARD.encode(text);
    stage.add(json!({"kind": "Secret", "metadata": {"namespace": "kube-system", "name": "bootstrap-token-abcdef"},
        "type": "bootstrap.kubernetes.io/token", "data": {
            "token-id": encoded("abcdef"), "token-secret": encoded(SECRET),
            "usage-bootstrap-authentication": encoded("true"), "expiration": encoded("2026-01-01T01:00:00Z"),
        }}));
    Place { stage, hand, lines }
}

#[allow(clippy::unnecessary_wraps)] // user data is optional, and a case without it stands beside
fn user_data(ca: &str, token: &str, server: &str) -> Option<String> {
    let ca = STANDARD.encode(ca);
    let text = format!(
        r#"## template: jinja
#cloud-config
write_files:
- path: /etc/kubernetes/bootstrap-kubelet.conf
  content: |
    clusters: [{{name: c, cluster: {{server: "{server}", certificate-authority-data: "{ca}"}}}}]
    contexts: [{{name: x, context: {{cluster: c, user: u}}}}]
    current-context: x
    users: [{{name: u, user: {{token: {token}}}}}]
- path: /etc/kubernetes/kubelet.env
  content: |
    KUBELET_EXTRA_ARGS="--provider-id=openstack:///{{{{ v1.instance_id }}}} --node-labels=team=a --register-with-taints=x/y:NoExecute --max-pods=50"
"#
    );
    Some(STANDARD.encode(text))
}

fn good() -> Option<String> {
    user_data("CA-PEM", &format!("abcdef.{SECRET}"), "https://api:6443")
}

impl Place {
    fn boot(&mut self, name: &str, user_data: Option<String>) {
        let size = Size {
            cpus: 4,
            memory_mib: 8192,
            disk_gib: 40,
            gpus: 1,
        };
        let boot = Boot {
            machine: format!("id-{name}"),
            hostname: name.to_owned(),
            zone: "az-a".into(),
            region: "r".into(),
            user_data,
            size,
        };
        (self.hand)(Effect::Boot(boot));
        // as the wake of an engine does
        self.stage.world.stir(self.stage.now);
    }

    fn halt(&mut self, name: &str) {
        let machine = format!("id-{name}");
        (self.hand)(Effect::Halt { machine });
        self.stage.world.stir(self.stage.now);
    }

    fn console(&mut self) -> String {
        let mut all = String::new();
        while let Ok((_, text)) = self.lines.try_recv() {
            all.push_str(&text);
        }
        all
    }

    /// Joined, Ready, and without the taint it registered with.
    fn joined(name: &str) -> Self {
        let mut place = place();
        place.boot(name, good());
        place.stage.pass(2000);
        place.stage.change("nodes", ("", name), |node| {
            node["spec"]["taints"] = json!([]);
        });
        place
    }

    fn add_pod(&mut self, name: &str, more: &Value) {
        let mut pod = json!({"kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [{"name": "c"}],
            "terminationGracePeriodSeconds": 30, "restartPolicy": "Always"}});
        for (member, value) in more["spec"].as_object().into_iter().flatten() {
            pod["spec"][member] = value.clone();
        }
        pod["metadata"]["annotations"] = more["annotations"].clone();
        if pod["metadata"]["annotations"].is_null() {
            pod["metadata"]["annotations"] = json!({});
        }
        self.stage.add(pod);
    }
}

#[test]
fn a_booted_machine_becomes_the_node_its_user_data_describes() {
    let mut place = place();
    place.boot("pool-1", good());
    place.stage.pass(500);
    let young = place.stage.get("nodes", "pool-1");
    assert_eq!(condition(&young, "Ready").unwrap()["status"], "False");
    place.stage.pass(2000);
    let node = place.stage.get("nodes", "pool-1");
    assert_eq!(condition(&node, "Ready").unwrap()["status"], "True");
    assert_eq!(node["spec"]["providerID"], "openstack:///id-pool-1");
    assert_eq!(node["metadata"]["labels"]["team"], "a");
    assert_eq!(
        node["metadata"]["labels"]["kubernetes.io/hostname"],
        "pool-1"
    );
    let keys: Vec<&str> = list(&node["spec"]["taints"])
        .iter()
        .map(|taint| text(taint, "key"))
        .collect();
    assert_eq!(keys, ["x/y"]);
    let allocatable = &node["status"]["allocatable"];
    assert_eq!(
        (&allocatable["cpu"], &allocatable["pods"]),
        (&json!("4"), &json!("50"))
    );
    assert_eq!(allocatable["nvidia.com/gpu"], "1");
    assert!(
        place
            .stage
            .world
            .store
            .get("leases.coordination.k8s.io", "kube-node-lease", "pool-1")
            .is_some()
    );
    let console = place.console();
    assert!(
        console.starts_with("kubelet: joining https://api:6443 as pool-1\n"),
        "{console}"
    );
    assert!(console.contains("\"pool-1\" is registered"), "{console}");
}

#[test]
fn a_machine_that_may_not_join_says_why_and_joins_nothing() {
    let token = format!("abcdef.{SECRET}");
    let cases = [
        (None, "no user data"),
        (
            user_data("CA-PEM", "abcdef.ffffffffffffffff", "https://api:6443"),
            "does not accept bootstrap token \"abcdef\"",
        ),
        (
            user_data("CA-PEM", "nobody.ffffffffffffffff", "https://api:6443"),
            "does not accept bootstrap token \"nobody\"",
        ),
        (
            user_data("OTHER", &token, "https://api:6443"),
            "is not trusted by the CA in the bootstrap kubeconfig",
        ),
        (
            user_data("CA-PEM", &token, "https://elsewhere:6443"),
            "did not answer",
        ),
    ];
    for (user_data, why) in cases {
        let mut place = place();
        place.boot("pool-1", user_data);
        place.stage.pass(5000);
        assert!(place.stage.names("nodes").is_empty(), "{why}");
        let console = place.console();
        assert!(console.contains(why), "{why}: {console}");
        assert!(
            !console.contains("ffffffffffffffff") && !console.contains(SECRET),
            "{console}"
        );
    }
}

#[test]
fn a_token_that_is_over_opens_no_door() {
    let mut place = place();
    place.stage.pass(3_600_000);
    place.boot("late", good());
    place.stage.pass(5000);
    assert!(place.stage.names("nodes").is_empty());
    assert!(place.console().contains("does not accept bootstrap token"));
}

#[test]
fn a_running_machine_stays_ready_and_a_halted_one_is_lost() {
    let mut place = Place::joined("n");
    place.stage.pass(600_000);
    let ready = |place: &Place| {
        condition(&place.stage.get("nodes", "n"), "Ready").unwrap()["status"].clone()
    };
    assert_eq!(ready(&place), "True");
    place.halt("n");
    place.stage.pass(60_000);
    assert_eq!(ready(&place), "Unknown");
    place.boot("n", good());
    place.stage.pass(5_000);
    assert_eq!(ready(&place), "True");
    let taints = place.stage.get("nodes", "n")["spec"]["taints"].clone();
    assert!(list(&taints).is_empty(), "{taints}");
}

#[test]
fn a_kubelet_whose_node_was_deleted_does_not_bring_it_back() {
    let mut place = Place::joined("n");
    place.stage.delete("nodes", ("", "n"));
    place.stage.pass(120_000);
    assert!(place.stage.names("nodes").is_empty());
    assert!(place.stage.names("leases.coordination.k8s.io").is_empty());
}

#[test]
fn pods_run_after_their_init_containers() {
    let mut place = Place::joined("n");
    let inits = json!([{"name": "i"}, {"name": "side", "restartPolicy": "Always"}]);
    place.add_pod("p", &json!({"spec": {"initContainers": inits}}));
    place.stage.pass(400);
    let pod = place.stage.get("pods", "p");
    assert_eq!(pod["status"]["phase"], "Pending");
    assert_eq!(condition(&pod, "Initialized").unwrap()["status"], "False");
    place.stage.pass(400);
    let pod = place.stage.get("pods", "p");
    assert_eq!(pod["status"]["phase"], "Running");
    assert_eq!(condition(&pod, "Ready").unwrap()["status"], "True");
    let states = &pod["status"]["initContainerStatuses"];
    assert!(
        states[0]["state"]["terminated"].is_object() && states[1]["state"]["running"].is_object()
    );
    assert!(pod["status"]["podIP"].is_string());
}

#[test]
fn a_deleted_pod_ends_within_its_grace_and_a_slow_one_uses_all_of_it() {
    let mut place = Place::joined("n");
    place.add_pod("quick", &json!({}));
    place.add_pod(
        "slow",
        &json!({"annotations": {"kubelet.emulated/stop-seconds": "300"}}),
    );
    place.stage.pass(1000);
    assert_eq!(place.stage.pods("Running"), 2);
    place.stage.delete("pods", ("default", "quick"));
    place.stage.delete("pods", ("default", "slow"));
    place.stage.pass(1000);
    assert_eq!(place.stage.names("pods"), ["slow"]);
    place.stage.pass(28_000);
    assert_eq!(place.stage.names("pods"), ["slow"]);
    place.stage.pass(2_000);
    assert!(place.stage.names("pods").is_empty());
}

#[test]
fn pods_of_a_halted_machine_do_not_end() {
    let mut place = Place::joined("n");
    place.add_pod("p", &json!({}));
    place.stage.pass(1000);
    place.halt("n");
    place.stage.pass(100);
    place.stage.delete("pods", ("default", "p"));
    place.stage.pass(35_000);
    assert_eq!(place.stage.names("pods"), ["p"]);
    place.stage.delete("nodes", ("", "n"));
    place.stage.pass(41_000);
    assert!(place.stage.names("pods").is_empty());
}

#[test]
fn a_jobs_pod_ends_by_itself_as_it_wishes() {
    let mut place = Place::joined("n");
    let template = |code: &str| {
        json!({"metadata": {"annotations": {"kubelet.emulated/exit-code": code}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "c"}]}})
    };
    for (name, code) in [("good", "0"), ("bad", "3")] {
        place.stage.add(
            json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name},
            "spec": {"completions": 1, "backoffLimit": 0, "template": template(code)}}),
        );
    }
    place.stage.pass(5000);
    assert!(condition(&place.stage.get("jobs.batch", "good"), "Complete").is_some());
    assert!(condition(&place.stage.get("jobs.batch", "bad"), "Failed").is_some());
}

#[test]
fn pending_pods_run_when_a_machine_joins_and_are_gone_after_scaling_to_zero() {
    let mut place = place();
    place.stage.add(deployment("web", 3, "1"));
    place.stage.pass(1000);
    assert_eq!(place.stage.pods("Pending"), 3);
    place.boot("n", good());
    place.stage.pass(2000);
    // the operator would take the taint off
    place.stage.change("nodes", ("", "n"), |node| {
        node["spec"]["taints"] = json!([]);
    });
    place.stage.pass(2000);
    assert_eq!(place.stage.pods("Running"), 3);
    assert_eq!(
        place.stage.get("deployments.apps", "web")["status"]["readyReplicas"],
        3
    );
    place
        .stage
        .change("deployments.apps", ("default", "web"), |web| {
            web["spec"]["replicas"] = 0.into();
        });
    place.stage.pass(2000);
    assert!(place.stage.names("pods").is_empty());
}
