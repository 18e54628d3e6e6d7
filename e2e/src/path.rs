//! How long does it take from the creation of a pod until the create call leaves the operator?
//!
//! A real control plane, the operator and the emulated cloud as processes of their own. Machines never join: the measured way
//! ends when the call arrives in the emulator. Every pod takes the same host port, so that none fits beside another; a pool is
//! left alone before the runaway guard holds it back.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use cloud::transport::allowance::Pace;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::api::PostParams;
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::figures::{Way, legs, table, ways};
use crate::ground::{Ground, api};
use crate::{Binary, Emulator, Running, apply, wait};

/// Claims a pool of no nodes may have on their way.
const PER_POOL: u32 = 5;
const PATIENCE: Duration = Duration::from_mins(1);

struct Stage {
    client: Client,
    emulator: Emulator,
    operator: Running,
}

#[derive(Default)]
struct Measured {
    took: Vec<f64>,
    ways: Vec<Way>,
    /// Of all kinds.
    calls: usize,
}

impl Measured {
    fn add(&mut self, log: &str, asked: &[Timestamp], called: &[Timestamp]) {
        let millis = |(asked, called): (&Timestamp, &Timestamp)| {
            called.duration_since(*asked).as_secs_f64() * 1000.0
        };
        self.took.extend(asked.iter().zip(called).map(millis));
        self.ways.extend(ways(log, asked, called));
    }
}

/// Prints the figures of so many pods that come alone and so many that come at once.
pub async fn measure(lone: u32, burst: u32) -> Result<()> {
    let Some(control_plane) = crate::need_control_plane("bench path: a real control plane") else {
        return Ok(());
    };
    eprintln!("starting a control plane, the emulated cloud and the operator");
    let ground = Ground::private(&control_plane).await?;
    let client = ground.cluster.client().await?;
    let emulator = Emulator::start(None).await?;
    let operator = start(&ground, &emulator)?;
    let pools = lone.div_ceil(PER_POOL) + burst.div_ceil(PER_POOL);
    apply(&client, CLASS).await?;
    for pool in 0..pools {
        apply(&client, &pool_named(pool)).await?;
    }
    for pool in 0..pools {
        let pools = api(&client, "karpenter.sh/v1", "NodePool");
        let ready = wait::condition("Ready", "True");
        wait::until(&pools, &format!("p{pool}"), "Ready", PATIENCE, ready).await?;
    }
    let mut stage = Stage {
        client,
        emulator,
        operator,
    };
    let outcome = stage.both(lone, burst).await;
    if outcome.is_err() {
        eprintln!("the operator said:\n{}", stage.operator.log());
    }
    let (alone, together) = outcome?;
    println!("\nfrom the request that creates a pod to the create call in the cloud\n");
    println!(
        "{}",
        table(&[
            ("pods that come alone", alone.took),
            ("a burst", together.took)
        ])
    );
    println!("what the time of a pod that comes alone consists of\n");
    println!("{}", legs(&alone.ways));
    println!("what the time of a pod in a burst consists of\n");
    println!("{}", legs(&together.ways));
    println!(
        "In a burst the k-th claim and the k-th call count as the k-th pod's; {PER_POOL} pods go to each pool, so that the runaway guard holds none back."
    );
    let pace = Pace::default();
    println!(
        "The burst took {} calls of the cloud; the operator sends {} a second after {} at once.",
        together.calls, pace.most, pace.burst
    );
    stage.operator.terminate(Duration::from_secs(30)).await?;
    stage.emulator.stop().await
}

impl Stage {
    async fn both(&mut self, lone: u32, burst: u32) -> Result<(Measured, Measured)> {
        let mut alone = Measured::default();
        for number in 0..lone {
            let before = self.calls().await?.len();
            let asked = self.create(number, number / PER_POOL).await?;
            let called = self.called(before + 1).await?;
            alone.add(&self.operator.log(), &[asked], &called[before..]);
            let took = alone.took.last().context("no create call")?;
            eprintln!("lone pod {} of {lone}: {took:.0} ms", number + 1);
            // The last pod's own news must not be part of the next one's burst.
            tokio::time::sleep(Duration::from_millis(1500)).await;
        }
        let before = self.calls().await?.len();
        let first_pool = lone.div_ceil(PER_POOL);
        let all =
            (0..burst).map(|number| self.create(lone + number, first_pool + number / PER_POOL));
        let mut asked = futures::future::try_join_all(all).await?;
        asked.sort();
        let called = self.called(before + burst as usize).await?;
        let mut together = Measured::default();
        together.add(&self.operator.log(), &asked, &called[before..]);
        together.calls = self.sent(&asked, &called).await?;
        Ok((alone, together))
    }

    /// Asks for a pod; returns the moment before.
    async fn create(&self, number: u32, pool: u32) -> Result<Timestamp> {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), "default");
        let pod: Pod = serde_json::from_value(json!({
            "metadata": { "name": format!("pod-{number}") },
            "spec": {
                "nodeSelector": { "karpenter.sh/nodepool": format!("p{pool}") },
                "containers": [{
                    "name": "main", "image": "pause",
                    "ports": [{ "containerPort": 8080, "hostPort": 8080 }],
                    "resources": { "requests": { "cpu": "500m", "memory": "128Mi" } },
                }],
            },
        }))?;
        let asked = Timestamp::now();
        pods.create(&PostParams::default(), &pod).await?;
        Ok(asked)
    }

    /// Moments of all create calls, once there are so many.
    async fn called(&self, count: usize) -> Result<Vec<Timestamp>> {
        wait::succeeds("the create calls", PATIENCE, async || {
            let calls = self.calls().await?;
            ensure!(calls.len() >= count, "{} of {count} came", calls.len());
            Ok(calls)
        })
        .await
    }

    async fn calls(&self) -> Result<Vec<Timestamp>> {
        let create = |call: &Value| {
            let path = call["path"].as_str().unwrap_or_default();
            call["method"] == "POST" && path.ends_with("/servers")
        };
        self.moments(create).await
    }

    /// How many calls of any kind the cloud got meanwhile.
    async fn sent(&self, asked: &[Timestamp], called: &[Timestamp]) -> Result<usize> {
        let (Some(begin), Some(end)) = (asked.first(), called.last()) else {
            return Ok(0);
        };
        let all = self.moments(|_| true).await?;
        Ok(all.iter().filter(|at| *at >= begin && *at <= end).count())
    }

    async fn moments(&self, of: impl Fn(&Value) -> bool) -> Result<Vec<Timestamp>> {
        let said = self.emulator.admin("calls").await?;
        let all = said["calls"].as_array().context("calls")?;
        let moment = |call: &Value| Ok(call["at"].as_str().context("at")?.parse()?);
        let calls = all.iter().filter(|call| of(call));
        let mut moments: Vec<Timestamp> = calls.map(moment).collect::<Result<_>>()?;
        moments.sort();
        Ok(moments)
    }
}

const CLASS: &str = "
apiVersion: karpenter.k8s.openstack/v1
kind: OpenStackNodeClass
metadata: {name: default}
spec:
  imageSelectorTerms: [{name: k8s-ubuntu-24.04}]
  ports: [{network: {name: k8s}}]
  securityGroupSelectorTerms: [{name: k8s-node}]
  bootstrap: {mode: Kubelet}
";

fn pool_named(number: u32) -> String {
    format!(
        "
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {{name: p{number}}}
spec:
  template:
    spec:
      requirements: []
      nodeClassRef: {{group: karpenter.k8s.openstack, kind: OpenStackNodeClass, name: default}}
  disruption: {{consolidationPolicy: WhenEmpty, consolidateAfter: Never}}
"
    )
}

fn start(ground: &Ground, emulator: &Emulator) -> Result<Running> {
    let mut operator = Binary::named("joiner")?
        .arg("run")
        .arg("--kubeconfig")
        .arg(ground.cluster.kubeconfig())
        .arg("--namespace=joiner")
        .arg("--cluster-name=bench")
        .arg("--log-level=info,operator=debug")
        .arg("--metrics-port=0")
        .arg("--health-probe-port=0")
        .arg("--admin-address=127.0.0.1");
    for (name, value) in emulator.env() {
        operator = operator.env(name, value);
    }
    operator.start()
}
