//! Is this text an amount of something, and may it be below zero?
//!
//! A quantity is kept as written, number or text: `1000` stays a number and `1.5Gi` never becomes `1536Mi`. Arithmetic
//! belongs to whoever plans with it; here it is only read far enough to say what is wrong.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// What the API server checks; it lets exponents such as `1e1.5` through, which are no quantity.
pub const PATTERN: &str = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$";

/// Amounts by resource name.
pub type ResourceList = BTreeMap<String, Quantity>;

/// An amount as the user wrote it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Quantity {
    Number(i64),
    Text(String),
}

/// Which side of zero a quantity lies on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    Negative,
    Zero,
    Positive,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a quantity")]
pub struct BadQuantity(pub String);

impl BadQuantity {
    /// What to write instead.
    pub const FIX: &str =
        "write a number with an optional suffix, for example \"500m\", \"4\" or \"16Gi\"";
}

impl Quantity {
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Number(number) => number.to_string().into(),
            Self::Text(text) => text.into(),
        }
    }

    pub fn sign(&self) -> Result<Sign, BadQuantity> {
        match self {
            Self::Number(number) => Ok(match number.signum() {
                -1 => Sign::Negative,
                0 => Sign::Zero,
                _ => Sign::Positive,
            }),
            Self::Text(text) => sign(text).ok_or_else(|| BadQuantity(text.clone())),
        }
    }
}

impl From<&str> for Quantity {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl JsonSchema for Quantity {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Quantity".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        // `anyOf` integer or string is added by `generate::schema`: kube's rewriter would empty it on the way.
        json_schema!({"pattern": PATTERN, "x-kubernetes-int-or-string": true})
    }
}

fn sign(text: &str) -> Option<Sign> {
    let (negative, unsigned) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let end = unsigned
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(unsigned.len());
    let (number, suffix) = unsigned.split_at(end);
    if !is_number(number) || !is_suffix(suffix) {
        return None;
    }
    Some(
        match (
            number.bytes().all(|byte| byte == b'0' || byte == b'.'),
            negative,
        ) {
            (true, _) => Sign::Zero,
            (false, true) => Sign::Negative,
            (false, false) => Sign::Positive,
        },
    )
}

/// Digits with at most one point and at least one digit.
fn is_number(text: &str) -> bool {
    let points = text.bytes().filter(|byte| *byte == b'.').count();
    points <= 1 && text.len() > points
}

fn is_suffix(suffix: &str) -> bool {
    match suffix {
        "" | "n" | "u" | "m" | "k" | "M" | "G" | "T" | "P" | "E" | "Ki" | "Mi" | "Gi" | "Ti"
        | "Pi" | "Ei" => true,
        // Kubernetes reads the exponent as a whole 64-bit number and keeps 32 bits of it.
        _ => suffix
            .strip_prefix(['e', 'E'])
            .is_some_and(|exponent| exponent.parse::<i32>().is_ok()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantity_knows_its_sign() {
        for (text, expected) in [
            ("1", Sign::Positive),
            ("+0.5", Sign::Positive),
            (".5Gi", Sign::Positive),
            ("5.", Sign::Positive),
            ("1E", Sign::Positive),
            ("1e-3", Sign::Positive),
            ("12E6", Sign::Positive),
            ("0", Sign::Zero),
            ("-0.00Mi", Sign::Zero),
            ("-1n", Sign::Negative),
        ] {
            assert_eq!(Quantity::from(text).sign(), Ok(expected), "{text:?}");
        }
        assert_eq!(Quantity::Number(-2).sign(), Ok(Sign::Negative));
    }

    #[test]
    fn what_kubernetes_would_not_read_is_refused() {
        for text in [
            "",
            "-",
            ".",
            "1.2.3",
            "Gi",
            "1K",
            "1gi",
            "1e",
            "1e1.5",
            "1e99999999999",
            "1 Gi",
            "0x1",
            "1é",
        ] {
            assert_eq!(
                Quantity::from(text).sign(),
                Err(BadQuantity(text.to_owned())),
                "{text:?}"
            );
        }
    }

    #[test]
    fn a_number_stays_a_number_and_a_text_stays_a_text() {
        let json = r#"{"cpu":1000,"memory":"1.50Gi"}"#;
        let read: ResourceList = serde_json::from_str(json).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), json);
    }
}
