//! How does a provider's call reach a cloud that lives in this process?

use async_trait::async_trait;
use bytes::Bytes;
use cloud::{Http, HttpFailure};
use emulators::fronts::inprocess::{Broken, InProcess};
use emulators::machine::Machine;
use http::{Request, Response};

/// An emulated cloud as a provider's way out: no sockets, and time as tokio tells it.
pub struct Wired<M>(InProcess<M>);

impl<M: Machine> Wired<M> {
    pub fn new(cloud: InProcess<M>) -> Self {
        Self(cloud)
    }
}

#[async_trait]
impl<M: Machine> Http for Wired<M> {
    async fn call(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpFailure> {
        self.0.call(request).await.map_err(|broken| match broken {
            // Nobody listened, so nothing arrived.
            Broken::Refused => HttpFailure::never(broken.to_string()),
            Broken::Reset | Broken::Truncated => HttpFailure::perhaps(broken.to_string()),
        })
    }
}
