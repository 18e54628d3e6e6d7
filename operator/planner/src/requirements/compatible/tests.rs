//! Both modes of comparison as exact tables, and the hints for misspelt labels.

use crate::labels::WellKnown;
use crate::requirements::{Operator, Requirement, Requirements, Undefined};

const COLUMNS: [&str; 15] = [
    "-", "Exists", "Absent", "In A", "In B", "In AB", "NotIn A", "In 1", "In 9", "In 19",
    "NotIn 12", "Gt 1", "Gt 9", "Lt 1", "Lt 9",
];

/// Rows are the place, columns who wants in; `y` = may go there. Nothing may be undefined.
const STRICT: [&str; 15] = [
    //    -  E  X  A  B AB nA  1  9 19 n12 G1 G9 L1 L9
    "y n y n n n y n n n y n n n n", // -
    "y y n y y y y y y y y y y y y", // Exists
    "y n y n n n y n n n y n n n n", // Absent
    "y y n y n y n n n n y n n n n", // In A
    "y y n n y y y n n n y n n n n", // In B
    "y y n y y y y n n n y n n n n", // In AB
    "y y y n y y y y y y y y y y y", // NotIn A
    "y y n n n n y y n y n n n n y", // In 1
    "y y n n n n y n y y y y n n n", // In 9
    "y y n n n n y y y y y y n n y", // In 1 9
    "y y y y y y y n y y y y y y y", // NotIn 1 2
    "y y n n n n y n y y y y y n y", // Gt 1
    "y y n n n n y n n n y y y n n", // Gt 9
    "y y n n n n y n n n y n n y y", // Lt 1
    "y y n n n n y y n y y y n y y", // Lt 9
];

fn named(name: &str) -> Requirements {
    let (operator, values): (_, &[&str]) = match name {
        "-" => return Requirements::new(),
        "Exists" => (Operator::Exists, &[]),
        "Absent" => (Operator::DoesNotExist, &[]),
        "In A" => (Operator::In, &["A"]),
        "In B" => (Operator::In, &["B"]),
        "In AB" => (Operator::In, &["A", "B"]),
        "NotIn A" => (Operator::NotIn, &["A"]),
        "In 1" => (Operator::In, &["1"]),
        "In 9" => (Operator::In, &["9"]),
        "In 19" => (Operator::In, &["1", "9"]),
        "NotIn 12" => (Operator::NotIn, &["1", "2"]),
        "Gt 1" => (Operator::Gt, &["1"]),
        "Gt 9" => (Operator::Gt, &["9"]),
        "Lt 1" => (Operator::Lt, &["1"]),
        _ => (Operator::Lt, &["9"]),
    };
    [Requirement::new("size", operator, values).unwrap()]
        .into_iter()
        .collect()
}

fn table(undefined: Undefined<'_>) -> Vec<String> {
    let row = |place: &str| {
        let cells = COLUMNS.map(|who| {
            if named(place).compatible(&named(who), undefined).is_ok() {
                "y"
            } else {
                "n"
            }
        });
        cells.join(" ")
    };
    COLUMNS.iter().map(|place| row(place)).collect()
}

#[test]
fn an_existing_node_must_have_what_is_asked_for() {
    assert_eq!(table(Undefined::Refused), STRICT);
}

#[test]
fn a_new_claim_may_leave_a_well_known_label_open() {
    let known = WellKnown::with(["size".into()]);
    let mut expected: Vec<String> = STRICT.iter().map(ToString::to_string).collect();
    expected[0] = ["y"; 15].join(" ");
    assert_eq!(table(Undefined::WellKnown(&known)), expected);
}

#[test]
fn a_new_claim_may_not_leave_a_custom_label_open() {
    assert_eq!(table(Undefined::WellKnown(&WellKnown::default())), STRICT);
}

#[test]
fn requirements_print_sorted_and_without_the_host_name() {
    let all: Requirements = [
        Requirement::new("zone", Operator::Gt, &["1"]).unwrap(),
        Requirement::one_of("kubernetes.io/hostname", ["n1"]),
        Requirement::one_of("arch", ["b", "a"]),
    ]
    .into_iter()
    .collect();
    assert_eq!(all.to_string(), "arch In [a b], zone Exists >=2");
}

#[test]
fn labels_only_one_side_names_do_not_matter_to_an_instance_type() {
    let place = Requirements::from_labels([("a", "1")]);
    assert!(
        place
            .intersects(&Requirements::from_labels([("b", "2")]))
            .is_ok()
    );
    assert!(
        place
            .intersects(&Requirements::from_labels([("a", "2")]))
            .is_err()
    );
}

#[test]
fn a_misspelt_label_gets_a_hint() {
    let known = WellKnown::default();
    let cases = [
        (
            "zone",
            "label zone has no known values (typo of topology.kubernetes.io/zone?)",
        ),
        (
            "example.io/zone",
            "label example.io/zone has no known values (typo of topology.kubernetes.io/zone?)",
        ),
        (
            "arch",
            "label arch has no known values (typo of kubernetes.io/arch?)",
        ),
        (
            "region",
            "label region has no known values (typo of topology.kubernetes.io/region?)",
        ),
        (
            "topology.kubernetes.io/zon",
            "label topology.kubernetes.io/zon has no known values (typo of topology.kubernetes.io/zone?)",
        ),
        (
            "instance-type",
            "label instance-type has no known values (typo of node.kubernetes.io/instance-type?)",
        ),
        (
            "beta.example.io/os",
            "label beta.example.io/os has no known values (typo of kubernetes.io/os?)",
        ),
        (
            "capacity-type",
            "label capacity-type has no known values (typo of karpenter.sh/capacity-type?)",
        ),
        (
            "kubernetes.io/teams",
            "label kubernetes.io/teams has no known values",
        ),
        ("colour", "label colour has no known values"),
        ("tea", "label tea has no known values (typo of team?)"),
    ];
    let place = Requirements::from_labels([("team", "blue")]);
    for (key, expected) in cases {
        let asked = [Requirement::exists(key)].into_iter().collect();
        let conflict = place
            .compatible(&asked, Undefined::WellKnown(&known))
            .unwrap_err();
        assert_eq!(conflict.to_string(), expected);
    }
}
