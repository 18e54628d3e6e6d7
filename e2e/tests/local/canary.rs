//! Does a secret ever leave the operator by a log line, an event, a status, an annotation, a metric or an error?
//!
//! Canaries are planted in everything that is secret, the cloud quotes them in its errors, and the operator talks as much as
//! it can. Nobody may find one anywhere a reader without rights on Secrets can look.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use e2e::ground::api;
use e2e::manifests::{class, deployment, pool, put, secret};
use e2e::operator::{metrics, no_claims, running, scale};
use e2e::script::faults;
use e2e::{Stage, wait};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{ListParams, Patch, PatchParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::sync::Mutex;

const USER_DATA: &str = "canary-of-the-user-data-5f0e7c";
const FLAGS: &[&str] = &[
    "--log-level=trace",
    "--sweep-interval=2s",
    "--launch-timeout=4s",
];
const SERVERS: &str = "/compute/v2.1/servers";
const TOKENS: &str = "/identity/v3/auth/tokens";
/// Everything a reader of the cluster sees. Secrets are where secrets belong.
const READABLE: &str =
    "events.events.k8s.io,nodes,pods,nodeclaims,nodepools,openstacknodeclasses,configmaps,leases";

#[tokio::test]
async fn no_secret_leaves_the_operator_even_if_the_cloud_quotes_it() -> Result<()> {
    let test = "canary: secrets stay secret";
    let Some(mut stage) = Stage::set(test, FLAGS).await? else {
        return Ok(());
    };
    let outcome = story(&mut stage).await;
    // The log is long, and it is what is being judged.
    stage.operator.terminate(Duration::from_secs(30)).await?;
    outcome?;
    stage.emulator.stop().await
}

async fn story(stage: &mut Stage) -> Result<()> {
    faults(&stage.emulator, &quoting()).await?;
    let canaries = Canaries::watch(&stage.client);
    let user_data = format!("#cloud-config\nruncmd: [\"echo {USER_DATA}\"]\n");
    let spec = json!({
        "cloud": {"credentialsSecretRef": {"namespace": "joiner", "name": "cloud"}},
        "userData": {"secretRef": {"namespace": "joiner", "name": "user-data"}},
    });
    let env = stage.emulator.env();
    let known = env.filter(|(name, _)| name.starts_with("OS_"));
    let credentials = secret(
        "joiner",
        "cloud",
        known.map(|(name, value)| (name.as_str(), value.as_str())),
    );
    put(
        &stage.client,
        [
            credentials,
            secret("joiner", "user-data", [("userData", user_data.as_str())]),
        ],
    )
    .await?;
    put(
        &stage.client,
        [
            class("default", &spec)?,
            pool("general", "default", &json!({})),
        ],
    )
    .await?;
    usable(&stage.client).await?;
    put(&stage.client, [deployment("app", "general", 2, "700m")]).await?;
    running(&stage.client, "app", 2).await?;
    let while_running = everything(stage).await?;
    scale(&stage.ground, "app", 0).await?;
    no_claims(&stage.client).await?;

    let canaries = canaries.caught(&stage.emulator).await?;
    let seen = [while_running, everything(stage).await?].concat();
    let struck = struck(stage).await?;
    println!(
        "{} canaries, {} bytes of text, {struck} errors that quote them",
        canaries.len(),
        seen.len()
    );
    // The quotations did come through, as far as they may.
    ensure!(seen.contains("[redacted]"), "nothing was quoted at all");
    for (kind, canary) in &canaries {
        let found = seen.find(canary.as_str());
        let around =
            found.map(|at| String::from_utf8_lossy(&seen.as_bytes()[at.saturating_sub(200)..at]));
        ensure!(found.is_none(), "a canary of {kind} after: {around:?}");
    }
    Ok(())
}

/// Errors of several meanings that quote password, token and user data.
fn quoting() -> Value {
    let server = |nth: u64, code: u16, message: &str| {
        let body = json!({"badRequest": {"code": code, "message": message}});
        json!({"method": "POST", "path": SERVERS, "nth": nth, "act": {"status": {"code": code, "body": body.to_string()}}})
    };
    let sign_in = |nth: u64, code: u16| {
        let body = json!({"error": {"code": code, "title": "no", "message": "refused: {request}"}});
        json!({"method": "POST", "path": TOKENS, "nth": nth, "act": {"status": {"code": code, "body": body.to_string()}}})
    };
    let page = "<html>{user data from canary} {token}</html>";
    json!([
        sign_in(1, 401),
        sign_in(2, 500),
        sign_in(3, 503),
        server(1, 400, "Invalid input for field user_data: {user data from canary}"),
        server(2, 409, "conflict about {token} and {user data from token:}"),
        server(3, 500, "cannot build {user data from canary}"),
        server(4, 403, "policy does not allow {request}"),
        {"method": "POST", "path": SERVERS, "nth": 5, "act": {"status": {"code": 502, "body": page}}},
        server(6, 429, "too many like {user data from token:}"),
        {"method": "DELETE", "path": format!("{SERVERS}/*"), "nth": 1,
         "act": {"status": {"code": 409, "body": json!({"conflictingRequest": {"code": 409, "message": "{token} is busy"}}).to_string()}}},
    ])
}

/// How many errors were sent that quote something.
async fn struck(stage: &Stage) -> Result<usize> {
    let script = stage.emulator.admin("faults").await?;
    let faults = script["faults"].as_array().context("faults")?;
    let missed: Vec<&Value> = faults
        .iter()
        .filter(|fault| fault["seen"].as_u64() < fault["nth"].as_u64())
        .collect();
    ensure!(missed.is_empty(), "these never struck: {missed:#?}");
    Ok(faults.len())
}

/// Wakes the class until the cloud lets it in: time alone would be too slow.
async fn usable(client: &Client) -> Result<()> {
    let classes = api(client, "karpenter.k8s.openstack/v1", "OpenStackNodeClass");
    let ready = wait::condition("Ready", "True");
    for look in 1..=60 {
        if ready(&classes.get("default").await?) {
            return Ok(());
        }
        let note = json!({"metadata": {"annotations": {"look": look.to_string()}}});
        let params = PatchParams::default();
        classes
            .patch("default", &params, &Patch::Merge(note))
            .await?;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    anyhow::bail!(
        "the class never became ready: {:#?}",
        classes.get("default").await?
    )
}

/// All that can be read without rights on Secrets: log, metrics, objects.
async fn everything(stage: &mut Stage) -> Result<String> {
    let metrics = metrics(&mut stage.operator).await?;
    let words = ["get", READABLE, "-A", "-o", "json", "--show-managed-fields"];
    let objects = stage.ground.cluster.kubectl(&words).await?.success()?;
    ensure!(
        objects.contains("LaunchFailed"),
        "no event tells of the refusals"
    );
    Ok([stage.operator.log(), metrics, objects].join("\n"))
}

/// What must not be found: what we planted, and what the operator makes of it during the run.
struct Canaries {
    caught: Arc<Mutex<BTreeSet<String>>>,
    watching: tokio::task::JoinHandle<()>,
}

impl Canaries {
    /// Notes the secrets of bootstrap tokens as they come and go.
    fn watch(client: &Client) -> Self {
        let secrets: Api<Secret> = Api::namespaced(client.clone(), "kube-system");
        let tokens = ListParams::default().fields("type=bootstrap.kubernetes.io/token");
        let caught: Arc<Mutex<BTreeSet<String>>> = Arc::default();
        let noted = Arc::clone(&caught);
        let watching = tokio::spawn(async move {
            loop {
                let listed = secrets.list(&tokens).await.map(|list| list.items);
                let values = listed.unwrap_or_default().into_iter().filter_map(|secret| {
                    let value = secret.data?.remove("token-secret")?;
                    String::from_utf8(value.0).ok()
                });
                noted.lock().await.extend(values);
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        });
        Self { caught, watching }
    }

    /// Each as it is and as base64 would show it.
    async fn caught(self, emulator: &e2e::Emulator) -> Result<Vec<(&'static str, String)>> {
        self.watching.abort();
        let joins = self.caught.lock().await.clone();
        ensure!(joins.len() > 1, "the operator made no token");
        let password = emulator.env().find(|(name, _)| *name == "OS_PASSWORD");
        let password = password.context("OS_PASSWORD")?.1.clone();
        let state = emulator.admin("state").await?;
        let sessions = state["tokens"].as_object().context("tokens")?;
        ensure!(!sessions.is_empty(), "nobody signed in");
        let plain = [
            ("the user data", USER_DATA.to_owned()),
            ("the password", password),
        ]
        .into_iter();
        let plain = plain.chain(joins.into_iter().map(|one| ("a bootstrap token", one)));
        let plain = plain.chain(sessions.keys().map(|one| ("a Keystone token", one.clone())));
        Ok(plain
            .flat_map(|(kind, text)| [(kind, STANDARD.encode(&text)), (kind, text)])
            .collect())
    }
}
