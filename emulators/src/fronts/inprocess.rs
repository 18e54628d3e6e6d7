//! How is a cloud called without sockets, in virtual time?

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};

use super::admin;
use super::engine::{Ending, Engine};
use crate::machine::Machine;

/// Cheap to clone; all clones are the same cloud.
pub struct InProcess<M> {
    engine: Arc<Engine<M>>,
}

/// The call ended without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Broken {
    Refused,
    Reset,
    /// Head and part of the body came, then the connection broke.
    Truncated,
}

impl<M> Clone for InProcess<M> {
    fn clone(&self) -> Self {
        Self {
            engine: Arc::clone(&self.engine),
        }
    }
}

impl<M: Machine> InProcess<M> {
    /// Spawn [`Engine::keep_time`] beside it if effects must not wait for the next call.
    pub fn new(engine: Arc<Engine<M>>) -> Self {
        Self { engine }
    }

    pub fn engine(&self) -> &Arc<Engine<M>> {
        &self.engine
    }

    /// Never ends if the script says silence: bring a time-out. Dropping the future is hanging up.
    pub async fn call(&self, request: Request<Bytes>) -> Result<Response<Bytes>, Broken> {
        if let Some(answer) = admin::answer(&self.engine, &request) {
            return Ok(answer);
        }
        match self.engine.call(&request).await {
            Ending::Answer(response) => Ok(response),
            Ending::Refused => Err(Broken::Refused),
            Ending::Reset => Err(Broken::Reset),
            Ending::Truncated { .. } => Err(Broken::Truncated),
        }
    }
}

impl std::fmt::Display for Broken {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str(match self {
            Self::Refused => "connection refused",
            Self::Reset => "connection reset",
            Self::Truncated => "connection closed before the whole answer",
        })
    }
}

impl std::error::Error for Broken {}
