//! Which path leads to which answer, and which requests never get that far?

use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use axum::routing::{get, post};

use crate::answer::{Answer, Reviewers, Route, answer};
use crate::body::{Unread, give, read};
use crate::counts::{Counts, Direction, Result as Ending};
use crate::failure::bad_request;
use crate::room::Room;

/// What every request needs.
#[derive(Clone)]
pub struct App {
    pub reviewers: Reviewers,
    pub room: Room,
    pub counts: Counts,
}

pub fn router(app: App) -> Router {
    Router::new()
        .route(
            "/convert",
            post(|state, request| review(state, Route::Convert, request)),
        )
        .route(
            "/validate",
            post(|state, request| review(state, Route::Validate, request)),
        )
        .route("/healthz", get(|| async { "ok\n" }))
        .fallback(|| async {
            refusal(
                StatusCode::NOT_FOUND,
                "NotFound",
                "no such path; there are /convert, /validate and /healthz",
            )
        })
        .with_state(app)
}

async fn review(State(app): State<App>, route: Route, request: Request) -> Response {
    let begun = Instant::now();
    let _in_flight = app.counts.begin();
    let (response, ending) = match reviewed(&app, route, request).await {
        Ok(done) => done,
        Err(ending) => (refuse(&app, ending), ending),
    };
    app.counts
        .ended(route, ending, begun.elapsed().as_secs_f64());
    response
}

async fn reviewed(app: &App, route: Route, request: Request) -> Result<(Response, Ending), Ending> {
    let bounds = app.room.bounds();
    if !is_json(request.headers()) {
        return Err(Ending::wrong_type);
    }
    let length = content_length(request.headers());
    if length.is_some_and(|length| length > bounds.body) {
        return Err(Ending::too_large);
    }
    let room = app.room.for_body(length).await.ok_or(Ending::no_room)?;
    let asked = read(request.into_body(), bounds.body, bounds.patience)
        .await
        .map_err(|unread| match unread {
            Unread::TooLarge => Ending::too_large,
            Unread::TooSlow => Ending::too_slow,
            Unread::CutOff(why) => {
                tracing::debug!(why, "a request ended before its body did");
                Ending::cut_off
            }
        })?;
    app.counts.moved(route, Direction::received, asked.len());

    let turn = app.room.for_review().await.ok_or(Ending::no_room)?;
    let reviewer = app.reviewers.of(route).clone();
    // A large list keeps a processor busy for a while: not on a thread that others wait for.
    let thought = tokio::task::spawn_blocking(move || {
        let answer = answer(route, &asked, &reviewer);
        drop(turn);
        answer
    });
    let Answer {
        status,
        body,
        outcome,
    } = thought.await.map_err(|_| Ending::broken)?;
    app.counts.moved(route, Direction::sent, body.len());
    let response = Response::builder()
        .status(status)
        .header(header::CONTENT_TYPE, JSON)
        .header(header::CONTENT_LENGTH, body.len())
        .body(give(body, room))
        .map_err(|_| Ending::broken)?;
    Ok((response, outcome.into()))
}

const JSON: &str = "application/json";

fn refuse(app: &App, ending: Ending) -> Response {
    let bounds = app.room.bounds();
    match ending {
        Ending::wrong_type => refusal(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "UnsupportedMediaType",
            "a review is sent as Content-Type: application/json",
        ),
        Ending::too_large => refusal(
            StatusCode::PAYLOAD_TOO_LARGE,
            "RequestEntityTooLarge",
            &format!(
                "the review is larger than {} bytes; raise --max-body, or LIST in smaller pages",
                bounds.body
            ),
        ),
        Ending::too_slow => refusal(
            StatusCode::REQUEST_TIMEOUT,
            "Timeout",
            &format!("the review did not arrive within {:?}", bounds.patience),
        ),
        Ending::no_room => refusal(
            StatusCode::SERVICE_UNAVAILABLE,
            "ServiceUnavailable",
            "too many reviews at once; try again, add replicas, or raise --max-bodies",
        ),
        Ending::cut_off => refusal(
            StatusCode::BAD_REQUEST,
            "BadRequest",
            "the request ended before its body did",
        ),
        Ending::accepted | Ending::refused | Ending::malformed | Ending::broken => refusal(
            StatusCode::INTERNAL_SERVER_ERROR,
            "InternalError",
            "the review was not answered; this is a bug in Joiner",
        ),
    }
}

fn refusal(status: StatusCode, reason: &str, message: &str) -> Response {
    let mut response = Response::new(Body::from(bad_request(status.as_u16(), reason, message)));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, header::HeaderValue::from_static(JSON));
    response
}

fn is_json(headers: &HeaderMap) -> bool {
    let stated = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let essence = stated.split(';').next().unwrap_or_default();
    essence.trim().eq_ignore_ascii_case(JSON)
}

fn content_length(headers: &HeaderMap) -> Option<usize> {
    headers
        .get(header::CONTENT_LENGTH)?
        .to_str()
        .ok()?
        .parse()
        .ok()
}
