//! How long is a duration that a user wrote the way Go writes it, or `Never`?
//!
//! The text is kept as written: `1h` must not come back as `1h0m0s`, GitOps tools would see a difference. Reading the
//! length is a separate, fallible step, so that one absurd duration makes one object unusable and not a whole watch.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// The word that switches a duration off.
pub const NEVER: &str = "Never";

/// Whole seconds, minutes and hours, as Karpenter's plain durations accept them.
pub const PLAIN_PATTERN: &str = "^([0-9]+(s|m|h))+$";

/// The same, or `Never`.
pub const NILLABLE_PATTERN: &str = "^(([0-9]+(s|m|h))+|Never)$";

/// A duration as Go writes it (`720h`, `1h30m`, `0s`), or `Never`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GoDuration(String);

/// Why a duration has no length.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadDuration {
    #[error("{0:?} is not a duration")]
    Malformed(String),
    #[error("{0:?} is longer than a duration can be")]
    TooLong(String),
}

impl BadDuration {
    /// What to write instead.
    pub fn fix(&self) -> &'static str {
        match self {
            Self::Malformed(_) => "write whole hours, minutes or seconds, for example \"1h30m\"",
            Self::TooLong(_) => {
                "write at most \"2562047h\" (292 years), or \"Never\" where it is allowed"
            }
        }
    }
}

impl GoDuration {
    /// Takes the text as it is; whether it has a length is asked later.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Exactly what was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn is_never(&self) -> bool {
        self.0 == NEVER
    }

    /// Length in nanoseconds (the unit of Go's durations, and what the NodePool hash mixes in); `None` is `Never`.
    pub fn nanoseconds(&self) -> Result<Option<i64>, BadDuration> {
        if self.is_never() {
            return Ok(None);
        }
        nanoseconds(&self.0).map(Some)
    }
}

/// `Never`, as upstream writes a duration that nobody set.
impl Default for GoDuration {
    fn default() -> Self {
        Self(NEVER.to_owned())
    }
}

impl JsonSchema for GoDuration {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "GoDuration".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string"})
    }
}

/// Go's `time.ParseDuration`: an optional sign, then numbers with units that add up; a bare `0` needs no unit.
fn nanoseconds(text: &str) -> Result<i64, BadDuration> {
    let malformed = || BadDuration::Malformed(text.to_owned());
    let too_long = || BadDuration::TooLong(text.to_owned());
    let (negative, mut rest) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(malformed());
    }
    let mut total: u128 = 0;
    while !rest.is_empty() {
        let number = leading(rest, |c| c.is_ascii_digit() || c == '.');
        let unit = leading(&rest[number.len()..], |c| !c.is_ascii_digit() && c != '.');
        let scale = unit_nanoseconds(unit).ok_or_else(malformed)?;
        total = term(number, scale)
            .ok_or_else(malformed)?
            .checked_add(total)
            .filter(|sum| *sum <= 1 << 63)
            .ok_or_else(too_long)?;
        rest = &rest[number.len() + unit.len()..];
    }
    let signed = i128::try_from(total).map_err(|_| too_long())?;
    i64::try_from(if negative { -signed } else { signed }).map_err(|_| too_long())
}

fn leading(text: &str, belongs: impl Fn(char) -> bool) -> &str {
    let end = text.find(|c| !belongs(c)).unwrap_or(text.len());
    &text[..end]
}

fn unit_nanoseconds(unit: &str) -> Option<u128> {
    Some(match unit {
        "ns" => 1,
        "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    })
}

/// One `number` times its unit, fractions cut off; `None` if it is no number. A number of absurd size saturates: the
/// caller then finds the sum too long.
fn term(number: &str, scale: u128) -> Option<u128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || (whole.is_empty() && fraction.is_empty()) {
        return None;
    }
    let capped = if whole.is_empty() {
        0
    } else {
        whole.parse().unwrap_or(u128::from(u64::MAX))
    };
    // Beyond 18 digits a fraction of an hour is far below a nanosecond.
    let fraction = &fraction[..fraction.len().min(18)];
    let part: u128 = if fraction.is_empty() {
        0
    } else {
        fraction.parse().ok()?
    };
    let divisor = 10_u128.pow(u32::try_from(fraction.len()).ok()?);
    Some(capped.min(u128::from(u64::MAX)) * scale + part * scale / divisor)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn length(text: &str) -> Result<Option<i64>, BadDuration> {
        GoDuration::new(text).nanoseconds()
    }

    #[test]
    fn a_duration_adds_up_its_units() {
        assert_eq!(length("720h"), Ok(Some(2_592_000_000_000_000)));
        assert_eq!(length("1h30m5s"), Ok(Some(5_405_000_000_000)));
        assert_eq!(length("1s1h"), Ok(Some(3_601_000_000_000)));
        assert_eq!(length("1.5h"), Ok(Some(5_400_000_000_000)));
        assert_eq!(length(".5ms"), Ok(Some(500_000)));
        assert_eq!(length("-3\u{b5}s"), Ok(Some(-3_000)));
        assert_eq!(length("0"), Ok(Some(0)));
        assert_eq!(length("0s"), Ok(Some(0)));
    }

    #[test]
    fn never_has_no_length() {
        assert_eq!(length("Never"), Ok(None));
        assert_eq!(GoDuration::default().as_str(), "Never");
    }

    #[test]
    fn what_go_would_refuse_is_refused() {
        for text in [
            "", "5", "h", "1x", "never", "1h-5m", ".s", "1..5s", " 1h", "1h ", "-", "+", "1é",
        ] {
            assert_eq!(
                length(text),
                Err(BadDuration::Malformed(text.to_owned())),
                "{text:?}"
            );
        }
    }

    #[test]
    fn a_duration_beyond_two_to_the_63_nanoseconds_is_too_long() {
        assert_eq!(length("9223372036854775807ns"), Ok(Some(i64::MAX)));
        assert_eq!(length("-9223372036854775808ns"), Ok(Some(i64::MIN)));
        for text in [
            "9223372036854775808ns",
            "2562048h",
            "99999999999999999999999999999999999999999999h",
        ] {
            assert_eq!(
                length(text),
                Err(BadDuration::TooLong(text.to_owned())),
                "{text:?}"
            );
        }
    }

    #[test]
    fn the_text_comes_back_as_it_was_written() {
        let read: GoDuration = serde_json::from_str("\"1h0m\"").unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), "\"1h0m\"");
    }
}
