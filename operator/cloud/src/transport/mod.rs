//! How does a request get to a cloud with patience, within its allowance, and without telling secrets?
//!
//! A call waits for the allowance, is bounded in time, and is repeated only if repeating it is safe. A create is sent once;
//! if its answer is lost, that is the answer.

pub mod allowance;
pub mod redact;
pub mod retry_after;
pub mod wire;

use std::sync::Arc;
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder, Retryable};
use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode};
use secrecy::SecretString;
use tracing::Instrument;

use crate::clock::Clock;
use crate::http::{Http, HttpFailure, Sent};
use crate::said::Said;
use allowance::{Allowance, Pace};
use redact::Redactor;

/// A pause longer than this is the caller's to wait out.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// One request and how it may be treated.
#[derive(Clone, Debug)]
pub struct Call {
    /// What it is called in spans, for example `nova.servers.create`.
    pub name: &'static str,
    pub request: Request<Bytes>,
    pub repeat: Repeat,
    /// What of the request must never be seen in an error.
    pub secrets: Vec<SecretString>,
}

/// Whether a request may be sent again when no good answer came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// Sending it twice is the same as sending it once.
    Safe,
    /// It makes something: once, whatever happens.
    Once,
}

/// What a server answered, whatever its status.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
    /// The vendor's id of the request, to be kept in errors.
    pub request_id: Option<String>,
    pub retry_after: Option<Duration>,
}

/// No answer came, not even a bad one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{said}")]
pub struct Lost {
    pub sent: Sent,
    pub said: Said,
}

/// How patient a transport is.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// For one attempt. Nothing times out by itself: with a part of a cloud down, lists take a minute or two.
    pub timeout: Duration,
    /// How often a safe call is repeated.
    pub repeats: usize,
    /// The pause before the first repeat; later ones are longer.
    pub pause: Duration,
    /// Makes the jitter of pauses replayable.
    pub jitter_seed: u64,
}

pub struct Transport {
    http: Arc<dyn Http>,
    clock: Arc<dyn Clock>,
    allowance: Allowance,
    redactor: Redactor,
    patience: Patience,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(150),
            repeats: 4,
            pause: Duration::from_millis(200),
            jitter_seed: 0,
        }
    }
}

/// An attempt that may be worth another one.
enum Again {
    Answered(Box<Answer>),
    Failed(HttpFailure),
}

impl Transport {
    pub fn new(http: Arc<dyn Http>, clock: Arc<dyn Clock>, pace: Pace, patience: Patience) -> Self {
        Self {
            http,
            clock,
            allowance: Allowance::new(pace),
            redactor: Redactor::default(),
            patience,
        }
    }

    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// Sends a call and returns the last answer, good or bad.
    pub async fn send(&self, call: &Call) -> Result<Answer, Lost> {
        let span =
            tracing::debug_span!("cloud_call", call = call.name, method = %call.request.method());
        let outcome = match call.repeat {
            Repeat::Once => self.attempt(call).instrument(span).await,
            Repeat::Safe => self.repeated(call).instrument(span).await,
        };
        match outcome {
            Ok(answer) => Ok(answer),
            Err(Again::Answered(answer)) => Ok(*answer),
            Err(Again::Failed(failure)) => Err(Lost {
                sent: failure.sent,
                said: self.redactor.say(&failure.what, &call.secrets),
            }),
        }
    }

    /// What a vendor said, fit to be read by anybody.
    pub fn say(&self, call: &Call, answer: &Answer, text: &str) -> Said {
        self.redactor
            .say(text, &call.secrets)
            .with_request_id(answer.request_id.clone())
    }

    async fn repeated(&self, call: &Call) -> Result<Answer, Again> {
        let pauses = ExponentialBuilder::default()
            .with_min_delay(self.patience.pause)
            .with_max_delay(Duration::from_secs(10))
            .with_max_times(self.patience.repeats)
            .with_jitter()
            .with_jitter_seed(self.patience.jitter_seed)
            .build();
        (|| self.attempt(call))
            .retry(pauses)
            .sleep(tokio::time::sleep)
            .when(worth_repeating)
            .adjust(|again, pause| pause.map(|pause| obeyed(again, pause)))
            .await
    }

    async fn attempt(&self, call: &Call) -> Result<Answer, Again> {
        self.allowance.take().await;
        let sent = self.http.call(call.request.clone());
        let outcome = tokio::time::timeout(self.patience.timeout, sent)
            .await
            .unwrap_or_else(|_| {
                let seconds = self.patience.timeout.as_secs();
                Err(HttpFailure::perhaps(format!(
                    "no answer within {seconds} s"
                )))
            });
        match outcome {
            Ok(response) => self.judge(call, response),
            Err(failure) => {
                tracing::debug!(call = call.name, sent = ?failure.sent, "no answer");
                Err(Again::Failed(failure))
            }
        }
    }

    fn judge(&self, call: &Call, response: http::Response<Bytes>) -> Result<Answer, Again> {
        let (parts, body) = response.into_parts();
        let answer = Answer {
            status: parts.status,
            request_id: request_id(&parts.headers),
            retry_after: retry_after::read(&parts.headers, self.clock.now()),
            headers: parts.headers,
            body,
        };
        let request_id = answer.request_id.as_deref();
        tracing::debug!(call = call.name, status = %answer.status, request_id, "answered");
        if answer.status == StatusCode::TOO_MANY_REQUESTS {
            self.allowance
                .shrink(answer.retry_after.map(|pause| pause.min(LONGEST_PAUSE)));
            return Err(Again::Answered(Box::new(answer)));
        }
        if answer.status.is_server_error() {
            return Err(Again::Answered(Box::new(answer)));
        }
        self.allowance.grow();
        Ok(answer)
    }
}

fn worth_repeating(again: &Again) -> bool {
    match again {
        Again::Failed(_) => true,
        Again::Answered(answer) => {
            answer.status != StatusCode::NOT_IMPLEMENTED
                && answer
                    .retry_after
                    .is_none_or(|pause| pause <= LONGEST_PAUSE)
        }
    }
}

/// The pause the server asked for, if it is longer than ours.
fn obeyed(again: &Again, pause: Duration) -> Duration {
    match again {
        Again::Failed(_) => pause,
        Again::Answered(answer) => answer.retry_after.map_or(pause, |asked| asked.max(pause)),
    }
}

fn request_id(headers: &HeaderMap) -> Option<String> {
    [
        "x-openstack-request-id",
        "x-compute-request-id",
        "x-request-id",
    ]
    .iter()
    .find_map(|name| headers.get(*name)?.to_str().ok())
    .map(str::to_owned)
}
