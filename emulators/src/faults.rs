//! Which calls go wrong, and how? The script is the same for every cloud.
//!
//! A fault names calls (method, path, text inside, which of them), says whether the call's effect happens (`when`)
//! and what the caller sees (`act`). In JSON:
//! `{"method": "POST", "path": "/compute/v2.1/servers", "nth": 1, "when": "after", "act": "reset"}`.

use std::time::Duration;

use bytes::Bytes;
use http::Request;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// For `release` and for people; made up if absent.
    #[serde(default)]
    pub id: String,
    /// Absent: any method.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// `*` is anything inside a segment, `**` anything at all. Absent: any path.
    #[serde(default = "anywhere")]
    pub path: String,
    /// Text that must be in the query or in the body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contains: Option<String>,
    /// Only the nth matching call (from 1). Absent: every one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nth: Option<u64>,
    /// Only the first so many matching calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<u64>,
    #[serde(default)]
    pub when: When,
    pub act: Act,
    /// How many calls have matched so far.
    #[serde(default)]
    pub seen: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum When {
    /// The call has no effect.
    #[default]
    Before,
    /// The call has its effect, the caller does not learn of it.
    After,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Act {
    Refuse,
    Reset,
    /// No answer ever: the caller's own time-out is what ends it.
    Silence,
    /// Wait until released. A caller who goes away before the effect takes it with him, unless `late`.
    Hold {
        #[serde(default)]
        late: bool,
    },
    /// The answer breaks off after `keep` bytes.
    Truncate {
        keep: usize,
    },
    /// The service's own error body for this status, or `body`. A cloud may quote the request in it: `{request}`,
    /// `{token}`, `{user data}` and `{user data from TEXT}` are filled in.
    Status {
        code: u16,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_after: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        body: Option<String>,
    },
    /// The right answer, late.
    Slow {
        ms: u64,
    },
    /// What becomes of the machine that this call creates or deletes: a name the cloud knows.
    Fate(String),
}

impl Fault {
    /// Any call of `method` on `path`, before its effect.
    pub fn on(method: &str, path: &str, act: Act) -> Self {
        Self {
            id: String::new(),
            method: Some(method.to_owned()),
            path: path.to_owned(),
            contains: None,
            nth: None,
            first: None,
            when: When::Before,
            act,
            seen: 0,
        }
    }

    #[must_use]
    pub fn after(mut self) -> Self {
        self.when = When::After;
        self
    }

    #[must_use]
    pub fn nth(mut self, nth: u64) -> Self {
        self.nth = Some(nth);
        self
    }

    #[must_use]
    pub fn first(mut self, first: u64) -> Self {
        self.first = Some(first);
        self
    }

    #[must_use]
    pub fn containing(mut self, text: &str) -> Self {
        self.contains = Some(text.to_owned());
        self
    }

    #[must_use]
    pub fn named(mut self, id: &str) -> Self {
        id.clone_into(&mut self.id);
        self
    }

    fn strikes(&mut self, request: &Request<Bytes>) -> bool {
        if !self.matches(request) {
            return false;
        }
        self.seen += 1;
        self.nth.is_none_or(|nth| nth == self.seen)
            && self.first.is_none_or(|first| self.seen <= first)
    }

    fn matches(&self, request: &Request<Bytes>) -> bool {
        let method = self.method.as_deref();
        method.is_none_or(|wanted| wanted.eq_ignore_ascii_case(request.method().as_str()))
            && glob(self.path.as_bytes(), request.uri().path().as_bytes())
            && self.contains.as_deref().is_none_or(|text| {
                request.uri().query().unwrap_or_default().contains(text)
                    || String::from_utf8_lossy(request.body()).contains(text)
            })
    }
}

/// What the script says about one call.
#[derive(Debug, Clone, Default)]
pub struct Verdict {
    /// Time added to the answer.
    pub delay: Duration,
    /// Names of fates, in the order of the script.
    pub fates: Vec<String>,
    /// The first fault that decides what the caller sees.
    pub strike: Option<Fault>,
}

#[derive(Debug, Default)]
pub struct Script {
    faults: Vec<Fault>,
    made: u64,
}

impl Script {
    /// Adds a fault and says its id.
    pub fn add(&mut self, mut fault: Fault) -> String {
        self.made += 1;
        if fault.id.is_empty() {
            fault.id = format!("fault-{}", self.made);
        }
        let id = fault.id.clone();
        self.faults.push(fault);
        id
    }

    pub fn clear(&mut self) {
        self.faults.clear();
    }

    pub fn remove(&mut self, id: &str) {
        self.faults.retain(|fault| fault.id != id);
    }

    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }

    /// Counts this call for every fault it matches.
    pub fn judge(&mut self, request: &Request<Bytes>) -> Verdict {
        let mut verdict = Verdict::default();
        for fault in &mut self.faults {
            if !fault.strikes(request) {
                continue;
            }
            match &fault.act {
                Act::Slow { ms } => verdict.delay += Duration::from_millis(*ms),
                Act::Fate(name) => verdict.fates.push(name.clone()),
                Act::Refuse
                | Act::Reset
                | Act::Silence
                | Act::Hold { .. }
                | Act::Truncate { .. }
                | Act::Status { .. } => {
                    verdict.strike.get_or_insert_with(|| fault.clone());
                }
            }
        }
        verdict
    }
}

fn anywhere() -> String {
    "**".to_owned()
}

fn glob(pattern: &[u8], path: &[u8]) -> bool {
    match pattern {
        [] => path.is_empty(),
        [b'*', b'*', rest @ ..] => (0..=path.len()).any(|at| glob(rest, &path[at..])),
        [b'*', rest @ ..] => {
            let segment = path.iter().take_while(|byte| **byte != b'/').count();
            (0..=segment).any(|at| glob(rest, &path[at..]))
        }
        [first, rest @ ..] => path.first() == Some(first) && glob(rest, &path[1..]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(method: &str, uri: &str, body: &str) -> Request<Bytes> {
        Request::builder()
            .method(method)
            .uri(uri)
            .body(Bytes::from(body.to_owned()))
            .unwrap()
    }

    #[test]
    fn only_the_nth_matching_call_is_struck() {
        let mut script = Script::default();
        script.add(Fault::on("POST", "/servers", Act::Reset).nth(2));
        let strikes = |script: &mut Script, method: &str| {
            script.judge(&call(method, "/servers", "")).strike.is_some()
        };
        assert!(!strikes(&mut script, "POST"));
        assert!(!strikes(&mut script, "GET"));
        assert!(strikes(&mut script, "POST"));
        assert!(!strikes(&mut script, "POST"));
    }

    #[test]
    fn a_star_stays_inside_its_segment_and_two_stars_do_not() {
        assert!(glob(b"/a/*/c", b"/a/b/c"));
        assert!(!glob(b"/a/*", b"/a/b/c"));
        assert!(glob(b"/a/**", b"/a/b/c"));
        assert!(glob(b"**", b""));
        assert!(!glob(b"/a", b"/ab"));
    }

    #[test]
    fn a_fault_can_look_into_query_and_body() {
        let mut script = Script::default();
        script.add(Fault::on("GET", "**", Act::Refuse).containing("tags="));
        script.add(Fault::on("POST", "**", Act::Refuse).containing("\"n1\""));
        assert!(script.judge(&call("GET", "/s?tags=a", "")).strike.is_some());
        assert!(script.judge(&call("GET", "/s", "")).strike.is_none());
        let named = call("POST", "/s", r#"{"name":"n1"}"#);
        assert!(script.judge(&named).strike.is_some());
    }

    #[test]
    fn delays_add_up_beside_a_strike() {
        let mut script = Script::default();
        script.add(Fault::on("GET", "/x", Act::Slow { ms: 20 }));
        script.add(Fault::on("GET", "/x", Act::Slow { ms: 30 }));
        script.add(Fault::on("GET", "/x", Act::Reset).after());
        let verdict = script.judge(&call("GET", "/x", ""));
        assert_eq!(verdict.delay, Duration::from_millis(50));
        assert_eq!(verdict.strike.unwrap().when, When::After);
    }

    #[test]
    fn a_fault_is_written_in_json_as_the_door_sign_says() {
        let text = r#"{"method":"POST","path":"/compute/v2.1/servers","nth":1,"when":"after","act":"reset"}"#;
        let fault: Fault = serde_json::from_str(text).unwrap();
        assert_eq!((fault.nth, fault.act), (Some(1), Act::Reset));
        let text = r#"{"act":{"status":{"code":429,"retry_after":"3"}}}"#;
        assert!(serde_json::from_str::<Fault>(text).is_ok());
        let text = r#"{"act":{"hold":{}}}"#;
        let fault: Fault = serde_json::from_str(text).unwrap();
        assert_eq!(fault.act, Act::Hold { late: false });
        assert!(serde_json::from_str::<Fault>(r#"{"act":"reset","nht":1}"#).is_err());
    }
}
