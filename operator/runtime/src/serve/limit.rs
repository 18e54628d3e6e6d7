//! Is there room for one more connection, and is its other end still alive?

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum_server::accept::Accept;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep};

use super::Limits;
use crate::metrics::Metrics;

#[derive(Clone, Default)]
pub struct ConnectionMetrics {
    open: Gauge,
    refused: Counter,
}

impl ConnectionMetrics {
    pub fn register(metrics: &Metrics) -> Self {
        ConnectionMetrics {
            open: metrics.gauge("joiner_connections_open", "Connections that are open"),
            refused: metrics.counter(
                "joiner_connections_refused",
                "Connections closed at once because the limit was reached",
            ),
        }
    }
}

/// The limits of one listener, with the count of what is open.
#[derive(Clone)]
pub struct Limited {
    limits: Limits,
    room: Arc<Semaphore>,
    metrics: ConnectionMetrics,
}

impl Limited {
    pub fn new(limits: Limits, metrics: ConnectionMetrics) -> Self {
        Limited {
            limits,
            room: Arc::new(Semaphore::new(limits.connections)),
            metrics,
        }
    }

    pub(super) fn limits(&self) -> Limits {
        self.limits
    }

    pub(super) fn around<A>(&self, inner: A) -> LimitedAcceptor<A> {
        LimitedAcceptor {
            inner,
            limited: self.clone(),
        }
    }

    fn admit(&self) -> io::Result<Place> {
        let Ok(permit) = self.room.clone().try_acquire_owned() else {
            self.metrics.refused.inc();
            return Err(io::Error::other("the limit of open connections is reached"));
        };
        self.metrics.open.inc();
        Ok(Place {
            _permit: permit,
            open: self.metrics.open.clone(),
        })
    }
}

/// Lets a connection in while there is room; the rest is closed before it costs anything.
#[derive(Clone)]
pub(super) struct LimitedAcceptor<A> {
    inner: A,
    limited: Limited,
}

impl<A, I, S> Accept<I, S> for LimitedAcceptor<A>
where
    A: Accept<I, S>,
    A::Future: Send + 'static,
{
    type Stream = Watched<A::Stream>;
    type Service = A::Service;
    type Future = Pin<Box<dyn Future<Output = io::Result<(Self::Stream, Self::Service)>> + Send>>;

    fn accept(&self, stream: I, service: S) -> Self::Future {
        let place = self.limited.admit();
        let accepted = self.inner.accept(stream, service);
        let patience = self.limited.limits.stalled_write;
        Box::pin(async move {
            let place = place?;
            let (stream, service) = accepted.await?;
            Ok((
                Watched {
                    stream,
                    patience,
                    stalled: None,
                    _place: place,
                },
                service,
            ))
        })
    }
}

/// A connection's place among those that are allowed.
struct Place {
    _permit: OwnedSemaphorePermit,
    open: Gauge,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.open.dec();
    }
}

/// A stream that gives up on a peer which takes no bytes, and frees its place when it is dropped.
pub(super) struct Watched<T> {
    stream: T,
    patience: Duration,
    stalled: Option<Pin<Box<Sleep>>>,
    _place: Place,
}

impl<T> Watched<T> {
    /// Starts counting at the first write that finds no room, stops at the next that does.
    fn watch<V>(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<V>>,
    ) -> Poll<io::Result<V>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let deadline = Instant::now() + self.patience;
        let sleep = self
            .stalled
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
        match sleep.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "the client takes no bytes",
            ))),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Watched<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Watched<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.watch(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.watch(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        self.watch(cx, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
