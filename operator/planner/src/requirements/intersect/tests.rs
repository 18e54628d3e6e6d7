//! The laws of the algebra, on the fourteen requirements upstream tests with and on random ones.

use crate::requirements::{Operator, Requirement};
use proptest::prelude::*;

/// Every value that can tell two of the requirements below apart.
const UNIVERSE: [&str; 12] = ["A", "B", "C", "", "0", "1", "2", "5", "8", "9", "10", "99"];

fn requirement(operator: Operator, values: &[&str]) -> Requirement {
    Requirement::new("key", operator, values).unwrap()
}

/// The fourteen requirements upstream tests with: `*` is `Exists`, `-` `DoesNotExist`, `19` `In 1, 9`, `!A` `NotIn A`.
const FOURTEEN: [&str; 14] = [
    "*", "-", "A", "B", "AB", "!A", "1", "9", "19", "!12", ">1", ">9", "<1", "<9",
];

/// What a requirement of the row and one of the column have in common.
const IN_COMMON: [&str; 14] = [
    // *     -     A     B     AB    !A    1     9     19    !12   >1    >9    <1    <9
    "* |   *     -     A     B     AB    !A    1     9     19    !12   >1    >9    <1    <9",
    "- |   -     -     -     -     -     -     -     -     -     -     -     -     -     -",
    "A |   A     -     A     -     A     -     -     -     -     A     -     -     -     -",
    "B |   B     -     -     B     B     B     -     -     -     B     -     -     -     -",
    "AB |  AB    -     A     B     AB    B     -     -     -     AB    -     -     -     -",
    "!A |  !A    -     -     B     B     !A    1     9     19    !12A  >1    >9    <1    <9",
    "1 |   1     -     -     -     -     1     1     -     1     -     -     -     -     1",
    "9 |   9     -     -     -     -     9     -     9     9     9     9     -     -     -",
    "19 |  19    -     -     -     -     19    1     9     19    9     9     -     -     1",
    "!12 | !12   -     A     B     AB    !12A  -     9     9     !12   !2>1  >9    <1    !12<9",
    ">1 |  >1    -     -     -     -     >1    -     9     9     !2>1  >1    >9    -     >1<9",
    ">9 |  >9    -     -     -     -     >9    -     -     -     >9    >9    >9    -     -",
    "<1 |  <1    -     -     -     -     <1    -     -     -     <1    -     -     <1    <1",
    "<9 |  <9    -     -     -     -     <9    1     -     1     !12<9 >1<9  -     <1    <9",
];

fn named(name: &str) -> Requirement {
    let letters = |text: &str| -> Vec<String> { text.chars().map(String::from).collect() };
    let (operator, values) = match (name.split_at(1), name) {
        (_, "*") => (Operator::Exists, Vec::new()),
        (_, "-") => (Operator::DoesNotExist, Vec::new()),
        (("!", rest), _) => (Operator::NotIn, letters(rest)),
        ((">", rest), _) => (Operator::Gt, letters(rest)),
        (("<", rest), _) => (Operator::Lt, letters(rest)),
        (_, all) => (Operator::In, letters(all)),
    };
    let values: Vec<&str> = values.iter().map(String::as_str).collect();
    requirement(operator, &values)
}

fn name(of: &Requirement) -> String {
    let values = of.named().concat();
    let (gte, lte) = of.bounds();
    let above = gte.map_or(String::new(), |least| format!(">{}", least - 1));
    let below = lte.map_or(String::new(), |most| format!("<{}", most + 1));
    match of.operator() {
        Operator::DoesNotExist => "-".to_owned(),
        Operator::Exists if above.is_empty() && below.is_empty() => "*".to_owned(),
        Operator::NotIn => format!("!{values}{above}{below}"),
        _ => format!("{values}{above}{below}"),
    }
}

/// The whole table of what two have in common; each requirement is changed first, by its number.
fn table(
    rows: impl Fn(usize, Requirement) -> Requirement,
    columns: impl Fn(usize, Requirement) -> Requirement,
    cell: impl Fn(usize, usize, &Requirement) -> String,
) -> Vec<String> {
    let row = |(at, code): (usize, &&str)| {
        let cells = FOURTEEN.iter().enumerate().map(|(column, other)| {
            let both = rows(at, named(code)).intersection(&columns(column, named(other)));
            cell(at, column, &both)
        });
        format!("{code} | {}", cells.collect::<Vec<_>>().join(" "))
    };
    FOURTEEN.iter().enumerate().map(row).collect()
}

fn expected() -> Vec<String> {
    let plain = |row: &&str| row.split_whitespace().collect::<Vec<_>>().join(" ");
    IN_COMMON.iter().map(plain).collect()
}

fn fourteen() -> Vec<Requirement> {
    FOURTEEN.iter().map(|code| named(code)).collect()
}

#[test]
fn two_requirements_have_in_common_what_the_table_says() {
    let cells = |_, _, both: &Requirement| name(both);
    assert_eq!(table(|_, one| one, |_, one| one, cells), expected());
}

#[test]
fn two_requirements_meet_only_where_the_table_names_something() {
    let meets = |row: &str, column: &str| named(row).has_intersection(&named(column));
    for line in IN_COMMON {
        let (row, cells) = line.split_once('|').unwrap();
        for (column, cell) in FOURTEEN.iter().zip(cells.split_whitespace()) {
            let (row, found) = (row.trim(), meets(row.trim(), column));
            assert_eq!(found, cell != "-", "{row} and {column}");
        }
    }
}

#[test]
fn min_values_change_no_cell_of_the_table_and_the_larger_number_stays() {
    let with = |number: u32, one: Requirement| one.with_min_values(Some(number));
    let number = |at: usize| u32::try_from(at % 3 + 1).unwrap();
    let cells = |said: Option<u32>, both: &Requirement| {
        assert_eq!(both.min_values(), said, "{both}");
        name(both)
    };
    let one_has = table(
        |at, one| with(number(at), one),
        |_, one| one,
        |row, _, both| cells(Some(number(row)), both),
    );
    assert_eq!(one_has, expected());
    let other_has = table(
        |_, one| one,
        |at, one| with(number(at), one),
        |_, column, both| cells(Some(number(column)), both),
    );
    assert_eq!(other_has, expected());
    let both_have = table(
        |at, one| with(number(at), one),
        |at, one| with(number(at), one),
        |row, column, both| cells(Some(number(row).max(number(column))), both),
    );
    assert_eq!(both_have, expected());
}

/// A requirement, the operator it amounts to, and which of A, B, 1, 2, 9 it allows.
const ALLOWS: [&str; 20] = [
    "*      Exists        A B 1 2 9",
    "-      DoesNotExist  . . . . .",
    "A      In            A . . . .",
    "B      In            . B . . .",
    "AB     In            A B . . .",
    "!A     NotIn         . B 1 2 9",
    "1      In            . . 1 . .",
    "9      In            . . . . 9",
    "19     In            . . 1 . 9",
    "!12    NotIn         A B . . 9",
    ">1     Exists        . . . 2 9",
    ">9     Exists        . . . . .",
    "<1     Exists        . . . . .",
    "<9     Exists        . . 1 2 .",
    // What two of them have in common.
    ">1&<9  Exists        . . . 2 .",
    "!12&>1 NotIn         . . . . 9",
    "!12&<9 NotIn         . . . . .",
    ">9&<1  DoesNotExist  . . . . .",
    "19&>1  In            . . . . 9",
    "!A&!12 NotIn         . B . . 9",
];

#[test]
fn a_requirement_allows_the_values_of_the_table() {
    for line in ALLOWS {
        let mut words = line.split_whitespace();
        let all = words.next().unwrap().split('&').map(named);
        let requirement = all.reduce(|one, other| one.intersection(&other)).unwrap();
        let mut found = vec![requirement.operator().to_string()];
        for value in ["A", "B", "1", "2", "9"] {
            let allowed = requirement.has(value);
            found.push(if allowed { value } else { "." }.to_owned());
        }
        assert_eq!(found, words.collect::<Vec<_>>(), "{line}");
    }
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
    let cases: [(Operator, &[&str], &str); 15] = [
        (Operator::Exists, &[], "key Exists"),
        (Operator::DoesNotExist, &[], "key DoesNotExist"),
        (Operator::In, &["B", "A"], "key In [A B]"),
        (Operator::NotIn, &["A"], "key NotIn [A]"),
        (Operator::Gt, &["1"], "key Exists >=2"),
        (Operator::Lt, &["1"], "key Exists <=0"),
        (Operator::Gte, &["1"], "key Exists >=1"),
        (Operator::Lte, &["1"], "key Exists <=1"),
        (Operator::Gt, &["9223372036854775807"], "key DoesNotExist"),
        (Operator::Gt, &["-1"], "key Exists >=0"),
        (Operator::Lt, &["-9223372036854775808"], "key DoesNotExist"),
        (Operator::In, &["A", "A"], "key In [A]"),
        (Operator::In, &["1", "9"], "key In [1 9]"),
        (Operator::NotIn, &["2", "1"], "key NotIn [1 2]"),
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
fn bounds_and_min_values_are_printed_behind_the_values() {
    let bounded = |operator, bound| requirement(operator, &[bound]);
    let range = bounded(Operator::Gt, "1").intersection(&bounded(Operator::Lt, "9"));
    assert_eq!(range.to_string(), "key Exists >=2 <=8");
    let range = range.intersection(&named("!2")).with_min_values(Some(3));
    assert_eq!(range.to_string(), "key NotIn [2] >=2 <=8 minValues 3");
}

/// What is written on a label that must have some value.
#[test]
fn any_value_is_the_first_listed_or_a_number_within_the_bounds() {
    let any = |codes: &[&str]| {
        let all = codes.iter().map(|code| named(code));
        let one = all.reduce(|one, other| one.intersection(&other)).unwrap();
        one.any().map(|value| value.to_string())
    };
    assert_eq!(any(&["AB"]).as_deref(), Some("A"));
    assert_eq!(any(&["-"]), None);
    assert_eq!(any(&["*"]).as_deref(), Some("0"));
    assert_eq!(any(&[">1", "<9"]).as_deref(), Some("2"));
    assert_eq!(any(&[">1", "!2"]).as_deref(), Some("3"));
    assert_eq!(any(&[">1", "<4", "!23"]), None);
    assert_eq!(any(&["<1"]).as_deref(), Some("0"));
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
    let cases = [
        (
            "failure-domain.beta.kubernetes.io/zone",
            crate::labels::ZONE,
        ),
        (
            "failure-domain.beta.kubernetes.io/region",
            crate::labels::REGION,
        ),
        ("beta.kubernetes.io/arch", crate::labels::ARCH),
        ("beta.kubernetes.io/os", crate::labels::OS),
        (
            "beta.kubernetes.io/instance-type",
            crate::labels::INSTANCE_TYPE,
        ),
    ];
    for (older, todays) in cases {
        assert_eq!(Requirement::one_of(older, ["a"]).key(), todays);
        // A pod's own label has the name it has.
        let label = Requirement::label(older, Operator::In, &["a"]).unwrap();
        assert_eq!(label.key(), older);
    }
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
