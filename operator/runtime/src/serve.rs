//! How does a router get its connections, and how does it lose them politely?
//!
//! Bind first (a busy port is found before anything else starts), then serve until told to stop: no new connections, those
//! that exist finish what they are doing, and what is not finished after the grace period is cut.

mod limit;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use axum::Router;
use axum_server::accept::NoDelayAcceptor;
use axum_server::tls_rustls::{RustlsAcceptor, RustlsConfig};
use axum_server::{Handle, Server};
use hyper_util::rt::TokioTimer;
use thiserror::Error;
use tokio_util::sync::CancellationToken;

pub use limit::{ConnectionMetrics, Limited};

/// How much one listener puts up with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Open connections; one more is closed at once.
    pub connections: usize,
    /// From the TCP connection to the end of the TLS handshake.
    pub handshake: Duration,
    /// From the readiness for a request to the end of its headers; also how long an HTTP/1.1 connection may idle.
    pub headers: Duration,
    /// A client that takes no byte of its answer for so long is gone.
    pub stalled_write: Duration,
    /// Requests at the same time on one HTTP/2 connection.
    pub streams: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            connections: 512,
            handshake: Duration::from_secs(10),
            headers: Duration::from_secs(30),
            stalled_write: Duration::from_secs(30),
            streams: 256,
        }
    }
}

/// When to stop accepting, and how long what has begun may take to finish.
#[derive(Debug, Clone)]
pub struct Until {
    pub stop: CancellationToken,
    pub grace: Duration,
}

/// A bound address that nobody is served on yet.
#[derive(Debug)]
pub struct Listener {
    tcp: TcpListener,
    address: SocketAddr,
}

#[derive(Debug, Error)]
pub enum CannotListen {
    #[error("{address} is in use by another process; stop it or choose another address for {what}")]
    Busy {
        what: &'static str,
        address: SocketAddr,
    },
    #[error("cannot listen on {address} for {what}: {why}")]
    Other {
        what: &'static str,
        address: SocketAddr,
        why: io::Error,
    },
}

impl Listener {
    /// `what` is for the error message: "HTTPS", "the admin server".
    pub fn bind(what: &'static str, address: SocketAddr) -> Result<Self, CannotListen> {
        let bound = TcpListener::bind(address).and_then(|tcp| {
            tcp.set_nonblocking(true)?;
            Ok(Listener {
                address: tcp.local_addr()?,
                tcp,
            })
        });
        bound.map_err(|why| match why.kind() {
            io::ErrorKind::AddrInUse => CannotListen::Busy { what, address },
            _ => CannotListen::Other { what, address, why },
        })
    }

    /// The real address, also when port 0 was asked for.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves plain HTTP until told to stop and drained.
    pub async fn serve(self, app: Router, limits: &Limited, until: Until) -> io::Result<()> {
        let acceptor = limits.around(NoDelayAcceptor::new());
        let mut server = axum_server::from_tcp(self.tcp)?.acceptor(acceptor);
        set_limits(&mut server, limits.limits());
        let app = app.into_make_service_with_connect_info::<SocketAddr>();
        server.handle(draining(until)).serve(app).await
    }

    /// The same over TLS.
    pub async fn serve_tls(
        self,
        app: Router,
        tls: RustlsConfig,
        limits: &Limited,
        until: Until,
    ) -> io::Result<()> {
        // The limit sits below TLS: a connection counts from its first byte, not from the end of its handshake.
        let acceptor = RustlsAcceptor::new(tls)
            .handshake_timeout(limits.limits().handshake)
            .acceptor(limits.around(NoDelayAcceptor::new()));
        let mut server = axum_server::from_tcp(self.tcp)?.acceptor(acceptor);
        set_limits(&mut server, limits.limits());
        let app = app.into_make_service_with_connect_info::<SocketAddr>();
        server.handle(draining(until)).serve(app).await
    }
}

fn set_limits<A>(server: &mut Server<SocketAddr, A>, limits: Limits) {
    const PING_EVERY: Duration = Duration::from_secs(30);
    const PONG_WITHIN: Duration = Duration::from_secs(10);
    let builder = server.http_builder();
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.headers);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(PING_EVERY)
        .keep_alive_timeout(PONG_WITHIN)
        .max_concurrent_streams(limits.streams);
}

/// A handle whose server starts to drain when it is told to stop.
fn draining(until: Until) -> Handle<SocketAddr> {
    let handle = Handle::new();
    let asked = handle.clone();
    tokio::spawn(async move {
        until.stop.cancelled().await;
        asked.graceful_shutdown(Some(until.grace));
    });
    handle
}
