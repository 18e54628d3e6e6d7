//! What does an hour of an offering cost, exactly?

use std::fmt;
use std::str::FromStr;

const BILLION: u64 = 1_000_000_000;

/// Billionths of the currency unit per hour. Always above zero: an unknown price is `None`, never 0 and never a float.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Price(u64);

/// A text or number that is not a price.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPrice {
    #[error("{0:?} is not a decimal number; write the price per hour such as 0.0465")]
    NotANumber(String),
    #[error("{0:?} is not above zero; leave an unknown price out instead")]
    NotPositive(String),
    #[error("{0:?} is more than a price per hour can be")]
    TooLarge(String),
}

impl Price {
    /// `None` for 0, because a price of nothing is a price nobody knows.
    pub fn from_billionths(billionths: u64) -> Option<Self> {
        (billionths > 0).then_some(Self(billionths))
    }

    pub fn billionths(self) -> u64 {
        self.0
    }

    /// The sum of two prices, capped.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl FromStr for Price {
    type Err = BadPrice;

    /// Digits beyond the ninth behind the point are cut; what is above zero stays above zero.
    fn from_str(text: &str) -> Result<Self, BadPrice> {
        let not_a_number = || BadPrice::NotANumber(text.to_owned());
        if text
            .strip_prefix('-')
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        {
            return Err(BadPrice::NotPositive(text.to_owned()));
        }
        let (number, power) = match text.split_once(['e', 'E']) {
            Some((number, power)) => (
                number,
                power
                    .parse::<i32>()
                    .map_err(|_| not_a_number())?
                    .clamp(-60, 60),
            ),
            None => (text, 0),
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let digits = format!("{whole}{fraction}");
        if digits.is_empty() || digits.len() > 60 || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(not_a_number());
        }
        let point = i32::try_from(whole.len())
            .unwrap_or(i32::MAX)
            .saturating_add(power)
            .saturating_add(9);
        let kept = usize::try_from(point).unwrap_or(0);
        let shifted = format!("{digits:0<kept$}");
        let shifted = shifted[..kept.min(shifted.len())].trim_start_matches('0');
        let any_digit = digits.bytes().any(|b| b != b'0');
        match (shifted.is_empty(), any_digit) {
            (true, false) => Err(BadPrice::NotPositive(text.to_owned())),
            (true, true) => Ok(Self(1)),
            (false, _) => shifted
                .parse()
                .map(Self)
                .map_err(|_| BadPrice::TooLarge(text.to_owned())),
        }
    }
}

impl fmt::Display for Price {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.0 / BILLION, self.0 % BILLION);
        let fraction = format!("{rest:09}");
        match fraction.trim_end_matches('0') {
            "" => write!(f, "{whole}"),
            fraction => write!(f, "{whole}.{fraction}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rstest::rstest;

    #[rstest]
    #[case("0.0465", 46_500_000, "0.0465")]
    #[case("1", 1_000_000_000, "1")]
    #[case("12.5", 12_500_000_000, "12.5")]
    #[case("5.08e-2", 50_800_000, "0.0508")]
    #[case("0.0000000000001", 1, "0.000000001")]
    #[case(".5", 500_000_000, "0.5")]
    fn a_price_is_exact(#[case] text: &str, #[case] billionths: u64, #[case] printed: &str) {
        let price: Price = text.parse().unwrap();
        assert_eq!(
            (price.billionths(), price.to_string()),
            (billionths, printed.to_owned())
        );
    }

    #[rstest]
    #[case("0")]
    #[case("0.000")]
    #[case("-1")]
    #[case("")]
    #[case("free")]
    #[case("1,5")]
    #[case("99999999999999999999999")]
    #[case("1e60")]
    fn what_is_no_price_is_refused(#[case] text: &str) {
        assert!(text.parse::<Price>().is_err());
        assert_eq!(Price::from_billionths(0), None);
    }

    proptest! {
        #[test]
        fn a_printed_price_reads_back(billionths in 1_u64..) {
            let price = Price::from_billionths(billionths).unwrap();
            prop_assert_eq!(price.to_string().parse::<Price>().unwrap(), price);
        }

        #[test]
        fn no_text_makes_a_price_panic(text in "[-0-9.eE]{0,70}") {
            let _ = text.parse::<Price>();
        }
    }
}
