//! May this machine join, as which node, and what does the node say of itself?

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::boot::{self, JoinPlan};
use crate::kubernetes::controllers::conditions::{self, Condition};
use crate::kubernetes::controllers::tokens;
use crate::kubernetes::object::{micro_stamp, stamp};
use crate::kubernetes::reading::{condition, open};
use crate::kubernetes::store::Store;
use crate::kubernetes::taints::{NOT_READY, Taint};
use crate::machine::Boot;

const LEASES: &str = "leases.coordination.k8s.io";
const LEASE_HOME: &str = "kube-node-lease";
const HEARTBEAT: Option<&str> = Some("lastHeartbeatTime");

/// What a machine meets when it calls the API.
#[derive(Debug, Clone, Default)]
pub struct Door {
    /// The certificate authority that signed the API's certificate, as PEM. `None`: there is no TLS to check.
    pub ca: Option<String>,
    /// Where the API answers. Empty: everywhere.
    pub endpoints: Vec<String>,
}

/// A machine that is a node.
pub(super) struct Member {
    name: String,
    address: String,
    /// No two have the same, not even of one machine that starts twice.
    number: u32,
}

impl Member {
    /// The member and its words, or its last words.
    pub(super) fn join(
        boot: &Boot,
        door: &Door,
        world: (&mut Store, u32),
        now: Timestamp,
    ) -> Result<(Self, Vec<String>), Vec<String>> {
        let (store, number) = world;
        let plan = boot::plan(boot).map_err(|why| vec![why])?;
        let hello = format!("kubelet: joining {} as {}", plan.endpoint, plan.node_name);
        if let Some(why) = refusal(&plan, door, store, now) {
            let last = format!("kubelet: node \"{}\" cannot join: {why}", plan.node_name);
            return Err(vec![hello, last]);
        }
        let [_, _, middle, low] = number.to_be_bytes();
        let member = Self {
            name: plan.node_name.clone(),
            address: format!("172.31.{middle}.{low}"),
            number,
        };
        if let Err(why) = member.register(boot, &plan, store, now) {
            return Err(vec![hello, why]);
        }
        member.renew(store, now);
        let done = format!("kubelet: node \"{}\" is registered", member.name);
        Ok((member, vec![hello, done]))
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn number(&self) -> u32 {
        self.number
    }

    fn register(
        &self,
        boot: &Boot,
        plan: &JoinPlan,
        store: &mut Store,
        now: Timestamp,
    ) -> Result<(), String> {
        let node = self.node(boot, plan, now)?;
        if store.get("nodes", "", &self.name).is_none() {
            let made = store.create("nodes", node, now);
            return made.map(|_| ()).map_err(|why| {
                format!(
                    "kubelet: unable to register node \"{}\": {}",
                    self.name, why.message
                )
            });
        }
        // the machine was here before: its node is told so, and keeps what others wrote
        let again = store.change("nodes", ("", &self.name), now, |old| {
            let mut labels = old["metadata"]["labels"].clone();
            for (key, value) in node["metadata"]["labels"].as_object().into_iter().flatten() {
                labels[key] = value.clone();
            }
            open(old, "metadata")["labels"] = labels;
            old["status"] = node["status"].clone();
        });
        again.map(|_| ()).map_err(|why| why.message)
    }

    fn node(&self, boot: &Boot, plan: &JoinPlan, now: Timestamp) -> Result<Value, String> {
        let capacity = capacity(boot, plan);
        let mut node = json!({
            "metadata": {
                "name": self.name,
                "labels": labels(plan)?,
                "annotations": {"volumes.kubernetes.io/controller-managed-attach-detach": "true"},
            },
            "spec": {"taints": taints(plan, now)?},
            "status": {
                "capacity": capacity, "allocatable": capacity,
                "addresses": [
                    {"type": "InternalIP", "address": self.address},
                    {"type": "Hostname", "address": self.name},
                ],
                "nodeInfo": {
                    "machineID": boot.machine, "systemUUID": boot.machine, "bootID": boot.machine,
                    "kernelVersion": "6.1.0", "osImage": "Emulated Linux", "operatingSystem": "linux",
                    "architecture": "amd64", "containerRuntimeVersion": "emulated://1",
                    "kubeletVersion": "v1.35.0", "kubeProxyVersion": "",
                },
                "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
            },
        });
        if let Some(id) = &plan.provider_id {
            node["spec"]["providerID"] = id.as_str().into();
        }
        for (kind, reason, message) in PRESSURES {
            let fine = Condition {
                kind,
                status: "False",
                reason,
                message,
            };
            conditions::set(&mut node["status"], fine, HEARTBEAT, now);
        }
        let starting = Condition {
            kind: "Ready",
            status: "False",
            reason: "KubeletNotReady",
            message: "container runtime network not ready",
        };
        conditions::set(&mut node["status"], starting, HEARTBEAT, now);
        Ok(node)
    }

    pub(super) fn say_ready(&self, store: &mut Store, now: Timestamp) {
        let _ = store.change("nodes", ("", &self.name), now, |node| {
            for (kind, reason, message) in PRESSURES {
                let fine = Condition {
                    kind,
                    status: "False",
                    reason,
                    message,
                };
                conditions::set(open(node, "status"), fine, HEARTBEAT, now);
            }
            let ready = Condition {
                kind: "Ready",
                status: "True",
                reason: "KubeletReady",
                message: "kubelet is posting ready status",
            };
            conditions::set(open(node, "status"), ready, HEARTBEAT, now);
        });
    }

    /// A kubelet whose Node was deleted stays silent: it registers only when it starts.
    pub(super) fn renew(&self, store: &mut Store, now: Timestamp) {
        let Some(node) = store.get("nodes", "", &self.name).cloned() else {
            return;
        };
        let written = store.change(LEASES, (LEASE_HOME, &self.name), now, |lease| {
            open(lease, "spec")["renewTime"] = micro_stamp(now).into();
        });
        if written.is_ok() {
            // after a silence the node was taken for lost
            let lost = node.meta.ready_since.is_none() && condition_is(&node.value(), "Unknown");
            if lost {
                self.say_ready(store, now);
            }
            return;
        }
        let owner =
            json!({"apiVersion": "v1", "kind": "Node", "name": self.name, "uid": node.meta.uid});
        let lease = json!({
            "metadata": {"namespace": LEASE_HOME, "name": self.name, "ownerReferences": [owner]},
            "spec": {
                "holderIdentity": self.name, "leaseDurationSeconds": 40, "renewTime": micro_stamp(now),
            },
        });
        let _ = store.create(LEASES, lease, now);
    }
}

const PRESSURES: [(&str, &str, &str); 3] = [
    (
        "MemoryPressure",
        "KubeletHasSufficientMemory",
        "kubelet has sufficient memory available",
    ),
    (
        "DiskPressure",
        "KubeletHasNoDiskPressure",
        "kubelet has no disk pressure",
    ),
    (
        "PIDPressure",
        "KubeletHasSufficientPID",
        "kubelet has sufficient PID available",
    ),
];

fn condition_is(node: &Value, status: &str) -> bool {
    let ready = condition(node, "Ready");
    ready.is_some_and(|ready| ready["status"] == status)
}

/// Why the API does not take this machine, in the words a real one leaves on its console.
fn refusal(plan: &JoinPlan, door: &Door, store: &Store, now: Timestamp) -> Option<String> {
    let endpoint = &plan.endpoint;
    let bare = |url: &str| url.trim_end_matches('/').to_owned();
    let known = door.endpoints.iter().any(|one| bare(one) == bare(endpoint));
    if !door.endpoints.is_empty() && !known {
        return Some(format!(
            "the API server at {endpoint} did not answer within 1m0s"
        ));
    }
    let lines = |pem: &str| pem.split_whitespace().collect::<String>();
    if let Some(ca) = &door.ca
        && plan.ca.as_deref().map(lines) != Some(lines(ca))
    {
        return Some(format!(
            "the certificate of the API server at {endpoint} is not trusted by the CA in the bootstrap kubeconfig: wrong CA, or not our API server"
        ));
    }
    if !tokens::accepted(store, &plan.token, now) {
        let id = plan.token.split_once('.').map_or("", |(id, _)| id);
        return Some(format!(
            "the API server at {endpoint} does not accept bootstrap token \"{id}\": it is wrong, expired, deleted or not for authentication; see Secret kube-system/bootstrap-token-{id}"
        ));
    }
    None
}

fn capacity(boot: &Boot, plan: &JoinPlan) -> Value {
    let pods = plan
        .max_pods
        .as_deref()
        .and_then(|max| max.parse::<u32>().ok());
    let mut capacity = json!({
        "cpu": boot.size.cpus.to_string(),
        "memory": format!("{}Mi", boot.size.memory_mib),
        "ephemeral-storage": format!("{}Gi", boot.size.disk_gib.max(1)),
        "pods": pods.unwrap_or(110).to_string(),
        "hugepages-1Gi": "0", "hugepages-2Mi": "0",
    });
    if boot.size.gpus > 0 {
        capacity["nvidia.com/gpu"] = boot.size.gpus.to_string().into();
    }
    capacity
}

fn labels(plan: &JoinPlan) -> Result<Value, String> {
    let mut labels = json!({
        "kubernetes.io/hostname": plan.node_name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": "amd64",
    });
    for pair in plan
        .labels
        .iter()
        .flat_map(|all| all.split(','))
        .filter(|pair| !pair.is_empty())
    {
        let (key, value) = pair
            .split_once('=')
            .ok_or_else(|| format!("kubelet: --node-labels: {pair:?} is not key=value"))?;
        labels[key] = value.into();
    }
    Ok(labels)
}

/// Those it was told to register with, and the one every node has until it is Ready.
fn taints(plan: &JoinPlan, now: Timestamp) -> Result<Value, String> {
    let mut taints = Vec::new();
    let written = plan.taints.iter().flat_map(|all| all.split(','));
    for text in written.filter(|text| !text.is_empty()) {
        let taint = Taint::parse(text).ok_or_else(|| {
            format!("kubelet: --register-with-taints: {text:?} is not key=value:Effect")
        })?;
        taints.push(taint);
    }
    if plan.cloud_provider.as_deref() == Some("external") {
        let key = "node.cloudprovider.kubernetes.io/uninitialized";
        taints.push(Taint::new(key, "true", "NoSchedule"));
    }
    taints.push(Taint::new(NOT_READY, "", "NoSchedule"));
    let each = taints.iter().map(|taint| {
        let mut value = json!({"key": taint.key, "effect": taint.effect});
        if !taint.value.is_empty() {
            value["value"] = taint.value.as_str().into();
        }
        if taint.effect == "NoExecute" {
            value["timeAdded"] = stamp(now).into();
        }
        value
    });
    Ok(each.collect())
}
