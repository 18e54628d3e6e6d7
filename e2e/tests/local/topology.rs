//! Does the running operator buy machines where spreads, affinities and volumes need them, and no more of them than that?

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use e2e::first_node::{CLASS_AND_POOL, Stage, conclude};
use e2e::ground::Ground;
use e2e::install::Account;
use e2e::{Emulator, apply, wait};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::ListParams;
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_mins(3);
const ZONE: &str = "topology.kubernetes.io/zone";
const HOSTNAME: &str = "kubernetes.io/hostname";

#[tokio::test]
async fn machines_are_bought_where_spreads_affinities_and_volumes_need_them() -> Result<()> {
    let Some(control_plane) = e2e::need_control_plane("topology: machines where pods need them")
    else {
        return Ok(());
    };
    let ground = Ground::private(&control_plane).await?;
    let tools = xtask::tools::control_plane()?;
    let emulator = Emulator::start(Some(&tools.hollow_kubelet)).await?;
    let account = Account::of_operator(&ground).await?;
    let operator = account.operator(Some(&emulator))?.start()?;
    let stage = Stage {
        client: ground.cluster.client().await?,
        cloud: &emulator,
        patience: PATIENCE,
    };
    let outcome = story(&stage, &emulator).await;
    conclude(outcome, operator, emulator).await
}

async fn story(stage: &Stage<'_>, emulator: &Emulator) -> Result<()> {
    let before = stage.inventory().await?;
    apply(&stage.client, CLASS_AND_POOL).await?;
    apply(&stage.client, POOL_FOR_DISKS).await?;

    spread_over_zones(stage).await?;
    bought(emulator, 3).await?;

    apart_by_host(stage, 3).await?;
    bought(emulator, 3).await?;
    stage.scale("apart", 5).await?;
    hosts_of(stage, "apart", 5).await?;
    bought(emulator, 5).await?;

    beside_their_volumes(stage).await?;
    bought(emulator, 7).await?;

    for name in ["spread", "apart", "disk-b", "disk-c"] {
        stage.scale(name, 0).await?;
    }
    stage.nothing_more_than(&before).await?;
    bought(emulator, 7).await
}

/// Six pods, two in each zone. `minDomains` keeps kube-scheduler from filling the zone whose machine comes first.
async fn spread_over_zones(stage: &Stage<'_>) -> Result<()> {
    let spread = json!({ "topologySpreadConstraints": [{ "maxSkew": 1, "minDomains": 3, "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule", "labelSelector": { "matchLabels": { "app": "spread" } } }] });
    put(stage, &deployment("spread", 6, &spread)).await?;
    let zones = places_of(stage, "spread", 6, ZONE).await?;
    let two_each = ["az-a", "az-b", "az-c"].map(|zone| (zone.to_owned(), 2));
    ensure!(zones == BTreeMap::from(two_each), "{zones:?}");
    Ok(())
}

/// As many hosts as pods.
async fn apart_by_host(stage: &Stage<'_>, count: u32) -> Result<()> {
    let term =
        json!({ "topologyKey": HOSTNAME, "labelSelector": { "matchLabels": { "app": "apart" } } });
    let apart = json!({ "affinity": { "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [term] } } });
    put(stage, &deployment("apart", count, &apart)).await?;
    hosts_of(stage, "apart", count as usize).await
}

async fn hosts_of(stage: &Stage<'_>, app: &str, count: usize) -> Result<()> {
    let hosts = places_of(stage, app, count, HOSTNAME).await?;
    ensure!(hosts.len() == count, "{hosts:?}");
    Ok(())
}

/// Nodes for pods with volumes, so that each needs a machine of its own.
const POOL_FOR_DISKS: &str = "
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: disks}
spec:
  template:
    metadata: {labels: {example.com/for: disks}}
    spec:
      requirements: []
      taints: [{key: example.com/for, value: disks, effect: NoSchedule}]
      nodeClassRef: {group: karpenter.k8s.openstack, kind: OpenStackNodeClass, name: default}
  disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 0s, budgets: [{nodes: \"100%\"}]}
";

/// One pod for each of two volumes, in the zones where nothing else would put them both.
async fn beside_their_volumes(stage: &Stage<'_>) -> Result<()> {
    for (name, zone) in [("disk-b", "az-b"), ("disk-c", "az-c")] {
        put(stage, &volume(name, zone)).await?;
        let claim = json!({ "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": { "name": name, "namespace": "default" },
            "spec": { "volumeName": name, "storageClassName": "", "accessModes": ["ReadWriteOnce"],
                "resources": { "requests": { "storage": "1Gi" } } } });
        put(stage, &claim).await?;
        let pod = json!({
            "nodeSelector": { "example.com/for": "disks" },
            "tolerations": [{ "key": "example.com/for", "operator": "Exists" }],
            "volumes": [{ "name": "disk", "persistentVolumeClaim": { "claimName": name } }] });
        put(stage, &deployment(name, 1, &pod)).await?;
    }
    for (name, zone) in [("disk-b", "az-b"), ("disk-c", "az-c")] {
        let zones = places_of(stage, name, 1, ZONE).await?;
        ensure!(zones.contains_key(zone), "{name}: {zones:?}");
    }
    Ok(())
}

fn volume(name: &str, zone: &str) -> Value {
    let here =
        json!([{ "matchExpressions": [{ "key": ZONE, "operator": "In", "values": [zone] }] }]);
    json!({ "apiVersion": "v1", "kind": "PersistentVolume", "metadata": { "name": name },
        "spec": { "capacity": { "storage": "1Gi" }, "accessModes": ["ReadWriteOnce"], "storageClassName": "",
            "hostPath": { "path": "/var/empty" }, "nodeAffinity": { "required": { "nodeSelectorTerms": here } } } })
}

fn deployment(name: &str, replicas: u32, more: &Value) -> Value {
    let mut spec = json!({ "terminationGracePeriodSeconds": 1,
        "containers": [{ "name": "main", "image": "pause", "resources": { "requests": { "cpu": "100m", "memory": "64Mi" } } }] });
    for (field, value) in more.as_object().into_iter().flatten() {
        spec[field] = value.clone();
    }
    json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": name, "namespace": "default" },
        "spec": { "replicas": replicas, "selector": { "matchLabels": { "app": name } },
            "template": { "metadata": { "labels": { "app": name } }, "spec": spec } } })
}

async fn put(stage: &Stage<'_>, object: &Value) -> Result<()> {
    apply(&stage.client, &object.to_string()).await.map(drop)
}

/// Waits until so many pods of an app run; returns how many are on nodes with each value of a label.
async fn places_of(
    stage: &Stage<'_>,
    app: &str,
    count: usize,
    label: &str,
) -> Result<BTreeMap<String, usize>> {
    let pods: Api<Pod> = Api::namespaced(stage.client.clone(), "default");
    let nodes: Api<Node> = Api::all(stage.client.clone());
    let of_app = ListParams::default().labels(&format!("app={app}"));
    let what = format!("{count} pods of {app} to run");
    wait::succeeds(&what, stage.patience, async || {
        let listed = pods.list(&of_app).await?.items;
        let phases: Vec<_> = listed
            .iter()
            .map(|pod| json!(pod)["status"]["phase"].clone())
            .collect();
        let run = phases.iter().filter(|phase| *phase == "Running").count();
        ensure!(run == count && listed.len() == count, "{phases:?}");
        let mut places = BTreeMap::new();
        for pod in listed {
            let node = pod.spec.and_then(|spec| spec.node_name).context("a node")?;
            let node = nodes.get(&node).await?;
            let value = node.labels().get(label).cloned();
            *places.entry(value.unwrap_or_default()).or_insert(0) += 1;
        }
        Ok(places)
    })
    .await
}

/// How many machines were ever asked for.
async fn bought(emulator: &Emulator, count: usize) -> Result<()> {
    let said = emulator.admin("calls").await?;
    let calls = said["calls"].as_array().context("calls")?;
    let create = |call: &&Value| {
        let path = call["path"].as_str().unwrap_or_default();
        call["method"] == "POST" && path.ends_with("/servers")
    };
    let asked = calls.iter().filter(create).count();
    ensure!(
        asked == count,
        "{asked} machines were asked for, {count} were needed"
    );
    Ok(())
}
