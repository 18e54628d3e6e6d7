//! Does `joiner plan` survive files that were cut, swapped and scribbled over?
//!
//! Every mangled input is either planned or refused with a complaint that names its file; a panic fails the test.
//! `JOINER_FUZZ_ROUNDS` asks for more rounds than the few thousand of a normal run.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fs;
use std::path::{Path, PathBuf};

use clap::Parser;
use operator::plan::{Asked, answer};

/// Words that have hurt parsers before.
const WORDS: &[&str] = &[
    "-1",
    "0",
    "null",
    "~",
    "\"\"",
    "[]",
    "{}",
    "9223372036854775808",
    "1e999",
    "-9e18",
    "1.5.5",
    "0x10",
    "NaN",
    ".inf",
    "In",
    "NotIn",
    "Exists",
    "Gt",
    "Lt",
    "Gte",
    "\u{0}",
    "\u{fffd}",
    "&a",
    "*a",
    "!!binary",
    "|",
    ">",
    "---",
    "...",
    "\t",
    "DoNotSchedule",
    "ScheduleAnyway",
    "kubernetes.io/hostname",
    "karpenter.sh/nodepool",
    "true",
    "maxSkew: 0",
    "- ",
    ": ",
    "items:",
    "kind: List",
    "1Ei",
    "1000000Ei",
    "-1m",
    "n1",
    "default",
];

struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % sides.max(1)
    }
}

fn mangled(text: &str, dice: &mut Dice) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..=dice.below(4) {
        let at = dice.below(bytes.len() + 1);
        match dice.below(6) {
            0 => bytes.truncate(at),
            1 => {
                let end = (at + dice.below(40)).min(bytes.len());
                bytes.drain(at.min(end)..end);
            }
            2 => {
                let word = WORDS[dice.below(WORDS.len())];
                bytes.splice(at..at, word.bytes());
            }
            3 => replace_value(&mut bytes, dice),
            4 => {
                let from = dice.below(bytes.len() + 1);
                let piece = bytes[from..(from + dice.below(200)).min(bytes.len())].to_vec();
                bytes.splice(at..at, piece);
            }
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = u8::try_from(dice.below(256)).unwrap();
                }
            }
        }
    }
    bytes
}

/// What stands behind a colon becomes something else: the text stays well formed, the meaning does not.
fn replace_value(bytes: &mut Vec<u8>, dice: &mut Dice) {
    let colons: Vec<usize> = (0..bytes.len().saturating_sub(1))
        .filter(|at| bytes[*at] == b':' && bytes[*at + 1] == b' ')
        .collect();
    let Some(start) = colons.get(dice.below(colons.len())).map(|at| at + 2) else {
        return;
    };
    let rest = &bytes[start..];
    let length = rest
        .iter()
        .position(|byte| b",}]\n".contains(byte))
        .unwrap_or(rest.len());
    let word = WORDS[dice.below(WORDS.len())];
    bytes.splice(start..start + length, word.bytes());
}

fn rounds() -> usize {
    let asked = std::env::var("JOINER_FUZZ_ROUNDS").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(1500)
}

fn survive(name: &str, mangle_catalog: bool) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/plan");
    let scratch: PathBuf =
        std::env::temp_dir().join(format!("joiner-mangled-{name}-{}", std::process::id()));
    fs::create_dir_all(&scratch).unwrap();
    let (mut planned, mut refused) = (0, 0);
    for round in 0..rounds() {
        let example = ["first", "zones"][round % 2];
        let mut dice = Dice(round as u64 ^ 0x5eed);
        let mut paths = Vec::new();
        for (file, mangle) in [
            ("cluster.yaml", !mangle_catalog),
            ("catalog.yaml", mangle_catalog),
        ] {
            let text = fs::read_to_string(root.join(example).join(file)).unwrap();
            let bytes = if mangle {
                mangled(&text, &mut dice)
            } else {
                text.into_bytes()
            };
            let path = scratch.join(file);
            fs::write(&path, bytes).unwrap();
            paths.push(path);
        }
        let words = [
            "plan",
            "-f",
            paths[0].to_str().unwrap(),
            "--catalog",
            paths[1].to_str().unwrap(),
        ];
        let asked = Asked::try_parse_from(words).unwrap();
        match answer(&asked, "2026-01-01T00:00:00Z".parse().unwrap()) {
            Ok(answer) => {
                planned += 1;
                let totals = &answer.plan.totals;
                assert_eq!(totals.placed + totals.refused, totals.pods, "round {round}");
            }
            Err(trouble) => {
                refused += 1;
                let file = if mangle_catalog {
                    "catalog.yaml"
                } else {
                    "cluster.yaml"
                };
                assert!(
                    trouble.to_string().contains(file),
                    "round {round}: {trouble}"
                );
            }
        }
    }
    fs::remove_dir_all(&scratch).unwrap();
    assert!(
        planned > 0 && refused > 0,
        "{planned} planned, {refused} refused: nothing was tried"
    );
}

#[test]
fn mangled_objects_are_planned_or_refused_by_name() {
    survive("objects", false);
}

#[test]
fn mangled_catalogs_are_planned_or_refused_by_name() {
    survive("catalog", true);
}
