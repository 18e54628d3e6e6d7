//! Which processes make a control plane, and with which flags? (Pure.)

use std::path::Path;

use super::Options;
use super::files::Files;
use super::keeper::{Launch, Probe};
use super::ports::Ports;
use crate::tools::ControlPlane;

pub(super) const ETCD: &str = "etcd";
pub(super) const API_SERVER: &str = "kube-apiserver";
pub(super) const CONTROLLERS: &str = "kube-controller-manager";
pub(super) const SCHEDULER: &str = "kube-scheduler";

const SERVICE_RANGE: &str = "10.96.0.0/16";
pub(super) const SERVICE_IP: &str = "10.96.0.1";
const POD_RANGE: &str = "10.244.0.0/16";

/// Everything the flags depend on.
pub(super) struct Recipe<'a> {
    pub(super) tools: &'a ControlPlane,
    pub(super) files: &'a Files,
    pub(super) ports: Ports,
    pub(super) options: &'a Options,
}

impl Recipe<'_> {
    pub(super) fn api_address(&self) -> String {
        format!("https://127.0.0.1:{}", self.ports.api)
    }

    pub(super) fn etcd(&self) -> Launch {
        let (client, peer) = (
            format!("https://127.0.0.1:{}", self.ports.etcd),
            format!("https://127.0.0.1:{}", self.ports.etcd_peer),
        );
        let f = self.files;
        let flags = vec![
            "--name=default".into(),
            format!("--data-dir={}", f.etcd().display()),
            format!("--listen-client-urls={client}"),
            format!("--advertise-client-urls={client}"),
            format!("--listen-peer-urls={peer}"),
            format!("--initial-advertise-peer-urls={peer}"),
            format!("--initial-cluster=default={peer}"),
            "--client-cert-auth=true".into(),
            format!("--trusted-ca-file={}", f.pki("etcd-ca.crt")),
            format!("--cert-file={}", f.pki("etcd.crt")),
            format!("--key-file={}", f.pki("etcd.key")),
            "--peer-client-cert-auth=true".into(),
            format!("--peer-trusted-ca-file={}", f.pki("etcd-ca.crt")),
            format!("--peer-cert-file={}", f.pki("etcd.crt")),
            format!("--peer-key-file={}", f.pki("etcd.key")),
            "--unsafe-no-fsync=true".into(), // nobody needs this data after a power cut
            "--snapshot-count=10000".into(),
            "--auto-compaction-mode=periodic".into(),
            "--auto-compaction-retention=5m".into(),
        ];
        self.launch(
            ETCD,
            &self.tools.etcd,
            flags,
            self.probe(&format!("{client}/health"), "etcd-ca", "etcd-client"),
        )
    }

    pub(super) fn api_server(&self) -> Launch {
        let f = self.files;
        let mut flags = vec![
            format!("--etcd-servers=https://127.0.0.1:{}", self.ports.etcd),
            format!("--etcd-cafile={}", f.pki("etcd-ca.crt")),
            format!("--etcd-certfile={}", f.pki("etcd-client.crt")),
            format!("--etcd-keyfile={}", f.pki("etcd-client.key")),
            "--bind-address=127.0.0.1".into(),
            format!("--secure-port={}", self.ports.api),
            "--endpoint-reconciler-type=none".into(), // else a host without default route cannot start it
            format!("--tls-cert-file={}", f.pki("apiserver.crt")),
            format!("--tls-private-key-file={}", f.pki("apiserver.key")),
            format!("--client-ca-file={}", f.pki("ca.crt")),
            format!(
                "--kubelet-client-certificate={}",
                f.pki("apiserver-kubelet-client.crt")
            ),
            format!(
                "--kubelet-client-key={}",
                f.pki("apiserver-kubelet-client.key")
            ),
            format!("--service-cluster-ip-range={SERVICE_RANGE}"),
            "--service-account-issuer=https://kubernetes.default.svc.cluster.local".into(),
            format!("--service-account-key-file={}", f.pki("sa.pub")),
            format!("--service-account-signing-key-file={}", f.pki("sa.key")),
            "--authorization-mode=Node,RBAC".into(),
            "--enable-admission-plugins=NodeRestriction".into(),
            "--enable-bootstrap-token-auth=true".into(),
            "--allow-privileged=true".into(),
            "--enable-aggregator-routing=true".into(), // `service:` webhooks are dialled by EndpointSlice, no kube-proxy
            format!(
                "--requestheader-client-ca-file={}",
                f.pki("front-proxy-ca.crt")
            ),
            "--requestheader-allowed-names=front-proxy-client".into(),
            "--requestheader-username-headers=X-Remote-User".into(),
            "--requestheader-group-headers=X-Remote-Group".into(),
            "--requestheader-extra-headers-prefix=X-Remote-Extra-".into(),
            format!(
                "--proxy-client-cert-file={}",
                f.pki("front-proxy-client.crt")
            ),
            format!(
                "--proxy-client-key-file={}",
                f.pki("front-proxy-client.key")
            ),
        ];
        if self.options.audit_policy.is_some() {
            flags.push(format!(
                "--audit-policy-file={}",
                f.audit_policy().display()
            ));
            flags.push(format!("--audit-log-path={}", f.audit_log().display()));
        }
        flags.extend(self.options.api_server_flags.iter().cloned());
        let ready = self.probe(&format!("{}/readyz", self.api_address()), "ca", "admin");
        self.launch(API_SERVER, &self.tools.kube_apiserver, flags, ready)
    }

    pub(super) fn controllers(&self) -> Launch {
        let f = self.files;
        let mut flags = self.client_of_api_server("controllers", self.ports.controllers);
        flags.extend([
            format!("--client-ca-file={}", f.pki("ca.crt")),
            format!(
                "--requestheader-client-ca-file={}",
                f.pki("front-proxy-ca.crt")
            ),
            format!("--root-ca-file={}", f.pki("ca.crt")),
            format!("--service-account-private-key-file={}", f.pki("sa.key")),
            "--use-service-account-credentials=true".into(),
            format!("--cluster-signing-cert-file={}", f.pki("ca.crt")),
            format!("--cluster-signing-key-file={}", f.pki("ca.key")),
            "--controllers=*,bootstrap-signer-controller,token-cleaner-controller".into(),
            "--allocate-node-cidrs=true".into(),
            format!("--cluster-cidr={POD_RANGE}"),
            format!("--service-cluster-ip-range={SERVICE_RANGE}"),
        ]);
        flags.extend(self.options.controller_flags.iter().cloned());
        // It has /healthz only: /readyz answers 404.
        let ready = self.probe(
            &format!("https://127.0.0.1:{}/healthz", self.ports.controllers),
            "ca",
            "admin",
        );
        self.launch(
            CONTROLLERS,
            &self.tools.kube_controller_manager,
            flags,
            ready,
        )
    }

    pub(super) fn scheduler(&self) -> Launch {
        let flags = self.client_of_api_server("scheduler", self.ports.scheduler);
        let ready = self.probe(
            &format!("https://127.0.0.1:{}/readyz", self.ports.scheduler),
            "ca",
            "admin",
        );
        self.launch(SCHEDULER, &self.tools.kube_scheduler, flags, ready)
    }

    fn client_of_api_server(&self, who: &str, port: u16) -> Vec<String> {
        let config = self.files.kubeconfig(who);
        let config = config.display();
        vec![
            format!("--kubeconfig={config}"),
            format!("--authentication-kubeconfig={config}"),
            format!("--authorization-kubeconfig={config}"),
            "--bind-address=127.0.0.1".into(),
            format!("--secure-port={port}"),
            format!("--tls-cert-file={}", self.files.pki(&format!("{who}.crt"))),
            format!(
                "--tls-private-key-file={}",
                self.files.pki(&format!("{who}.key"))
            ),
            "--leader-elect=false".into(), // one of each; a restart must not wait for an old lease
            "--kube-api-qps=200".into(),   // the default of 20 costs four seconds at the start
            "--kube-api-burst=400".into(),
        ]
    }

    fn probe(&self, url: &str, ca: &str, client: &str) -> Probe {
        Probe {
            url: url.to_owned(),
            ca: self.files.pki(&format!("{ca}.crt")),
            cert: self.files.pki(&format!("{client}.crt")),
            key: self.files.pki(&format!("{client}.key")),
            within_millis: 90_000, // generous: a loaded machine is slow, a dead process is noticed at once
        }
    }

    fn launch(&self, name: &str, binary: &Path, flags: Vec<String>, ready: Probe) -> Launch {
        let mut argv = vec![binary.display().to_string()];
        argv.extend(flags);
        Launch {
            name: name.to_owned(),
            argv,
            log: self.files.log(name),
            ready: Some(ready),
        }
    }
}
