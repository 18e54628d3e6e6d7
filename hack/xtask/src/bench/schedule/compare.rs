//! On random clusters: do we ever refuse more, or pay more, than the other scheduler?

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::side::{self, Figures, Joiner, Karpenter};
use super::workload::Workload;
use super::{Options, check, cluster};

/// Kept for the tests that run without Go.
const RECORDED: usize = 50;

/// How one cluster went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    Same,
    Better,
    RefusesMore,
    Dearer,
}

/// Returns how many plans were broken.
pub fn clusters(
    options: &Options,
    folder: &Path,
    joiner: &Joiner,
    karpenter: Option<&Karpenter>,
) -> Result<usize> {
    let mut wrong = 0;
    let mut tally = std::collections::BTreeMap::new();
    let mut recorded = Vec::new();
    println!(
        "\n{} random clusters from seed {}",
        options.seeds, options.first_seed
    );
    for seed in options.first_seed..options.first_seed + options.seeds {
        let workload = cluster::cluster(seed);
        let files = side::write(folder, &workload)?;
        let (ours, plan) = joiner.plan(&files, workload.ignore_preferences, 1)?;
        let findings = check::check(&workload.objects, &workload.catalog, &plan);
        for finding in findings.iter().take(3) {
            println!("  seed {seed}: broken: {finding}");
        }
        wrong += usize::from(!findings.is_empty());
        if let Some(karpenter) = karpenter {
            let theirs = karpenter.plan(&files, workload.ignore_preferences, false)?;
            let outcome = judge(&ours, &theirs);
            *tally.entry(outcome).or_insert(0) += 1;
            tell(seed, outcome, &ours, &theirs);
            if recorded.len() < RECORDED {
                recorded.push(record(seed, &workload, &theirs));
            }
        }
        std::fs::remove_dir_all(&files.folder)?;
    }
    println!("{wrong} broken; against karpenter: {tally:?}");
    if let Some(path) = &options.record {
        let mut file = std::fs::File::create(path).with_context(|| path.display().to_string())?;
        for line in recorded {
            writeln!(file, "{line}")?;
        }
    }
    Ok(wrong)
}

/// Refusals count first; a price is dearer only if as many pods got a place.
fn judge(ours: &Figures, theirs: &Figures) -> Outcome {
    let cent = 1e-6;
    match ours.refused.cmp(&theirs.refused) {
        std::cmp::Ordering::Greater => Outcome::RefusesMore,
        std::cmp::Ordering::Less => Outcome::Better,
        std::cmp::Ordering::Equal if ours.price > theirs.price + cent => Outcome::Dearer,
        std::cmp::Ordering::Equal if ours.price < theirs.price - cent => Outcome::Better,
        std::cmp::Ordering::Equal => Outcome::Same,
    }
}

fn tell(seed: u64, outcome: Outcome, ours: &Figures, theirs: &Figures) {
    if matches!(outcome, Outcome::RefusesMore | Outcome::Dearer) {
        println!(
            "  seed {seed}: {outcome:?}: {} pods, joiner refuses {} at {:.3}/h on {} nodes, karpenter {} at {:.3}/h on {} nodes",
            ours.pods,
            ours.refused,
            ours.price,
            ours.claims,
            theirs.refused,
            theirs.price,
            theirs.claims
        );
    }
}

fn record(seed: u64, workload: &Workload, theirs: &Figures) -> Value {
    json!({
        "seed": seed,
        "preferencePolicy": if workload.ignore_preferences { "Ignore" } else { "Respect" },
        "catalog": workload.catalog,
        "objects": folded(&workload.objects),
        "karpenter": { "refused": theirs.refused, "claims": theirs.claims, "pricePerHour": theirs.price },
    })
}

/// Objects that differ in nothing but their name are written once.
fn folded(objects: &[Value]) -> Vec<Value> {
    let mut found: Vec<(String, Vec<&str>)> = Vec::new();
    for object in objects {
        let name = check::text(object, "/metadata/name");
        let text = object
            .to_string()
            .replace(&format!("\"{name}\""), "\"$NAME\"");
        match found.iter_mut().find(|(known, _)| *known == text) {
            Some((_, names)) => names.push(name),
            None => found.push((text, vec![name])),
        }
    }
    let unfold = |(text, names): (String, Vec<&str>)| {
        let object: Value = serde_json::from_str(&text).unwrap_or_default();
        json!({ "names": names, "object": object })
    };
    found.into_iter().map(unfold).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(refused: u64, price: f64) -> Figures {
        Figures {
            refused,
            price,
            ..Figures::default()
        }
    }

    #[test]
    fn who_refuses_less_is_better_whatever_it_costs() {
        assert_eq!(judge(&figures(0, 9.0), &figures(1, 1.0)), Outcome::Better);
        assert_eq!(
            judge(&figures(2, 0.0), &figures(1, 1.0)),
            Outcome::RefusesMore
        );
        assert_eq!(judge(&figures(1, 1.1), &figures(1, 1.0)), Outcome::Dearer);
        assert_eq!(judge(&figures(1, 1.0), &figures(1, 1.0)), Outcome::Same);
    }
}
