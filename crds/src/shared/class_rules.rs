//! Which mistakes can be made in every cloud's class alike?

use std::collections::BTreeSet;

use serde_json::Value;

use super::class_check::refuse;
use crate::validate::Verdict;

/// No text twice in the list at this field of the spec.
pub(crate) fn no_duplicates(spec: &Value, field: &str, verdict: &mut Verdict) {
    let mut seen = BTreeSet::new();
    for (at, item) in items(spec, field).filter_map(|(at, item)| Some((at, item.as_str()?))) {
        if !seen.insert(item) {
            let problem = format!("{item:?} is listed twice");
            refuse(verdict, format!("spec.{field}[{at}]"), problem, "remove one of them");
        }
    }
}

/// Every `nameRegex` of these lists of terms could be a regular expression. Only what is plainly broken is found here;
/// the operator compiles them and says the rest in the class's conditions.
pub(crate) fn regexes(spec: &Value, lists: &[&str], verdict: &mut Verdict) {
    for list in lists {
        for (at, term) in items(spec, list) {
            let Some(regex) = term.get("nameRegex").and_then(Value::as_str) else { continue };
            if let Some(problem) = broken_regex(regex) {
                let problem = format!("{regex:?} is not a regular expression: {problem}");
                refuse(verdict, format!("spec.{list}[{at}].nameRegex"), problem, "correct it, or use name for an exact name");
            }
        }
    }
}

/// Every label key and value could stand on a node.
pub(crate) fn labels(spec: &Value, field: &str, verdict: &mut Verdict) {
    for (key, value) in spec.get(field).and_then(Value::as_object).into_iter().flatten() {
        let at = format!("spec.{field}[{key:?}]");
        let (prefix, name) = key.rsplit_once('/').map_or((None, key.as_str()), |(prefix, name)| (Some(prefix), name));
        if !is_label_part(name) || prefix.is_some_and(|prefix| !is_prefix(prefix)) {
            let fix = "use at most 63 letters, digits, '-', '_', '.', begun and ended by a letter or digit, after an optional DNS prefix";
            refuse(verdict, at, "the key is no label key", fix);
        } else if value.as_str().is_some_and(|value| !value.is_empty() && !is_label_part(value)) {
            let fix = "use at most 63 letters, digits, '-', '_', '.', begun and ended by a letter or digit";
            refuse(verdict, at, format!("{value} is no label value"), fix);
        }
    }
}

/// Amounts the kubelet reserves are quantities (the hub says so in CEL too; older versions have no CEL).
pub(crate) fn reserved(spec: &Value, verdict: &mut Verdict) {
    for field in ["systemReserved", "kubeReserved"] {
        let amounts = spec.pointer(&format!("/kubelet/{field}")).and_then(Value::as_object);
        for (resource, amount) in amounts.into_iter().flatten() {
            if amount.as_str().is_some_and(|amount| !is_quantity(amount)) {
                let at = format!("spec.kubelet.{field}[{resource:?}]");
                refuse(verdict, at, format!("{amount} is not a quantity"), "write for example \"100m\" or \"512Mi\"");
            }
        }
    }
}

pub(crate) fn items<'a>(spec: &'a Value, field: &str) -> impl Iterator<Item = (usize, &'a Value)> {
    spec.get(field).and_then(Value::as_array).into_iter().flatten().enumerate()
}

fn is_quantity(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let end = unsigned.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(unsigned.len());
    let (number, suffix) = unsigned.split_at(end);
    let exponent = suffix.strip_prefix(['e', 'E']).map(|digits| digits.strip_prefix(['+', '-']).unwrap_or(digits));
    let known = ["", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    number.bytes().any(|byte| byte.is_ascii_digit())
        && number.matches('.').count() <= 1
        && (known.contains(&suffix)
            || exponent.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())))
}

fn is_label_part(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric();
    text.len() <= 63
        && text.starts_with(plain)
        && text.ends_with(plain)
        && text.chars().all(|c| plain(c) || matches!(c, '-' | '_' | '.'))
}

fn is_prefix(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let part = |part: &str| {
        part.starts_with(plain) && part.ends_with(plain) && part.chars().all(|c| plain(c) || c == '-')
    };
    text.len() <= 253 && text.split('.').all(part)
}

fn broken_regex(regex: &str) -> Option<&'static str> {
    let (mut open, mut in_class, mut escaped) = (0_u32, false, false);
    for c in regex.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ']' => in_class = false,
            '[' => in_class = true,
            '(' if !in_class => open += 1,
            ')' if !in_class && open == 0 => return Some("a ) without its ("),
            ')' if !in_class => open -= 1,
            _ => {}
        }
    }
    match (escaped, in_class, open, regex.starts_with(['*', '+', '?'])) {
        (true, ..) => Some("it ends with a backslash"),
        (_, true, ..) => Some("a [ without its ]"),
        (_, _, 1.., _) => Some("a ( without its )"),
        (.., true) => Some("it begins with a repetition of nothing"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plainly_broken_expressions_are_found_and_others_left_alone() {
        for good in ["", "b3-.*", r"m1\.(small|large)", r"[(\]]+", "a{2}", "^x$", r"\("] {
            assert_eq!(broken_regex(good), None, "{good}");
        }
        for bad in ["(", "a)", "[a", r"a\", "*a"] {
            assert!(broken_regex(bad).is_some(), "{bad}");
        }
    }

    #[test]
    fn quantities_are_told_from_other_text() {
        for good in ["1", "100m", ".5", "1.5Gi", "-1", "1e3", "12E", "+2k"] {
            assert!(is_quantity(good), "{good}");
        }
        for bad in ["", "m", "1 Gi", "1GB", "1.2.3", "1e", "lots"] {
            assert!(!is_quantity(bad), "{bad}");
        }
    }
}
