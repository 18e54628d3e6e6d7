//! Is an instance that nobody wants any more found and removed, and is nothing else touched, whatever the cloud's list says?

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use cloud::Provider;
use cloud::bootstrap::UserData;
use e2e::ground::api;
use e2e::manifests::{class, deployment, pool, put};
use e2e::openstack::{identity, order, provider_of};
use e2e::operator::{SOON, running};
use e2e::script::{faults, servers, settings};
use e2e::{Emulator, Stage, wait};
use k8s_openapi::api::core::v1::{Namespace, Node};
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

/// A sweep every second; what is older than that is old enough.
const QUICK: &[&str] = &["--sweep-interval=1s", "--sweep-longest-create=1s"];
const INCOMPLETE: &str = "the cloud's list is incomplete; nobody is judged";
const THEIRS: &str = "3b241101-e2bb-4255-8caf-4136c566a962";

#[tokio::test]
async fn an_orphan_goes_and_nothing_else_does_and_an_incomplete_list_judges_nobody() -> Result<()> {
    let report_only = [QUICK, &["--sweep-report-only"]].concat();
    let test = "orphans: removed, and nothing else is";
    let Some(mut stage) = Stage::set(test, &report_only).await? else {
        return Ok(());
    };
    let outcome = story(&mut stage).await;
    stage.end(outcome).await
}

async fn story(stage: &mut Stage) -> Result<()> {
    let pool = pool("general", "default", &json!({}));
    put(&stage.client, [class("default", &json!({}))?, pool]).await?;
    put(&stage.client, [deployment("app", "general", 1, "100m")]).await?;
    running(&stage.client, "app", 1).await?;
    let cluster = cluster_id(&stage.client).await?;
    let orphan = made(&stage.emulator, &cluster, "an-orphan").await?;
    made(&stage.emulator, THEIRS, "theirs").await?;
    let everything = servers(&stage.emulator).await?;
    ensure!(everything.len() == 3, "{everything:?}");

    reported(stage, &orphan).await?;
    same(&everything, &servers(&stage.emulator).await?)?;

    // The pages are short, so that a list has a second one that can fail.
    settings(&stage.emulator, &json!({"page_limit": 1})).await?;
    faults(
        &stage.emulator,
        &second_page("later", &json!({"status": {"code": 500}})),
    )
    .await?;
    stage.restart(QUICK).await?;
    nobody_is_judged(stage, 2).await?;
    let cut = second_page("cut", &json!({"truncate": {"keep": 40}}));
    faults(&stage.emulator, &cut).await?;
    nobody_is_judged(stage, 2).await?;
    // A cell is down: the list says 200, and is not the whole truth.
    faults(&stage.emulator, &json!([])).await?;
    settings(&stage.emulator, &json!({"cell_down": true})).await?;
    nobody_is_judged(stage, 2).await?;
    settings(
        &stage.emulator,
        &json!({"cell_down": false, "page_limit": 1000}),
    )
    .await?;
    ensure!(
        !stage.operator.log().contains("GhostFound"),
        "a claim was declared gone"
    );

    removed(stage, &everything).await
}

/// The claim and its node are there still, and so is the neighbour; only the orphan is not.
async fn removed(stage: &Stage, everything: &[String]) -> Result<()> {
    let wanted: Vec<String> = everything
        .iter()
        .filter(|name| *name != "an-orphan")
        .cloned()
        .collect();
    wait::succeeds("the orphan to be removed", SOON, async || {
        same(&wanted, &servers(&stage.emulator).await?)
    })
    .await?;
    // Two more passes have nothing more to remove.
    tokio::time::sleep(Duration::from_secs(3)).await;
    same(&wanted, &servers(&stage.emulator).await?)?;
    let deleted: Vec<Value> = changes(&stage.emulator, "an-orphan").await?;
    println!("of the orphan the cloud says: {deleted:?}");
    let nodes: Api<Node> = Api::all(stage.client.clone());
    let claims = api(&stage.client, "karpenter.sh/v1", "NodeClaim");
    let nodes = nodes.list(&ListParams::default()).await?.items;
    let claims = claims.list(&ListParams::default()).await?.items;
    ensure!(
        nodes.len() == 1 && claims.len() == 1,
        "{nodes:#?} {claims:#?}"
    );
    let leaving = |time: Option<&_>| time.is_some();
    ensure!(!leaving(nodes[0].metadata.deletion_timestamp.as_ref()));
    ensure!(!leaving(claims[0].metadata.deletion_timestamp.as_ref()));
    Ok(())
}

fn second_page(id: &str, act: &Value) -> Value {
    json!([{"id": id, "method": "GET", "path": "/compute/v2.1/servers/detail", "contains": "marker=", "act": act}])
}

/// Waits for so many more sweeps that could not see everything, and makes sure that nobody was judged by them.
async fn nobody_is_judged(stage: &mut Stage, sweeps: usize) -> Result<()> {
    let before = servers(&stage.emulator).await?;
    let count = |log: String| log.matches(INCOMPLETE).count();
    let wanted = count(stage.operator.log()) + sweeps;
    wait::succeeds("sweeps with an incomplete list", SOON, async || {
        let seen = count(stage.operator.log());
        ensure!(seen >= wanted, "{seen} of {wanted}");
        Ok(())
    })
    .await?;
    same(&before, &servers(&stage.emulator).await?)
}

async fn reported(stage: &Stage, orphan: &str) -> Result<()> {
    wait::succeeds("the orphan to be reported", SOON, async || {
        let log = stage.operator.log();
        let mut lines = log.lines();
        let line = lines.find(|line| line.contains(orphan) && line.contains("ReportOnly"));
        line.map(drop).context("no line names it")
    })
    .await
}

/// A server with this cluster's identity, of a claim that does not exist.
async fn made(emulator: &Emulator, cluster: &str, name: &str) -> Result<String> {
    let provider = provider_of(emulator, cluster)?;
    let resolved = provider.resolve().await?;
    let who = identity(cluster, "11111111-2222-4333-8444-555555555555");
    let order = order(&resolved, &who, name, UserData::new(""));
    Ok(provider.launch(&order).await?.id.to_string())
}

async fn cluster_id(client: &Client) -> Result<String> {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let system = namespaces.get("kube-system").await?;
    system.uid().context("kube-system has a uid")
}

async fn changes(emulator: &Emulator, name: &str) -> Result<Vec<Value>> {
    let log = emulator.admin("log").await?;
    let all = log["changes"].as_array().context("changes")?;
    let of = all.iter().filter(|change| change["name"] == name);
    Ok(of.map(|change| change["change"].clone()).collect())
}

fn same(wanted: &[String], there: &[String]) -> Result<()> {
    let sorted = |names: &[String]| {
        let mut names = names.to_vec();
        names.sort();
        names
    };
    let (wanted, there) = (sorted(wanted), sorted(there));
    ensure!(wanted == there, "{wanted:?} should be there, {there:?} are");
    Ok(())
}
