//! Who runs the kubelets of booted machines, and who ends them?
//!
//! Each kubelet has a shell as its keeper. The keeper holds the read end of a pipe whose write end is ours: when we let
//! go of it, on purpose or because we died, the keeper ends the kubelet (TERM, after five seconds KILL).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

use super::JoinPlan;
use crate::fronts::engine::{Engine, Hand};
use crate::machine::{Boot, Effect, Machine};

const KEEPER: &str = r#"exec 3<&0
"$@" </dev/null 3<&- & kubelet=$!
( cat <&3 >/dev/null
  kill -TERM $kubelet 2>/dev/null
  left=50
  while kill -0 $kubelet 2>/dev/null && [ $left -gt 0 ]; do sleep 0.1; left=$((left-1)); done
  kill -KILL $kubelet 2>/dev/null ) >/dev/null 2>&1 & watch=$!
wait $kubelet; status=$?
kill $watch 2>/dev/null
exit $status"#;

/// Longer than the keeper needs.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where machines keep their files, and what runs on them.
#[derive(Debug, Clone)]
pub struct Booter {
    /// `None`: machines only read their user data and say on the console what they would do.
    pub kubelet: Option<PathBuf>,
    /// One directory per machine, removed with it.
    pub dir: PathBuf,
}

/// The end of the machine's effects that an engine gets.
pub fn hand() -> (Hand, UnboundedReceiver<Effect>) {
    let (sender, receiver): (UnboundedSender<Effect>, _) = unbounded_channel();
    let hand = move |effect| {
        let _ = sender.send(effect);
    };
    (Box::new(hand), receiver)
}

/// A running kubelet. Letting go of the pipe ends it.
struct Running {
    pipe: ChildStdin,
    watch: JoinHandle<()>,
    dir: PathBuf,
}

impl Booter {
    /// Acts on effects until `stop` or until there are no more, then ends every kubelet.
    pub async fn run<M: Machine>(
        self,
        engine: Arc<Engine<M>>,
        mut effects: UnboundedReceiver<Effect>,
        stop: impl Future<Output = ()>,
    ) {
        let mut running: BTreeMap<String, Running> = BTreeMap::new();
        let mut stop = std::pin::pin!(stop);
        loop {
            let effect = tokio::select! {
                biased;
                () = &mut stop => break,
                effect = effects.recv() => effect,
            };
            match effect {
                None => break,
                Some(Effect::Boot(boot)) => {
                    if let Some(old) = running.remove(&boot.machine) {
                        end(old).await;
                    }
                    if let Some(started) = self.boot(&engine, &boot) {
                        running.insert(boot.machine, started);
                    }
                }
                Some(Effect::Halt { machine }) => {
                    if let Some(old) = running.remove(&machine) {
                        // others must not wait for a slow one
                        tokio::spawn(end(old));
                    }
                }
            }
        }
        futures::future::join_all(running.into_values().map(end)).await;
    }

    fn boot<M: Machine>(&self, engine: &Arc<Engine<M>>, boot: &Boot) -> Option<Running> {
        let print = |text: String| engine.print(&boot.machine, &format!("{text}\n"));
        let plan = match super::plan(boot) {
            Ok(plan) => plan,
            Err(why) => {
                print(why);
                return None;
            }
        };
        print(format!(
            "kubelet: joining {} as {}",
            plan.endpoint, plan.node_name
        ));
        let Some(kubelet) = &self.kubelet else {
            print(
                "kubelet: this emulator was started without --hollow-kubelet; nothing joins"
                    .to_owned(),
            );
            return None;
        };
        // unix sockets live in there, and their paths must stay short
        let dir = self
            .dir
            .join(boot.machine.get(..8).unwrap_or(&boot.machine));
        match start(kubelet, &dir, &plan, boot) {
            Ok((child, pipe)) => {
                let watch = tokio::spawn(watch(Arc::clone(engine), boot.machine.clone(), child));
                Some(Running { pipe, watch, dir })
            }
            Err(error) => {
                print(format!(
                    "kubelet: cannot start {}: {error}",
                    kubelet.display()
                ));
                None
            }
        }
    }
}

fn start(
    kubelet: &Path,
    dir: &Path,
    plan: &JoinPlan,
    boot: &Boot,
) -> std::io::Result<(Child, ChildStdin)> {
    std::fs::create_dir_all(dir)?;
    let bootstrap = dir.join("bootstrap.kubeconfig");
    std::fs::write(&bootstrap, &plan.kubeconfig)?;
    let path = |name: &str| dir.join(name).display().to_string();
    let disk = boot.size.disk_gib.max(1);
    let mut flags = vec![
        ("name", plan.node_name.clone()),
        ("bootstrap-kubeconfig", bootstrap.display().to_string()),
        ("kubeconfig", path("kubeconfig")),
        ("cert-dir", path("pki")),
        ("cpus", boot.size.cpus.to_string()),
        ("memory", format!("{}Mi", boot.size.memory_mib)),
        ("ephemeral-storage", format!("{disk}Gi")),
    ];
    let optional = [
        ("provider-id", &plan.provider_id),
        ("node-labels", &plan.labels),
        ("register-with-taints", &plan.taints),
        ("max-pods", &plan.max_pods),
        ("cloud-provider", &plan.cloud_provider),
    ];
    flags.extend(
        optional
            .into_iter()
            .filter_map(|(name, value)| Some((name, value.clone()?))),
    );
    if boot.size.gpus > 0 {
        flags.push((
            "extended-resources",
            format!("nvidia.com/gpu={}", boot.size.gpus),
        ));
    }
    let mut child = Command::new("/bin/sh")
        .args(["-c", KEEPER, "keeper"])
        .arg(kubelet)
        .args(
            flags
                .iter()
                .map(|(name, value)| format!("--{name}={value}")),
        )
        .env("TMPDIR", dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    let pipe = child
        .stdin
        .take()
        .ok_or_else(|| std::io::Error::other("no pipe to the keeper"))?;
    Ok((child, pipe))
}

/// What the kubelet says goes to the screen of its machine.
async fn watch<M: Machine>(engine: Arc<Engine<M>>, machine: String, mut child: Child) {
    if let Some(stderr) = child.stderr.take() {
        let mut lines = BufReader::new(stderr).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            engine.print(&machine, &format!("{line}\n"));
        }
    }
    if let Ok(status) = child.wait().await {
        engine.print(&machine, &format!("kubelet: ended ({status})\n"));
    }
}

async fn end(running: Running) {
    let Running { pipe, watch, dir } = running;
    drop(pipe);
    let _ = tokio::time::timeout(PATIENCE, watch).await;
    let _ = std::fs::remove_dir_all(dir);
}
