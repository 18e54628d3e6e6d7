//! How do bytes reach a cloud, and if they did not come back, may they have arrived?

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response};

/// One call. Real ones go over reqwest, simulated ones into an emulator.
#[async_trait]
pub trait Http: Send + Sync {
    async fn call(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpFailure>;
}

/// No answer came.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct HttpFailure {
    pub sent: Sent,
    /// In our words: never a URL, a header or a body.
    pub what: String,
}

/// Whether the server may have seen the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// Certainly not: no connection was made.
    Never,
    /// It may have been carried out.
    Perhaps,
}

impl HttpFailure {
    pub fn never(what: impl Into<String>) -> Self {
        Self {
            sent: Sent::Never,
            what: what.into(),
        }
    }

    pub fn perhaps(what: impl Into<String>) -> Self {
        Self {
            sent: Sent::Perhaps,
            what: what.into(),
        }
    }
}
