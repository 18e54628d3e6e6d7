//! What does a machine do with its user data: which cluster would it join, as whom, or why can it not?
//!
//! A pure reader. It understands rendered files (cloud-init's `write_files`), it never runs scripts.

mod cloud_config;
pub mod embedded;
mod kubeconfig;
pub mod kubelet;
mod multipart;
mod template;

use std::collections::BTreeMap;

use crate::machine::Boot;

pub const BOOTSTRAP: &str = "/etc/kubernetes/bootstrap-kubelet.conf";
pub const ENVIRONMENT: &str = "/etc/kubernetes/kubelet.env";

/// Files by path, as cloud-init would have written them.
pub type Files = BTreeMap<String, String>;

/// All a kubelet needs to ask for membership.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JoinPlan {
    pub node_name: String,
    /// The bootstrap kubeconfig as it was written.
    pub kubeconfig: String,
    pub endpoint: String,
    /// PEM text.
    pub ca: Option<String>,
    pub token: String,
    pub provider_id: Option<String>,
    pub labels: Option<String>,
    pub taints: Option<String>,
    pub max_pods: Option<String>,
    pub cloud_provider: Option<String>,
}

/// The plan, or what the screen of a machine would show instead.
pub fn plan(boot: &Boot) -> Result<JoinPlan, String> {
    let files = cloud_config::files(boot)?;
    let kubeconfig = wanted(&files, BOOTSTRAP)?;
    let environment = wanted(&files, ENVIRONMENT)?;
    let flags = flags(environment)?;
    let flag = |name: &str| flags.get(name).filter(|value| !value.is_empty()).cloned();
    let cluster = kubeconfig::read(kubeconfig, &files)?;
    Ok(JoinPlan {
        node_name: flag("hostname-override").unwrap_or_else(|| boot.hostname.clone()),
        kubeconfig: kubeconfig.clone(),
        endpoint: cluster.endpoint,
        ca: cluster.ca,
        token: cluster.token,
        provider_id: flag("provider-id"),
        labels: flag("node-labels"),
        taints: flag("register-with-taints"),
        max_pods: flag("max-pods"),
        cloud_provider: flag("cloud-provider"),
    })
}

fn wanted<'a>(files: &'a Files, path: &str) -> Result<&'a String, String> {
    files.get(path).ok_or_else(|| {
        let written: Vec<&str> = files.keys().map(String::as_str).collect();
        let written = if written.is_empty() { "none".to_owned() } else { written.join(", ") };
        format!("kubelet: {path} does not exist (write_files wrote: {written}); this machine joins no cluster")
    })
}

/// The flags in `KUBELET_EXTRA_ARGS="--a=b --c d"`.
fn flags(environment: &str) -> Result<BTreeMap<String, String>, String> {
    let mut lines = environment.lines().map(str::trim);
    let line = lines.find_map(|line| line.strip_prefix("KUBELET_EXTRA_ARGS="));
    let line =
        line.ok_or_else(|| format!("kubelet: {ENVIRONMENT} does not set KUBELET_EXTRA_ARGS"))?;
    let quoted = |quote: char| {
        line.strip_prefix(quote)
            .and_then(|line| line.strip_suffix(quote))
    };
    let line = quoted('"').or_else(|| quoted('\'')).unwrap_or(line);
    let mut flags = BTreeMap::new();
    let mut words = line.split_whitespace().peekable();
    while let Some(word) = words.next() {
        let Some(flag) = word.strip_prefix("--") else {
            return Err(format!(
                "kubelet: unknown argument {word:?} in KUBELET_EXTRA_ARGS"
            ));
        };
        let (name, value) = match flag.split_once('=') {
            Some((name, value)) => (name, value.trim_matches(['"', '\''])),
            None => (
                flag,
                words.next_if(|next| !next.starts_with("--")).unwrap_or(""),
            ),
        };
        flags.insert(name.to_owned(), value.to_owned());
    }
    Ok(flags)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Size;
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;

    const KUBECONFIG: &str = "apiVersion: v1\nkind: Config\nclusters:\n- name: c\n  cluster:\n    server: https://10.0.0.1:6443\n    certificate-authority-data: Q0EtUEVN\ncontexts:\n- name: x\n  context: {cluster: c, user: u}\ncurrent-context: x\nusers:\n- name: u\n  user: {token: abcdef.0123456789abcdef}\n";

    fn boot(user_data: Option<String>) -> Boot {
        Boot {
            machine: "7b5f-id".into(),
            hostname: "pool-x7k2p".into(),
            zone: "az-b".into(),
            region: "RegionOne".into(),
            user_data,
            size: Size {
                cpus: 2,
                memory_mib: 4096,
                disk_gib: 40,
                gpus: 0,
            },
        }
    }

    #[allow(clippy::unnecessary_wraps)] // user data is optional, and cases without it stand beside
    fn encoded(text: &str) -> Option<String> {
        Some(STANDARD.encode(text))
    }

    fn usual(flags: &str) -> String {
        let indented = KUBECONFIG.replace('\n', "\n    ");
        format!(
            "## template: jinja\n#cloud-config\nwrite_files:\n- path: {BOOTSTRAP}\n  permissions: '0600'\n  content: |\n    {indented}\n- path: {ENVIRONMENT}\n  content: |\n    KUBELET_EXTRA_ARGS=\"{flags}\"\n"
        )
    }

    #[test]
    fn expressions_become_the_machines_own_facts() {
        let text = usual(
            "--provider-id=openstack:///{{ v1.instance_id }} --node-labels=zone={{v1.availability_zone}} --register-with-taints=karpenter.sh/unregistered:NoExecute",
        );
        let joined = plan(&boot(encoded(&text))).unwrap();
        assert_eq!(joined.provider_id.as_deref(), Some("openstack:///7b5f-id"));
        assert_eq!(joined.labels.as_deref(), Some("zone=az-b"));
        assert_eq!(
            joined.taints.as_deref(),
            Some("karpenter.sh/unregistered:NoExecute")
        );
        assert_eq!(
            (joined.node_name.as_str(), joined.endpoint.as_str()),
            ("pool-x7k2p", "https://10.0.0.1:6443")
        );
        assert_eq!(
            (joined.ca.as_deref(), joined.token.as_str()),
            (Some("CA-PEM"), "abcdef.0123456789abcdef")
        );
    }

    #[test]
    fn without_the_template_line_expressions_stay_text() {
        let text =
            usual("--provider-id=x://{{ v1.instance_id }}").replace("## template: jinja\n", "");
        // the braces make two arguments of one, which no kubelet would take
        assert!(
            plan(&boot(encoded(&text)))
                .unwrap_err()
                .contains("unknown argument")
        );
    }

    #[test]
    fn a_machine_that_cannot_join_says_why() {
        let cases = [
            (None, "no user data"),
            (Some("***".to_owned()), "not base64"),
            (encoded("#!/bin/sh\nkubeadm join"), "script"),
            (encoded("hostname: x"), "#cloud-config"),
            (
                encoded("#cloud-config\nwrite_files: 3\n"),
                "not a cloud-config",
            ),
            (encoded("#cloud-config\nhostname: x\n"), BOOTSTRAP),
            (
                encoded(&format!(
                    "#cloud-config\nwrite_files:\n- path: {BOOTSTRAP}\n  content: x\n"
                )),
                ENVIRONMENT,
            ),
            (
                encoded(&usual("").replace("KUBELET_EXTRA_ARGS", "OTHER")),
                "KUBELET_EXTRA_ARGS",
            ),
            (
                encoded(&usual("").replace("token: abcdef.0123456789abcdef", "name: x")),
                "token",
            ),
            (encoded(&usual("").replace("server:", "url:")), "server"),
            (
                encoded("## template: jinja\n#cloud-config\nhostname: {{ v1.nonsense }}\n"),
                "v1.nonsense",
            ),
            (
                encoded("## template: jinja\n#cloud-config\n{% if x %}\n"),
                "{%",
            ),
        ];
        for (user_data, word) in cases {
            let why = plan(&boot(user_data.clone())).unwrap_err();
            assert!(why.contains(word), "{user_data:?}: {why}");
            assert!(
                !why.contains("0123456789abcdef"),
                "the token is on the screen: {why}"
            );
        }
    }

    #[test]
    fn a_file_may_be_packed_in_every_way_cloud_init_knows() {
        use std::io::Write;
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(KUBECONFIG.as_bytes()).unwrap();
        let zipped = STANDARD.encode(packer.finish().unwrap());
        let plain = STANDARD.encode(KUBECONFIG);
        for (encoding, content) in [
            ("b64", &plain),
            ("base64", &plain),
            ("gz+b64", &zipped),
            ("gzip+base64", &zipped),
        ] {
            let text = format!(
                "#cloud-config\nwrite_files:\n- path: {BOOTSTRAP}\n  encoding: {encoding}\n  content: {content}\n- path: {ENVIRONMENT}\n  content: KUBELET_EXTRA_ARGS=--max-pods=50\n"
            );
            let joined = plan(&boot(encoded(&text))).unwrap();
            assert_eq!(joined.kubeconfig, KUBECONFIG, "{encoding}");
            assert_eq!(joined.max_pods.as_deref(), Some("50"));
        }
    }

    #[test]
    fn a_certificate_may_lie_in_a_file_of_its_own() {
        let kubeconfig = KUBECONFIG.replace(
            "certificate-authority-data: Q0EtUEVN",
            "certificate-authority: /etc/ca.pem",
        );
        let mut files = Files::new();
        assert!(
            kubeconfig::read(&kubeconfig, &files)
                .unwrap_err()
                .contains("/etc/ca.pem")
        );
        files.insert("/etc/ca.pem".into(), "CA-PEM".into());
        assert_eq!(
            kubeconfig::read(&kubeconfig, &files).unwrap().ca.as_deref(),
            Some("CA-PEM")
        );
    }
}
