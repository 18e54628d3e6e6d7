//! Do pending pods become running ones on machines bought for them, and do the machines go when nobody needs them?

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use e2e::ground::{Ground, api};
use e2e::{Binary, Emulator, Running, apply, wait};
use k8s_openapi::api::core::v1::{Node, Pod, Secret};
use kube::api::ListParams;
use kube::{Api, Client};

const SOON: Duration = Duration::from_mins(3);

const CLASS_AND_POOL: &str = "
apiVersion: karpenter.k8s.openstack/v1
kind: OpenStackNodeClass
metadata: {name: default}
spec:
  imageSelectorTerms: [{name: k8s-ubuntu-24.04}]
  ports: [{network: {name: k8s}}]
  securityGroupSelectorTerms: [{name: k8s-node}]
  bootstrap: {mode: Kubelet}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: general}
spec:
  template:
    spec:
      requirements: []
      nodeClassRef: {group: karpenter.k8s.openstack, kind: OpenStackNodeClass, name: default}
  disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 0s, budgets: [{nodes: \"100%\"}]}
";

fn deployment(name: &str, replicas: u32, cpu: &str, memory: &str) -> String {
    format!(
        "
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}, namespace: default}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{{name: main, image: pause, resources: {{requests: {{cpu: {cpu}, memory: {memory}}}}}}}]
"
    )
}

#[tokio::test]
async fn twenty_pending_pods_run_on_machines_that_go_when_the_pods_do() -> Result<()> {
    let Some(control_plane) = e2e::need_control_plane("first node: pending pods run, machines go")
    else {
        return Ok(());
    };
    let ground = Ground::private(&control_plane).await?;
    let client = ground.cluster.client().await?;
    let tools = xtask::tools::control_plane()?;
    let emulator = Emulator::start(Some(&tools.hollow_kubelet)).await?;
    let mut operator = start(&ground, &emulator)?;
    apply(&client, CLASS_AND_POOL).await?;
    for (name, cpu, memory) in [("small", "250m", "256Mi"), ("wide", "1", "512Mi")] {
        apply(&client, &deployment(name, 10, cpu, memory)).await?;
    }
    let outcome = both_ways(&ground, &client, &emulator).await;
    if outcome.is_err() {
        println!("the operator said:\n{}", operator.log());
    }
    outcome?;
    let status = operator.terminate(Duration::from_secs(30)).await?;
    ensure!(status.success(), "the operator ended with {status}");
    emulator.stop().await
}

async fn both_ways(ground: &Ground, client: &Client, emulator: &Emulator) -> Result<()> {
    running(client, 20).await?;
    let machines = servers(emulator).await?;
    ensure!(machines > 0, "pods run, and the cloud knows no server");
    println!("20 pods run on {machines} servers");
    for name in ["small", "wide"] {
        let scaled = ground
            .cluster
            .kubectl(&["scale", "deployment", name, "--replicas=0"])
            .await?;
        scaled.success()?;
    }
    nothing_left(client, emulator).await
}

/// The operator as a process of its own, with the emulated cloud's credentials in its environment.
fn start(ground: &Ground, emulator: &Emulator) -> Result<Running> {
    let mut operator = Binary::named("joiner")?
        .arg("run")
        .arg("--kubeconfig")
        .arg(ground.cluster.kubeconfig())
        .arg("--namespace=joiner")
        .arg("--cluster-name=first-node")
        .arg("--metrics-port=0")
        .arg("--health-probe-port=0")
        .arg("--admin-address=127.0.0.1");
    for (name, value) in emulator.env() {
        operator = operator.env(name, value);
    }
    operator.start()
}

async fn running(client: &Client, count: usize) -> Result<()> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), "default");
    wait::succeeds("all pods to run", SOON, async || {
        let listed = pods.list(&ListParams::default()).await?;
        let phase = |pod: &Pod| pod.status.as_ref().and_then(|status| status.phase.clone());
        let phases: Vec<_> = listed.iter().filter_map(phase).collect();
        let running = phases.iter().filter(|phase| *phase == "Running").count();
        ensure!(running == count, "{running} of {count} run: {phases:?}");
        Ok(())
    })
    .await
}

/// No claim, no node, no server, no port, no bootstrap token.
async fn nothing_left(client: &Client, emulator: &Emulator) -> Result<()> {
    let claims = api(client, "karpenter.sh/v1", "NodeClaim");
    let nodes: Api<Node> = Api::all(client.clone());
    let secrets: Api<Secret> = Api::namespaced(client.clone(), "kube-system");
    let tokens = ListParams::default().fields("type=bootstrap.kubernetes.io/token");
    wait::succeeds("nothing to be left", SOON, async || {
        let claims = claims.list(&ListParams::default()).await?.items.len();
        let nodes = nodes.list(&ListParams::default()).await?.items.len();
        let servers = servers(emulator).await?;
        let state = emulator.admin("state").await?;
        let ports = state["ports"].as_object().context("ports")?.len();
        // One token is the cluster's own.
        let tokens = secrets.list(&tokens).await?.items.len() - 1;
        ensure!(
            (claims, nodes, servers, ports, tokens) == (0, 0, 0, 0, 0),
            "{claims} claims, {nodes} nodes, {servers} servers, {ports} ports, {tokens} tokens"
        );
        Ok(())
    })
    .await
}

async fn servers(emulator: &Emulator) -> Result<usize> {
    let state = emulator.admin("state").await?;
    Ok(state["servers"].as_object().context("servers")?.len())
}
