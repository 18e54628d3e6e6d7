//! How is the lease object read and written, and what can go wrong on the way?

#![allow(clippy::disallowed_methods)] // a lease is written by whoever holds it, before anything else may write

use std::future::Future;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Api, PostParams};
use kube::{Client, Config};
use thiserror::Error;

/// Why a call gave no lease. Whether a write that failed with `Unknown` happened is not known.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LeaseTrouble {
    #[error("somebody else changed the lease first")]
    Conflict,
    #[error("the lease was deleted")]
    Gone,
    #[error("the API server refused: {0}")]
    Refused(String),
    #[error("no usable answer from the API server: {0}")]
    Unknown(String),
}

/// Three calls are all it takes; a replace must fail with `Conflict` when the resourceVersion is not the current one.
pub trait LeaseApi: Send + Sync {
    fn get(&self) -> impl Future<Output = Result<Option<Lease>, LeaseTrouble>> + Send;
    fn create(&self, lease: &Lease) -> impl Future<Output = Result<Lease, LeaseTrouble>> + Send;
    fn replace(&self, lease: &Lease) -> impl Future<Output = Result<Lease, LeaseTrouble>> + Send;
    /// The name of the object, for creating it and for messages.
    fn name(&self) -> &str;
}

/// The lease in a real API server.
#[derive(Clone)]
pub struct KubeLease {
    api: Api<Lease>,
    name: String,
}

impl KubeLease {
    pub fn new(client: Client, namespace: &str, name: &str) -> Self {
        KubeLease {
            api: Api::namespaced(client, namespace),
            name: name.to_owned(),
        }
    }
}

/// A client for the lease alone: it never waits for a server that says "later" (kube's default retry may sleep for a
/// quarter of an hour) and never queues behind the calls of the rest of the process.
pub fn client(mut config: Config) -> Result<Client, kube::Error> {
    const CONNECT_WITHIN: Duration = Duration::from_secs(5);
    config.default_retry = false;
    config.connect_timeout = Some(CONNECT_WITHIN);
    Client::try_from(config)
}

impl LeaseApi for KubeLease {
    async fn get(&self) -> Result<Option<Lease>, LeaseTrouble> {
        self.api.get_opt(&self.name).await.map_err(meaning)
    }

    async fn create(&self, lease: &Lease) -> Result<Lease, LeaseTrouble> {
        self.api
            .create(&PostParams::default(), lease)
            .await
            .map_err(meaning)
    }

    async fn replace(&self, lease: &Lease) -> Result<Lease, LeaseTrouble> {
        self.api
            .replace(&self.name, &PostParams::default(), lease)
            .await
            .map_err(meaning)
    }

    fn name(&self) -> &str {
        &self.name
    }
}

fn meaning(error: kube::Error) -> LeaseTrouble {
    match error {
        kube::Error::Api(status) => match status.code {
            409 => LeaseTrouble::Conflict,
            404 => LeaseTrouble::Gone,
            // 408 and 429 are the server's way of saying "later", the rest of 4xx that it will never do it.
            400..=499 if !matches!(status.code, 408 | 429) => {
                LeaseTrouble::Refused(status.message.clone())
            }
            _ => LeaseTrouble::Unknown(status.message.clone()),
        },
        other => LeaseTrouble::Unknown(chain(&other)),
    }
}

/// The whole chain of causes: "error trying to connect" alone helps nobody.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let mut said: Vec<String> = Vec::new();
    for cause in causes.map(ToString::to_string) {
        // Many errors already print their cause.
        if said.last().is_none_or(|last| !last.ends_with(&cause)) {
            said.push(cause);
        }
    }
    said.join(": ")
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use axum::extract::State;
    use axum::http::StatusCode;
    use axum::response::{IntoResponse, Response};
    use axum::routing::get;
    use axum::{Json, Router};
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
    use serde_json::json;

    use super::*;

    fn api_error(code: u16) -> kube::Error {
        let mut status = kube::core::Status::failure("said so", "Because");
        status.code = code;
        kube::Error::Api(Box::new(status))
    }

    #[test]
    fn only_a_clear_no_counts_as_refused() {
        assert_eq!(meaning(api_error(409)), LeaseTrouble::Conflict);
        assert_eq!(meaning(api_error(404)), LeaseTrouble::Gone);
        assert_eq!(
            meaning(api_error(403)),
            LeaseTrouble::Refused("said so".into())
        );
        for later in [408, 429, 500, 503, 504] {
            assert_eq!(
                meaning(api_error(later)),
                LeaseTrouble::Unknown("said so".into()),
                "{later}"
            );
        }
    }

    type Stored = Arc<Mutex<Option<Lease>>>;

    fn failure(code: StatusCode) -> Response {
        let status = json!({"kind": "Status", "status": "Failure", "message": "no", "reason": code.canonical_reason().unwrap_or_default().replace(' ', ""), "code": code.as_u16()});
        (code, Json(status)).into_response()
    }

    fn store(stored: &Stored, mut lease: Lease, version: u64) -> Response {
        lease.metadata.resource_version = Some(version.to_string());
        *stored.lock().unwrap() = Some(lease.clone());
        Json(lease).into_response()
    }

    /// An API server that knows one lease and its resourceVersion, on a real socket.
    async fn server() -> (String, tokio::task::JoinHandle<()>) {
        let read = |State(stored): State<Stored>| async move {
            let lease = stored.lock().unwrap().clone();
            lease.map_or_else(
                || failure(StatusCode::NOT_FOUND),
                |lease| Json(lease).into_response(),
            )
        };
        let create = |State(stored): State<Stored>, Json(lease): Json<Lease>| async move {
            store(&stored, lease, 1)
        };
        let replace = |State(stored): State<Stored>, Json(lease): Json<Lease>| async move {
            let current = stored
                .lock()
                .unwrap()
                .clone()
                .and_then(|lease| lease.metadata.resource_version);
            if lease.metadata.resource_version != current {
                return failure(StatusCode::CONFLICT);
            }
            store(
                &stored,
                lease,
                current
                    .and_then(|version| version.parse().ok())
                    .unwrap_or(0)
                    + 1,
            )
        };
        let leases = "/apis/coordination.k8s.io/v1/namespaces/joiner/leases";
        let app = Router::new()
            .route(leases, axum::routing::post(create))
            .route(
                &format!("{leases}/karpenter-leader-election"),
                get(read).put(replace),
            )
            .with_state(Stored::default());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        (
            url,
            tokio::spawn(async move { axum::serve(listener, app).await.unwrap() }),
        )
    }

    fn lease_at(url: &str) -> KubeLease {
        crate::tls::install_provider();
        let client = client(Config::new(url.parse().unwrap())).unwrap();
        KubeLease::new(client, "joiner", super::super::NAME)
    }

    #[tokio::test]
    async fn a_lease_is_made_read_and_replaced_only_in_its_current_version() {
        let (url, _server) = server().await;
        let api = lease_at(&url);
        assert_eq!(api.get().await, Ok(None));
        let metadata = ObjectMeta {
            name: Some(api.name().to_owned()),
            ..ObjectMeta::default()
        };
        let first = api
            .create(&Lease {
                metadata,
                spec: None,
            })
            .await
            .unwrap();
        let second = api.replace(&first).await.unwrap();
        assert_ne!(
            first.metadata.resource_version,
            second.metadata.resource_version
        );
        assert_eq!(api.replace(&first).await, Err(LeaseTrouble::Conflict));
        assert_eq!(api.get().await, Ok(Some(second)));
    }

    #[tokio::test]
    async fn a_server_that_is_gone_is_unknown_and_the_cause_is_told() {
        let (url, server) = server().await;
        server.abort();
        let _ = server.await;
        let Err(LeaseTrouble::Unknown(why)) = lease_at(&url).get().await else {
            panic!("no trouble")
        };
        assert!(why.contains("refused"), "{why}");
    }
}
