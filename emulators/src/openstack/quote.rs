//! How does a scripted error quote the request it answers?
//!
//! Real clouds do: a schema error of Nova holds the value it did not like. So a body may say `{request}` (the request's
//! body), `{token}` (what came as `X-Auth-Token`), `{user data}` (decoded) and `{user data from TEXT}` (from there on).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::Request;
use serde_json::Value;

/// The template with everything quoted, as the inside of a JSON string.
pub(super) fn filled(template: &str, request: &Request<Bytes>) -> String {
    let mut filled = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        let quote = after
            .split_once('}')
            .and_then(|(named, rest)| Some((quote(named, request)?, rest)));
        if let Some((text, after)) = quote {
            filled.push_str(&escaped(&text));
            rest = after;
        } else {
            filled.push('{');
            rest = after;
        }
    }
    filled + rest
}

fn quote(named: &str, request: &Request<Bytes>) -> Option<String> {
    match named {
        "request" => Some(String::from_utf8_lossy(request.body()).into_owned()),
        "token" => {
            let token = request.headers().get("x-auth-token");
            Some(token?.to_str().ok()?.to_owned())
        }
        "user data" => user_data(request),
        _ => {
            let from = named.strip_prefix("user data from ")?;
            let text = user_data(request)?;
            let at = text.find(from)?;
            Some(text[at..].to_owned())
        }
    }
}

fn user_data(request: &Request<Bytes>) -> Option<String> {
    let body: Value = serde_json::from_slice(request.body()).ok()?;
    let encoded = body["server"]["user_data"].as_str()?;
    String::from_utf8(STANDARD.decode(encoded).ok()?).ok()
}

/// As it stands between the quotes of a JSON string.
fn escaped(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> Request<Bytes> {
        let user_data = STANDARD.encode("first\ntoken: abc");
        let body = format!(r#"{{"server": {{"user_data": "{user_data}"}}}}"#);
        let request = Request::builder().header("x-auth-token", "t0ken");
        request.body(Bytes::from(body)).unwrap()
    }

    #[test]
    fn parts_of_the_request_are_quoted_and_other_braces_stay() {
        let filled = |template: &str| filled(template, &request());
        assert_eq!(
            filled(r#"{"a": {"b": "{token}"}}"#),
            r#"{"a": {"b": "t0ken"}}"#
        );
        assert_eq!(filled("<{user data}>"), r"<first\ntoken: abc>");
        assert_eq!(filled("<{user data from token}>"), "<token: abc>");
        assert!(filled("{request}").starts_with(r#"{\"server\":"#));
    }
}
