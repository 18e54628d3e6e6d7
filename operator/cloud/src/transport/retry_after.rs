//! How long does the server want us to wait?

use std::time::Duration;

use http::HeaderMap;
use jiff::Timestamp;

/// Reads `Retry-After`: whole seconds or a date. Nonsense is no wish.
pub fn read(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = headers
        .get(http::header::RETRY_AFTER)?
        .to_str()
        .ok()?
        .trim();
    if let Ok(seconds) = text.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let date = jiff::fmt::rfc2822::DateTimeParser::new()
        .parse_timestamp(text)
        .ok()?;
    let seconds = date.duration_since(now).as_secs();
    Some(Duration::from_secs(u64::try_from(seconds).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("3", Some(3))]
    #[case("Wed, 18 Nov 2026 03:00:30 GMT", Some(30))]
    #[case("Wed, 18 Nov 2026 02:00:00 GMT", Some(0))]
    #[case("soon", None)]
    #[case("-5", None)]
    fn seconds_and_dates_are_understood(#[case] text: &str, #[case] expected: Option<u64>) {
        let now = "2026-11-18T03:00:00Z".parse().unwrap();
        let mut headers = HeaderMap::new();
        headers.insert("retry-after", text.parse().unwrap());
        assert_eq!(read(&headers, now), expected.map(Duration::from_secs));
    }
}
