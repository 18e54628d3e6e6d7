//! Does the control plane without containers behave like one?

use std::collections::BTreeMap;
use std::time::Duration;

use e2e::{Join, Node, Options, need_control_plane, wait};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Node as NodeObject, Pod};
use kube::api::ListParams;
use kube::{Api, ResourceExt};

const SOON: Duration = Duration::from_mins(1);

const WEB: &str = "apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: NAMESPACE}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: example.org/web}]}
";

#[tokio::test]
async fn a_node_joins_by_bootstrap_token_and_a_deployment_runs_on_it() {
    let Some(control_plane) = need_control_plane("cluster: a deployment runs on a hollow node")
    else {
        return;
    };
    let options = Options {
        nodes: vec![Node::named("only")],
        ..Options::unnamed()
    };
    let cluster = control_plane.private(options).await.unwrap();
    let client = cluster.client().await.unwrap();
    let namespace = cluster.fresh_namespace("web").await.unwrap();

    e2e::apply(&client, &WEB.replace("NAMESPACE", &namespace))
        .await
        .unwrap();
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), &namespace);
    wait::until(
        &deployments,
        "web",
        "available",
        SOON,
        wait::condition("Available", "True"),
    )
    .await
    .unwrap();

    let pods: Api<Pod> = Api::namespaced(client, &namespace);
    let listed = pods.list(&ListParams::default()).await.unwrap().items;
    assert_eq!(listed.len(), 2);
    for pod in listed {
        // A fake prober calls a pod ready before it runs, so the Deployment alone does not prove it.
        let running = wait::until(&pods, &pod.name_any(), "Running", SOON, is_running)
            .await
            .unwrap();
        assert_eq!(running.spec.unwrap().node_name.as_deref(), Some("only"));
    }
    let csrs = cluster
        .kubectl(&["get", "csr", "-o", "jsonpath={.items[*].spec.username}"])
        .await
        .unwrap()
        .success()
        .unwrap();
    assert_eq!(
        csrs, "system:bootstrap:abcdef",
        "the node got its certificate with the bootstrap token"
    );
    let took: Vec<String> = cluster
        .local()
        .phases()
        .iter()
        .map(|(name, took)| format!("{name} {took:?}"))
        .collect();
    println!("start: {}", took.join(", "));
}

fn is_running(pod: &Pod) -> bool {
    pod.status
        .as_ref()
        .and_then(|status| status.phase.as_deref())
        == Some("Running")
}

#[tokio::test]
async fn a_node_is_the_machine_it_was_told_to_pretend() {
    let Some(control_plane) = need_control_plane("cluster: a node pretends a machine") else {
        return;
    };
    let cluster = control_plane.shared().await.unwrap();
    let node = Node {
        provider_id: Some("openstack:///0b7d".into()),
        cpus: 8,
        memory: "32Gi".into(),
        ephemeral_storage: "120Gi".into(),
        extended_resources: BTreeMap::from([("nvidia.com/gpu".into(), "2".into())]),
        max_pods: 50,
        labels: BTreeMap::from([
            ("topology.kubernetes.io/zone".into(), "az1".into()),
            ("pool".into(), "gpu".into()),
        ]),
        taints: vec!["team=a:NoSchedule".into()],
        external_cloud: true,
        ..Node::named("pretender")
    };
    cluster.join_node(node).await.unwrap();

    let nodes: Api<NodeObject> = Api::all(cluster.client().await.unwrap());
    let seen = nodes.get("pretender").await.unwrap();
    let capacity = seen.status.as_ref().unwrap().capacity.clone().unwrap();
    let read = |name: &str| {
        capacity
            .get(name)
            .map(|quantity| quantity.0.clone())
            .unwrap_or_default()
    };
    assert_eq!(read("cpu"), "8");
    assert_eq!(read("memory"), "32Gi");
    assert_eq!(read("ephemeral-storage"), "120Gi");
    assert_eq!(read("nvidia.com/gpu"), "2");
    assert_eq!(read("pods"), "50");
    assert_eq!(
        seen.labels()
            .get("topology.kubernetes.io/zone")
            .map(String::as_str),
        Some("az1")
    );
    assert_eq!(seen.labels().get("pool").map(String::as_str), Some("gpu"));
    let spec = seen.spec.unwrap();
    assert_eq!(spec.provider_id.as_deref(), Some("openstack:///0b7d"));
    let taints: Vec<String> = spec
        .taints
        .unwrap_or_default()
        .into_iter()
        .map(|taint| taint.key)
        .collect();
    assert!(taints.contains(&"team".to_owned()), "{taints:?}");
    assert!(
        taints.contains(&"node.cloudprovider.kubernetes.io/uninitialized".to_owned()),
        "{taints:?}"
    );
    cluster.stop_node("pretender").await.unwrap();
}

#[tokio::test]
async fn a_node_with_a_wrong_token_does_not_join_and_says_why() {
    let Some(control_plane) = need_control_plane("cluster: a wrong token is named") else {
        return;
    };
    let cluster = control_plane.shared().await.unwrap();
    let node = Node {
        join: Join::Token("abcdef.ffffffffffffffff".into()),
        ..Node::named("intruder")
    };
    let error = cluster.join_node(node).await.unwrap_err().to_string();
    assert!(
        error.contains("does not accept bootstrap token \"abcdef\""),
        "{error}"
    );
    assert!(
        !error.contains("ffffffffffffffff"),
        "the secret half must not be shown: {error}"
    );
    let nodes: Api<NodeObject> = Api::all(cluster.client().await.unwrap());
    assert!(nodes.get_opt("intruder").await.unwrap().is_none());
}

#[tokio::test]
async fn a_node_that_trusts_another_authority_does_not_join_and_says_why() {
    let Some(control_plane) = need_control_plane("cluster: a wrong CA is named") else {
        return;
    };
    let cluster = control_plane.shared().await.unwrap();
    let foreign = xtask::cluster::Authority::new("foreign")
        .unwrap()
        .certificate();
    let credential = xtask::cluster::Credential::Token(xtask::cluster::BOOTSTRAP_TOKEN);
    let kubeconfig =
        xtask::cluster::kubeconfig(&cluster.local().api_address(), &foreign, credential);
    let node = Node {
        join: Join::Kubeconfig(kubeconfig),
        ..Node::named("stranger")
    };
    let error = cluster.join_node(node).await.unwrap_err().to_string();
    assert!(
        error.contains("is not trusted by the CA in the bootstrap kubeconfig"),
        "{error}"
    );
}

#[tokio::test]
async fn a_label_a_kubelet_may_not_set_is_refused_at_its_start() {
    let Some(control_plane) = need_control_plane("cluster: a forbidden label is named") else {
        return;
    };
    let cluster = control_plane.shared().await.unwrap();
    let labels = BTreeMap::from([("node-role.kubernetes.io/worker".into(), String::new())]);
    let error = cluster
        .join_node(Node {
            labels,
            ..Node::named("forbidden")
        })
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("node-role.kubernetes.io/worker"), "{error}");
}

#[tokio::test]
async fn two_clusters_live_side_by_side_and_know_nothing_of_each_other() {
    let Some(control_plane) = need_control_plane("cluster: two side by side") else {
        return;
    };
    let (one, other) = (
        control_plane.shared().await.unwrap(),
        control_plane.private(Options::unnamed()).await.unwrap(),
    );
    let namespace = one.fresh_namespace("mine").await.unwrap();
    let seen = other
        .kubectl(&["get", "namespace", &namespace])
        .await
        .unwrap();
    assert!(!seen.ok && seen.stderr.contains("NotFound"), "{seen:?}");
    let stranger = kube::Client::try_from(config_with_foreign_address(&one, &other).await).unwrap();
    stranger
        .apiserver_version()
        .await
        .expect_err("one cluster's certificate must mean nothing to the other");
}

async fn config_with_foreign_address(
    credentials: &e2e::Cluster,
    address: &e2e::Cluster,
) -> kube::Config {
    let text = std::fs::read_to_string(credentials.kubeconfig()).unwrap();
    let text = text.replace(
        &credentials.local().api_address(),
        &address.local().api_address(),
    );
    kube::Config::from_custom_kubeconfig(
        kube::config::Kubeconfig::from_yaml(&text).unwrap(),
        &kube::config::KubeConfigOptions::default(),
    )
    .await
    .unwrap()
}

#[tokio::test]
async fn a_wait_in_vain_shows_the_object_as_it_was_last_seen() {
    let Some(control_plane) = need_control_plane("cluster: a wait shows what was seen") else {
        return;
    };
    let cluster = control_plane.shared().await.unwrap();
    let client = cluster.client().await.unwrap();
    let namespace = cluster.fresh_namespace("wait").await.unwrap();
    let map = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: mood, namespace: {namespace}}}\ndata: {{is: sad}}"
    );
    e2e::apply(&client, &map).await.unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(client, &namespace);
    let happy = |map: &ConfigMap| {
        map.data
            .as_ref()
            .is_some_and(|data| data.get("is").is_some_and(|mood| mood == "happy"))
    };
    let short = Duration::from_millis(300);
    let error = wait::until(&maps, "mood", "happy", short, happy)
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("mood to be happy") && error.contains("\"is\": \"sad\""),
        "{error}"
    );
    let error = wait::until(&maps, "nothing", "happy", short, happy)
        .await
        .unwrap_err()
        .to_string();
    assert!(error.ends_with("seen instead: no such object"), "{error}");
}

#[tokio::test]
async fn the_audit_log_names_who_did_what_when_asked_for() {
    let Some(control_plane) = need_control_plane("cluster: audit log") else {
        return;
    };
    assert_eq!(
        control_plane.shared().await.unwrap().local().audit_log(),
        None,
        "off unless asked for"
    );
    let options = Options {
        audit_policy: Some(e2e::AUDIT_METADATA.to_owned()),
        ..Options::unnamed()
    };
    let cluster = control_plane.private(options).await.unwrap();
    let namespace = cluster.fresh_namespace("audited").await.unwrap();
    let client = cluster.client().await.unwrap();
    let account = format!(
        "apiVersion: v1\nkind: ServiceAccount\nmetadata: {{name: snoop, namespace: {namespace}}}"
    );
    e2e::apply(&client, &account).await.unwrap();
    let snoop = cluster.client_as(&namespace, "snoop").await.unwrap();
    let refused = Api::<Pod>::namespaced(snoop, &namespace)
        .list(&ListParams::default())
        .await
        .unwrap_err();
    assert!(
        refused.to_string().contains("forbidden"),
        "RBAC is on: {refused}"
    );

    let log = cluster.local().audit_log().unwrap();
    let user = format!("system:serviceaccount:{namespace}:snoop");
    let line = wait::succeeds("the refusal to be in the audit log", SOON, async || {
        let log = std::fs::read_to_string(&log)?;
        log.lines()
            .find(|line| line.contains(&user) && line.contains("\"verb\":\"list\""))
            .map(str::to_owned)
            .ok_or(anyhow::anyhow!("not there"))
    });
    let event: serde_json::Value = serde_json::from_str(&line.await.unwrap()).unwrap();
    assert_eq!(
        (
            &event["responseStatus"]["code"],
            &event["objectRef"]["resource"]
        ),
        (&403.into(), &"pods".into())
    );
}

#[tokio::test]
async fn a_busy_port_is_named_and_nothing_is_started() {
    let Some(control_plane) = need_control_plane("cluster: a busy port is named") else {
        return;
    };
    let held = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = held.local_addr().unwrap().port();
    let options = Options {
        api_port: Some(port),
        ..Options::unnamed()
    };
    let name = options.name.clone();
    let error = control_plane
        .private(options)
        .await
        .err()
        .unwrap()
        .to_string();
    assert!(
        error.contains(&format!("port {port} on 127.0.0.1 is busy")),
        "{error}"
    );
    assert!(
        !xtask::tools::cache_root()
            .unwrap()
            .join("clusters")
            .join(name)
            .exists()
    );
}

#[tokio::test]
async fn a_port_taken_while_starting_is_tried_again_and_then_named() {
    let Some(control_plane) = need_control_plane("cluster: a taken port is tried again") else {
        return;
    };
    let held = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = held.local_addr().unwrap().port();
    // Behind the back of the choice of ports: the same as somebody who is faster than we are, each time.
    let options = Options {
        api_server_flags: vec![format!("--secure-port={port}")],
        ..Options::unnamed()
    };
    let error = format!("{:#}", control_plane.private(options).await.err().unwrap());
    assert!(
        error.contains("a port was busy in each of 3 attempts"),
        "{error}"
    );
    assert!(
        error.contains("kube-apiserver did not come up (a port it needs is busy)"),
        "{error}"
    );
    assert!(error.contains(&format!("127.0.0.1:{port}")), "{error}");
}

#[tokio::test]
async fn a_part_that_dies_shows_the_end_of_its_log() {
    let Some(control_plane) = need_control_plane("cluster: a dying part shows its log") else {
        return;
    };
    let options = Options {
        api_server_flags: vec!["--no-such-flag".into()],
        ..Options::unnamed()
    };
    let error = control_plane
        .private(options)
        .await
        .err()
        .unwrap()
        .to_string();
    assert!(
        error.contains("kube-apiserver did not come up")
            && error.contains("unknown flag: --no-such-flag"),
        "{error}"
    );
}

#[tokio::test]
async fn a_name_can_be_used_by_one_cluster_at_a_time() {
    let Some(control_plane) = need_control_plane("cluster: a name is used once") else {
        return;
    };
    let shared = control_plane.shared().await.unwrap();
    let error = control_plane
        .private(Options::named(shared.local().name()))
        .await
        .err()
        .unwrap()
        .to_string();
    assert!(error.contains("is running already"), "{error}");
    shared
        .client()
        .await
        .unwrap()
        .apiserver_version()
        .await
        .expect("the first one is untouched");
}

#[tokio::test]
async fn the_api_server_can_be_cut_off_and_comes_back_with_its_data() {
    let Some(control_plane) = need_control_plane("cluster: API server down and up") else {
        return;
    };
    let cluster = control_plane.private(Options::unnamed()).await.unwrap();
    let namespace = cluster.fresh_namespace("kept").await.unwrap();
    let local = cluster.local().clone();
    tokio::task::spawn_blocking(move || local.stop_api_server())
        .await
        .unwrap()
        .unwrap();
    cluster
        .client()
        .await
        .unwrap()
        .apiserver_version()
        .await
        .expect_err("nobody answers");
    let local = cluster.local().clone();
    tokio::task::spawn_blocking(move || local.start_api_server())
        .await
        .unwrap()
        .unwrap();
    cluster
        .kubectl(&["get", "namespace", &namespace])
        .await
        .unwrap()
        .success()
        .unwrap();
}

#[tokio::test]
async fn a_process_of_this_host_is_dialled_through_a_service_reference() {
    let Some(control_plane) = need_control_plane("cluster: a service reference leads to this host")
    else {
        return;
    };
    let cluster = control_plane.shared().await.unwrap();
    let client = cluster.client().await.unwrap();
    let namespace = cluster.fresh_namespace("dialled").await.unwrap();
    let listener = tokio::net::TcpListener::bind("0.0.0.0:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let exposed = e2e::expose(&client, &namespace, "gate", port)
        .await
        .unwrap();
    let webhook = GATE
        .replace("NAMESPACE", &namespace)
        .replace("CA_BUNDLE", &exposed.ca_bundle());
    e2e::apply(&client, &webhook).await.unwrap();

    let greeting = tokio::spawn(async move {
        let (mut connection, _) = listener.accept().await.unwrap();
        let mut hello = vec![0; 2048];
        let count = tokio::io::AsyncReadExt::read(&mut connection, &mut hello)
            .await
            .unwrap();
        String::from_utf8_lossy(&hello[..count]).into_owned()
    });
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), &namespace);
    let map = ConfigMap {
        metadata: kube::api::ObjectMeta {
            name: Some("x".into()),
            ..Default::default()
        },
        ..Default::default()
    };
    wait::succeeds("the API server to dial us", SOON, async || {
        let answer = maps
            .create(
                &kube::api::PostParams {
                    dry_run: true,
                    ..Default::default()
                },
                &map,
            )
            .await;
        anyhow::ensure!(
            greeting.is_finished(),
            "it answered {answer:?} without asking us"
        );
        Ok(())
    })
    .await
    .unwrap();
    let hello = greeting.await.unwrap();
    assert!(
        hello.contains(&format!("gate.{namespace}.svc")),
        "TLS for the Service's name: {hello:?}"
    );
    e2e::delete(&client, &webhook).await.unwrap();
}

const GATE: &str = "apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: NAMESPACE}
webhooks:
- name: gate.example.org
  sideEffects: None
  timeoutSeconds: 5
  failurePolicy: Fail
  admissionReviewVersions: [v1]
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NAMESPACE}}
  rules: [{apiGroups: [\"\"], apiVersions: [v1], resources: [configmaps], operations: [CREATE]}]
  clientConfig: {service: {namespace: NAMESPACE, name: gate, path: /}, caBundle: CA_BUNDLE}
";
