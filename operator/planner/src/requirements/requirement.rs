//! Which values may this one label have?

use super::Text;
use crate::labels;
use smallvec::SmallVec;
use std::fmt;

/// Karpenter's operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
    Gt,
    Lt,
    Gte,
    Lte,
}

/// The allowed values of one label: a finite set, or everything but a finite set, within whole-number bounds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Requirement {
    pub(super) key: Text,
    /// `values` are the excluded ones.
    pub(super) complement: bool,
    /// Sorted, without duplicates.
    pub(super) values: SmallVec<[Text; 2]>,
    /// Only with `complement`.
    pub(super) gte: Option<i64>,
    pub(super) lte: Option<i64>,
    /// The label must be there, which excluded values alone do not ask for. Only with those and without bounds.
    pub(super) present: bool,
    pub(super) min_values: Option<u32>,
}

/// A requirement that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadRequirement {
    #[error(
        "requirement {key}: operator {operator:?} is unknown; use In, NotIn, Exists, DoesNotExist, Gt, Lt, Gte or Lte"
    )]
    UnknownOperator { key: String, operator: String },
    #[error("requirement {key}: {operator} needs exactly one whole number, got {got:?}")]
    NotOneNumber {
        key: String,
        operator: Operator,
        got: Vec<String>,
    },
}

impl Requirement {
    /// Reads a requirement; older spellings of the key are brought to today's.
    pub fn new(key: &str, operator: Operator, values: &[&str]) -> Result<Self, BadRequirement> {
        let key: Text = labels::normalised(key).into();
        let number = || match values {
            [one] => one.parse::<i64>().ok(),
            _ => None,
        };
        let bound = || {
            number().ok_or_else(|| BadRequirement::NotOneNumber {
                key: key.to_string(),
                operator,
                got: values.iter().map(|&value| value.to_owned()).collect(),
            })
        };
        let (gte, lte) = match operator {
            Operator::In => return Ok(Self::of(key, false, values)),
            Operator::NotIn => return Ok(Self::of(key, true, values)),
            Operator::Exists => return Ok(Self::of(key, true, &[])),
            Operator::DoesNotExist => return Ok(Self::of(key, false, &[])),
            Operator::Gt => match bound()?.checked_add(1) {
                Some(least) => (Some(least), None),
                None => return Ok(Self::of(key, false, &[])),
            },
            Operator::Lt => match bound()?.checked_sub(1) {
                Some(most) => (None, Some(most)),
                None => return Ok(Self::of(key, false, &[])),
            },
            Operator::Gte => (Some(bound()?), None),
            Operator::Lte => (None, Some(bound()?)),
        };
        Ok(Self {
            gte,
            lte,
            ..Self::of(key, true, &[])
        })
    }

    /// `In` the given values.
    pub fn one_of<'a>(key: &str, values: impl IntoIterator<Item = &'a str>) -> Self {
        let values: Vec<_> = values.into_iter().collect();
        Self::of(labels::normalised(key).into(), false, &values)
    }

    /// An expression of a pod selector: the key stays as it is written.
    pub fn label(key: &str, operator: Operator, values: &[&str]) -> Result<Self, BadRequirement> {
        let read = Self::new(key, operator, values)?;
        Ok(Self {
            key: key.into(),
            ..read
        })
    }

    pub(crate) fn label_is(key: &str, value: &str) -> Self {
        Self::of(key.into(), false, &[value])
    }

    pub(crate) fn label_is_not(key: &str, value: &str) -> Self {
        Self::of(key.into(), true, &[value])
    }

    /// `In` one value, nothing copied.
    pub(crate) fn shared_label(key: Text, value: Text) -> Self {
        Self {
            key,
            complement: false,
            values: smallvec::smallvec![value],
            gte: None,
            lte: None,
            present: false,
            min_values: None,
        }
    }

    /// `In` values that are shared already.
    pub(crate) fn one_of_shared(key: &str, values: impl IntoIterator<Item = Text>) -> Self {
        let mut values: SmallVec<[Text; 2]> = values.into_iter().collect();
        values.sort_unstable();
        values.dedup();
        Self {
            values,
            ..Self::of(key.into(), false, &[])
        }
    }

    pub fn exists(key: &str) -> Self {
        Self::of(labels::normalised(key).into(), true, &[])
    }

    pub fn absent(key: &str) -> Self {
        Self::of(labels::normalised(key).into(), false, &[])
    }

    #[must_use]
    pub fn with_min_values(self, min_values: Option<u32>) -> Self {
        Self { min_values, ..self }
    }

    fn of(key: Text, complement: bool, values: &[&str]) -> Self {
        let mut values: SmallVec<[Text; 2]> = values.iter().map(|&value| value.into()).collect();
        values.sort_unstable();
        values.dedup();
        Self {
            key,
            complement,
            values,
            gte: None,
            lte: None,
            present: false,
            min_values: None,
        }
    }

    pub fn key(&self) -> &str {
        &self.key
    }

    pub fn min_values(&self) -> Option<u32> {
        self.min_values
    }

    /// The operator this set amounts to. Bounds show as `Exists` or `NotIn`.
    pub fn operator(&self) -> Operator {
        match (self.complement, self.values.is_empty()) {
            (true, false) => Operator::NotIn,
            (true, true) => Operator::Exists,
            (false, false) => Operator::In,
            (false, true) => Operator::DoesNotExist,
        }
    }

    /// The allowed values, if they can be listed.
    pub fn listed(&self) -> Option<&[Text]> {
        (!self.complement).then_some(&self.values)
    }

    /// The values named in it: allowed ones for `In`, excluded ones for `NotIn`.
    pub fn named(&self) -> &[Text] {
        &self.values
    }

    pub fn bounds(&self) -> (Option<i64>, Option<i64>) {
        (self.gte, self.lte)
    }

    /// May the label have this value?
    pub fn has(&self, value: &str) -> bool {
        let named = self
            .values
            .binary_search_by(|known| known.as_ref().cmp(value))
            .is_ok();
        named != self.complement && self.within_bounds(value)
    }

    /// One allowed value: the first listed, or the smallest whole number in bounds. `None` when the label must not exist.
    pub fn any(&self) -> Option<Text> {
        if !self.complement {
            return self.values.first().cloned();
        }
        // Excluded values are few, so one of the next `len + 1` numbers is free, upwards or else downwards.
        let tries = i64::try_from(self.values.len()).unwrap_or(i64::MAX);
        let first = self.gte.unwrap_or(0);
        let upwards = first
            ..=self
                .lte
                .unwrap_or(i64::MAX)
                .min(first.saturating_add(tries));
        let last = self.lte.unwrap_or(-1).min(-1);
        let downwards = (self.gte.unwrap_or(i64::MIN).max(last.saturating_sub(tries))..=last).rev();
        upwards
            .chain(downwards)
            .map(|number| Text::from(number.to_string()))
            .find(|text| self.has(text))
    }

    /// The same requirement with some values under another name.
    #[must_use]
    pub fn renamed(&self, rename: impl Fn(&str) -> Option<Text>) -> Self {
        let mut values: SmallVec<[Text; 2]> = self
            .values
            .iter()
            .map(|value| rename(value).unwrap_or_else(|| value.clone()))
            .collect();
        values.sort_unstable();
        values.dedup();
        Self {
            values,
            ..self.clone()
        }
    }

    pub(super) fn within_bounds(&self, value: &str) -> bool {
        if self.gte.is_none() && self.lte.is_none() {
            return true;
        }
        value.parse::<i64>().is_ok_and(|number| {
            self.gte.is_none_or(|least| number >= least)
                && self.lte.is_none_or(|most| number <= most)
        })
    }
}

impl std::str::FromStr for Operator {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Ok(match text {
            "In" => Self::In,
            "NotIn" => Self::NotIn,
            "Exists" => Self::Exists,
            "DoesNotExist" => Self::DoesNotExist,
            "Gt" => Self::Gt,
            "Lt" => Self::Lt,
            "Gte" => Self::Gte,
            "Lte" => Self::Lte,
            _ => return Err(()),
        })
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl fmt::Display for Requirement {
    /// `key Op [v…]` with at most five values, then the bounds and minValues.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 5;
        write!(f, "{} {}", self.key, self.operator())?;
        if !self.values.is_empty() {
            let shown: Vec<&str> = self.values.iter().take(SHOWN).map(AsRef::as_ref).collect();
            write!(f, " [{}", shown.join(" "))?;
            if self.values.len() > SHOWN {
                write!(f, " and {} others", self.values.len() - SHOWN)?;
            }
            f.write_str("]")?;
        }
        if let Some(least) = self.gte {
            write!(f, " >={least}")?;
        }
        if let Some(most) = self.lte {
            write!(f, " <={most}")?;
        }
        self.min_values
            .map_or(Ok(()), |min| write!(f, " minValues {min}"))
    }
}
