//! Would the simulation notice if a safety rule were gone? Three bugs, put between the operator and its ways.
//!
//! None of this is in the operator's own code, so none of it can reach a user.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use ::cloud::{Http, HttpFailure};
use async_trait::async_trait;
use bytes::Bytes;
use http::{Method, Request, Response};
use kube::Client;
use kube::client::Body;

use super::ways::KubernetesWay;
use super::world::Bug;

/// Each server is ordered twice.
pub struct DoubleCreate;

impl Bug for DoubleCreate {
    fn http(&self, honest: Arc<dyn Http>) -> Arc<dyn Http> {
        Arc::new(Twice(honest))
    }
}

struct Twice(Arc<dyn Http>);

#[async_trait]
impl Http for Twice {
    async fn call(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpFailure> {
        let creates =
            *request.method() == Method::POST && request.uri().path().ends_with("/servers");
        if creates {
            let _ = self.0.call(request.clone()).await;
        }
        self.0.call(request).await
    }
}

/// A claim loses its finalizers in the moment in which it or its node is deleted.
pub struct FinalizerDroppedEarly;

impl Bug for FinalizerDroppedEarly {
    fn client(&self, honest: KubernetesWay) -> Client {
        twisted(honest, Twist::DropFinalizers)
    }
}

/// Pods are deleted where they should be evicted.
pub struct EvictionPastBudgets;

impl Bug for EvictionPastBudgets {
    fn client(&self, honest: KubernetesWay) -> Client {
        twisted(honest, Twist::DeletePods)
    }
}

#[derive(Clone, Copy)]
enum Twist {
    DropFinalizers,
    DeletePods,
}

#[derive(Clone)]
struct Twisted {
    honest: Client,
    twist: Twist,
}

fn twisted(honest: KubernetesWay, twist: Twist) -> Client {
    let honest = Client::new(honest, "default");
    Client::new(Twisted { honest, twist }, "default")
}

type Answer = Pin<Box<dyn Future<Output = Result<Response<Body>, kube::Error>> + Send>>;

impl tower::Service<Request<Body>> for Twisted {
    type Response = Response<Body>;
    type Error = kube::Error;
    type Future = Answer;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), kube::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Answer {
        let Self { honest, twist } = self.clone();
        let path = request.uri().path().to_owned();
        Box::pin(async move {
            match twist {
                Twist::DeletePods if path.ends_with("/eviction") => {
                    let pod = path.trim_end_matches("/eviction");
                    honest.send(asked(Method::DELETE, pod, "{}")?).await
                }
                Twist::DropFinalizers
                    if *request.method() == Method::DELETE
                        && (path.contains("/nodeclaims/") || path.contains("/nodes/")) =>
                {
                    let answer = honest.send(request).await?;
                    // Claim and node have the same name.
                    let name = path.rsplit('/').next().unwrap_or_default();
                    let claim = format!("/apis/karpenter.sh/v1/nodeclaims/{name}");
                    let none = r#"{"metadata":{"finalizers":null}}"#;
                    honest.send(asked(Method::PATCH, &claim, none)?).await?;
                    Ok(answer)
                }
                Twist::DeletePods | Twist::DropFinalizers => honest.send(request).await,
            }
        })
    }
}

fn asked(method: Method, path: &str, body: &str) -> Result<Request<Body>, kube::Error> {
    let kind = match method {
        Method::PATCH => "application/merge-patch+json",
        _ => "application/json",
    };
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(http::header::CONTENT_TYPE, kind);
    let body = Body::from(body.as_bytes().to_vec());
    request.body(body).map_err(kube::Error::HttpError)
}
