//! How do an operator's calls reach cloud and cluster, past the tap?

use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use ::cloud::{Http, HttpFailure};
use async_trait::async_trait;
use bytes::Bytes;
use emulators::faults::When;
use emulators::fronts::inprocess::Broken;
use http::{Method, Request, Response, StatusCode};
use kube::Client;
use kube::client::Body;
use serde_json::json;

use super::judge::Judge;
use super::tap::{Call, Fault, Life, Order, Side, Tap, Verdict};

/// A client over sockets gives up by itself; here the way has to.
const PATIENCE: Duration = Duration::from_mins(1);
const SLOW: Duration = Duration::from_secs(7);

/// What the ways of one operator have in common. Cheap to clone.
#[derive(Clone)]
pub struct Way {
    pub tap: Arc<Tap>,
    pub life: Arc<Life>,
    pub judge: Arc<Judge>,
}

/// How a call ended, for the one who made it and for the trace.
trait Ended: Sized {
    fn broken(fault: Fault) -> Self;
    fn said(&self) -> String;
}

impl Way {
    /// The call, with whatever goes wrong with it.
    async fn pass<T: Ended>(&self, call: Call, act: impl Future<Output = T>) -> T {
        if self.life.is_over() {
            return pending().await;
        }
        let outcome = match self.tap.enter(&call) {
            Verdict::Pass => self.act(&call, act).await,
            Verdict::Die(When::Before) => return self.die(&call, "died before it").await,
            Verdict::Die(When::After) => {
                let outcome = self.act(&call, act).await;
                let said = format!("{}, died after it", outcome.said());
                return self.die(&call, &said).await;
            }
            Verdict::Break(Fault::Slow) => {
                tokio::time::sleep(SLOW).await;
                self.act(&call, act).await
            }
            Verdict::Break(fault) => {
                if fault.has_effect() {
                    self.act(&call, act).await;
                }
                if let Fault::Silent(_) = fault {
                    self.tap.leave(&call, "silence");
                    tokio::time::sleep(PATIENCE).await;
                }
                T::broken(fault)
            }
        };
        if self.life.is_over() {
            // Died in the same breath in which this answer came.
            return pending().await;
        }
        self.tap.leave(&call, &outcome.said());
        outcome
    }

    /// A question to Kubernetes.
    async fn ask<T: Ended>(&self, call: &Call, act: impl Future<Output = T>) -> T {
        let Some(fault) = self.tap.disturbs(call) else {
            return act.await;
        };
        self.tap
            .remark(format!("{} meets {}", call.text, fault.name(call.side)));
        match fault {
            Fault::Slow => tokio::time::sleep(SLOW).await,
            Fault::Silent(_) => tokio::time::sleep(PATIENCE).await,
            _ => {}
        }
        match fault {
            Fault::Slow => act.await,
            fault => T::broken(fault),
        }
    }

    /// The effect, with a look at what it did.
    async fn act<T>(&self, call: &Call, act: impl Future<Output = T>) -> T {
        let before = self.judge.before(call);
        let outcome = act.await;
        self.judge.after(call, &before);
        outcome
    }

    async fn die<T>(&self, call: &Call, said: &str) -> T {
        self.tap.leave(call, said);
        self.life.end();
        pending().await
    }
}

/// Into an emulated cloud.
pub struct CloudWay {
    pub way: Way,
    pub http: Arc<dyn Http>,
}

type CloudAnswer = Result<Response<Bytes>, HttpFailure>;

#[async_trait]
impl Http for CloudWay {
    async fn call(&self, request: Request<Bytes>) -> CloudAnswer {
        let call = Call {
            side: Side::Cloud,
            phase: self.way.judge.phase_of_cloud_call(&request),
            text: text(&request),
            reads: *request.method() == Method::GET || request.uri().path().contains("/auth/"),
        };
        self.way.judge.before_cloud(&request);
        self.way.pass(call, self.http.call(request)).await
    }
}

impl Ended for CloudAnswer {
    fn broken(fault: Fault) -> Self {
        let answer = |code: u16| {
            let mut answer = Response::new(Bytes::from_static(b"{}"));
            *answer.status_mut() = StatusCode::from_u16(code).unwrap_or_default();
            answer
        };
        match fault {
            Fault::Refused => Err(HttpFailure::never("connection refused")),
            Fault::Error(_) => Ok(answer(500)),
            Fault::Throttled => Ok(answer(429)),
            Fault::Conflict => Ok(answer(409)),
            Fault::Silent(_) | Fault::Reset(_) | Fault::Slow => {
                Err(HttpFailure::perhaps("connection reset"))
            }
        }
    }

    fn said(&self) -> String {
        match self {
            Ok(answer) => answer.status().as_u16().to_string(),
            Err(failure) => failure.what.clone(),
        }
    }
}

/// Into the embedded Kubernetes; what `kube::Client::new` takes.
#[derive(Clone)]
pub struct KubernetesWay {
    pub way: Way,
    /// Straight to the API.
    pub api: Client,
}

type KubernetesAnswer = Result<Response<Body>, kube::Error>;

impl tower::Service<Request<Body>> for KubernetesWay {
    type Response = Response<Body>;
    type Error = kube::Error;
    type Future = Pin<Box<dyn Future<Output = KubernetesAnswer> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), kube::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let Self { way, api } = self.clone();
        Box::pin(async move {
            if way.life.is_over() {
                return pending().await;
            }
            let reads = *request.method() == Method::GET;
            let call = Call {
                side: Side::Kubernetes,
                phase: way
                    .judge
                    .phase_of_write(request.method(), request.uri().path()),
                text: text(&request),
                reads,
            };
            let act = api.send(request);
            if reads {
                way.ask(&call, act).await
            } else {
                way.pass(call, act).await
            }
        })
    }
}

impl Ended for KubernetesAnswer {
    fn broken(fault: Fault) -> Self {
        let status = |code: u16, reason: &str| {
            let said = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code,
                "reason": reason, "message": "the simulation says so"});
            let mut answer = Response::new(Body::from(said.to_string().into_bytes()));
            *answer.status_mut() = StatusCode::from_u16(code).unwrap_or_default();
            answer
        };
        match fault {
            Fault::Refused => Err(cut(Broken::Refused)),
            Fault::Error(_) => Ok(status(500, "InternalError")),
            Fault::Throttled => Ok(status(429, "TooManyRequests")),
            Fault::Conflict => Ok(status(409, "Conflict")),
            Fault::Silent(_) | Fault::Reset(_) | Fault::Slow => Err(cut(Broken::Reset)),
        }
    }

    fn said(&self) -> String {
        match self {
            Ok(answer) => answer.status().as_u16().to_string(),
            Err(broken) => broken.to_string(),
        }
    }
}

impl Fault {
    fn has_effect(self) -> bool {
        matches!(
            self,
            Self::Reset(Order::After) | Self::Error(Order::After) | Self::Silent(Order::After)
        )
    }
}

fn text<B>(request: &Request<B>) -> String {
    let path = request.uri().path_and_query();
    format!(
        "{} {}",
        request.method(),
        path.map_or("/", |path| path.as_str())
    )
}

fn cut(broken: Broken) -> kube::Error {
    kube::Error::Service(Box::new(broken))
}
