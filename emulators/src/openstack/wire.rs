//! How is a request taken apart, and how does an answer become bytes?

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use jiff::Timestamp;
use serde_json::{Map, Value};

pub type Object = Map<String, Value>;

/// One request, taken apart.
pub(super) struct Ask<'a> {
    pub method: &'a Method,
    /// Decoded segments after the service's prefix; a trailing slash adds nothing.
    pub path: Vec<String>,
    pub query: Vec<(String, String)>,
    pub headers: &'a HeaderMap,
    pub body: &'a Bytes,
    /// Scheme and host the caller used, without a trailing slash.
    pub base: String,
    pub now: Timestamp,
    pub request_id: String,
    /// What the fault script has in store for the machine this call is about.
    pub fates: Vec<String>,
}

/// An answer before it is bytes.
#[derive(Debug, Clone)]
pub(super) struct Said {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: Body,
}

#[derive(Debug, Clone)]
pub(super) enum Body {
    Json(Value),
    Html(String),
    /// No body, but a content type, as several services do.
    Blank(&'static str),
    Nothing,
}

/// A refusal is an answer too; the `?` operator just makes it final. Boxed, because it is rare and large.
#[derive(Debug)]
pub(super) struct Refusal(pub(super) Box<Said>);

pub(super) type Outcome = Result<Said, Refusal>;

impl Said {
    pub(super) fn json(status: u16, body: Value) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: Body::Json(body),
        }
    }

    pub(super) fn empty(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: Body::Nothing,
        }
    }

    pub(super) fn blank(status: u16, content_type: &'static str) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: Body::Blank(content_type),
        }
    }

    pub(super) fn html(status: u16, text: &str) -> Self {
        let title = StatusCode::from_u16(status)
            .ok()
            .and_then(|status| status.canonical_reason())
            .unwrap_or("Error");
        Self {
            status,
            headers: Vec::new(),
            body: Body::Html(format!(
                "<html>\n <head>\n  <title>{status} {title}</title>\n </head>\n <body>\n  <h1>{status} {title}</h1>\n  {text}<br /><br />\n\n\n\n </body>\n</html>"
            )),
        }
    }

    #[must_use]
    pub(super) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub(super) fn into_response(self) -> Response<Bytes> {
        let (content_type, bytes) = match &self.body {
            Body::Json(value) => (Some("application/json"), value.to_string()),
            Body::Html(text) => (Some("text/html; charset=UTF-8"), text.clone()),
            Body::Blank(kind) => (Some(*kind), String::new()),
            Body::Nothing => (None, String::new()),
        };
        let mut response = Response::new(Bytes::from(bytes));
        *response.status_mut() =
            StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        if let Some(kind) = content_type {
            let headers = response.headers_mut();
            headers.insert(http::header::CONTENT_TYPE, HeaderValue::from_static(kind));
        }
        for (name, value) in self.headers {
            if let Ok(value) = HeaderValue::from_str(&value) {
                let headers = response.headers_mut();
                headers.insert(HeaderName::from_static(name), value);
            }
        }
        response
    }
}

impl From<Said> for Refusal {
    fn from(said: Said) -> Self {
        Self(Box::new(said))
    }
}

impl Refusal {
    #[must_use]
    pub(super) fn with(self, name: &'static str, value: impl Into<String>) -> Self {
        Self::from(self.0.with(name, value))
    }
}

impl<'a> Ask<'a> {
    pub(super) fn read(request: &'a Request<Bytes>, now: Timestamp, request_id: String) -> Self {
        let path = request
            .uri()
            .path()
            .split('/')
            .filter(|part| !part.is_empty());
        Self {
            method: request.method(),
            path: path.map(|part| decode(part, false)).collect(),
            query: pairs(request.uri().query().unwrap_or_default()),
            headers: request.headers(),
            body: request.body(),
            base: base(request),
            now,
            request_id,
            fates: Vec::new(),
        }
    }

    pub(super) fn parts(&self) -> Vec<&str> {
        self.path.iter().map(String::as_str).collect()
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// The last of several, as most of the services take it.
    pub(super) fn param(&self, name: &str) -> Option<&str> {
        let mut found = self.query.iter().rev().filter(|(key, _)| key == name);
        found.next().map(|(_, value)| value.as_str())
    }

    pub(super) fn params(&self, name: &str) -> Vec<&str> {
        let found = self.query.iter().filter(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str()).collect()
    }

    pub(super) fn json(&self) -> Option<Value> {
        serde_json::from_slice(self.body).ok()
    }

    /// The query as it would be for the next page.
    pub(super) fn query_with(&self, marker: &str, more: &str) -> String {
        let kept = self
            .query
            .iter()
            .filter(|(key, _)| key != "marker" && key != "page_reverse");
        let mut text: Vec<String> = kept
            .map(|(key, value)| format!("{}={}", encode(key), encode(value)))
            .collect();
        text.push(format!("marker={}", encode(marker)));
        text.join("&") + more
    }
}

fn base(request: &Request<Bytes>) -> String {
    let host = request
        .headers()
        .get(http::header::HOST)
        .and_then(|value| value.to_str().ok())
        .or_else(|| request.uri().authority().map(http::uri::Authority::as_str));
    let scheme = request.uri().scheme_str().unwrap_or("http");
    format!("{scheme}://{}", host.unwrap_or("localhost"))
}

fn pairs(query: &str) -> Vec<(String, String)> {
    let parts = query.split('&').filter(|part| !part.is_empty());
    parts
        .map(|part| {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            (decode(key, true), decode(value, true))
        })
        .collect()
}

/// Percent-decoding that takes anything: what is not an escape stays as it is.
fn decode(text: &str, plus_is_blank: bool) -> String {
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let escape = (byte == b'%').then(|| bytes.get(at + 1..at + 3)).flatten();
        let value = escape
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        if let Some(value) = value {
            plain.push(value);
            at += 3;
        } else {
            plain.push(if byte == b'+' && plus_is_blank {
                b' '
            } else {
                byte
            });
            at += 1;
        }
    }
    String::from_utf8_lossy(&plain).into_owned()
}

pub(super) fn encode(text: &str) -> String {
    use std::fmt::Write;
    let mut safe = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~:".contains(&byte) {
            safe.push(char::from(byte));
        } else {
            let _ = write!(safe, "%{byte:02X}");
        }
    }
    safe
}

/// `2026-11-16T10:09:34Z`, as most members have it.
pub fn seconds(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// `2026-11-16T10:09:34.000000`, without a zone, as Nova writes launch times.
pub(super) fn zoneless(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S.000000").to_string()
}

/// `2026-11-16T10:09:34.000000Z`, as Keystone writes it.
pub(super) fn micros(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S.000000Z").to_string()
}

pub(super) fn is_uuid(text: &str) -> bool {
    let digits = text.replace('-', "");
    digits.len() == 32 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

pub(super) fn str_of<'a>(object: &'a Object, key: &str) -> &'a str {
    object.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// The value as Python prints it; Nova quotes what it refuses that way.
pub(super) fn repr(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => format!("'{text}'"),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(repr).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(members) => {
            let members: Vec<String> = members
                .iter()
                .map(|(key, value)| format!("'{key}': {}", repr(value)))
                .collect();
            format!("{{{}}}", members.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_undone_and_broken_ones_are_kept() {
        assert_eq!(decode("a%3Db+c", true), "a=b c");
        assert_eq!(decode("100%", true), "100%");
        assert_eq!(decode("%zz%4", true), "%zz%4");
        assert_eq!(decode("a+b", false), "a+b");
    }

    #[test]
    fn times_look_as_each_service_writes_them() {
        let at: Timestamp = "2026-11-16T10:09:34.5Z".parse().unwrap();
        assert_eq!(seconds(at), "2026-11-16T10:09:34Z");
        assert_eq!(zoneless(at), "2026-11-16T10:09:34.000000");
        assert_eq!(micros(at), "2026-11-16T10:09:34.000000Z");
    }

    #[test]
    fn a_quoted_value_looks_like_python() {
        let value = serde_json::json!({"a": [1, "x", null, true]});
        assert_eq!(repr(&value), "{'a': [1, 'x', None, True]}");
    }
}
