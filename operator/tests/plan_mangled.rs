//! Does `joiner plan` survive files that were cut, swapped and scribbled over?
//!
//! Every mangled input is either planned or refused with a complaint that names its file; a panic fails the test.
//! `cargo xtask bench fuzz --minutes N` goes on for longer than the few hundred rounds of a normal run.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

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

fn mangled(mut bytes: Vec<u8>, dice: &mut Dice) -> Vec<u8> {
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
        .filter(|at| bytes[*at] == b':' && b" \"0123456789[{".contains(&bytes[*at + 1]))
        .collect();
    let Some(start) = colons.get(dice.below(colons.len())).map(|at| at + 1) else {
        return;
    };
    let rest = &bytes[start..];
    let length = rest
        .iter()
        .position(|byte| b",}]\n".contains(byte))
        .unwrap_or(rest.len());
    let word = format!(" {}", WORDS[dice.below(WORDS.len())]);
    bytes.splice(start..start + length, word.bytes());
}

/// Which rounds to go through: a few hundred, or as long as asked from a number that was asked for.
struct Rounds {
    next: u64,
    left: u64,
    until: Option<Instant>,
}

impl Rounds {
    fn asked() -> Self {
        let number = |name: &str| std::env::var(name).ok()?.parse::<u64>().ok();
        let until = number("JOINER_FUZZ_MINUTES")
            .map(|minutes| Instant::now() + Duration::from_secs(60 * minutes));
        Self {
            next: number("JOINER_FUZZ_FIRST").unwrap_or(0),
            left: if until.is_some() { u64::MAX } else { 500 },
            until,
        }
    }
}

impl Iterator for Rounds {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        if self.left == 0 || self.until.is_some_and(|until| Instant::now() >= until) {
            return None;
        }
        self.left -= 1;
        self.next += 1;
        Some(self.next - 1)
    }
}

/// A question that is about to be mangled.
struct Question {
    objects: Vec<u8>,
    catalog: Vec<u8>,
}

fn examples() -> Vec<Question> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/plan");
    let one = |name: &str| Question {
        objects: fs::read(root.join(name).join("cluster.yaml")).unwrap(),
        catalog: fs::read(root.join(name).join("catalog.yaml")).unwrap(),
    };
    vec![one("first"), one("zones")]
}

/// Clusters with everything in them: affinities, spreads, volumes, daemons, limits.
fn recorded() -> Vec<Question> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded");
    let text = fs::read_to_string(root.join("karpenter.jsonl")).unwrap();
    let one = |line: &str| {
        let recorded: serde_json::Value = serde_json::from_str(line).unwrap();
        let mut objects = String::new();
        for folded in recorded["objects"].as_array().unwrap() {
            // A few of a kind are enough to be mangled.
            for name in folded["names"].as_array().unwrap().iter().take(3) {
                let object = folded["object"].to_string();
                objects.push_str(&object.replace("\"$NAME\"", &name.to_string()));
                objects.push('\n');
            }
        }
        Question {
            objects: objects.into_bytes(),
            catalog: recorded["catalog"].to_string().into_bytes(),
        }
    };
    text.lines().map(one).collect()
}

fn survive(name: &str, questions: &[Question], mangle_catalog: bool) {
    let scratch: PathBuf =
        std::env::temp_dir().join(format!("joiner-mangled-{name}-{}", std::process::id()));
    fs::create_dir_all(&scratch).unwrap();
    let (objects, catalog) = (scratch.join("objects.yaml"), scratch.join("catalog.yaml"));
    let words = [
        "plan",
        "-f",
        objects.to_str().unwrap(),
        "--catalog",
        catalog.to_str().unwrap(),
    ];
    let asked = Asked::try_parse_from(words).unwrap();
    let (mut planned, mut refused) = (0, 0);
    for round in Rounds::asked() {
        let mut dice = Dice(round ^ 0x5eed);
        let question = &questions[dice.below(questions.len())];
        let (mut texts, at) = (
            [question.objects.clone(), question.catalog.clone()],
            usize::from(mangle_catalog),
        );
        texts[at] = mangled(std::mem::take(&mut texts[at]), &mut dice);
        fs::write(&objects, &texts[0]).unwrap();
        fs::write(&catalog, &texts[1]).unwrap();
        let answered =
            std::panic::catch_unwind(|| answer(&asked, "2026-01-01T00:00:00Z".parse().unwrap()));
        match answered.unwrap_or_else(|_| panic!("{name}: round {round} panics")) {
            Ok(answer) => {
                planned += 1;
                let totals = &answer.plan.totals;
                assert_eq!(totals.placed + totals.refused, totals.pods, "round {round}");
            }
            Err(trouble) => {
                refused += 1;
                let file = ["objects.yaml", "catalog.yaml"][at];
                let said = trouble.to_string();
                assert!(said.contains(file), "round {round}: {said}");
            }
        }
    }
    fs::remove_dir_all(&scratch).unwrap();
    println!("{name}: {planned} planned, {refused} refused");
    assert!(planned > 0 && refused > 0, "nothing was tried");
}

#[test]
fn mangled_objects_are_planned_or_refused_by_name() {
    survive("objects", &examples(), false);
}

#[test]
fn mangled_catalogs_are_planned_or_refused_by_name() {
    survive("catalog", &examples(), true);
}

#[test]
fn mangled_clusters_full_of_constraints_are_planned_or_refused_by_name() {
    survive("recorded", &recorded(), false);
}
