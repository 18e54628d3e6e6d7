//! Which cluster does a kubeconfig name, and with which token?

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use super::{BOOTSTRAP, Files};

#[derive(Debug)]
pub(super) struct Cluster {
    pub endpoint: String,
    pub ca: Option<String>,
    pub token: String,
}

#[derive(Deserialize)]
struct Config {
    #[serde(default, rename = "current-context")]
    current: String,
    #[serde(default)]
    clusters: Vec<NamedCluster>,
    #[serde(default)]
    contexts: Vec<NamedContext>,
    #[serde(default)]
    users: Vec<NamedUser>,
}

#[derive(Deserialize)]
struct NamedCluster {
    name: String,
    cluster: Entry,
}

#[derive(Deserialize)]
struct Entry {
    server: Option<String>,
    #[serde(rename = "certificate-authority-data")]
    ca_data: Option<String>,
    #[serde(rename = "certificate-authority")]
    ca_file: Option<String>,
}

#[derive(Deserialize)]
struct NamedContext {
    name: String,
    context: Context,
}

#[derive(Deserialize)]
struct Context {
    cluster: String,
    user: String,
}

#[derive(Deserialize)]
struct NamedUser {
    name: String,
    user: User,
}

#[derive(Deserialize)]
struct User {
    token: Option<String>,
    #[serde(rename = "tokenFile")]
    token_file: Option<String>,
}

/// Errors name the member, never its value: one of them is the token.
pub(super) fn read(text: &str, files: &Files) -> Result<Cluster, String> {
    let wrong = |what: &str| format!("kubelet: {BOOTSTRAP}: {what}");
    let config: Config = serde_saphyr::from_str(text)
        .map_err(|_| wrong("not a kubeconfig (YAML with clusters, contexts, users)"))?;
    let contexts = config.contexts.iter();
    let context = contexts
        .clone()
        .find(|context| context.name == config.current);
    let context = context.ok_or_else(|| wrong("current-context names no context"))?;
    let cluster = config
        .clusters
        .iter()
        .find(|cluster| cluster.name == context.context.cluster);
    let cluster = cluster.ok_or_else(|| wrong("the context's cluster is not in clusters"))?;
    let user = config
        .users
        .iter()
        .find(|user| user.name == context.context.user);
    let user = user.ok_or_else(|| wrong("the context's user is not in users"))?;
    let endpoint = cluster.cluster.server.clone();
    let token = match (&user.user.token, &user.user.token_file) {
        (Some(token), _) => Some(token.clone()),
        (None, Some(path)) => files.get(path).map(|token| token.trim().to_owned()),
        (None, None) => None,
    };
    Ok(Cluster {
        endpoint: endpoint.ok_or_else(|| wrong("the cluster has no server"))?,
        ca: ca(&cluster.cluster, files)?,
        token: token.ok_or_else(|| wrong("the user has no token"))?,
    })
}

fn ca(cluster: &Entry, files: &Files) -> Result<Option<String>, String> {
    let wrong = |what: String| format!("kubelet: {BOOTSTRAP}: {what}");
    if let Some(encoded) = &cluster.ca_data {
        let bytes = STANDARD.decode(encoded.trim()).ok();
        let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
        return text
            .map(Some)
            .ok_or_else(|| wrong("certificate-authority-data is not base64 of text".to_owned()));
    }
    match &cluster.ca_file {
        None => Ok(None),
        Some(path) => match files.get(path) {
            Some(pem) => Ok(Some(pem.clone())),
            None => Err(wrong(format!(
                "certificate-authority {path} does not exist"
            ))),
        },
    }
}
