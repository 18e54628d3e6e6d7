//! Which bytes answer these bytes?
//!
//! Pure, and total: whatever comes in, something the API server understands goes out. A review whose uid can be read is
//! answered with a review, so that the user sees our words; anything else is a bad request.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use crate::failure::{bad_request, failed_review};

/// The two questions an API server asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    Convert,
    Validate,
}

/// Answers a parsed review with a review. Ours live in `crds`; tests bring their own.
pub type Reviewer = Arc<dyn Fn(&Value) -> Value + Send + Sync>;

#[derive(Clone)]
pub struct Reviewers {
    pub convert: Reviewer,
    pub validate: Reviewer,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub body: Vec<u8>,
    pub outcome: Outcome,
}

/// How it went, for the metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Converted or allowed.
    Yes,
    /// Not convertible or refused, with a reason for the user.
    No,
    /// The request itself was wrong.
    Malformed,
    /// We were wrong: the reviewer panicked or gave no review.
    Broken,
}

impl Route {
    pub fn api_version(self) -> &'static str {
        match self {
            Route::Convert => "apiextensions.k8s.io/v1",
            Route::Validate => "admission.k8s.io/v1",
        }
    }

    pub fn kind(self) -> &'static str {
        match self {
            Route::Convert => "ConversionReview",
            Route::Validate => "AdmissionReview",
        }
    }

    fn outcome(self, review: &Value) -> Outcome {
        let yes = match self {
            Route::Convert => review.pointer("/response/result/status") == Some(&"Success".into()),
            Route::Validate => review.pointer("/response/allowed") == Some(&true.into()),
        };
        if yes { Outcome::Yes } else { Outcome::No }
    }
}

impl Reviewers {
    /// The real ones.
    pub fn of_crds() -> Self {
        Reviewers {
            convert: Arc::new(crds::convert::review),
            validate: Arc::new(crds::validate::review),
        }
    }

    pub fn of(&self, route: Route) -> &Reviewer {
        match route {
            Route::Convert => &self.convert,
            Route::Validate => &self.validate,
        }
    }
}

pub fn answer(route: Route, asked: &[u8], reviewer: &Reviewer) -> Answer {
    let review: Value = match serde_json::from_slice(asked) {
        Ok(review) => review,
        // Nested too deeply to be held, or broken in the middle: at least its head may tell who is asking.
        Err(why) => {
            return malformed(
                route,
                &uid_in_head(asked),
                &format!("the body is not a JSON document we can hold: {why}"),
            );
        }
    };
    let uid = review
        .pointer("/request/uid")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    if let Err(why) = right_kind(route, &review) {
        return malformed(route, &uid, &why);
    }
    if uid.is_empty() {
        return malformed(
            route,
            "",
            "request.uid is missing; only a review made by an API server can be answered",
        );
    }
    match catch_unwind(AssertUnwindSafe(|| reviewer(&review))) {
        Ok(answered) if answered.pointer("/response/uid").and_then(Value::as_str) == Some(&uid) => {
            Answer {
                status: 200,
                outcome: route.outcome(&answered),
                body: answered.to_string().into_bytes(),
            }
        }
        Ok(_) => broken(
            route,
            &uid,
            "the review was not answered; this is a bug in Joiner, its log has the request's uid",
        ),
        Err(_) => broken(
            route,
            &uid,
            "the review crashed; this is a bug in Joiner, its log has the place",
        ),
    }
}

fn right_kind(route: Route, review: &Value) -> Result<(), String> {
    let text = |field: &str| {
        review
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let (version, kind) = (text("apiVersion"), text("kind"));
    if (version, kind) == (route.api_version(), route.kind()) {
        return Ok(());
    }
    Err(format!(
        "this path answers {} of {}, not {kind:?} of {version:?}; check the path and the review versions in the configuration",
        route.kind(),
        route.api_version(),
    ))
}

fn malformed(route: Route, uid: &str, why: &str) -> Answer {
    if uid.is_empty() {
        return Answer {
            status: 400,
            body: bad_request(400, "BadRequest", why),
            outcome: Outcome::Malformed,
        };
    }
    Answer {
        status: 200,
        body: failed_review(route, uid, 400, why),
        outcome: Outcome::Malformed,
    }
}

fn broken(route: Route, uid: &str, why: &str) -> Answer {
    tracing::error!(uid, kind = route.kind(), why, "review not answered");
    Answer {
        status: 200,
        body: failed_review(route, uid, 500, why),
        outcome: Outcome::Broken,
    }
}

#[derive(Deserialize)]
struct Head {
    request: RequestHead,
}

#[derive(Deserialize)]
struct RequestHead {
    uid: String,
}

/// Skipping values needs no depth, so this reads documents that `Value` cannot hold.
fn uid_in_head(asked: &[u8]) -> String {
    serde_json::from_slice::<Head>(asked)
        .map(|head| head.request.uid)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Says yes and echoes the uid.
    fn yes(route: Route) -> Reviewer {
        Arc::new(move |review: &Value| {
            let uid = review["request"]["uid"].clone();
            let response = match route {
                Route::Convert => {
                    json!({"uid": uid, "convertedObjects": review["request"]["objects"], "result": {"status": "Success"}})
                }
                Route::Validate => json!({"uid": uid, "allowed": true}),
            };
            json!({"apiVersion": route.api_version(), "kind": route.kind(), "response": response})
        })
    }

    fn review(route: Route, request: &Value) -> Vec<u8> {
        json!({"apiVersion": route.api_version(), "kind": route.kind(), "request": request})
            .to_string()
            .into_bytes()
    }

    fn json_of(answer: &Answer) -> Value {
        serde_json::from_slice(&answer.body).expect("an answer is always JSON")
    }

    const BOTH: [Route; 2] = [Route::Convert, Route::Validate];

    #[test]
    fn a_good_review_reaches_the_reviewer_and_its_answer_goes_out() {
        for route in BOTH {
            let said = answer(
                route,
                &review(route, &json!({"uid": "u1", "objects": [1]})),
                &yes(route),
            );
            assert_eq!((said.status, said.outcome), (200, Outcome::Yes));
            assert_eq!(json_of(&said)["response"]["uid"], "u1");
        }
    }

    #[test]
    fn a_review_for_the_other_path_is_answered_in_the_language_of_this_path() {
        let said = answer(
            Route::Convert,
            &review(Route::Validate, &json!({"uid": "u1"})),
            &yes(Route::Convert),
        );
        assert_eq!((said.status, said.outcome), (200, Outcome::Malformed));
        let said = json_of(&said);
        assert_eq!(said["kind"], "ConversionReview");
        assert_eq!(said["response"]["uid"], "u1");
        assert_eq!(said["response"]["result"]["status"], "Failure");
        assert_eq!(said["response"]["convertedObjects"], json!([]));
        let message = said["response"]["result"]["message"].as_str().unwrap();
        assert!(
            message.contains("not \"AdmissionReview\" of \"admission.k8s.io/v1\""),
            "{message}"
        );
    }

    #[test]
    fn an_older_review_version_is_refused_with_the_one_we_speak() {
        let old = json!({"apiVersion": "admission.k8s.io/v1beta1", "kind": "AdmissionReview", "request": {"uid": "u1"}});
        let said = json_of(&answer(
            Route::Validate,
            old.to_string().as_bytes(),
            &yes(Route::Validate),
        ));
        assert_eq!(said["response"]["allowed"], false);
        let message = said["response"]["status"]["message"].as_str().unwrap();
        assert!(
            message.contains("AdmissionReview of admission.k8s.io/v1,"),
            "{message}"
        );
    }

    #[test]
    fn a_document_too_deep_to_hold_is_refused_by_name_when_its_head_can_be_read() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        for route in BOTH {
            let asked = format!(
                r#"{{"kind":"{}","request":{{"object":{deep},"uid":"u1"}}}}"#,
                route.kind()
            );
            let said = answer(route, asked.as_bytes(), &yes(route));
            assert_eq!((said.status, said.outcome), (200, Outcome::Malformed));
            assert_eq!(json_of(&said)["response"]["uid"], "u1");
            assert!(
                String::from_utf8_lossy(&said.body).contains("recursion limit"),
                "{}",
                json_of(&said)
            );
        }
    }

    #[test]
    fn every_truncation_of_a_review_is_a_bad_request() {
        let whole = review(
            Route::Convert,
            &json!({"uid": "u1", "objects": [{"a": "b"}]}),
        );
        for end in 0..whole.len() {
            let said = answer(Route::Convert, &whole[..end], &yes(Route::Convert));
            assert_eq!(
                (said.status, said.outcome),
                (400, Outcome::Malformed),
                "cut at {end}"
            );
            assert_eq!(json_of(&said)["kind"], "Status");
        }
    }

    #[test]
    fn a_review_without_a_uid_is_a_bad_request() {
        for request in [
            json!(null),
            json!({}),
            json!({"uid": ""}),
            json!({"uid": 7}),
            json!([1]),
        ] {
            let said = answer(
                Route::Validate,
                &review(Route::Validate, &request),
                &yes(Route::Validate),
            );
            assert_eq!(said.status, 400, "{request}");
        }
    }

    #[test]
    fn a_reviewer_that_panics_or_says_nothing_is_a_failed_review() {
        let reviewers: [Reviewer; 3] = [
            Arc::new(|_: &Value| panic!("on purpose, by a test")),
            Arc::new(|_: &Value| Value::Null),
            Arc::new(|_: &Value| json!({"response": {"uid": "another", "allowed": true}})),
        ];
        for reviewer in &reviewers {
            let said = answer(
                Route::Validate,
                &review(Route::Validate, &json!({"uid": "u1"})),
                reviewer,
            );
            assert_eq!((said.status, said.outcome), (200, Outcome::Broken));
            assert_eq!(json_of(&said)["response"]["allowed"], false);
        }
    }

    #[test]
    fn a_refusal_is_counted_as_a_no() {
        let no: Reviewer =
            Arc::new(|_: &Value| json!({"response": {"uid": "u1", "allowed": false}}));
        let said = answer(
            Route::Validate,
            &review(Route::Validate, &json!({"uid": "u1"})),
            &no,
        );
        assert_eq!(said.outcome, Outcome::No);
    }
}
