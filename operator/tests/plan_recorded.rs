//! Do we refuse as little and pay as little as Karpenter did on clusters that were recorded with it?
//!
//! `recorded/karpenter.jsonl` is written by `cargo xtask bench schedule --against karpenter --only none --seeds 50 --record FILE`.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Parser;
use operator::plan::{Asked, Plan, answer};
use serde_json::Value;

/// Steps may grow by this much before somebody has to look: they are the same on every machine.
const STEPS_SLACK_PERCENT: u64 = 10;

const NOW: &str = "2026-01-02T00:00:00Z";

struct Recorded {
    seed: u64,
    refused: usize,
    price: f64,
    ours: Plan,
}

fn planned() -> Vec<Recorded> {
    let text = fs::read_to_string(folder().join("karpenter.jsonl")).unwrap();
    let scratch = scratch("planned");
    let all = text.lines().map(|line| one(line, &scratch)).collect();
    fs::remove_dir_all(&scratch).unwrap();
    all
}

/// A folder of this test alone.
fn scratch(name: &str) -> PathBuf {
    let thread = std::thread::current().id();
    let name = format!("joiner-{name}-{}-{thread:?}", std::process::id());
    let path = std::env::temp_dir().join(name);
    fs::create_dir_all(&path).unwrap();
    path
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded")
}

/// The files of a recorded cluster, and the words to ask about them with.
struct Question {
    recorded: Value,
    lines: Vec<String>,
    words: Vec<String>,
}

impl Question {
    fn of(line: &str, scratch: &Path) -> Self {
        let recorded: Value = serde_json::from_str(line).unwrap();
        let mut lines = Vec::new();
        for folded in recorded["objects"].as_array().unwrap() {
            let object = folded["object"].to_string();
            for name in folded["names"].as_array().unwrap() {
                lines.push(object.replace("\"$NAME\"", &name.to_string()));
            }
        }
        let (objects, catalog) = (scratch.join("objects.jsonl"), scratch.join("catalog.json"));
        fs::write(&objects, lines.join("\n")).unwrap();
        fs::write(&catalog, recorded["catalog"].to_string()).unwrap();
        let policy = recorded["preferencePolicy"].as_str().unwrap().to_owned();
        let (objects, catalog) = (objects.to_str().unwrap(), catalog.to_str().unwrap());
        let words = ["plan", "-f", objects, "--catalog", catalog, "-o", "json"];
        let mut words = words.map(str::to_owned).to_vec();
        words.extend(["--preference-policy".to_owned(), policy]);
        words.extend(["--now".to_owned(), NOW.to_owned()]);
        Self {
            recorded,
            lines,
            words,
        }
    }

    fn plan(&self, more: &[&str]) -> Plan {
        let more = more.iter().map(ToString::to_string);
        let words: Vec<String> = self.words.iter().cloned().chain(more).collect();
        let asked = Asked::try_parse_from(words).unwrap();
        answer(&asked, NOW.parse().unwrap()).unwrap().plan
    }

    /// The same objects in another order.
    fn turn(&self) {
        let (middle, mut turned) = (self.lines.len() / 3, self.lines.clone());
        turned.rotate_left(middle);
        turned[middle..].reverse();
        fs::write(&self.words[2], turned.join("\n")).unwrap();
    }
}

fn one(line: &str, scratch: &Path) -> Recorded {
    let question = Question::of(line, scratch);
    let figures = &question.recorded["karpenter"];
    Recorded {
        seed: question.recorded["seed"].as_u64().unwrap(),
        refused: usize::try_from(figures["refused"].as_u64().unwrap()).unwrap(),
        price: figures["pricePerHour"].as_f64().unwrap(),
        ours: question.plan(&["--timing"]),
    }
}

#[test]
fn the_same_cluster_gives_the_same_bytes_again_turned_around_and_in_another_process() {
    let text = fs::read_to_string(folder().join("karpenter.jsonl")).unwrap();
    let scratch = scratch("steady");
    for line in text.lines().step_by(4) {
        let question = Question::of(line, &scratch);
        let seed = &question.recorded["seed"];
        let first = question.plan(&[]).to_json();
        assert_eq!(question.plan(&[]).to_json(), first, "seed {seed}, again");
        question.turn();
        assert_eq!(question.plan(&[]).to_json(), first, "seed {seed}, turned");
        let other = Command::new(env!("CARGO_BIN_EXE_joiner"))
            .args(&question.words)
            .output()
            .unwrap();
        let other = String::from_utf8(other.stdout).unwrap();
        assert_eq!(other, first, "seed {seed}, in another process");
    }
    fs::remove_dir_all(&scratch).unwrap();
}

#[test]
fn no_recorded_cluster_is_served_worse_than_by_karpenter() {
    let mut worse = String::new();
    let all = planned();
    assert!(all.len() >= 50, "{} clusters are recorded", all.len());
    for cluster in all {
        let (seed, refused, price) = (cluster.seed, cluster.refused, cluster.price);
        let totals = cluster.ours.totals;
        let dearer = totals.refused == refused && totals.price_per_hour > price + 1e-6;
        if totals.refused > refused || dearer {
            let _ = writeln!(
                worse,
                "seed {seed}: we refuse {} at {:.3}, Karpenter refused {refused} at {price:.3}",
                totals.refused, totals.price_per_hour
            );
        }
    }
    assert!(worse.is_empty(), "{worse}");
}

#[test]
fn planning_the_recorded_clusters_takes_no_more_steps_than_it_did() {
    let steps = |cluster: &Recorded| {
        cluster
            .ours
            .timing
            .as_ref()
            .map_or(0, |timing| timing.steps)
    };
    let now: u64 = planned().iter().map(steps).sum();
    let path = folder().join("steps.txt");
    if std::env::var_os("JOINER_WRITE").is_some() {
        fs::write(&path, format!("{now}\n")).unwrap();
    }
    let before: u64 = fs::read_to_string(&path).unwrap().trim().parse().unwrap();
    let most = before + before * STEPS_SLACK_PERCENT / 100;
    assert!(
        now <= most,
        "{now} steps, {before} were recorded; make it cheaper, or JOINER_WRITE=1 accepts it"
    );
}
