//! How much is `1500m`, `2Gi` or `1e3`?

use serde_json::Value;

/// In thousandths, rounded up. What cannot be read is nothing.
pub fn milli(value: &Value) -> i64 {
    scaled(value, 1000)
}

/// In whole units, rounded up.
pub fn units(value: &Value) -> i64 {
    scaled(value, 1)
}

fn scaled(value: &Value, by: i128) -> i64 {
    let number = match value {
        Value::String(text) => parse(text),
        Value::Number(number) => parse(&number.to_string()),
        _ => None,
    };
    let Some((over, under)) = number else {
        return 0;
    };
    let Some(over) = over.checked_mul(by) else {
        return i64::MAX;
    };
    let up = over.div_euclid(under) + i128::from(over.rem_euclid(under) != 0);
    i64::try_from(up).unwrap_or(if up > 0 { i64::MAX } else { i64::MIN })
}

/// As a fraction.
fn parse(text: &str) -> Option<(i128, i128)> {
    let text = text.trim();
    let end = text
        .find(|letter: char| !matches!(letter, '0'..='9' | '.' | '+' | '-'))
        .unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let (over, under) = suffix_of(suffix)?;
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    if part.len() > 12 || part.contains(['+', '-']) {
        return None;
    }
    let digits: i128 = format!("{whole}{part}").parse().ok()?;
    let places = 10_i128.checked_pow(u32::try_from(part.len()).ok()?)?;
    Some((digits.checked_mul(over)?, places.checked_mul(under)?))
}

fn suffix_of(suffix: &str) -> Option<(i128, i128)> {
    let power = |base: i128, exponent: u32| Some((base.checked_pow(exponent)?, 1));
    match suffix {
        "" => Some((1, 1)),
        "n" => Some((1, 1_000_000_000)),
        "u" => Some((1, 1_000_000)),
        "m" => Some((1, 1000)),
        "k" => power(1000, 1),
        "M" => power(1000, 2),
        "G" => power(1000, 3),
        "T" => power(1000, 4),
        "P" => power(1000, 5),
        "E" => power(1000, 6),
        "Ki" => power(1024, 1),
        "Mi" => power(1024, 2),
        "Gi" => power(1024, 3),
        "Ti" => power(1024, 4),
        "Pi" => power(1024, 5),
        "Ei" => power(1024, 6),
        other => {
            let exponent: i32 = other.strip_prefix(['e', 'E'])?.parse().ok()?;
            let size = 10_i128
                .checked_pow(exponent.unsigned_abs())
                .filter(|_| exponent.abs() < 19)?;
            Some(if exponent < 0 { (1, size) } else { (size, 1) })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn quantities_are_read_as_kubernetes_reads_them() {
        let cases = [
            (json!("1500m"), 1500),
            (json!("1.5"), 1500),
            (json!(2), 2000),
            (json!("1e3"), 1_000_000),
            (json!("1Ki"), 1_024_000),
            (json!("1u"), 1),
            (json!("nonsense"), 0),
            (json!("1.5.5"), 0),
            (json!(null), 0),
        ];
        for (value, wanted) in cases {
            assert_eq!(milli(&value), wanted, "{value}");
        }
        assert_eq!(units(&json!("100m")), 1);
        assert_eq!(units(&json!("2Gi")), 2 << 30);
        assert_eq!(units(&json!("99Ei")), i64::MAX);
    }
}
