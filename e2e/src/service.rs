//! How does the API server reach a process of this host through a `service:` reference?
//!
//! There is no kube-proxy: the API server dials EndpointSlice addresses itself (aggregator routing). So a Service
//! without selector, a slice with the host's own address, and a certificate for `<service>.<namespace>.svc` are enough;
//! the process must listen on 0.0.0.0.

use anyhow::{Context, Result};
use kube::Client;
use xtask::cluster::{Authority, Pair, Subject, host_address};

use crate::apply::apply;
use crate::scratch::Scratch;

/// A local process that the API server knows as a Service, on port 443.
pub struct Exposed {
    pub namespace: String,
    pub service: String,
    /// What the process must serve with.
    pub pair: Pair,
    /// The CA that signed it, PEM.
    pub ca: String,
    authority: Authority,
}

/// Creates (or moves) Service and EndpointSlice so that they lead to `port` of this host.
pub async fn expose(client: &Client, namespace: &str, service: &str, port: u16) -> Result<Exposed> {
    let authority = Authority::new(&format!("{service}-ca"))?;
    let pair = certificate(&authority, namespace, service)?;
    let exposed = Exposed {
        namespace: namespace.to_owned(),
        service: service.to_owned(),
        pair,
        ca: authority.certificate(),
        authority,
    };
    exposed.lead_to(client, port).await?;
    Ok(exposed)
}

impl Exposed {
    /// The value of `caBundle`: the CA's PEM, base64.
    pub fn ca_bundle(&self) -> String {
        xtask::cluster::base64(&self.ca)
    }

    /// Writes `tls.crt` and `tls.key`, as a mounted Secret would hold them.
    pub fn write_to(&self, folder: &Scratch) -> Result<()> {
        folder.write("tls.crt", &self.pair.certificate)?;
        folder.write("tls.key", &self.pair.key)?;
        Ok(())
    }

    /// Another certificate of the same CA: rotation.
    pub fn another_pair(&self) -> Result<Pair> {
        certificate(&self.authority, &self.namespace, &self.service)
    }

    /// Points the Service to another port, e.g. after a restart.
    pub async fn lead_to(&self, client: &Client, port: u16) -> Result<()> {
        let address = host_address()?;
        let (namespace, service) = (&self.namespace, &self.service);
        let yaml = format!(
            "apiVersion: v1
kind: Service
metadata: {{name: {service}, namespace: {namespace}}}
spec: {{ports: [{{name: https, port: 443, targetPort: {port}, protocol: TCP}}]}}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {{name: {service}-local, namespace: {namespace}, labels: {{kubernetes.io/service-name: {service}}}}}
addressType: IPv4
ports: [{{name: https, port: {port}, protocol: TCP}}]
endpoints: [{{addresses: [\"{address}\"], conditions: {{ready: true}}}}]
"
        );
        apply(client, &yaml)
            .await
            .with_context(|| format!("Service {namespace}/{service}"))
            .map(drop)
    }
}

fn certificate(authority: &Authority, namespace: &str, service: &str) -> Result<Pair> {
    let (full, cluster) = (
        format!("{service}.{namespace}.svc"),
        format!("{service}.{namespace}.svc.cluster.local"),
    );
    let address = host_address()?.to_string();
    let names = [full.as_str(), &cluster, "localhost", "127.0.0.1", &address];
    authority.sign(Subject {
        common_name: &full,
        organization: None,
        names: &names,
    })
}
