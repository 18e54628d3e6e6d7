//! Does an operator leave alone what belongs to others: another cluster's servers, another Karpenter's pools and claims?

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use e2e::ground::{Ground, api};
use e2e::manifests::{class, deployment, pool, put};
use e2e::operator::{self, SOON, no_claims, running, scale};
use e2e::script::servers;
use e2e::{Emulator, Running, Stage, wait};
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

/// Anything older than a second that no claim of the sweeper's wants would be swept within two.
const FLAGS: &[&str] = &["--sweep-interval=1s", "--sweep-longest-create=1s"];

#[tokio::test]
async fn two_clusters_of_one_name_in_one_project_never_touch_each_other() -> Result<()> {
    let test = "neighbours: two clusters of one name";
    let Some(stage) = Stage::set(test, FLAGS).await? else {
        return Ok(());
    };
    let second = Second::set(&stage.emulator).await?;
    let outcome = both(&stage, &second).await;
    if outcome.is_err() {
        println!("the other operator said:\n{}", second.operator.log());
    }
    stage.end(outcome).await
}

/// Another cluster with its operator on the same cloud.
struct Second {
    operator: Running,
    ground: Ground,
    client: Client,
}

impl Second {
    async fn set(emulator: &Emulator) -> Result<Self> {
        let control_plane = e2e::need_control_plane("neighbours: the second cluster");
        let ground = Ground::private(&control_plane.context("it was there before")?).await?;
        let client = ground.cluster.client().await?;
        let operator = operator::start(&ground, emulator, FLAGS)?;
        Ok(Self {
            operator,
            ground,
            client,
        })
    }
}

async fn both(stage: &Stage, second: &Second) -> Result<()> {
    // Pools have different names, so that a server's name says whose it is.
    let clusters = [(&stage.client, "first"), (&second.client, "second")];
    for (client, name) in clusters {
        let pool = pool(name, "default", &json!({}));
        let app = deployment("app", name, 3, "700m");
        put(client, [class("default", &json!({}))?, pool, app]).await?;
    }
    for (client, _) in clusters {
        running(client, "app", 3).await?;
    }
    let (first, other) = (
        of(&stage.emulator, "first").await?,
        of(&stage.emulator, "second").await?,
    );
    println!(
        "{} servers of the first cluster, {} of the second",
        first.len(),
        other.len()
    );
    ensure!(
        !first.is_empty() && !other.is_empty(),
        "{first:?} {other:?}"
    );

    let (one, two) = (
        (&stage.ground, &stage.client),
        (&second.ground, &second.client),
    );
    goes(&stage.emulator, (one, "first"), (two.1, "second", 3)).await?;
    untouched_until_now(&stage.emulator, "second").await?;
    scale(&stage.ground, "app", 1).await?;
    running(&stage.client, "app", 1).await?;
    goes(&stage.emulator, (two, "second"), (one.1, "first", 1)).await
}

/// One cluster goes to nothing. The other keeps every server and pod it has, also under the sweeps that come after.
async fn goes(
    emulator: &Emulator,
    ((ground, client), pool): ((&Ground, &Client), &str),
    (other, stays, pods): (&Client, &str, usize),
) -> Result<()> {
    let before = of(emulator, stays).await?;
    scale(ground, "app", 0).await?;
    no_claims(client).await?;
    no_servers(emulator, pool).await?;
    several_sweeps().await;
    let after = of(emulator, stays).await?;
    ensure!(before == after, "{stays} had {before:?} and has {after:?}");
    running(other, "app", pods).await.map(drop)
}

async fn several_sweeps() {
    tokio::time::sleep(std::time::Duration::from_secs(4)).await;
}

/// Names of the servers of one pool.
async fn of(emulator: &Emulator, pool: &str) -> Result<Vec<String>> {
    let mut names = servers(emulator).await?;
    names.retain(|name| name.starts_with(&format!("{pool}-")));
    names.sort();
    Ok(names)
}

async fn no_servers(emulator: &Emulator, pool: &str) -> Result<()> {
    wait::succeeds("its servers to go", SOON, async || {
        let left = of(emulator, pool).await?;
        ensure!(left.is_empty(), "{left:?}");
        Ok(())
    })
    .await
}

/// The cloud's own log knows of no deletion in this pool, asked for or done.
async fn untouched_until_now(emulator: &Emulator, pool: &str) -> Result<()> {
    let log = emulator.admin("log").await?;
    let changes = log["changes"].as_array().context("changes")?;
    let mut ours = changes.iter().filter(|change| {
        let name = change["name"].as_str().unwrap_or_default();
        change["kind"] == "server" && name.starts_with(&format!("{pool}-"))
    });
    ensure!(
        ours.clone().count() > 0,
        "the log does not know the servers of {pool}"
    );
    let ended = ours.find(|change| {
        let said = change["change"].to_string().to_lowercase();
        said.contains("delet") || said.contains("terminat")
    });
    ensure!(ended.is_none(), "{ended:?}");
    Ok(())
}

#[tokio::test]
async fn a_pool_of_another_karpenter_is_never_written_nor_are_its_claims_and_nodes() -> Result<()> {
    let test = "neighbours: another Karpenter's pool";
    let Some(stage) = Stage::set(test, FLAGS).await? else {
        return Ok(());
    };
    let outcome = beside_another_karpenter(&stage).await;
    stage.end(outcome).await
}

async fn beside_another_karpenter(stage: &Stage) -> Result<()> {
    let client = &stage.client;
    put(
        client,
        [
            foreign_pool(),
            foreign_claim("kept"),
            foreign_claim("leaving"),
        ],
    )
    .await?;
    put(client, [foreign_node("kept"), foreign_node("leaving")]).await?;
    let claims = api(client, "karpenter.sh/v1", "NodeClaim");
    claims.delete("leaving", &DeleteParams::default()).await?;
    api(client, "v1", "Node")
        .delete("leaving", &DeleteParams::default())
        .await?;
    let before = versions(client).await?;

    // Ours has the name of theirs, and pods that theirs would take as well.
    let pool = pool("general", "default", &json!({}));
    let app = deployment("app", "general", 3, "700m");
    put(client, [class("default", &json!({}))?, pool, app]).await?;
    running(client, "app", 3).await?;
    // Their pod waits: neither their pool nor ours is for it.
    put(client, [deployment("theirs", "foreign", 1, "100m")]).await?;
    scale(&stage.ground, "app", 0).await?;
    let ours_gone = wait::succeeds("our claims to go", SOON, async || {
        let all = claims.list(&kube::api::ListParams::default()).await?.items;
        let names: Vec<_> = all.iter().map(ResourceExt::name_any).collect();
        ensure!(names == ["kept", "leaving"], "{names:?}");
        Ok(())
    });
    ours_gone.await?;
    several_sweeps().await;
    let after = versions(client).await?;
    ensure!(before == after, "before {before:#?}, after {after:#?}");
    for name in ["kept", "leaving"] {
        nobody_of_ours_wrote(&api(client, "v1", "Node"), name).await?;
    }
    let left = servers(&stage.emulator).await?;
    ensure!(left.is_empty(), "{left:?}");
    // Let the cluster end: their finalizers are theirs.
    for kind in [&claims, &api(client, "v1", "Node")] {
        let free = json!({"metadata": {"finalizers": null}});
        kind.patch("leaving", &PatchParams::default(), &Patch::Merge(free))
            .await?;
    }
    Ok(())
}

/// Version and writers of their pool and claims: nobody else writes these.
async fn versions(client: &Client) -> Result<BTreeMap<String, Value>> {
    let mut seen = BTreeMap::new();
    let objects = [
        ("NodePool", "foreign"),
        ("NodeClaim", "kept"),
        ("NodeClaim", "leaving"),
    ];
    for (kind, name) in objects {
        let object = api(client, "karpenter.sh/v1", kind).get(name).await?;
        let fields = serde_json::to_value(object.managed_fields())?;
        seen.insert(
            format!("{kind} {name}"),
            json!([object.resource_version(), fields]),
        );
    }
    Ok(seen)
}

/// Nodes have other writers, so it is looked for ours.
async fn nobody_of_ours_wrote(nodes: &Api<DynamicObject>, name: &str) -> Result<()> {
    let node = nodes.get(name).await?;
    let managers = node
        .managed_fields()
        .iter()
        .filter_map(|one| one.manager.clone());
    let managers: Vec<String> = managers.collect();
    let ours = managers.iter().any(|manager| manager.starts_with("joiner"));
    ensure!(!ours && !managers.is_empty(), "{name}: {managers:?}");
    ensure!(
        node.finalizers() == ["karpenter.sh/termination"],
        "{name}: {:?}",
        node.finalizers()
    );
    Ok(())
}

/// The class has the name of ours, and is another kind.
fn foreign_ref() -> Value {
    json!({"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"})
}

fn foreign_pool() -> Value {
    pool(
        "foreign",
        "default",
        &json!({"template": {"spec": {"nodeClassRef": foreign_ref()}}}),
    )
}

fn foreign_claim(name: &str) -> Value {
    json!({
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "metadata": {
            "name": name,
            "labels": {"karpenter.sh/nodepool": "foreign", "karpenter.k8s.aws/ec2nodeclass": "default"},
            "finalizers": ["karpenter.sh/termination"],
        },
        "spec": {"requirements": [], "nodeClassRef": foreign_ref()},
    })
}

fn foreign_node(name: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {"karpenter.sh/nodepool": "foreign", "karpenter.k8s.aws/ec2nodeclass": "default", "karpenter.sh/registered": "true"},
            "finalizers": ["karpenter.sh/termination"],
        },
        "spec": {"providerID": format!("aws:///eu-central-1a/{name}")},
    })
}
