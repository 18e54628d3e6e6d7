//! From when until when is a certificate valid?
//!
//! Reads just as much DER as it takes to get to the two dates (RFC 5280 §4.1): bounds-checked, without recursion.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use thiserror::Error;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Validity {
    pub not_before: Timestamp,
    pub not_after: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("not an X.509 certificate: {0}")]
pub struct BadCertificate(&'static str);

impl Validity {
    pub fn of(certificate: &[u8]) -> Result<Self, BadCertificate> {
        let (certificate, _) = expect(certificate, SEQUENCE)?;
        let (mut rest, _) = expect(certificate, SEQUENCE)?;
        if rest.first() == Some(&VERSION) {
            (_, rest) = expect(rest, VERSION)?;
        }
        for tag in [INTEGER, SEQUENCE, SEQUENCE] {
            // serial number, signature algorithm, issuer
            (_, rest) = expect(rest, tag)?;
        }
        let (validity, _) = expect(rest, SEQUENCE)?;
        let (not_before, rest) = time(validity)?;
        let (not_after, _) = time(rest)?;
        Ok(Validity {
            not_before,
            not_after,
        })
    }
}

const INTEGER: u8 = 0x02;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;

/// The content of the value at the front, and what follows it.
fn expect(input: &[u8], tag: u8) -> Result<(&[u8], &[u8]), BadCertificate> {
    match split(input) {
        Some((found, content, rest)) if found == tag => Ok((content, rest)),
        Some(_) => Err(BadCertificate(
            "a value of another type stands where X.509 wants a certain one",
        )),
        None => Err(BadCertificate("it ends in the middle of a value")),
    }
}

fn split(input: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = input.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        // The length in up to four bytes; a certificate of 4 GiB is none.
        0x81..=0x84 => {
            let (bytes, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            (
                bytes
                    .iter()
                    .fold(0, |length, &byte| length << 8 | usize::from(byte)),
                rest,
            )
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((tag, content, rest))
}

fn time(input: &[u8]) -> Result<(Timestamp, &[u8]), BadCertificate> {
    const BAD: BadCertificate = BadCertificate("a date of its validity cannot be read");
    let (tag, content, rest) = split(input).ok_or(BAD)?;
    let digits = content
        .strip_suffix(b"Z")
        .filter(|digits| digits.iter().all(u8::is_ascii_digit))
        .ok_or(BAD)?;
    let pair = |at: usize| {
        digits
            .get(at..at + 2)
            .map(|two| i16::from(two[0] - b'0') * 10 + i16::from(two[1] - b'0'))
            .ok_or(BAD)
    };
    let (year, at) = match (tag, digits.len()) {
        (UTC_TIME, 12) => match pair(0)? {
            // Two digits mean 1950 to 2049 (RFC 5280 §4.1.2.5.1).
            year @ 50.. => (1900 + year, 2),
            year => (2000 + year, 2),
        },
        (GENERALIZED_TIME, 14) => (pair(0)? * 100 + pair(2)?, 4),
        _ => return Err(BAD),
    };
    let small = |at: usize| pair(at).map(|n| i8::try_from(n).unwrap_or(i8::MAX));
    let date = DateTime::new(
        year,
        small(at)?,
        small(at + 2)?,
        small(at + 4)?,
        small(at + 6)?,
        small(at + 8)?,
        0,
    )
    .map_err(|_| BAD)?;
    // "No end" is written as the last second of 9999, which is beyond the last Timestamp.
    let time = TimeZone::UTC.to_timestamp(date).unwrap_or(Timestamp::MAX);
    Ok((time, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rcgen::{CertificateParams, KeyPair, date_time_ymd};

    fn certificate(from: (i32, u8, u8), to: (i32, u8, u8)) -> Vec<u8> {
        let mut params = CertificateParams::new(vec!["webhook.joiner.svc".to_owned()]).unwrap();
        params.not_before = date_time_ymd(from.0, from.1, from.2);
        params.not_after = date_time_ymd(to.0, to.1, to.2);
        params
            .self_signed(&KeyPair::generate().unwrap())
            .unwrap()
            .der()
            .to_vec()
    }

    #[test]
    fn both_ways_to_write_a_date_are_read() {
        let validity = Validity::of(&certificate((2049, 12, 31), (2050, 1, 2))).unwrap();
        assert_eq!(validity.not_before.to_string(), "2049-12-31T00:00:00Z"); // UTCTime
        assert_eq!(validity.not_after.to_string(), "2050-01-02T00:00:00Z"); // GeneralizedTime
        let old = Validity::of(&certificate((1975, 1, 1), (4096, 1, 1))).unwrap();
        assert_eq!(old.not_before.to_string(), "1975-01-01T00:00:00Z");
        assert_eq!(old.not_after.to_string(), "4096-01-01T00:00:00Z");
    }

    #[test]
    fn a_certificate_without_an_end_ends_with_time_itself() {
        assert_eq!(
            Validity::of(&certificate((2026, 1, 1), (9999, 12, 31)))
                .unwrap()
                .not_after,
            Timestamp::MAX
        );
    }

    #[test]
    fn every_truncation_before_the_dates_is_an_error_and_none_panics() {
        let whole = certificate((2026, 1, 1), (2027, 1, 1));
        for end in 0..whole.len() {
            assert!(Validity::of(&whole[..end]).is_err(), "cut at {end}");
        }
    }

    #[test]
    fn months_and_days_that_do_not_exist_are_refused() {
        for digits in [
            "261301000000",
            "260230000000",
            "260101240000",
            "26010100000",
        ] {
            let mut der = vec![UTC_TIME, u8::try_from(digits.len()).unwrap() + 1];
            der.extend(digits.as_bytes());
            der.push(b'Z');
            assert!(time(&der).is_err(), "{digits}");
        }
    }

    proptest! {
        #[test]
        fn noise_never_panics(noise in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Validity::of(&noise);
        }

        #[test]
        fn a_flipped_byte_never_panics(at in 0_usize..300, with in any::<u8>()) {
            let mut der = certificate((2026, 1, 1), (2027, 1, 1));
            let at = at % der.len();
            der[at] ^= with;
            let _ = Validity::of(&der);
        }
    }
}
