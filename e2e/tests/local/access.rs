//! Does the operator get by with exactly the rights it ships: nothing denied, nothing granted in vain?

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use e2e::audit::Call;
use e2e::first_node::{Stage, deployment, there_and_back};
use e2e::ground::{Ground, api};
use e2e::install::{Account, Install, kind_of};
use e2e::{AUDIT_METADATA, Emulator, Options, Running, apply, audit, wait};
use k8s_openapi::api::core::v1::{Pod, Secret};
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::{Api, Client, ResourceExt};
use serde_json::json;

use crate::migrate::{migrated, store_in_the_old_version};

const PATIENCE: Duration = Duration::from_mins(3);
const SOON: Duration = Duration::from_secs(30);

/// A class with credentials in a Secret, and a pool whose nodes go in ten seconds, whatever holds their pods.
const STRICT: &str = "
apiVersion: karpenter.k8s.openstack/v1
kind: OpenStackNodeClass
metadata: {name: by-secret}
spec:
  cloud: {credentialsSecretRef: {name: openstack, namespace: joiner}}
  imageSelectorTerms: [{name: k8s-ubuntu-24.04}]
  ports: [{network: {name: k8s}}]
  securityGroupSelectorTerms: [{name: k8s-node}]
  bootstrap: {mode: Kubelet}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: strict}
spec:
  template:
    metadata: {labels: {example.com/tier: strict}}
    spec:
      requirements: []
      terminationGracePeriod: 10s
      nodeClassRef: {group: karpenter.k8s.openstack, kind: OpenStackNodeClass, name: by-secret}
  disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 0s, budgets: [{nodes: \"100%\"}]}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: guarded, namespace: default}
spec: {minAvailable: 1, selector: {matchLabels: {app: guarded}}}
";

#[tokio::test]
async fn the_operator_is_denied_nothing_and_granted_nothing_in_vain() -> Result<()> {
    let Some(control_plane) = e2e::need_control_plane("local: exactly the rights it ships") else {
        return Ok(());
    };
    let options = Options {
        audit_policy: Some(AUDIT_METADATA.to_owned()),
        ..Options::unnamed()
    };
    let ground = Ground::with(&control_plane, options).await?;
    let client = ground.cluster.client().await?;
    let tools = xtask::tools::control_plane()?;
    let emulator = Emulator::start(Some(&tools.hollow_kubelet)).await?;
    let account = Account::of_operator(&ground).await?;
    store_in_the_old_version(&ground, &client).await?;
    ground.restart_webhook(&client).await?;
    // Two, as the manifest runs them: one leads, the other waits for its lease.
    let mut leader = account.operator(Some(&emulator))?.start()?;
    leader.line_with("\"leading\"", SOON).await?;
    let mut standby = account.operator(Some(&emulator))?.start()?;
    let stage = Stage {
        client: client.clone(),
        cloud: &emulator,
        patience: PATIENCE,
    };
    let outcome = everything(&stage, &emulator).await;
    let ended = leader.terminate(SOON).await?;
    let took_over = standby.line_with("\"leading\"", SOON).await;
    let ended_too = standby.terminate(SOON).await?;
    denied_nothing(&ground, &leader)?;
    if outcome.is_err() {
        println!("the operator said:\n{}", leader.log());
    }
    outcome?;
    took_over?;
    ensure!(
        ended.success() && ended_too.success(),
        "{ended}, {ended_too}"
    );
    granted_nothing_in_vain(&ground)?;
    emulator.stop().await
}

/// Whatever the operator does in its life, once.
async fn everything(stage: &Stage<'_>, emulator: &Emulator) -> Result<()> {
    migrated(&stage.client).await?;
    there_and_back(stage).await?;
    past_the_deadline(stage, emulator).await?;
    classes_go(&stage.client).await
}

/// A node whose pod may not be evicted: refused, told, and deleted when the time is over. Its neighbour is evicted.
async fn past_the_deadline(stage: &Stage<'_>, emulator: &Emulator) -> Result<()> {
    let before = stage.inventory().await?;
    let variables = emulator.env().filter(|(name, _)| name.starts_with("OS_"));
    let text: std::collections::BTreeMap<_, _> = variables.collect();
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": { "name": "openstack", "namespace": "joiner" }, "stringData": text,
    });
    apply(&stage.client, &secret.to_string()).await?;
    apply(&stage.client, STRICT).await?;
    for name in ["guarded", "free"] {
        let text = deployment(name, 1, "{cpu: 100m}", "{example.com/tier: strict}");
        apply(&stage.client, &text).await?;
    }
    stage.running(2).await?;
    let pods: Api<Pod> = Api::namespaced(stage.client.clone(), "default");
    let guarded = pods
        .list(&ListParams::default().labels("app=guarded"))
        .await?;
    let guarded = guarded.items.first().context("the guarded pod")?;
    let claims = api(&stage.client, "karpenter.sh/v1", "NodeClaim");
    for claim in claims.list(&ListParams::default()).await?.items {
        claims
            .delete(&claim.name_any(), &DeleteParams::default())
            .await?;
    }
    wait::succeeds(
        "the guarded pod to be deleted",
        stage.patience,
        async || {
            let there = pods.get_opt(&guarded.name_any()).await?;
            ensure!(there.is_none(), "it is there");
            Ok(())
        },
    )
    .await?;
    stage.running(2).await?;
    for name in ["guarded", "free"] {
        stage.scale(name, 0).await?;
    }
    stage.nothing_more_than(&before).await
}

/// A class goes when nobody uses it any more.
async fn classes_go(client: &Client) -> Result<()> {
    let classes = api(client, "karpenter.k8s.openstack/v1", "OpenStackNodeClass");
    for class in classes.list(&ListParams::default()).await?.items {
        let name = class.name_any();
        classes.delete(&name, &DeleteParams::default()).await?;
        wait::gone(&classes, &name, PATIENCE).await?;
    }
    Ok(())
}

/// What the operator's account has asked for.
fn calls(ground: &Ground) -> Result<Vec<Call>> {
    let log = ground.cluster.local().audit_log().context("no audit log")?;
    audit::calls(&std::fs::read_to_string(log)?, &Account::user())
}

fn denied_nothing(ground: &Ground, operator: &Running) -> Result<()> {
    let denied = audit::denied(&calls(ground)?);
    ensure!(
        denied.is_empty(),
        "denied: {denied:#?}; grant them in operator/src/access.rs or do without\n{}",
        operator.log()
    );
    Ok(())
}

/// Needed only when the same is said again after two minutes of silence, which is longer than this test.
const LATER: &str = "patch events.events.k8s.io in the cluster";

fn granted_nothing_in_vain(ground: &Ground) -> Result<()> {
    let (calls, rights) = (calls(ground)?, Install::read()?.rights()?);
    let mut unused = audit::unused(&rights, &calls);
    unused.retain(|one| one != LATER);
    println!(
        "{} calls, none denied; {} of {} granted verbs used",
        calls.len(),
        rights.len() - unused.len(),
        rights.len()
    );
    ensure!(
        unused.is_empty(),
        "granted and never used: {unused:#?}; take them from operator/src/access.rs, or let this test need them"
    );
    Ok(())
}

#[tokio::test]
async fn the_install_manifest_is_accepted_and_its_pods_keep_the_restricted_standard() -> Result<()>
{
    let Some(control_plane) = e2e::need_control_plane("local: the install manifest is accepted")
    else {
        return Ok(());
    };
    let cluster = control_plane.private(Options::unnamed()).await?;
    let client = cluster.client().await?;
    let install = Install::read()?;
    install.apply_rights(&client).await?;
    let (ours, foreign): (Vec<_>, Vec<_>) = install.documents.iter().partition(|one| {
        let types = one.types.as_ref();
        types.is_some_and(|types| !types.api_version.starts_with("cert-manager.io/"))
    });
    // cert-manager is not here to judge these; that they fit together is all that can be said.
    let kinds: Vec<&str> = foreign.iter().map(|one| kind_of(one)).collect();
    ensure!(
        kinds == ["Issuer", "Certificate", "Issuer", "Certificate"],
        "{kinds:?}"
    );
    let leaf = foreign.last().context("a certificate")?;
    ensure!(leaf.data["spec"]["dnsNames"][0] == "joiner-webhook.joiner.svc");
    let mounted = install
        .of_kind("Deployment")
        .last()
        .context("a Deployment")?;
    let mounted = &mounted.data["spec"]["template"]["spec"]["volumes"][0]["secret"]["secretName"];
    ensure!(leaf.data["spec"]["secretName"] == *mounted, "{mounted}");

    let list = json!({ "apiVersion": "v1", "kind": "List", "items": ours });
    let arguments = [
        "apply",
        "--server-side",
        "--force-conflicts",
        "--dry-run=server",
        "-f",
        "-",
    ];
    let said = cluster.kubectl_with(&arguments, &list.to_string()).await?;
    let warned = said.stderr.clone();
    let said = said.success()?;
    println!("{said}");
    ensure!(
        said.lines().count() == ours.len() && warned.is_empty(),
        "{warned}"
    );
    pods_are_admitted(&client, &install).await
}

/// A Deployment is never judged by its namespace's standard; its pods are.
async fn pods_are_admitted(client: &Client, install: &Install) -> Result<()> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), "joiner");
    let dry = PostParams {
        dry_run: true,
        field_manager: None,
    };
    for deployment in install.of_kind("Deployment") {
        let mut pod = deployment.data["spec"]["template"].clone();
        pod["metadata"]["name"] = deployment.name_any().into();
        let pod: Pod = serde_json::from_value(pod)?;
        let admitted = pods
            .create(&dry, &pod)
            .await
            .with_context(|| deployment.name_any())?;
        let spec = admitted.spec.context("a spec")?;
        ensure!(
            spec.priority
                .is_some_and(|priority| priority > 1_000_000_000)
        );
    }
    let secrets: Api<Secret> = Api::namespaced(client.clone(), "joiner");
    ensure!(secrets.list(&ListParams::default()).await?.items.is_empty());
    Ok(())
}
