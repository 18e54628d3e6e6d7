//! Which files does the preset `Kubelet` write on a machine?
//!
//! `/etc/kubernetes/bootstrap-kubelet.conf` with endpoint, CA and token, and `/etc/kubernetes/kubelet.env` with the flags, as
//! `KUBELET_EXTRA_ARGS` for a systemd unit.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use planner::taints::UNREGISTERED;
use planner::{Effect, Taint};
use secrecy::ExposeSecret;

use super::literal::{bad, expression, jinja, word, yaml};
use super::{BadBootstrap, Join};

/// Settings of the kubelet that become flags. What is absent stays the kubelet's default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kubelet {
    pub cluster_dns: Vec<String>,
    pub max_pods: Option<u32>,
    pub pods_per_core: Option<u32>,
    pub system_reserved: BTreeMap<String, String>,
    pub kube_reserved: BTreeMap<String, String>,
    pub eviction_hard: BTreeMap<String, String>,
    pub eviction_soft: BTreeMap<String, String>,
    pub eviction_soft_grace_period: BTreeMap<String, String>,
    pub eviction_max_pod_grace_period: Option<i32>,
    pub image_gc_high_threshold_percent: Option<i32>,
    pub image_gc_low_threshold_percent: Option<i32>,
    pub cpu_cfs_quota: Option<bool>,
    pub cpu_manager_policy: Option<String>,
    pub topology_manager_policy: Option<String>,
    pub feature_gates: BTreeMap<String, bool>,
}

/// Labels of Kubernetes' own domains a kubelet may give itself; with any other it does not start. They come at registration.
pub const MAY_LABEL_ITSELF: [&str; 13] = [
    "kubernetes.io/hostname",
    "kubernetes.io/arch",
    "kubernetes.io/os",
    "beta.kubernetes.io/instance-type",
    "beta.kubernetes.io/os",
    "beta.kubernetes.io/arch",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "failure-domain.kubernetes.io/zone",
    "failure-domain.kubernetes.io/region",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "node.kubernetes.io/instance-type",
];

const JOIN_FILE: &str = "/etc/kubernetes/bootstrap-kubelet.conf";
const FLAGS_FILE: &str = "/etc/kubernetes/kubelet.env";

pub(super) fn cloud_config(join: &Join) -> Result<String, BadBootstrap> {
    let mut text = "## template: jinja\n#cloud-config\nwrite_files:\n".to_owned();
    text.push_str(&file(JOIN_FILE, "0600", &kubeconfig(join)?));
    text.push_str(&file(FLAGS_FILE, "0644", &environment(join)?));
    text.push_str("runcmd:\n");
    let restart = "[systemctl, restart, --no-block, kubelet]".to_owned();
    let before = join.before.iter().map(|command| yaml(command));
    let after = join.after.iter().map(|command| yaml(command));
    for command in before.chain([restart]).chain(after) {
        text = format!("{text}- {command}\n");
    }
    Ok(text)
}

/// `content` is made of checked lines, so a block scalar holds it.
fn file(path: &str, mode: &str, content: &str) -> String {
    let lines: Vec<String> = content
        .lines()
        .map(|line| format!("    {line}\n"))
        .collect();
    let body = lines.concat();
    format!("- path: {path}\n  owner: root:root\n  permissions: '{mode}'\n  content: |\n{body}")
}

fn kubeconfig(join: &Join) -> Result<String, BadBootstrap> {
    let endpoint = word("endpoint", &join.endpoint)?;
    if !endpoint.starts_with("https://") {
        return Err(bad(
            "endpoint",
            "it does not begin with https://",
            "write for example https://10.0.0.1:6443",
        ));
    }
    if !join.ca_pem.contains("-----BEGIN CERTIFICATE-----") {
        return Err(bad(
            "caBundle",
            "it holds no certificate",
            "give it in PEM form",
        ));
    }
    let ca = STANDARD.encode(&join.ca_pem);
    let token = word("token", join.token.expose_secret())?;
    let (endpoint, token) = (yaml(endpoint), yaml(token));
    Ok(format!(
        "apiVersion: v1
kind: Config
clusters:
- name: default
  cluster:
    server: {endpoint}
    certificate-authority-data: {ca}
users:
- name: default
  user:
    token: {token}
contexts:
- name: default
  context:
    cluster: default
    user: default
current-context: default
"
    ))
}

fn environment(join: &Join) -> Result<String, BadBootstrap> {
    let mut flags = vec![
        ("bootstrap-kubeconfig", JOIN_FILE.to_owned()),
        ("kubeconfig", "/var/lib/kubelet/kubeconfig".to_owned()),
        (
            "hostname-override",
            expression("node name", &join.node_name)?,
        ),
        ("provider-id", expression("provider id", &join.provider_id)?),
    ];
    let labels = labels(&join.labels)?;
    if !labels.is_empty() {
        flags.push(("node-labels", labels));
    }
    flags.push(("register-with-taints", taints(&join.taints)?));
    flags.extend(settings(&join.kubelet)?);
    let words: Vec<String> = flags
        .iter()
        .map(|(flag, value)| format!("--{flag}={value}"))
        .collect();
    Ok(format!("KUBELET_EXTRA_ARGS=\"{}\"\n", words.join(" ")))
}

fn labels(labels: &BTreeMap<String, String>) -> Result<String, BadBootstrap> {
    let mut pairs = Vec::new();
    for (key, value) in labels.iter().filter(|(key, _)| may_label_itself(key)) {
        let field = format!("label {key}");
        let checked = |text: &str| -> Result<String, BadBootstrap> {
            let text = word(&field, text)?;
            if text.contains([',', '=']) {
                return Err(bad(
                    &field,
                    "it contains a comma or an equals sign",
                    "remove it",
                ));
            }
            Ok(jinja(text))
        };
        let value = if value.is_empty() {
            String::new()
        } else {
            checked(value)?
        };
        pairs.push(format!("{}={value}", checked(key)?));
    }
    Ok(pairs.join(","))
}

fn may_label_itself(key: &str) -> bool {
    let domain = key.split_once('/').map_or("", |(domain, _)| domain);
    let under = |parent: &str| domain == parent || domain.ends_with(&format!(".{parent}"));
    let open = under("kubelet.kubernetes.io") || under("node.kubernetes.io");
    open || MAY_LABEL_ITSELF.contains(&key) || !(under("kubernetes.io") || under("k8s.io"))
}

fn taints(taints: &[Taint]) -> Result<String, BadBootstrap> {
    let unregistered = Taint::new(UNREGISTERED, "", Effect::NoExecute);
    let others = taints.iter().filter(|taint| !taint.matches(&unregistered));
    let mut written = Vec::new();
    for taint in std::iter::once(&unregistered).chain(others) {
        let field = format!("taint {}", taint.key);
        let key = word(&field, &taint.key)?;
        let value = match taint.value.as_ref() {
            "" => String::new(),
            value => format!("={}", word(&field, value)?),
        };
        if format!("{key}{value}").matches([',', ':', '=']).count()
            > value.matches('=').count().min(1)
        {
            return Err(bad(
                &field,
                "it contains a comma, a colon or an equals sign",
                "remove it",
            ));
        }
        written.push(jinja(&format!("{key}{value}:{:?}", taint.effect)));
    }
    Ok(written.join(","))
}

fn settings(kubelet: &Kubelet) -> Result<Vec<(&'static str, String)>, BadBootstrap> {
    let number = |flag, value: Option<i64>| value.map(|value| (flag, value.to_string()));
    let mut flags: Vec<(&'static str, String)> = [
        number("max-pods", kubelet.max_pods.map(i64::from)),
        number("pods-per-core", kubelet.pods_per_core.map(i64::from)),
        number(
            "eviction-max-pod-grace-period",
            kubelet.eviction_max_pod_grace_period.map(i64::from),
        ),
        number(
            "image-gc-high-threshold",
            kubelet.image_gc_high_threshold_percent.map(i64::from),
        ),
        number(
            "image-gc-low-threshold",
            kubelet.image_gc_low_threshold_percent.map(i64::from),
        ),
        kubelet
            .cpu_cfs_quota
            .map(|on| ("cpu-cfs-quota", on.to_string())),
    ]
    .into_iter()
    .flatten()
    .collect();
    for (flag, between, map) in [
        ("system-reserved", '=', &kubelet.system_reserved),
        ("kube-reserved", '=', &kubelet.kube_reserved),
        ("eviction-hard", '<', &kubelet.eviction_hard),
        ("eviction-soft", '<', &kubelet.eviction_soft),
        (
            "eviction-soft-grace-period",
            '=',
            &kubelet.eviction_soft_grace_period,
        ),
    ] {
        flags.extend(map_flag(flag, between, map)?);
    }
    let gates = kubelet
        .feature_gates
        .iter()
        .map(|(gate, on)| (gate.clone(), on.to_string()))
        .collect();
    flags.extend(map_flag("feature-gates", '=', &gates)?);
    for (flag, value) in [
        ("cpu-manager-policy", &kubelet.cpu_manager_policy),
        ("topology-manager-policy", &kubelet.topology_manager_policy),
    ] {
        if let Some(value) = value {
            flags.push((flag, jinja(word(flag, value)?)));
        }
    }
    if !kubelet.cluster_dns.is_empty() {
        let servers = kubelet.cluster_dns.join(",");
        flags.push(("cluster-dns", jinja(word("clusterDNS", &servers)?)));
    }
    Ok(flags)
}

fn map_flag(
    flag: &'static str,
    between: char,
    map: &BTreeMap<String, String>,
) -> Result<Option<(&'static str, String)>, BadBootstrap> {
    let mut pairs = Vec::new();
    for (key, value) in map {
        let pair = format!("{}{between}{}", word(flag, key)?, word(flag, value)?);
        if pair.contains(',') {
            return Err(bad(flag, "it contains a comma", "remove it"));
        }
        pairs.push(jinja(&pair));
    }
    Ok((!pairs.is_empty()).then(|| (flag, pairs.join(","))))
}
