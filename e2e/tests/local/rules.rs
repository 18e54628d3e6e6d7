//! Does a real API server refuse what every CEL rule forbids, with the message we wrote?

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use e2e::ground::{Ground, api, files, read, repository};
use json_patch::Patch;
use kube::api::{DeleteParams, DynamicObject, PostParams};
use kube::{Api, Client};
use serde::Deserialize;
use serde_json::Value;

/// One file of `crds/tests/cel`; `crds/tests/cel.rs` proves with the same tables that no rule is without a case.
#[derive(Deserialize)]
struct Table {
    base: Value,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    message: String,
    patch: Patch,
    #[serde(default)]
    update: bool,
    old: Option<Patch>,
}

#[tokio::test]
async fn every_cel_rule_is_enforced_by_the_server_with_its_message() -> Result<()> {
    let Some(control_plane) = e2e::need_control_plane("local: every CEL rule") else {
        return Ok(());
    };
    let ground = Ground::shared(&control_plane).await?;
    let client = ground.cluster.client().await?;
    let (mut refused, mut wrong) = (0, Vec::new());
    for file in files(&repository().join("crds/tests/cel"))? {
        let outcome = table(&client, &file)
            .await
            .with_context(|| file.display().to_string())?;
        refused += outcome.iter().filter(|case| case.is_ok()).count();
        wrong.extend(
            outcome
                .into_iter()
                .filter_map(Result::err)
                .map(|error| format!("{}: {error:#}", file.display())),
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    println!("{refused} objects refused by the server, each with the message of its rule");
    ensure!(refused > 60, "only {refused} cases");
    Ok(())
}

async fn table(client: &Client, file: &Path) -> Result<Vec<Result<()>>> {
    let table: Table = serde_json::from_value(read(file)?)?;
    let (version, kind) = (
        table.base["apiVersion"].as_str(),
        table.base["kind"].as_str(),
    );
    let api = api(
        client,
        version.unwrap_or_default(),
        kind.unwrap_or_default(),
    );
    api.create(&dry(), &object(&table.base)?)
        .await
        .context("the base is refused")?;
    let mut outcome = Vec::new();
    for case in &table.cases {
        outcome.push(
            refusal(&api, &table.base, case)
                .await
                .with_context(|| case.name.clone()),
        );
    }
    Ok(outcome)
}

async fn refusal(api: &Api<DynamicObject>, base: &Value, case: &Case) -> Result<()> {
    let mut bad = base.clone();
    json_patch::patch(&mut bad, &case.patch)?;
    let answer = if case.update {
        update(api, base, case, bad).await?
    } else {
        api.create(&dry(), &object(&bad)?).await
    };
    match answer {
        Ok(_) => bail!("accepted"),
        Err(kube::Error::Api(status)) if status.message.contains(&case.message) => Ok(()),
        Err(other) => bail!(
            "refused for another reason: {other}; expected {:?}",
            case.message
        ),
    }
}

/// A transition rule needs a stored object to compare with.
async fn update(
    api: &Api<DynamicObject>,
    base: &Value,
    case: &Case,
    mut bad: Value,
) -> Result<kube::Result<DynamicObject>> {
    let mut before = base.clone();
    if let Some(patch) = &case.old {
        json_patch::patch(&mut before, patch)?;
    }
    let name = format!("transition-{}", std::process::id());
    before["metadata"]["name"] = name.clone().into();
    let stored = api
        .create(&PostParams::default(), &object(&before)?)
        .await
        .context("the old object is refused")?;
    bad["metadata"]["name"] = name.clone().into();
    bad["metadata"]["resourceVersion"] = stored.metadata.resource_version.into();
    let answer = api.replace(&name, &dry(), &object(&bad)?).await;
    api.delete(&name, &DeleteParams::default()).await?;
    Ok(answer)
}

fn object(value: &Value) -> Result<DynamicObject> {
    Ok(serde_json::from_value(value.clone())?)
}

fn dry() -> PostParams {
    PostParams {
        dry_run: true,
        field_manager: None,
    }
}
