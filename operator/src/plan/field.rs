//! Which field of a JSON text did the reader stumble over?
//!
//! Readers of typed objects report a line and a column; people want `spec.containers[0].resources`.

use std::fmt::Write;

use serde::de::DeserializeOwned;

/// Reads a value, or says which field is wrong and how.
pub(super) fn typed<T: DeserializeOwned>(text: &[u8]) -> Result<T, (String, String)> {
    serde_json::from_slice(text).map_err(|error| {
        let field = at(text, error.line(), error.column());
        let said = if error.is_eof() {
            "it ends in the middle; is the file cut off?".to_owned()
        } else {
            in_plain_words(&without_position(&error.to_string()))
        };
        (field, said)
    })
}

/// Names of our types mean nothing to who wrote the file.
fn in_plain_words(said: &str) -> String {
    let quantity = ["enum Quantity", "enum Amount", "expected Quantity"];
    if quantity.iter().any(|name| said.ends_with(name)) {
        return "no quantity; write a number with an optional suffix such as 500m, 2 or 1.5Gi"
            .into();
    }
    let said = said.replace("expected struct CatalogFile", "expected a catalog");
    let length = said.chars().count();
    if length <= LONGEST {
        return said;
    }
    // Whole values are quoted, however long they are; what was expected stands at the end.
    let head = said.chars().take(LONGEST / 2);
    let tail = said.chars().skip(length - LONGEST / 2);
    head.chain(" … ".chars()).chain(tail).collect()
}

/// ` at line 1 column 30` means nothing to who wrote YAML, or one of many documents.
fn without_position(said: &str) -> String {
    said.split(" at line ").next().unwrap_or(said).to_owned()
}

/// Of what the reader says, in letters.
const LONGEST: usize = 300;

enum Inside {
    Object { key: Option<String> },
    Array { index: usize },
}

/// The path that leads to the byte at this line and column.
pub(super) fn at(text: &[u8], line: usize, column: usize) -> String {
    let mut start = 0;
    for _ in 1..line {
        match text[start..].iter().position(|byte| *byte == b'\n') {
            Some(length) => start += length + 1,
            None => break,
        }
    }
    let end = start.saturating_add(column).min(text.len());
    path(&walk(&text[..end]))
}

fn walk(text: &[u8]) -> Vec<Inside> {
    let mut stack = Vec::new();
    let mut at = 0;
    while at < text.len() {
        match text[at] {
            b'{' => stack.push(Inside::Object { key: None }),
            b'[' => stack.push(Inside::Array { index: 0 }),
            b'}' | b']' => drop(stack.pop()),
            b',' => match stack.last_mut() {
                Some(Inside::Object { key }) => *key = None,
                Some(Inside::Array { index }) => *index += 1,
                None => {}
            },
            b'"' => {
                let length = string_length(&text[at + 1..]);
                if let Some(Inside::Object { key: key @ None }) = stack.last_mut() {
                    let raw = &text[at + 1..at + 1 + length];
                    *key = Some(String::from_utf8_lossy(raw).into_owned());
                }
                at += length + 1;
            }
            _ => {}
        }
        at += 1;
    }
    stack
}

/// Up to the closing quote, or to the end of the text.
fn string_length(text: &[u8]) -> usize {
    let mut at = 0;
    while at < text.len() && text[at] != b'"' {
        at += if text[at] == b'\\' { 2 } else { 1 };
    }
    at.min(text.len())
}

fn path(stack: &[Inside]) -> String {
    let mut path = String::new();
    for inside in stack {
        match inside {
            Inside::Object { key: Some(key) } => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(key);
            }
            Inside::Object { key: None } => {}
            Inside::Array { index } => drop(write!(path, "[{index}]")),
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::Pod;
    use rstest::rstest;

    #[rstest]
    #[case(
        r#"{"spec":{"containers":[{"name":"a"},{"name":7}]}}"#,
        "spec.containers[1].name"
    )]
    #[case("{\n \"metadata\": {\n  \"labels\": [\n1]}}", "metadata.labels")]
    #[case(
        r#"{"metadata":{"name":"a, \"b\" {"},"spec":{"priority":"high"}}"#,
        "spec.priority"
    )]
    #[case(r#"{"spec":"none"}"#, "spec")]
    fn the_field_that_cannot_be_read_is_named(#[case] text: &str, #[case] field: &str) {
        let (found, said) = typed::<Pod>(text.as_bytes()).unwrap_err();
        assert_eq!(found, field, "{said}");
        assert!(!said.contains("column"), "{said}");
    }

    #[test]
    fn a_long_value_is_not_quoted_in_full() {
        let text = format!(r#"{{"spec":"{}"}}"#, "é".repeat(5000));
        let (_, said) = typed::<Pod>(text.as_bytes()).unwrap_err();
        assert!(said.chars().count() < 400, "{said}");
        assert!(said.ends_with("expected PodSpec"), "{said}");
    }

    #[test]
    fn no_text_makes_the_walk_panic() {
        for text in ["", "\"", "{\"a\\", "]]]}", "{\"a\":[,,,{", "\\\"\\"] {
            for column in 0..10 {
                let _ = at(text.as_bytes(), 1, column);
                let _ = at(text.as_bytes(), 3, column);
            }
        }
    }
}
