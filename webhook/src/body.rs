//! How are a request's bytes taken in, and an answer's bytes given out, without holding more than was agreed?

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use futures::StreamExt;
use tokio::sync::OwnedSemaphorePermit;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unread {
    TooLarge,
    TooSlow,
    CutOff(String),
}

/// The whole body, if it is not longer than `most` and comes within `patience`, however it trickles.
pub(crate) async fn read(body: Body, most: usize, patience: Duration) -> Result<Vec<u8>, Unread> {
    tokio::time::timeout(patience, collect(body, most))
        .await
        .unwrap_or(Err(Unread::TooSlow))
}

async fn collect(body: Body, most: usize) -> Result<Vec<u8>, Unread> {
    let mut chunks = body.into_data_stream();
    let mut whole = Vec::new();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|why| Unread::CutOff(why.to_string()))?;
        if whole.len() + chunk.len() > most {
            return Err(Unread::TooLarge);
        }
        whole.extend_from_slice(&chunk);
    }
    Ok(whole)
}

/// A body that gives its room back when its last part has been handed to the connection: a client that reads slowly
/// occupies its own share and nobody else's.
pub(crate) fn give(bytes: Vec<u8>, room: OwnedSemaphorePermit) -> Body {
    const PART: usize = 64 << 10;
    if bytes.len() <= PART {
        return Body::from(bytes);
    }
    let parts =
        futures::stream::unfold((Bytes::from(bytes), room), |(mut rest, room)| async move {
            if rest.is_empty() {
                return None;
            }
            let part = rest.split_to(rest.len().min(PART));
            Some((Ok::<_, Infallible>(part), (rest, room)))
        });
    Body::from_stream(parts)
}
