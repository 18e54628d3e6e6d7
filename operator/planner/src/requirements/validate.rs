//! Is this selector term one that a pod or pool may write?

use super::Operator;
use crate::labels::{self, WellKnown};

/// Why a term cannot be accepted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
pub enum BadTerm {
    #[error("label {key} is set by the system and cannot be asked for; remove it")]
    Restricted { key: String },
    #[error(
        "{key:?} is not a label key; use letters, digits, '-', '_', '.', with an optional DNS prefix and '/'"
    )]
    Key { key: String },
    #[error(
        "{value:?} is not a label value of {key}; use at most 63 letters, digits, '-', '_' or '.'"
    )]
    Value { key: String, value: String },
    #[error("In on {key} needs at least one value")]
    NoValues { key: String },
    #[error("{operator} on {key} needs exactly one whole number that is not negative")]
    NotOneNumber { key: String, operator: Operator },
    #[error("none of the values of {key} exists; use on-demand, spot or reserved")]
    UnknownCapacityType { key: String },
}

/// Checks one expression of a node selector or affinity term.
pub fn check_term(
    key: &str,
    operator: Operator,
    values: &[&str],
    known: &WellKnown,
) -> Result<(), BadTerm> {
    let key = labels::normalised(key);
    let owned = || key.to_owned();
    if labels::restricted(key, known) {
        return Err(BadTerm::Restricted { key: owned() });
    }
    if !is_qualified_name(key) {
        return Err(BadTerm::Key { key: owned() });
    }
    if let Some(value) = values.iter().find(|value| !is_label_value(value)) {
        return Err(BadTerm::Value {
            key: owned(),
            value: (*value).to_owned(),
        });
    }
    match operator {
        Operator::In if values.is_empty() => Err(BadTerm::NoValues { key: owned() }),
        Operator::In
            if key == labels::CAPACITY_TYPE
                && !values.iter().any(|value| is_capacity_type(value)) =>
        {
            Err(BadTerm::UnknownCapacityType { key: owned() })
        }
        Operator::Gt | Operator::Lt | Operator::Gte | Operator::Lte => match values {
            [one] if one.parse::<i64>().is_ok_and(|number| number >= 0) => Ok(()),
            _ => Err(BadTerm::NotOneNumber {
                key: owned(),
                operator,
            }),
        },
        Operator::In | Operator::NotIn | Operator::Exists | Operator::DoesNotExist => Ok(()),
    }
}

fn is_capacity_type(value: &str) -> bool {
    matches!(value, "on-demand" | "spot" | "reserved")
}

fn is_qualified_name(key: &str) -> bool {
    let (prefix, name) = key
        .split_once('/')
        .map_or((None, key), |(prefix, name)| (Some(prefix), name));
    !name.is_empty() && is_label_value(name) && prefix.is_none_or(is_dns_name)
}

fn is_label_value(value: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let edge = |c: Option<char>| c.is_none_or(|c| c.is_ascii_alphanumeric());
    value.len() <= 63
        && value.chars().all(inner)
        && edge(value.chars().next())
        && edge(value.chars().next_back())
}

fn is_dns_name(name: &str) -> bool {
    let part = |part: &str| {
        let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        !part.is_empty()
            && part.chars().all(inner)
            && !part.starts_with('-')
            && !part.ends_with('-')
    };
    name.len() <= 253 && name.split('.').all(part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("team", Operator::In, &["a"], true)]
    #[case("team", Operator::In, &[], false)]
    #[case("team", Operator::NotIn, &[], true)]
    #[case("team", Operator::In, &["-a"], false)]
    #[case("te am", Operator::Exists, &[], false)]
    #[case("Bad_Prefix/x", Operator::Exists, &[], false)]
    #[case("example.com/x", Operator::Exists, &[], true)]
    #[case("kubernetes.io/hostname", Operator::In, &["n1"], false)]
    #[case("karpenter.sh/initialized", Operator::Exists, &[], false)]
    #[case("karpenter.sh/capacity-type", Operator::In, &["spot", "nonsense"], true)]
    #[case("karpenter.sh/capacity-type", Operator::In, &["nonsense"], false)]
    #[case("cores", Operator::Gt, &["4"], true)]
    #[case("cores", Operator::Gt, &["-4"], false)]
    #[case("cores", Operator::Lte, &["4", "5"], false)]
    #[case("cores", Operator::Lt, &["x"], false)]
    fn a_term_is_accepted_as_karpenter_does(
        #[case] key: &str,
        #[case] operator: Operator,
        #[case] values: &[&str],
        #[case] fine: bool,
    ) {
        assert_eq!(
            check_term(key, operator, values, &WellKnown::default()).is_ok(),
            fine
        );
    }
}
