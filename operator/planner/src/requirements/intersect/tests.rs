//! The laws of the algebra, on the fourteen requirements upstream tests with and on random ones.

use crate::requirements::{Operator, Requirement};
use proptest::prelude::*;

/// Every value that can tell two of the requirements below apart.
const UNIVERSE: [&str; 12] = ["A", "B", "C", "", "0", "1", "2", "5", "8", "9", "10", "99"];

fn requirement(operator: Operator, values: &[&str]) -> Requirement {
    Requirement::new("key", operator, values).unwrap()
}

fn fourteen() -> Vec<Requirement> {
    use Operator::{DoesNotExist, Exists, Gt, In, Lt, NotIn};
    let table: [(Operator, &[&str]); 14] = [
        (Exists, &[]),
        (DoesNotExist, &[]),
        (In, &["A"]),
        (In, &["B"]),
        (In, &["A", "B"]),
        (NotIn, &["A"]),
        (In, &["1"]),
        (In, &["9"]),
        (In, &["1", "9"]),
        (NotIn, &["1", "2"]),
        (Gt, &["1"]),
        (Gt, &["9"]),
        (Lt, &["1"]),
        (Lt, &["9"]),
    ];
    table
        .iter()
        .map(|(operator, values)| requirement(*operator, values))
        .collect()
}

fn check_laws(a: &Requirement, b: &Requirement) {
    let both = a.intersection(b);
    for value in UNIVERSE {
        assert_eq!(
            both.has(value),
            a.has(value) && b.has(value),
            "{a} and {b} on {value:?} gave {both}"
        );
    }
    assert_eq!(both, b.intersection(a), "{a} and {b} in either order");
    assert_eq!(both.intersection(a), both, "{a} and {b}, once more {a}");
    let any_in_common = both.any().is_some();
    assert_eq!(a.has_intersection(b), any_in_common, "{a} and {b}");
    if let Some(value) = both.any() {
        assert!(a.has(&value) && b.has(&value), "{value} of {a} and {b}");
    }
}

#[test]
fn an_intersection_allows_exactly_what_both_allow() {
    for a in fourteen() {
        for b in fourteen() {
            check_laws(&a, &b);
        }
    }
}

#[test]
fn of_two_min_values_the_larger_stays_even_when_nothing_else_does() {
    let a = requirement(Operator::In, &["A"]).with_min_values(Some(2));
    let b = requirement(Operator::In, &["B"]).with_min_values(Some(3));
    assert_eq!(
        a.intersection(&b).to_string(),
        "key DoesNotExist minValues 3"
    );
    let gt = requirement(Operator::Gt, &["9"]).with_min_values(Some(1));
    assert_eq!(
        gt.intersection(&requirement(Operator::Lt, &["3"]))
            .to_string(),
        "key DoesNotExist minValues 1"
    );
}

#[test]
fn requirements_print_like_upstream() {
    let cases: [(Operator, &[&str], &str); 10] = [
        (Operator::Exists, &[], "key Exists"),
        (Operator::DoesNotExist, &[], "key DoesNotExist"),
        (Operator::In, &["B", "A"], "key In [A B]"),
        (Operator::NotIn, &["A"], "key NotIn [A]"),
        (Operator::Gt, &["1"], "key Exists >=2"),
        (Operator::Lt, &["1"], "key Exists <=0"),
        (Operator::Gte, &["1"], "key Exists >=1"),
        (Operator::Lte, &["1"], "key Exists <=1"),
        (Operator::Gt, &["9223372036854775807"], "key DoesNotExist"),
        (
            Operator::In,
            &["1", "2", "3", "4", "5", "6", "7"],
            "key In [1 2 3 4 5 and 2 others]",
        ),
    ];
    for (operator, values, expected) in cases {
        assert_eq!(requirement(operator, values).to_string(), expected);
    }
}

#[test]
fn a_bound_that_is_no_number_is_refused() {
    let error = Requirement::new("cores", Operator::Gt, &["four"]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "requirement cores: Gt needs exactly one whole number, got [\"four\"]"
    );
}

#[test]
fn an_older_key_is_read_as_todays() {
    let zone = Requirement::one_of("failure-domain.beta.kubernetes.io/zone", ["a"]);
    assert_eq!(zone.key(), crate::labels::ZONE);
}

fn random() -> impl Strategy<Value = Requirement> {
    let values = proptest::sample::subsequence(UNIVERSE.to_vec(), 0..5);
    let number = proptest::sample::select(vec!["0", "1", "2", "5", "9"]);
    (0..8_u8, values, number).prop_map(|(operator, values, number)| match operator {
        0 => requirement(Operator::In, &values),
        1 => requirement(Operator::NotIn, &values),
        2 => requirement(Operator::Exists, &[]),
        3 => requirement(Operator::DoesNotExist, &[]),
        4 => requirement(Operator::Gt, &[number]),
        5 => requirement(Operator::Lt, &[number]),
        6 => requirement(Operator::Gte, &[number]),
        _ => requirement(Operator::Lte, &[number]),
    })
}

proptest! {
    #[test]
    fn the_laws_hold_for_any_pair(a in random(), b in random()) {
        check_laws(&a, &b);
    }

    #[test]
    fn three_meet_in_any_grouping(a in random(), b in random(), c in random()) {
        let (left, right) = (a.intersection(&b).intersection(&c), a.intersection(&b.intersection(&c)));
        for value in UNIVERSE {
            prop_assert_eq!(left.has(value), right.has(value), "{} and {}", left, right);
        }
    }
}
