//! Can people use kubectl on the embedded Kubernetes?

use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use e2e::Scratch;
use emulators::fronts::engine::{Clock, Engine};
use emulators::fronts::https;
use emulators::kubernetes::Kubernetes;
use tokio::io::AsyncWriteExt;

struct Kubectl {
    program: PathBuf,
    scratch: Scratch,
}

impl Kubectl {
    /// What it printed, errors included, and whether it succeeded.
    async fn try_run(&self, args: &[&str], stdin: &str) -> Result<(bool, String)> {
        let mut child = tokio::process::Command::new(&self.program)
            .arg("--kubeconfig")
            .arg(self.scratch.path().join("kubeconfig"))
            .arg("--cache-dir")
            .arg(self.scratch.path().join("cache"))
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("cannot start kubectl")?;
        let mut pipe = child.stdin.take().context("kubectl has a stdin")?;
        let _ = pipe.write_all(stdin.as_bytes()).await;
        drop(pipe);
        let output = child.wait_with_output().await?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
        Ok((output.status.success(), said))
    }

    /// Runs, must succeed, and must say each of these.
    async fn says(&self, command: &str, wanted: &[&str]) -> Result<()> {
        self.says_with(command, "", wanted).await
    }

    async fn says_with(&self, command: &str, stdin: &str, wanted: &[&str]) -> Result<()> {
        let args: Vec<&str> = command.split(' ').collect();
        let (ok, said) = self.try_run(&args, stdin).await?;
        ensure!(ok, "kubectl {command} failed: {said}");
        for wanted in wanted {
            ensure!(
                said.contains(wanted),
                "kubectl {command} does not say {wanted:?}: {said}"
            );
        }
        Ok(())
    }
}

#[allow(
    clippy::too_many_lines,
    reason = "one session at a terminal, told in order"
)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_gets_describes_applies_waits_and_deletes() -> Result<()> {
    let Some(_ready) = e2e::need_control_plane("embedded: kubectl") else {
        return Ok(());
    };
    let program = tokio::task::spawn_blocking(xtask::tools::control_plane)
        .await??
        .kubectl;
    let engine = Engine::new(
        Kubernetes::new(1, jiff::Timestamp::now()),
        Clock::Wall,
        Box::new(|_| {}),
    );
    let served = https::serve("127.0.0.1:0".parse()?, engine).await?;
    let scratch = Scratch::new()?;
    scratch.write("kubeconfig", &served.kubeconfig())?;
    let kubectl = Kubectl { program, scratch };

    kubectl
        .says(
            "get namespaces",
            &["NAME", "STATUS", "AGE", "kube-system", "Active"],
        )
        .await?;
    kubectl
        .says("api-resources", &["deployments", "po ", "apps/v1"])
        .await?;
    kubectl
        .says_with("apply -f -", DEFINITION, &["created"])
        .await?;
    kubectl
        .says_with(
            "apply -f -",
            MANIFEST,
            &[
                "configmap/settings created",
                "pod/one created",
                "widget.demo.joiner.dev/w created",
            ],
        )
        .await?;
    kubectl
        .says_with(
            "apply -f -",
            MANIFEST,
            &["configmap/settings unchanged", "pod/one unchanged"],
        )
        .await?;
    let changed = MANIFEST.replace("size: 2", "size: 3");
    kubectl
        .says_with(
            "apply -f -",
            &changed,
            &["widget.demo.joiner.dev/w configured"],
        )
        .await?;
    kubectl
        .says_with(
            "apply --server-side --force-conflicts -f -",
            &changed,
            &["configmap/settings serverside-applied"],
        )
        .await?;
    kubectl.says("get widgets", &["SIZE", "w      3"]).await?;
    kubectl
        .says("get pods -o wide", &["READY", "0/1", "Pending", "NODE"])
        .await?;
    kubectl
        .says(
            "describe pod one",
            &["Name:", "one", "Status:", "Pending", "Image:"],
        )
        .await?;
    kubectl
        .says("describe widget w", &["Kind:", "Widget", "Size:"])
        .await?;
    kubectl
        .says("label pod one tier=front", &["labeled"])
        .await?;
    kubectl
        .says("get pods -l tier=front -o name", &["pod/one"])
        .await?;
    kubectl
        .says(
            "wait --for=jsonpath={.status.phase}=Pending pod/one --timeout=10s",
            &["condition met"],
        )
        .await?;
    kubectl.says("auth can-i create pods", &["yes"]).await?;
    let (_, said) = kubectl
        .try_run(
            &[
                "auth",
                "can-i",
                "create",
                "pods",
                "--as",
                "system:serviceaccount:default:default",
            ],
            "",
        )
        .await?;
    ensure!(said.contains("no"), "{said}");
    let (ok, said) = kubectl.try_run(&["get", "pod", "two"], "").await?;
    ensure!(!ok && said.contains("pods \"two\" not found"), "{said}");
    kubectl.says("create namespace typed", &["created"]).await?;
    kubectl.says("create token default", &["emulated."]).await?;
    kubectl.says("delete pod one", &["deleted"]).await?;
    kubectl
        .says(
            "delete namespace demo --wait=true --timeout=20s",
            &["deleted"],
        )
        .await?;
    Ok(())
}

const MANIFEST: &str = "
apiVersion: v1
kind: Namespace
metadata: {name: demo}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: demo}
data: {a: b}
---
apiVersion: v1
kind: Pod
metadata: {name: one, labels: {app: one}}
spec:
  schedulerName: nobody
  containers: [{name: c, image: none}]
---
apiVersion: demo.joiner.dev/v1
kind: Widget
metadata: {name: w}
spec: {size: 2}
";

const DEFINITION: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.demo.joiner.dev}
spec:
  group: demo.joiner.dev
  scope: Cluster
  names: {plural: widgets, kind: Widget}
  versions:
  - name: v1
    served: true
    storage: true
    additionalPrinterColumns: [{name: Size, type: integer, jsonPath: .spec.size}]
    schema:
      openAPIV3Schema:
        type: object
        properties: {spec: {type: object, properties: {size: {type: integer}}}}
";
