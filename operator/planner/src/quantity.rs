//! What number does a Kubernetes quantity text stand for, exactly, and how is that number written back?
//!
//! Kubernetes counts in billionths at the finest, rounds finer digits away from zero, and caps at 2^63-1 units. Inside, a
//! quantity is a whole number of billionths; no float is ever involved.

use std::fmt;
use std::str::FromStr;

const NANO: i128 = 1_000_000_000;
/// The largest number of whole units Kubernetes can hold.
const MAX_UNITS: i128 = i64::MAX as i128;
/// Digits beyond this many cannot change a capped value, so longer texts are refused instead of overflowing.
const MAX_DIGITS: usize = 40;

/// An exact amount with the notation it was written in.
#[derive(Clone, Copy, Debug)]
pub struct Quantity {
    nano: i128,
    notation: Notation,
}

/// How a quantity was written: Kubernetes prints it back in the same family of suffixes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notation {
    /// `500m`, `2`, `3k`
    Decimal,
    /// `64Mi`
    Binary,
    /// `3e3`
    Exponent,
}

/// A text that is not a quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is not a quantity: {what}; write a number with an optional suffix such as 500m, 2, 1.5Gi or 1e3"
)]
pub struct BadQuantity {
    pub text: String,
    pub what: &'static str,
}

impl Quantity {
    /// Whole units, in decimal notation.
    pub fn units(units: i64) -> Self {
        Self {
            nano: i128::from(units) * NANO,
            notation: Notation::Decimal,
        }
    }

    /// Thousandths, in decimal notation.
    pub fn milli(milli: i64) -> Self {
        Self {
            nano: i128::from(milli) * (NANO / 1_000),
            notation: Notation::Decimal,
        }
    }

    /// The same amount, printed in another notation.
    #[must_use]
    pub fn in_notation(self, notation: Notation) -> Self {
        Self { notation, ..self }
    }

    /// Thousandths, rounded away from zero and capped.
    pub fn as_milli(&self) -> i64 {
        capped(divide_away_from_zero(self.nano, NANO / 1_000))
    }

    /// Whole units, rounded away from zero and capped.
    pub fn as_units(&self) -> i64 {
        capped(divide_away_from_zero(self.nano, NANO))
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nano == other.nano
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.nano.cmp(&other.nano)
    }
}

impl FromStr for Quantity {
    type Err = BadQuantity;

    fn from_str(text: &str) -> Result<Self, BadQuantity> {
        let bad = |what| BadQuantity {
            text: text.chars().take(64).collect(),
            what,
        };
        let (negative, unsigned) = match text.as_bytes().first() {
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            _ => (false, text),
        };
        let end = unsigned
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(unsigned.len());
        let (number, suffix) = unsigned.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.is_empty() && fraction.is_empty() {
            return Err(bad("it has no digits"));
        }
        if fraction.contains('.') {
            return Err(bad("it has two decimal points"));
        }
        let fraction = fraction.trim_end_matches('0');
        let digits = format!("{}{fraction}", whole.trim_start_matches('0'));
        if digits.len() > MAX_DIGITS {
            return Err(bad("it has more digits than any quantity needs"));
        }
        let (scale, notation) = suffix_scale(suffix).ok_or_else(|| bad("its suffix is unknown"))?;
        let magnitude = scaled(&digits, fraction.len(), scale);
        Ok(Self {
            nano: if negative { -magnitude } else { magnitude },
            notation,
        })
    }
}

/// What a suffix multiplies by.
#[derive(Clone, Copy)]
enum Scale {
    Two(u32),
    Ten(i32),
}

fn suffix_scale(suffix: &str) -> Option<(Scale, Notation)> {
    const TEN: [(&str, i32); 10] = [
        ("n", -9),
        ("u", -6),
        ("m", -3),
        ("", 0),
        ("k", 3),
        ("M", 6),
        ("G", 9),
        ("T", 12),
        ("P", 15),
        ("E", 18),
    ];
    const TWO: [(&str, u32); 6] = [
        ("Ki", 10),
        ("Mi", 20),
        ("Gi", 30),
        ("Ti", 40),
        ("Pi", 50),
        ("Ei", 60),
    ];
    if let Some((_, power)) = TWO.iter().find(|(name, _)| *name == suffix) {
        return Some((Scale::Two(*power), Notation::Binary));
    }
    if let Some((_, power)) = TEN.iter().find(|(name, _)| *name == suffix) {
        return Some((Scale::Ten(*power), Notation::Decimal));
    }
    let power = suffix.strip_prefix(['e', 'E'])?;
    let digits = power.strip_prefix(['+', '-']).unwrap_or(power);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    // Beyond ±99 the answer is the cap or the smallest step anyway.
    let power: i32 = power
        .parse()
        .map_or(if power.starts_with('-') { -99 } else { 99 }, |p: i32| {
            p.clamp(-99, 99)
        });
    Some((Scale::Ten(power), Notation::Exponent))
}

/// `digits` with `fraction` of them behind the point, times `scale`, in billionths, rounded up and capped.
fn scaled(digits: &str, fraction: usize, scale: Scale) -> i128 {
    let cap = MAX_UNITS * NANO;
    let Ok(mut value) = (if digits.is_empty() {
        Ok(0)
    } else {
        digits.parse::<i128>()
    }) else {
        return cap;
    };
    if value == 0 {
        return 0;
    }
    let fraction = i32::try_from(fraction).unwrap_or(i32::MAX);
    let mut power = 9 - fraction;
    match scale {
        Scale::Ten(more) => power += more,
        Scale::Two(bits) => match value.checked_mul(1_i128 << bits) {
            Some(product) => value = product,
            None => return two_step_binary(value, bits, power).min(cap),
        },
    }
    times_power_of_ten(value, power).min(cap)
}

/// Digits times a binary suffix would overflow: divide by the power of ten first, which is exact enough only above the cap.
fn two_step_binary(value: i128, bits: u32, power: i32) -> i128 {
    let divided = times_power_of_ten(value, power.min(0));
    let multiplied = divided.saturating_mul(1_i128 << bits);
    times_power_of_ten(multiplied, power.max(0))
}

fn times_power_of_ten(value: i128, power: i32) -> i128 {
    let Some(factor) = 10_i128.checked_pow(power.unsigned_abs()) else {
        return if power < 0 { 1 } else { i128::MAX };
    };
    if power < 0 {
        divide_away_from_zero(value, factor)
    } else {
        value.saturating_mul(factor)
    }
}

fn divide_away_from_zero(value: i128, by: i128) -> i128 {
    let quotient = value / by;
    match value % by {
        0 => quotient,
        _ if value < 0 => quotient - 1,
        _ => quotient + 1,
    }
}

fn capped(value: i128) -> i64 {
    i64::try_from(value).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX })
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Nothing is lost: what a binary suffix cannot say is written with a decimal one.
        let binary = self.nano.abs() >= 1024 * NANO && self.nano % NANO == 0;
        match self.notation {
            Notation::Binary if binary => write_binary(f, self.nano / NANO),
            Notation::Exponent => write_decimal(f, self.nano, |f, power| match power {
                0 => Ok(()),
                power => write!(f, "e{power}"),
            }),
            Notation::Binary | Notation::Decimal => write_decimal(f, self.nano, |f, power| {
                const NAMES: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
                f.write_str(NAMES[usize::try_from((power + 9) / 3).unwrap_or(3).min(9)])
            }),
        }
    }
}

fn write_binary(f: &mut fmt::Formatter<'_>, mut units: i128) -> fmt::Result {
    const NAMES: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    let mut name = 0;
    while units != 0 && units % 1024 == 0 && name < NAMES.len() - 1 {
        units /= 1024;
        name += 1;
    }
    write!(f, "{units}{}", NAMES[name])
}

fn write_decimal(
    f: &mut fmt::Formatter<'_>,
    mut nano: i128,
    suffix: impl Fn(&mut fmt::Formatter<'_>, i32) -> fmt::Result,
) -> fmt::Result {
    let mut power = if nano == 0 { 0 } else { -9 };
    while nano != 0 && nano % 1000 == 0 && power < 18 {
        nano /= 1000;
        power += 3;
    }
    write!(f, "{nano}")?;
    suffix(f, power)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rstest::rstest;

    #[rstest]
    #[case("0", "0")]
    #[case("100m", "100m")]
    #[case("1000m", "1")]
    #[case("0.5", "500m")]
    #[case(".5", "500m")]
    #[case("5.", "5")]
    #[case("+2", "2")]
    #[case("-1", "-1")]
    #[case("1500", "1500")]
    #[case("1000", "1k")]
    #[case("1024Mi", "1Gi")]
    #[case("1.5Gi", "1536Mi")]
    #[case("1000Ki", "1000Ki")]
    #[case("1.4Gi", "1503238553600m")]
    #[case("0.1Mi", "104857600m")]
    #[case("0.5Ki", "512")]
    #[case("1.953125Ki", "2000")]
    #[case("1e3", "1e3")]
    #[case("1E3", "1e3")]
    #[case("12E", "9223372036854775807")]
    #[case("1E", "1E")]
    #[case("1500e-3", "1500e-3")]
    #[case("0.0000000001", "1n")]
    #[case("9007199254740993", "9007199254740993")]
    #[case("8Ei", "9223372036854775807")]
    #[case("99999999999999999999", "9223372036854775807")]
    #[case("1e99", "9223372036854775807")]
    fn a_quantity_is_read_and_written_as_kubernetes_does(
        #[case] text: &str,
        #[case] canonical: &str,
    ) {
        let read: Quantity = text.parse().unwrap();
        assert_eq!(read.to_string(), canonical);
    }

    #[rstest]
    #[case("")]
    #[case("m")]
    #[case("1.2.3")]
    #[case("1mi")]
    #[case("1 Gi")]
    #[case("1e")]
    #[case("1e+")]
    #[case("0x10")]
    #[case("NaN")]
    #[case("--1")]
    #[case("1K")]
    #[case("11111111111111111111111111111111111111111111111111")]
    fn what_is_no_quantity_is_refused_with_an_example(#[case] text: &str) {
        let error = text.parse::<Quantity>().unwrap_err();
        assert!(error.to_string().contains("1.5Gi"), "{error}");
    }

    #[rstest]
    #[case("1", 1000, 1)]
    #[case("1m", 1, 1)]
    #[case("1u", 1, 1)]
    #[case("-1u", -1, -1)]
    #[case("1001m", 1001, 2)]
    #[case("9E", i64::MAX, 9_000_000_000_000_000_000)]
    fn amounts_round_away_from_zero_and_never_wrap(
        #[case] text: &str,
        #[case] milli: i64,
        #[case] units: i64,
    ) {
        let read: Quantity = text.parse().unwrap();
        assert_eq!((read.as_milli(), read.as_units()), (milli, units));
    }

    proptest! {
        #[test]
        fn what_was_written_reads_back_as_the_same_amount(units in any::<i64>(), milli in -1_000_000_000_i64..1_000_000_000, binary in any::<bool>()) {
            let notation = if binary { Notation::Binary } else { Notation::Decimal };
            let whole = Quantity::units(units.max(-i64::MAX)).in_notation(notation);
            prop_assert_eq!(whole.to_string().parse::<Quantity>().unwrap(), whole);
            let small = Quantity::milli(milli);
            prop_assert_eq!(small.to_string().parse::<Quantity>().unwrap(), small);
        }

        #[test]
        fn what_is_printed_is_canonical_and_says_the_same(text in "[-+]?[0-9]{1,12}(\\.[0-9]{0,9})?(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|e-?[0-9]|E[0-9])?") {
            let read: Quantity = text.parse().unwrap();
            let printed = read.to_string();
            let again: Quantity = printed.parse().unwrap();
            prop_assert_eq!(again, read);
            // Kubernetes prints 1.953125Ki as 2000, which it reads as a decimal and prints as 2k.
            let decimal = printed.bytes().all(|one| one.is_ascii_digit() || one == b'-');
            if !(text.ends_with('i') && decimal) {
                prop_assert_eq!(again.to_string(), printed);
            }
        }

        #[test]
        fn one_amount_prints_alike_however_it_was_written(amount in 0..1_000_000_i64, zeros in 0..4_usize) {
            let texts = [
                format!("{amount}"),
                format!("00{amount}.{}", "0".repeat(zeros)),
                format!("{amount}000m"),
                format!("{amount}000000u"),
                format!("+{amount}"),
            ];
            let printed: Vec<String> = texts.iter().map(|text| text.parse::<Quantity>().unwrap().to_string()).collect();
            prop_assert!(printed.windows(2).all(|two| two[0] == two[1]), "{:?}", printed);
        }

        #[test]
        fn rounding_is_away_from_zero_by_less_than_one(nano in any::<i64>()) {
            let read: Quantity = format!("{nano}n").parse().unwrap();
            for (rounded, step) in [(read.as_milli(), 1_000_000), (read.as_units(), 1_000_000_000)] {
                let over = i128::from(rounded.unsigned_abs()) * step - i128::from(nano.unsigned_abs());
                prop_assert!((0..step).contains(&over), "{}n is {}", nano, rounded);
                prop_assert!(rounded.signum() * nano.signum() >= 0);
            }
        }

        #[test]
        fn texts_are_ordered_like_their_amounts(a in any::<i32>(), b in any::<i32>()) {
            let read = |n: i32| format!("{n}m").parse::<Quantity>().unwrap();
            prop_assert_eq!(read(a).cmp(&read(b)), a.cmp(&b));
            prop_assert_eq!(read(a).as_milli(), i64::from(a));
        }

        #[test]
        fn no_text_makes_it_panic(text in "[-+]?[0-9.]{0,45}(Ki|Mi|Ei|[a-zA-Z]|e[-+]?[0-9]{0,12})?") {
            let _ = text.parse::<Quantity>().map(|q| (q.to_string(), q.as_milli(), q.as_units()));
        }
    }
}
