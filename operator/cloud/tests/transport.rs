//! Is a call repeated only when that is safe, paced as the cloud wants, and lost without a secret?

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use cloud::transport::allowance::Pace;
use cloud::transport::{Call, Patience, Repeat, Transport};
use cloud::{Http, HttpFailure, Sent};
use http::{Method, Request, Response};
use jiff::Timestamp;
use tokio::time::Instant;

#[derive(Clone)]
enum Reply {
    Status(u16),
    RetryAfter(u16, &'static str),
    Reset,
    Silence,
}

/// Answers in order, the last one for ever; remembers when it was asked.
struct Script {
    replies: Mutex<VecDeque<Reply>>,
    asked: Mutex<Vec<Instant>>,
}

#[async_trait]
impl Http for Script {
    async fn call(&self, _: Request<Bytes>) -> Result<Response<Bytes>, HttpFailure> {
        self.asked.lock().unwrap().push(Instant::now());
        let reply = {
            let mut replies = self.replies.lock().unwrap();
            if replies.len() > 1 {
                replies.pop_front().unwrap()
            } else {
                replies[0].clone()
            }
        };
        let with = |status: u16| {
            Response::builder()
                .status(status)
                .header("X-Openstack-Request-Id", "req-9")
        };
        match reply {
            Reply::Status(status) => Ok(with(status).body(Bytes::new()).unwrap()),
            Reply::RetryAfter(status, after) => Ok(with(status)
                .header("Retry-After", after)
                .body(Bytes::new())
                .unwrap()),
            Reply::Reset => Err(HttpFailure::perhaps(
                "reset while the answer to canary-secret was read",
            )),
            Reply::Silence => std::future::pending().await,
        }
    }
}

fn world(replies: &[Reply]) -> (Arc<Script>, Transport) {
    let script = Arc::new(Script {
        replies: Mutex::new(replies.iter().cloned().collect()),
        asked: Mutex::default(),
    });
    let now: Timestamp = "2026-11-18T03:00:00Z".parse().unwrap();
    let transport = Transport::new(
        script.clone(),
        Arc::new(move || now),
        Pace::default(),
        Patience::default(),
    );
    (script, transport)
}

fn call(repeat: Repeat) -> Call {
    let request = Request::builder()
        .method(Method::POST)
        .uri("http://cloud/")
        .body(Bytes::new())
        .unwrap();
    Call {
        name: "test",
        request,
        repeat,
        secrets: vec!["canary-secret".into()],
    }
}

impl Script {
    fn times(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

#[tokio::test(start_paused = true)]
async fn a_create_is_sent_once_on_time_out_reset_and_every_bad_answer() {
    for reply in [
        Reply::Reset,
        Reply::Silence,
        Reply::Status(500),
        Reply::Status(503),
        Reply::RetryAfter(429, "1"),
    ] {
        let (script, transport) = world(&[reply, Reply::Status(202)]);
        let _ = transport.send(&call(Repeat::Once)).await;
        assert_eq!(script.times(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_safe_call_is_repeated_until_it_works() {
    let (script, transport) = world(&[Reply::Reset, Reply::Status(502), Reply::Status(200)]);
    let answer = transport.send(&call(Repeat::Safe)).await.unwrap();
    assert_eq!((answer.status.as_u16(), script.times()), (200, 3));
    assert_eq!(answer.request_id.as_deref(), Some("req-9"));
}

#[tokio::test(start_paused = true)]
async fn a_safe_call_is_not_repeated_for_ever_and_says_so_without_a_secret() {
    let (script, transport) = world(&[Reply::Reset]);
    let lost = transport.send(&call(Repeat::Safe)).await.unwrap_err();
    assert_eq!((lost.sent, script.times()), (Sent::Perhaps, 5));
    assert_eq!(
        lost.to_string(),
        "reset while the answer to [redacted] was read"
    );
    let (script, transport) = world(&[Reply::Status(503)]);
    assert_eq!(
        transport
            .send(&call(Repeat::Safe))
            .await
            .unwrap()
            .status
            .as_u16(),
        503
    );
    assert_eq!(script.times(), 5);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_not_repeated() {
    for status in [400, 401, 403, 404, 409, 413, 501] {
        let (script, transport) = world(&[Reply::Status(status)]);
        let answer = transport.send(&call(Repeat::Safe)).await.unwrap();
        assert_eq!((answer.status.as_u16(), script.times()), (status, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn retry_after_is_obeyed_in_seconds_and_as_a_date() {
    for after in ["7", "Wed, 18 Nov 2026 03:00:07 GMT"] {
        let (script, transport) = world(&[Reply::RetryAfter(429, after), Reply::Status(200)]);
        let begin = Instant::now();
        transport.send(&call(Repeat::Safe)).await.unwrap();
        assert_eq!(script.times(), 2);
        let waited = begin.elapsed();
        assert!(
            waited >= Duration::from_secs(7) && waited < Duration::from_secs(10),
            "{waited:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_long_retry_after_is_handed_to_the_caller() {
    let (script, transport) = world(&[Reply::RetryAfter(429, "3600")]);
    let answer = transport.send(&call(Repeat::Safe)).await.unwrap();
    assert_eq!(
        (answer.retry_after, script.times()),
        (Some(Duration::from_hours(1)), 1)
    );
}

#[tokio::test(start_paused = true)]
async fn other_calls_keep_silent_too_while_the_cloud_asked_for_it() {
    let (script, transport) = world(&[Reply::RetryAfter(429, "20"), Reply::Status(200)]);
    let _ = transport.send(&call(Repeat::Once)).await;
    transport.send(&call(Repeat::Once)).await.unwrap();
    let asked = script.asked.lock().unwrap();
    assert!(asked[1] - asked[0] >= Duration::from_secs(20));
}

#[tokio::test(start_paused = true)]
async fn the_jitter_of_pauses_replays() {
    let pauses = async || {
        let (script, transport) = world(&[Reply::Status(503)]);
        let _ = transport.send(&call(Repeat::Safe)).await;
        let asked = script.asked.lock().unwrap();
        asked
            .windows(2)
            .map(|pair| pair[1] - pair[0])
            .collect::<Vec<_>>()
    };
    assert_eq!(pauses().await, pauses().await);
}
