//! Does every random object survive conversion, and would we notice if a field map were missing?
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use support::dice::Dice;
use support::kinds::{self, Kind};
use support::laws;

#[test]
fn every_law_of_conversion_holds_for_random_objects() {
    for kind in kinds::all() {
        let config = Config { cases: 400, failure_persistence: None, ..Config::default() };
        let entropy = proptest::collection::vec(any::<u8>(), 0..600);
        let outcome = TestRunner::new(config).run(&entropy, |bytes| {
            laws::all(&kind, &mut Dice::Bytes(&bytes)).map_err(TestCaseError::fail)
        });
        if let Err(broken) = outcome {
            panic!("{}: {broken}", kind.pair.kind);
        }
    }
}

#[test]
fn deleting_any_field_map_breaks_a_law() {
    let mut killed = 0;
    for kind in kinds::all() {
        assert_eq!(first_broken(&kind), None, "the tables as they are");
        let spec = laws::mutants(kind.pair.spec, "spec").into_iter();
        let status = laws::mutants(kind.pair.status, "status").into_iter();
        let whole = kind.pair;
        let pairs = spec
            .map(|(name, spec)| (name, crds::convert::Pair { spec, ..whole }))
            .chain(status.map(|(name, status)| (name, crds::convert::Pair { status, ..whole })));
        for (name, pair) in pairs {
            let mutant = Kind { pair, ..kinds::all().into_iter().find(|other| other.pair.kind == whole.kind).unwrap() };
            assert!(first_broken(&mutant).is_some(), "{}: nobody misses {name}", whole.kind);
            killed += 1;
        }
    }
    println!("{killed} field maps deleted in turn, {killed} noticed");
    assert!(killed > 60, "only {killed} field maps were tried");
}

/// The first of a fixed series of seeds under which a law does not hold.
fn first_broken(kind: &Kind) -> Option<u64> {
    (1..=300).find(|seed: &u64| laws::all(kind, &mut Dice::Seed(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15))).is_err())
}
