//! How does a handler break the very connection it is answering on?

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use futures::task::AtomicWaker;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};

/// A listener whose connections can be cut from outside.
pub(super) struct CutListener(pub TcpListener);

pub(super) struct CutStream {
    stream: TcpStream,
    knife: Knife,
}

/// Cuts one connection: the peer sees a reset, without another byte.
#[derive(Clone, Default)]
pub(super) struct Knife(Arc<Edge>);

#[derive(Default)]
struct Edge {
    cut: AtomicBool,
    waker: AtomicWaker,
}

impl Knife {
    pub(super) fn cut(&self) {
        self.0.cut.store(true, Ordering::SeqCst);
        self.0.waker.wake();
    }
}

impl CutStream {
    fn check(&self, context: &Context<'_>) -> io::Result<()> {
        self.knife.0.waker.register(context.waker());
        if self.knife.0.cut.load(Ordering::SeqCst) {
            // closing with nothing to linger for sends a reset
            let _ = self.stream.set_zero_linger();
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        Ok(())
    }
}

impl Listener for CutListener {
    type Io = CutStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (CutStream, SocketAddr) {
        let (stream, addr) = Listener::accept(&mut self.0).await;
        let _ = stream.set_nodelay(true);
        (
            CutStream {
                stream,
                knife: Knife::default(),
            },
            addr,
        )
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

impl Connected<IncomingStream<'_, CutListener>> for Knife {
    fn connect_info(stream: IncomingStream<'_, CutListener>) -> Self {
        stream.io().knife.clone()
    }
}

impl AsyncRead for CutStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Err(error) = self.check(context) {
            return Poll::Ready(Err(error));
        }
        Pin::new(&mut self.stream).poll_read(context, buf)
    }
}

impl AsyncWrite for CutStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if let Err(error) = self.check(context) {
            return Poll::Ready(Err(error));
        }
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
