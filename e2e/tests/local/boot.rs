//! Does a server of the emulated cloud become a node of the real cluster that its user data names, and end with it?

use std::collections::BTreeMap;
use std::time::Duration;

use cloud::bootstrap::{self, Bootstrap, Expression, Join, Kubelet, Preset, UserData};
use cloud::{CloudError, Footprint, Instance, Provider};
use e2e::openstack::{identity, order, provider_of};
use e2e::{Cluster, Emulator, need_control_plane, wait};
use k8s_openapi::api::core::v1::Node;
use kube::api::DeleteParams;
use kube::{Api, ResourceExt};
use openstack::OpenStack;
use planner::{Effect, Taint};

const SOON: Duration = Duration::from_mins(1);
const CLUSTER: &str = "7c1f0f5e-aaaa-4bbb-8ccc-1d2e3f405060";

/// What the operator would tell the machine of this node.
fn join(cluster: &Cluster, node: &str) -> Join {
    let labels = [
        ("karpenter.sh/nodepool", "np1"),
        ("node.kubernetes.io/instance-type", "m1.medium"),
        ("topology.kubernetes.io/zone", "az-b"),
    ];
    let labels = labels.map(|(key, value)| (key.to_owned(), value.to_owned()));
    Join {
        endpoint: cluster.local().api_address(),
        ca_pem: cluster.local().ca().to_owned(),
        token: xtask::cluster::BOOTSTRAP_TOKEN.into(),
        node_name: Expression::literal(node),
        provider_id: Expression::instance_id_after("openstack:///"),
        labels: BTreeMap::from(labels),
        taints: vec![Taint {
            key: "team".into(),
            value: "a".into(),
            effect: Effect::NoSchedule,
        }],
        kubelet: Kubelet {
            max_pods: Some(50),
            ..Kubelet::default()
        },
        before: Vec::new(),
        after: Vec::new(),
    }
}

fn rendered(join: Join) -> UserData {
    let preset = Preset::Kubelet(Box::new(join));
    bootstrap::render(&Bootstrap { preset, own: None }).unwrap()
}

async fn emulator() -> Emulator {
    let tools = xtask::tools::control_plane().unwrap();
    Emulator::start(Some(&tools.hollow_kubelet)).await.unwrap()
}

async fn launched(provider: &OpenStack, node: &str, user_data: UserData) -> Instance {
    let resolved = provider.resolve().await.unwrap();
    let order = order(&resolved, &identity(CLUSTER, node), node, user_data);
    provider.launch(&order).await.unwrap()
}

/// Until the cloud says that nothing is left of it.
async fn ended(provider: &OpenStack, instance: &Instance) {
    let footprint = Footprint::of(instance);
    let gone = wait::succeeds("the instance to be gone", SOON, async || {
        match provider.terminate(&footprint).await {
            Err(CloudError::Gone) => Ok(()),
            Ok(()) => anyhow::bail!("still under way"),
            Err(error) => anyhow::bail!("{error}"),
        }
    });
    gone.await.unwrap();
}

#[tokio::test]
async fn a_server_becomes_the_node_its_user_data_names_and_ends_with_it() {
    let Some(control_plane) = need_control_plane("boot: a server becomes a Ready node") else {
        return;
    };
    let cluster = control_plane.shared().await.unwrap();
    let emulator = emulator().await;
    let provider = provider_of(&emulator, CLUSTER).unwrap();
    let user_data = rendered(join(&cluster, "boot-joins"));
    let server = launched(&provider, "boot-joins", user_data).await;

    let nodes: Api<Node> = Api::all(cluster.client().await.unwrap());
    let ready = wait::condition("Ready", "True");
    let waited = wait::until(&nodes, "boot-joins", "Ready", SOON, ready).await;
    let console = provider.console(&server.id).await.unwrap();
    let node = waited.unwrap_or_else(|error| panic!("{error:#}; console: {console}"));
    is_what_was_ordered(&node, &server);
    assert!(console.contains("as boot-joins"), "{console}");
    assert!(!emulator.kubelets().is_empty());

    ended(&provider, &server).await;
    let silence = wait::succeeds("its kubelet to end", SOON, async || {
        let left = emulator.kubelets();
        anyhow::ensure!(left.is_empty(), "{left:?}");
        Ok(())
    });
    silence.await.unwrap();
    let state = emulator.admin("state").await.unwrap();
    assert_eq!(state["ports"], serde_json::json!({}));
    let deleted = nodes.delete("boot-joins", &DeleteParams::default()).await;
    deleted.unwrap();
    wait::gone(&nodes, "boot-joins", SOON).await.unwrap();
    emulator.stop().await.unwrap();
}

fn is_what_was_ordered(node: &Node, server: &Instance) {
    let spec = node.spec.clone().unwrap();
    let provider_id = format!("openstack:///{}", server.id);
    assert_eq!(spec.provider_id, Some(provider_id));
    let label = |key: &str| node.labels().get(key).map(String::as_str);
    assert_eq!(label("karpenter.sh/nodepool"), Some("np1"));
    assert_eq!(label("node.kubernetes.io/instance-type"), Some("m1.medium"));
    assert_eq!(label("topology.kubernetes.io/zone"), Some("az-b"));
    let taints = spec.taints.unwrap_or_default();
    let has = |key: &str, effect: &str| {
        let mut all = taints.iter();
        all.any(|taint| taint.key == key && taint.effect == effect)
    };
    assert!(has("karpenter.sh/unregistered", "NoExecute"), "{taints:?}");
    assert!(has("team", "NoSchedule"), "{taints:?}");
    let capacity = node.status.clone().unwrap().capacity.unwrap();
    let read = |name: &str| capacity.get(name).map(|quantity| quantity.0.as_str());
    assert_eq!(read("cpu"), Some("2"));
    assert_eq!(read("memory"), Some("4Gi"));
    assert_eq!(read("ephemeral-storage"), Some("40Gi"));
    assert_eq!(read("pods"), Some("50"));
}

#[tokio::test]
async fn a_machine_that_cannot_join_does_not_and_its_console_says_why() {
    let Some(control_plane) = need_control_plane("boot: a console says why") else {
        return;
    };
    let cluster = control_plane.shared().await.unwrap();
    let emulator = emulator().await;
    let provider = provider_of(&emulator, CLUSTER).unwrap();
    let usual = |node: &str| join(&cluster, node);
    let foreign = xtask::cluster::Authority::new("foreign").unwrap();
    let cases = [
        (
            "boot-token",
            rendered(Join {
                token: "abcdef.ffffffffffffffff".into(),
                ..usual("boot-token")
            }),
            "does not accept bootstrap token \"abcdef\"",
        ),
        (
            "boot-ca",
            rendered(Join {
                ca_pem: foreign.certificate(),
                ..usual("boot-ca")
            }),
            "is not trusted by the CA in the bootstrap kubeconfig",
        ),
        ("boot-empty", UserData::new(""), "no user data"),
    ];
    let mut servers = Vec::new();
    for (node, user_data, why) in cases {
        servers.push((node, launched(&provider, node, user_data).await, why));
    }
    let nodes: Api<Node> = Api::all(cluster.client().await.unwrap());
    for (node, server, why) in servers {
        let said = wait::succeeds("the console to say why", SOON, async || {
            let console = provider.console(&server.id).await?;
            anyhow::ensure!(console.contains(why), "{node}: {console}");
            Ok(console)
        });
        let console = said.await.unwrap();
        assert!(!console.contains("ffffffffffffffff"), "{console}");
        assert!(nodes.get_opt(node).await.unwrap().is_none());
        ended(&provider, &server).await;
    }
    emulator.stop().await.unwrap();
}
