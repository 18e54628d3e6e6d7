//! How is the embedded Kubernetes called: as a tower service, with watches as bodies that go on?

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, HttpBody, to_bytes};
use bytes::{Bytes, BytesMut};
use http::{Request, Response};
use tower::{BoxError, Service};

use super::axum::{BODY_LIMIT, truncated};
use super::engine::{Ending, Engine};
use super::inprocess::Broken;
use crate::kubernetes::Kubernetes;
use crate::kubernetes::users::User;
use crate::kubernetes::watch::{End, Watch};

/// The API as a service in this process: what `kube::Client::new` takes. Cheap to clone.
///
/// Spawn [`Engine::keep_time`] beside it, or nothing happens between two calls.
#[derive(Clone)]
pub struct ApiService {
    engine: Arc<Engine<Kubernetes>>,
    /// Who calls, unless a token says otherwise.
    user: User,
}

impl ApiService {
    pub fn new(engine: Arc<Engine<Kubernetes>>, user: User) -> Self {
        Self { engine, user }
    }

    pub fn engine(&self) -> &Arc<Engine<Kubernetes>> {
        &self.engine
    }
}

impl<B> Service<Request<B>> for ApiService
where
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<Body>;
    type Error = Broken;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Broken>> + Send>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Broken>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let engine = Arc::clone(&self.engine);
        let user = self.user.clone();
        Box::pin(async move {
            let (mut parts, body) = request.into_parts();
            parts.extensions.insert(user);
            let body = to_bytes(Body::new(body), BODY_LIMIT).await;
            let body = body.map_err(|_| Broken::Reset)?;
            answer(engine, Request::from_parts(parts, body)).await
        })
    }
}

/// One call to the end, or to the beginning of a watch.
pub async fn answer(
    engine: Arc<Engine<Kubernetes>>,
    request: Request<Bytes>,
) -> Result<Response<Body>, Broken> {
    match engine.call(&request).await {
        Ending::Answer(mut response) => match response.extensions_mut().remove::<Watch>() {
            Some(watch) => Ok(response.map(|_| follow(engine, watch))),
            None => Ok(response.map(Body::from)),
        },
        Ending::Refused => Err(Broken::Refused),
        Ending::Reset => Err(Broken::Reset),
        Ending::Truncated { response, keep } => Ok(truncated(response, keep)),
    }
}

/// A body that goes on as long as the watch does.
fn follow(engine: Arc<Engine<Kubernetes>>, watch: Watch) -> Body {
    let pieces = futures::stream::unfold(
        (engine, watch, false),
        |(engine, mut watch, over)| async move {
            if over {
                return None;
            }
            let (piece, over) = next(&engine, &mut watch).await;
            piece.map(|piece| (piece, (engine, watch, over)))
        },
    );
    Body::from_stream(pieces)
}

/// The next piece, and whether it is the last.
async fn next(engine: &Engine<Kubernetes>, watch: &mut Watch) -> (Option<io::Result<Bytes>>, bool) {
    loop {
        let mut changed = std::pin::pin!(engine.changed());
        // registered before the look, so that no change falls between
        changed.as_mut().enable();
        let now = engine.now();
        let pulled = engine.peek(|cluster| cluster.pull(watch, now));
        if !pulled.bytes.is_empty() {
            let mut piece = BytesMut::with_capacity(pulled.bytes.iter().map(Bytes::len).sum());
            for line in &pulled.bytes {
                piece.extend_from_slice(line);
            }
            return (Some(Ok(piece.freeze())), pulled.end.is_some());
        }
        match pulled.end {
            Some(End::Clean) => return (None, true),
            Some(End::Broken) => return (Some(Err(io::ErrorKind::ConnectionReset.into())), true),
            None => {}
        }
        let wait = Duration::try_from(watch.due().duration_since(now)).unwrap_or_default();
        tokio::select! {
            biased;
            () = changed => {}
            () = tokio::time::sleep(wait) => {}
        }
    }
}
