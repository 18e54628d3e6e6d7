//! On random clusters: do we ever refuse more, or pay more, than the other scheduler?

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::side::{self, Figures, Files, Joiner, Karpenter};
use super::workload::Workload;
use super::{Options, check, cluster};

/// How one cluster went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    Same,
    Better,
    /// Worse, but the other plan is one that breaks a promise.
    OtherBroken,
    /// Worse, but not than every answer of the other: where domains tie it takes any, and another one the next time.
    Chance,
    /// Worse, but not when both are told to ignore preferences: we keep some that the other gives up.
    Preferences,
    /// Worse, but not when pools have no limits: we count what is bought, the other the largest type it could be.
    Limits,
    RefusesMore,
    Dearer,
}

/// So often the other is asked again where its plan was better.
const AGAIN: usize = 5;

/// Sums over the clusters where both refuse as many.
#[derive(Default)]
struct Tally {
    outcomes: BTreeMap<Outcome, u64>,
    both: u64,
    claims: [u64; 2],
    price: [f64; 2],
}

/// Returns how many plans were broken.
pub fn clusters(
    options: &Options,
    folder: &Path,
    joiner: &Joiner,
    karpenter: Option<&Karpenter>,
) -> Result<usize> {
    let mut wrong = 0;
    let mut tally = Tally::default();
    let mut file = match &options.record {
        Some(path) => Some(File::create(path).with_context(|| path.display().to_string())?),
        None => None,
    };
    let (first, seeds) = (options.first_seed, options.seeds);
    println!("\n{seeds} random clusters from seed {first}");
    for seed in first..first + seeds {
        let workload = cluster::cluster(seed);
        let files = side::write(folder, &workload)?;
        let (ours, plan) = joiner.plan(&files, workload.ignore_preferences, 1)?;
        let findings = check::check(&workload.objects, &workload.catalog, &plan);
        for finding in findings.iter().take(3) {
            println!("  seed {seed}: broken: {finding}");
        }
        wrong += usize::from(!findings.is_empty());
        if let Some(karpenter) = karpenter {
            let (theirs, plan) = karpenter.listed(&files, workload.ignore_preferences)?;
            let broken = check::check(&workload.objects, &workload.catalog, &plan);
            let mut outcome = judge(&ours, &theirs);
            if outcome.is_worse() {
                let asked = Both {
                    folder,
                    joiner,
                    karpenter,
                };
                outcome = if broken.is_empty() {
                    asked.cause(&workload, &files, &ours)?.unwrap_or(outcome)
                } else {
                    Outcome::OtherBroken
                };
            }
            tally.add(seed, outcome, (&ours, &theirs), broken.first());
            if let Some(file) = &mut file {
                writeln!(file, "{}", record(seed, &workload, &theirs))?;
            }
        }
        std::fs::remove_dir_all(&files.folder)?;
    }
    println!("{wrong} plans of ours break a promise");
    tally.print();
    Ok(wrong)
}

/// Both schedulers, to be asked again about a cluster that is changed a little.
struct Both<'a> {
    folder: &'a Path,
    joiner: &'a Joiner,
    karpenter: &'a Karpenter,
}

impl Both<'_> {
    /// Is it worse every time, and without what are we no worse any more?
    fn cause(&self, workload: &Workload, files: &Files, ours: &Figures) -> Result<Option<Outcome>> {
        for _ in 0..AGAIN {
            let (theirs, _) = self.karpenter.listed(files, workload.ignore_preferences)?;
            if !judge(ours, &theirs).is_worse() {
                return Ok(Some(Outcome::Chance));
            }
        }
        let mut easier = workload.clone();
        easier.name.push_str(" without preferences");
        easier.ignore_preferences = true;
        easier.objects.iter_mut().for_each(without_soft_taints);
        if !self.judged(&easier)?.is_worse() {
            return Ok(Some(Outcome::Preferences));
        }
        let mut unlimited = workload.clone();
        unlimited.name.push_str(" without limits");
        unlimited.objects.iter_mut().for_each(without_limits);
        let fine = !self.judged(&unlimited)?.is_worse();
        Ok(fine.then_some(Outcome::Limits))
    }

    fn judged(&self, workload: &Workload) -> Result<Outcome> {
        let files = side::write(self.folder, workload)?;
        let ignore = workload.ignore_preferences;
        let (ours, _) = self.joiner.plan(&files, ignore, 1)?;
        let (theirs, _) = self.karpenter.listed(&files, ignore)?;
        std::fs::remove_dir_all(&files.folder)?;
        Ok(judge(&ours, &theirs))
    }
}

fn without_limits(object: &mut Value) {
    if check::text(object, "/kind") == "NodePool"
        && let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut)
    {
        spec.remove("limits");
    }
}

fn without_soft_taints(object: &mut Value) {
    let taints = object.pointer_mut("/spec/template/spec/taints");
    if let Some(taints) = taints.and_then(Value::as_array_mut) {
        taints.retain(|taint| check::text(taint, "/effect") != "PreferNoSchedule");
    }
}

impl Outcome {
    fn is_worse(self) -> bool {
        matches!(self, Self::RefusesMore | Self::Dearer)
    }
}

impl Tally {
    fn add(
        &mut self,
        seed: u64,
        outcome: Outcome,
        (ours, theirs): (&Figures, &Figures),
        broken: Option<&String>,
    ) {
        *self.outcomes.entry(outcome).or_default() += 1;
        if ours.refused == theirs.refused {
            self.both += 1;
            self.claims[0] += ours.claims;
            self.claims[1] += theirs.claims;
            self.price[0] += ours.price;
            self.price[1] += theirs.price;
        }
        if outcome >= Outcome::OtherBroken {
            let told = |side: &Figures| {
                format!(
                    "refuses {}, {:.3}/h on {} nodes",
                    side.refused, side.price, side.claims
                )
            };
            println!(
                "  seed {seed}: {outcome:?}: {} pods; joiner {}; karpenter {} {}",
                ours.pods,
                told(ours),
                told(theirs),
                broken.map_or("", String::as_str)
            );
        }
    }

    fn print(&self) {
        println!("\nagainst karpenter             clusters");
        let said = |outcome: Outcome| match outcome {
            Outcome::Same => "as many placed, same price",
            Outcome::Better => "more placed, or cheaper",
            Outcome::OtherBroken => "its plan breaks a promise",
            Outcome::Chance => "its plans differ by chance",
            Outcome::Preferences => "we keep more preferences",
            Outcome::Limits => "limits are counted otherwise",
            Outcome::RefusesMore => "REFUSES MORE",
            Outcome::Dearer => "DEARER",
        };
        for (outcome, count) in &self.outcomes {
            println!("{:28} {count:>9}", said(*outcome));
        }
        println!(
            "where both refuse as many ({}): joiner {:.3}/h on {} nodes, karpenter {:.3}/h on {} nodes",
            self.both, self.price[0], self.claims[0], self.price[1], self.claims[1]
        );
    }
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
