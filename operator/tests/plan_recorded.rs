//! Do we refuse as little and pay as little as Karpenter did on clusters that were recorded with it?
//!
//! `recorded/karpenter.jsonl` is written by `cargo xtask bench schedule --against karpenter --only none --seeds 50 --record FILE`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::cast_possible_truncation
)]

use std::fmt::Write;
use std::fs;
use std::path::Path;

use clap::Parser;
use operator::plan::{Asked, answer};
use serde_json::Value;

/// Seeds where we may refuse more or pay more, each with its reason.
const EXCEPTIONS: &[(u64, &str)] = &[];

#[test]
fn no_recorded_cluster_is_served_worse_than_by_karpenter() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded");
    let text = fs::read_to_string(folder.join("karpenter.jsonl")).unwrap();
    let scratch = std::env::temp_dir().join(format!("joiner-recorded-{}", std::process::id()));
    fs::create_dir_all(&scratch).unwrap();
    let mut worse = String::new();
    let mut clusters = 0;
    for line in text.lines() {
        let recorded: Value = serde_json::from_str(line).unwrap();
        let (objects, catalog) = (scratch.join("objects.jsonl"), scratch.join("catalog.json"));
        let list: Vec<String> = recorded["objects"]
            .as_array()
            .unwrap()
            .iter()
            .map(ToString::to_string)
            .collect();
        fs::write(&objects, list.join("\n")).unwrap();
        fs::write(&catalog, recorded["catalog"].to_string()).unwrap();
        let words = [
            "plan",
            "-f",
            objects.to_str().unwrap(),
            "--catalog",
            catalog.to_str().unwrap(),
            "--preference-policy",
            recorded["preferencePolicy"].as_str().unwrap(),
        ];
        let asked = Asked::try_parse_from(words).unwrap();
        let ours = answer(&asked, "2026-01-02T00:00:00Z".parse().unwrap()).unwrap();
        let totals = ours.plan.totals;
        let seed = recorded["seed"].as_u64().unwrap();
        let refused = recorded["karpenter"]["refused"].as_u64().unwrap() as usize;
        let price = recorded["karpenter"]["pricePerHour"].as_f64().unwrap();
        let dearer = totals.refused == refused && totals.price_per_hour > price + 1e-6;
        let excused = EXCEPTIONS.iter().any(|(known, _)| *known == seed);
        if (totals.refused > refused || dearer) && !excused {
            let _ = writeln!(
                worse,
                "seed {seed}: we refuse {} at {:.3}, Karpenter refused {refused} at {price:.3}",
                totals.refused, totals.price_per_hour
            );
        }
        clusters += 1;
    }
    fs::remove_dir_all(&scratch).unwrap();
    assert!(clusters >= 50, "{clusters} clusters are recorded");
    assert!(worse.is_empty(), "{worse}");
}
