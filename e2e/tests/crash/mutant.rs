//! What would the operator be with one safety rule taken away?
//!
//! Each mutant is the real operator with something in between: a provider that does not look, one that takes a failed list for
//! an empty one, a way to Kubernetes on which the intent is written only after the create. None of this is in the operator's
//! own code, so none of it can reach a user.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use ::cloud::{
    ClassTrouble, CloudError, Drift, Footprint, Instance, Order, Provider, Quota, Resolved,
};
use async_trait::async_trait;
use http::{Method, Request, Response};
use kube::Client;
use kube::client::Body;
use operator::ledger::LEDGER;
use planner::{Catalog, Identity, InstanceId};
use serde_json::Value;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mutant {
    /// The operator as it is.
    None,
    FindSkipped,
    ListErrorIsEmpty,
    LedgerAfterCreate,
}

/// A provider with a bad `find`.
pub(crate) struct Blind {
    pub(crate) inner: Box<dyn Provider>,
    pub(crate) mutant: Mutant,
}

#[async_trait]
impl Provider for Blind {
    async fn find(&self, who: &Identity) -> Result<Vec<Instance>, CloudError> {
        match self.mutant {
            Mutant::FindSkipped => Ok(Vec::new()),
            Mutant::ListErrorIsEmpty => Ok(self.inner.find(who).await.unwrap_or_default()),
            Mutant::None | Mutant::LedgerAfterCreate => self.inner.find(who).await,
        }
    }

    async fn resolve(&self) -> Result<Resolved, ClassTrouble> {
        self.inner.resolve().await
    }
    async fn catalog(&self, on: &Resolved) -> Result<Catalog, CloudError> {
        self.inner.catalog(on).await
    }
    async fn launch(&self, order: &Order) -> Result<Instance, CloudError> {
        self.inner.launch(order).await
    }
    async fn get(&self, id: &InstanceId) -> Result<Instance, CloudError> {
        self.inner.get(id).await
    }
    async fn list(&self) -> Result<Vec<Instance>, CloudError> {
        self.inner.list().await
    }
    async fn terminate(&self, what: &Footprint) -> Result<(), CloudError> {
        self.inner.terminate(what).await
    }
    async fn terminate_only(&self, who: &Identity, id: &InstanceId) -> Result<(), CloudError> {
        self.inner.terminate_only(who, id).await
    }
    async fn reboot(&self, id: &InstanceId, operation: &str) -> Result<(), CloudError> {
        self.inner.reboot(id, operation).await
    }
    async fn quota(&self) -> Result<Quota, CloudError> {
        self.inner.quota().await
    }
    async fn console(&self, id: &InstanceId) -> Result<String, CloudError> {
        self.inner.console(id).await
    }
    fn drifted(&self, resolved: &Resolved, instance: &Instance) -> Option<Drift> {
        self.inner.drifted(resolved, instance)
    }
}

/// The client a mutant speaks with.
pub(crate) fn client(mutant: Mutant, real: Client) -> Client {
    if mutant != Mutant::LedgerAfterCreate {
        return real;
    }
    let late = Late {
        real,
        kept: Arc::default(),
    };
    Client::new(late, "default")
}

/// Keeps the record of an intent in memory, and shows it to the process as if it were written; the record that a create was
/// answered goes through, and the first one with it.
#[derive(Clone)]
struct Late {
    real: Client,
    /// Name of the claim → its ledger.
    kept: Arc<Mutex<BTreeMap<String, Value>>>,
}

type Answer = Pin<Box<dyn Future<Output = Result<Response<Body>, kube::Error>> + Send>>;

impl tower::Service<Request<Body>> for Late {
    type Response = Response<Body>;
    type Error = kube::Error;
    type Future = Answer;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), kube::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Answer {
        let late = self.clone();
        Box::pin(async move {
            let path = request.uri().path().to_owned();
            let one = path.strip_prefix("/apis/karpenter.sh/v1/nodeclaims/");
            match one.map(|rest| rest.trim_end_matches("/status").to_owned()) {
                Some(name) => late.of_claim(&name, request).await,
                None => late.real.send(request).await,
            }
        })
    }
}

impl Late {
    async fn of_claim(
        &self,
        name: &str,
        request: Request<Body>,
    ) -> Result<Response<Body>, kube::Error> {
        let (parts, body) = request.into_parts();
        let mut body = body.collect_bytes().await?;
        if parts.method == Method::PATCH
            && let Ok(mut change) = serde_json::from_slice::<Value>(&body)
            && let Some(ledger) = change["metadata"]["annotations"].get(LEDGER).cloned()
        {
            let intended = ledger
                .as_str()
                .is_some_and(|text| text.contains("\"intended\""));
            let mut kept = self.kept.lock().unwrap();
            if intended {
                kept.insert(name.to_owned(), ledger);
                change["metadata"]["annotations"] = Value::Object(serde_json::Map::default());
                body = serde_json::to_vec(&change).unwrap().into();
            } else {
                kept.remove(name);
            }
        }
        let answer = self
            .real
            .send(Request::from_parts(parts, Body::from(body)))
            .await?;
        let (mut parts, body) = answer.into_parts();
        let mut body = body.collect_bytes().await?;
        let kept = self.kept.lock().unwrap().get(name).cloned();
        if let (Some(ledger), Ok(mut claim)) = (kept, serde_json::from_slice::<Value>(&body))
            && claim["kind"] == "NodeClaim"
        {
            claim["metadata"]["annotations"][LEDGER] = ledger;
            body = serde_json::to_vec(&claim).unwrap().into();
            parts.headers.remove(http::header::CONTENT_LENGTH);
        }
        Ok(Response::from_parts(parts, Body::from(body)))
    }
}
