//! How is a value written so that it stays a value?
//!
//! Three readers see it: cloud-init's jinja, then YAML, then the kubelet's environment file. Line breaks and control
//! characters are refused, braces are spelt out for jinja, and quotes for the environment file.

use super::{BadBootstrap, Expression, Piece};

/// A literal inside a jinja template: no brace of it opens an expression, a statement or a comment.
pub(super) fn jinja(text: &str) -> String {
    text.replace('{', "{{ '{' }}")
}

/// One line without control characters.
pub(super) fn line<'a>(field: &str, text: &'a str) -> Result<&'a str, BadBootstrap> {
    let breaks =
        |c: char| c.is_control() || matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}' | '\u{feff}');
    if text.is_empty() {
        return Err(bad(field, "it is empty", "give it a value"));
    }
    if text.contains(breaks) {
        return Err(bad(
            field,
            "it contains a line break or control character",
            "write it as one line",
        ));
    }
    Ok(text)
}

/// One word of the kubelet's command line: no blanks, quotes, backslashes or dollars.
pub(super) fn word<'a>(field: &str, text: &'a str) -> Result<&'a str, BadBootstrap> {
    let text = line(field, text)?;
    if text.contains(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '\\' | '$' | '`')) {
        return Err(bad(
            field,
            "it contains a blank, a quote, a backslash or a dollar",
            "remove it",
        ));
    }
    Ok(text)
}

/// An expression as one word: literals checked, the machine's own facts in jinja.
pub(super) fn expression(field: &str, expression: &Expression) -> Result<String, BadBootstrap> {
    let mut written = String::new();
    for piece in &expression.0 {
        match piece {
            Piece::Literal(text) => written.push_str(&jinja(word(field, text)?)),
            Piece::InstanceId => written.push_str("{{ v1.instance_id }}"),
            Piece::LocalHostname => written.push_str("{{ v1.local_hostname }}"),
            Piece::AvailabilityZone => written.push_str("{{ v1.availability_zone }}"),
        }
    }
    if written.is_empty() {
        return Err(bad(field, "it is empty", "give it a value"));
    }
    Ok(written)
}

/// A JSON string is a YAML scalar on one line whatever it holds.
pub(super) fn yaml(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    // What JSON leaves as it is and YAML or jinja would read as something else.
    let quoted = quoted
        .replace('\u{85}', "\\u0085")
        .replace('\u{2028}', "\\u2028");
    jinja(
        &quoted
            .replace('\u{2029}', "\\u2029")
            .replace('\u{7f}', "\\u007f"),
    )
}

pub(super) fn bad(field: &str, problem: &'static str, fix: &'static str) -> BadBootstrap {
    BadBootstrap {
        field: field.to_owned(),
        problem,
        fix,
    }
}
