//! How does a wiremock server answer as an emulated cloud?
//!
//! For tests that want sockets, expectations and a server of their own. Limits of wiremock: it keeps every request for
//! ever (use the axum front for long runs), its thread ignores paused time, it can neither truncate an answer (the
//! connection is reset instead) nor wait for a release (a held call is silent).

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use wiremock::matchers::any;
use wiremock::{Match, Mock, MockServer, Respond, ResponseTemplate};

use super::admin;
use super::engine::Engine;
use crate::machine::{Machine, Reply};

/// Longer than any caller waits.
const SILENCE: Duration = Duration::from_hours(1);

/// Mounts the cloud behind every path of this server.
pub async fn mount<M: Machine>(server: &MockServer, engine: Arc<Engine<M>>) {
    let desk = Arc::new(Desk {
        engine,
        reply: Mutex::new(None),
    });
    let reset = Mock::given(Breaks(Arc::clone(&desk)))
        .respond_with_err(|_: &wiremock::Request| {
            std::io::Error::from(std::io::ErrorKind::ConnectionReset)
        })
        .with_priority(1);
    reset.mount(server).await;
    Mock::given(any())
        .respond_with(Answers(desk))
        .mount(server)
        .await;
}

/// Wiremock serves one request at a time, first the matcher, then the responder: the reply lies here in between.
struct Desk<M> {
    engine: Arc<Engine<M>>,
    reply: Mutex<Option<Reply>>,
}

struct Breaks<M>(Arc<Desk<M>>);

struct Answers<M>(Arc<Desk<M>>);

impl<M: Machine> Match for Breaks<M> {
    fn matches(&self, request: &wiremock::Request) -> bool {
        let request = translate(request);
        let reply = match admin::answer(&self.0.engine, &request) {
            Some(answer) => Reply::now(answer),
            None => self.0.engine.begin(&request),
        };
        let breaks = matches!(
            reply,
            Reply::Refuse { .. } | Reply::Reset { .. } | Reply::Truncate { .. }
        );
        *self.0.reply.lock().unwrap_or_else(PoisonError::into_inner) = Some(reply);
        breaks
    }
}

impl<M: Machine> Respond for Answers<M> {
    fn respond(&self, _: &wiremock::Request) -> ResponseTemplate {
        let reply = self
            .0
            .reply
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let Some(Reply::Answer { response, delay }) = reply else {
            return ResponseTemplate::new(504).set_delay(SILENCE);
        };
        let kind = response.headers().get(http::header::CONTENT_TYPE);
        let kind = kind
            .and_then(|kind| kind.to_str().ok())
            .unwrap_or_default()
            .to_owned();
        let mut template = ResponseTemplate::new(response.status().as_u16());
        for (name, value) in response.headers() {
            template = template.append_header(name, value);
        }
        if !response.body().is_empty() {
            template = template.set_body_raw(response.body().to_vec(), &kind);
        }
        template.set_delay(delay)
    }
}

fn translate(request: &wiremock::Request) -> http::Request<Bytes> {
    let query = request
        .url
        .query()
        .map(|query| format!("?{query}"))
        .unwrap_or_default();
    let mut built = http::Request::new(Bytes::from(request.body.clone()));
    *built.method_mut() = request.method.clone();
    *built.uri_mut() = format!("{}{query}", request.url.path())
        .parse()
        .unwrap_or_default();
    *built.headers_mut() = request.headers.clone();
    built
}
