//! How does an emulated cloud stand on its own sockets?

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{ConnectInfo, Request, State};
use axum::response::Response;
use bytes::Bytes;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::admin;
use super::cut::{CutListener, Knife};
use super::engine::{Ending, Engine};
use crate::machine::Machine;

/// More than any service takes.
pub(super) const BODY_LIMIT: usize = 64 * 1024 * 1024;

/// A served cloud. Dropping it stops it.
pub struct Served {
    pub addr: SocketAddr,
    tasks: Vec<JoinHandle<()>>,
}

impl Served {
    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// Until it ends, which it does only by an error or by being dropped.
    pub async fn ended(&mut self) {
        for task in &mut self.tasks {
            let _ = task.await;
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

/// Serves until the returned value is dropped; time passes meanwhile.
pub async fn serve<M: Machine>(addr: SocketAddr, engine: Arc<Engine<M>>) -> io::Result<Served> {
    let listener = TcpListener::bind(addr).await?;
    let addr = listener.local_addr()?;
    let app = Router::new()
        .fallback(entrance::<M>)
        .with_state(Arc::clone(&engine));
    let app = app.into_make_service_with_connect_info::<Knife>();
    let server = tokio::spawn(async move {
        let _ = axum::serve(CutListener(listener), app).await;
    });
    let time = tokio::spawn(engine.keep_time());
    Ok(Served {
        addr,
        tasks: vec![server, time],
    })
}

async fn entrance<M: Machine>(
    State(engine): State<Arc<Engine<M>>>,
    ConnectInfo(knife): ConnectInfo<Knife>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    // a body that breaks off is a call that never arrived
    let Ok(body) = to_bytes(body, BODY_LIMIT).await else {
        return broken(&knife).await;
    };
    let request = http::Request::from_parts(parts, body);
    if let Some(answer) = admin::answer(&engine, &request) {
        return answer.map(Body::from);
    }
    match engine.call(&request).await {
        Ending::Answer(response) => response.map(Body::from),
        Ending::Refused | Ending::Reset => broken(&knife).await,
        Ending::Truncated { response, keep } => truncated(response, keep),
    }
}

async fn broken(knife: &Knife) -> Response {
    knife.cut();
    std::future::pending().await
}

/// The head promises the whole body; the stream fails after a part of it.
pub(super) fn truncated(response: http::Response<Bytes>, keep: usize) -> Response {
    let (mut parts, body) = response.into_parts();
    parts
        .headers
        .insert(http::header::CONTENT_LENGTH, body.len().into());
    let kept = body.slice(..keep.min(body.len().saturating_sub(1)));
    let pieces = futures::stream::unfold(0, move |at| {
        let kept = kept.clone();
        async move {
            if at == 0 {
                Some((Ok(kept), 1))
            } else {
                // lets the first piece leave before the connection goes
                tokio::task::yield_now().await;
                Some((Err(io::Error::from(io::ErrorKind::ConnectionReset)), 2))
            }
        }
    });
    Response::from_parts(parts, Body::from_stream(pieces))
}
