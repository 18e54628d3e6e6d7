//! What can CEL not say about one requirement of a pool?

use super::{Finding, labels};
use crate::shared::requirement::{Operator, Requirement};

/// Adds everything wrong with the requirement at `field`.
pub(super) fn check(field: &str, requirement: &Requirement, found: &mut Vec<Finding>) {
    let mut add = |part: &str, problem: String, fix: &str| {
        found.push(Finding::new(&format!("{field}.{part}"), problem, fix));
    };
    check_key(requirement, &mut add);
    check_values(requirement, &mut add);
    check_capacity_types(requirement, &mut add);
}

/// Values of a capacity-type requirement that no cloud knows.
pub(super) fn unknown_capacity_types(requirement: &Requirement) -> Vec<&str> {
    if requirement.key != labels::CAPACITY_TYPE || requirement.operator != Operator::In {
        return Vec::new();
    }
    let values = requirement.values.iter().flatten().map(String::as_str);
    values
        .filter(|value| !labels::CAPACITY_TYPES.contains(value))
        .collect()
}

fn check_key(requirement: &Requirement, add: &mut impl FnMut(&str, String, &str)) {
    let key = labels::normalize(&requirement.key);
    if key == labels::NODE_POOL {
        let fix = "remove the requirement: a pool only makes nodes of its own";
        add("key", format!("label {key:?} is restricted"), fix);
    }
    if let Some(problem) = labels::restricted(key) {
        add(
            "key",
            problem,
            "use a well-known label, or one in a domain of your own",
        );
    }
    if let Some(problem) = labels::bad_key(key) {
        add("key", problem, "write an existing label key");
    }
}

fn check_values(requirement: &Requirement, add: &mut impl FnMut(&str, String, &str)) {
    let (operator, values) = (requirement.operator, listed(requirement));
    for (index, value) in values.iter().enumerate() {
        if let Some(problem) = labels::bad_value(value) {
            add(
                &format!("values[{index}]"),
                problem,
                "write a value that a label can have",
            );
        }
    }
    if operator == Operator::In && values.is_empty() {
        add(
            "values",
            "operator In has no values".to_owned(),
            "list at least one value, or use Exists",
        );
    }
    if operator.compares() && !matches!(values, [only] if is_count(only)) {
        let fix = "give it exactly one whole number of 0 or more, for example [\"4\"]";
        add(
            "values",
            format!("operator {} has {values:?}", operator.as_str()),
            fix,
        );
    }
    let (wanted, count) = (wanted(requirement), values.len());
    if operator == Operator::In && count < wanted {
        let problem = format!("{wanted} different values are wanted but {count} listed");
        add("minValues", problem, "list more values or lower minValues");
    }
}

/// The one well-known label whose values everybody knows.
fn check_capacity_types(requirement: &Requirement, add: &mut impl FnMut(&str, String, &str)) {
    let values = listed(requirement);
    if requirement.key != labels::CAPACITY_TYPE
        || requirement.operator != Operator::In
        || values.is_empty()
    {
        return;
    }
    let fix = "write any of \"on-demand\", \"spot\", \"reserved\"";
    let (known, wanted) = (
        values.len() - unknown_capacity_types(requirement).len(),
        wanted(requirement),
    );
    if known == 0 {
        add(
            "values",
            format!("none of {values:?} is a capacity type"),
            fix,
        );
    } else if known < wanted {
        let problem =
            format!("only {known} of {values:?} are capacity types but minValues is {wanted}");
        add("values", problem, fix);
    }
}

fn listed(requirement: &Requirement) -> &[String] {
    requirement.values.as_deref().unwrap_or_default()
}

fn wanted(requirement: &Requirement) -> usize {
    requirement
        .min_values
        .and_then(|wanted| usize::try_from(wanted).ok())
        .unwrap_or(0)
}

/// A whole number that Go would read and that is not negative.
fn is_count(text: &str) -> bool {
    text.parse::<i64>().is_ok_and(|number| number >= 0)
}
