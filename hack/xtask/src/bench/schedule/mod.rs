//! How fast is planning, how good are the plans, and how do both compare with Karpenter's?
//!
//! Both schedulers get the same files. Only solving is timed, on both sides; every plan of ours is checked in the same run
//! by code that knows nothing of the planner.

pub mod amount;
pub mod check;
pub mod cluster;
pub mod compare;
pub mod dice;
pub mod headline;
pub mod labels;
pub mod names;
pub mod rare;
pub mod reservations;
pub mod side;
pub mod topology;
pub mod volumes;
pub mod workload;

use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use side::{Figures, Joiner, Karpenter};
use workload::Workload;

#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// Also run this scheduler on the same files and print both side by side.
    #[arg(long, value_enum)]
    against: Option<Against>,
    /// How many random clusters to compare after the timed workloads.
    #[arg(long, default_value_t = 0)]
    seeds: u64,
    /// The first of them.
    #[arg(long, default_value_t = 1)]
    first_seed: u64,
    /// Seed of the timed workloads; all but 42 rename labels, zones and types.
    #[arg(long, default_value_t = names::KNOWN_SEED)]
    seed: u64,
    /// Only workloads whose name contains this; `none` skips them all.
    #[arg(long, default_value = "")]
    only: String,
    /// Give the other scheduler at most this long for one workload.
    #[arg(long, default_value_t = 600)]
    patience: u64,
    /// The other scheduler's workers: 1 is its default (one per core it requests), 5 is what its own benchmark takes.
    #[arg(long, default_value_t = 1)]
    workers: u32,
    /// Write the random clusters with the other scheduler's figures into this file.
    #[arg(long)]
    record: Option<PathBuf>,
    /// Measure this program instead of building one.
    #[arg(long)]
    joiner: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Against {
    Karpenter,
}

pub fn run(options: &Options) -> Result<()> {
    let folder = crate::root().join("target/bench/schedule");
    std::fs::create_dir_all(&folder).with_context(|| format!("creating {}", folder.display()))?;
    let joiner = Joiner::ready(options.joiner.as_deref())?;
    let karpenter = match options.against {
        Some(Against::Karpenter) => Some(Karpenter {
            binary: crate::tools::karpenter_schedule()?,
            workers: options.workers,
            patience: options.patience,
        }),
        None => None,
    };
    let mut wrong = timed(options, &folder, &joiner, karpenter.as_ref())?;
    if options.seeds > 0 {
        wrong += compare::clusters(options, &folder, &joiner, karpenter.as_ref())?;
    }
    if wrong > 0 {
        bail!("{wrong} plans break a promise; see above");
    }
    Ok(())
}

/// Made when its turn comes: together they would fill the memory.
type Recipe = (String, Box<dyn Fn() -> Workload>);

/// The workloads whose figures we tell people.
fn workloads(options: &Options) -> Vec<Recipe> {
    let seed = options.seed;
    let mut all: Vec<Recipe> = Vec::new();
    for n in [1, 50, 100, 500, 1000, 2000, 5000, 10_000, 20_000] {
        all.push((
            format!("diverse {n}"),
            Box::new(move || workload::diverse(n, seed)),
        ));
    }
    for ignore in [false, true] {
        let policy = if ignore { "ignored" } else { "respected" };
        all.push((
            format!("preferences {policy} 4000"),
            Box::new(move || workload::preferences(4000, seed, ignore)),
        ));
    }
    // Ten times the pods of the same shapes: on nodes that are there, and where every one has to be bought for.
    for (pods, nodes) in [(5, 5), (50, 5), (100, 5), (10, 0), (100, 0)] {
        let (pods, nodes) = (pods * 1_000, nodes * 1_000);
        all.push((
            format!("{pods} pods of 200 shapes on {nodes} nodes"),
            Box::new(move || headline::headline(pods, 200, nodes, seed)),
        ));
    }
    all.retain(|(name, _)| name.contains(&options.only));
    all
}

fn timed(
    options: &Options,
    folder: &Path,
    joiner: &Joiner,
    karpenter: Option<&Karpenter>,
) -> Result<usize> {
    let mut wrong = 0;
    println!("{}", heading(karpenter.is_some()));
    for (name, make) in workloads(options) {
        let workload = make();
        let files = side::write(folder, &workload)?;
        let (ours, plan) = joiner.plan(&files, workload.ignore_preferences, 3)?;
        let findings = check::check(&workload.objects, &workload.catalog, &plan);
        drop(plan);
        let theirs = match karpenter {
            Some(karpenter) => Some(karpenter.plan(&files, workload.ignore_preferences)?),
            None => None,
        };
        println!("{}", line(&name, &ours, theirs.as_ref(), findings.len()));
        for finding in findings.iter().take(5) {
            println!("    broken: {finding}");
        }
        wrong += usize::from(!findings.is_empty());
        std::fs::remove_dir_all(&files.folder)?;
    }
    Ok(wrong)
}

fn heading(both: bool) -> String {
    let mut text = format!(
        "{:42} {:>10} {:>11} {:>8} {:>7} {:>12} {:>8} {:>12} {:>7}",
        "joiner", "ms", "pods/s", "MiB", "nodes", "price/h", "refused", "steps", "checked"
    );
    if both {
        let _ = write!(
            text,
            " | {:>11} {:>8} {:>7} {:>12} {:>8} {:>8}",
            "karpenter ms", "MiB", "nodes", "price/h", "refused", "faster"
        );
    }
    text
}

fn line(name: &str, ours: &Figures, theirs: Option<&Figures>, findings: usize) -> String {
    let checked = if findings == 0 { "ok" } else { "BROKEN" };
    let mut text = format!(
        "{name:42} {:>10.2} {:>11.0} {:>8} {:>7} {:>12.3} {:>8} {:>12} {checked:>7}",
        ours.best_ms(),
        ours.pods_per_second(),
        ours.peak_kib / 1024,
        ours.claims,
        ours.price,
        ours.refused,
        ours.steps,
    );
    if let Some(theirs) = theirs {
        let more = if theirs.unfinished { ">" } else { "" };
        let _ = write!(
            text,
            " | {more}{:>11.1} {:>8} {:>7} {:>12.3} {:>8} {:>7.0}x",
            theirs.best_ms(),
            theirs.peak_kib / 1024,
            theirs.claims,
            theirs.price,
            theirs.refused,
            theirs.best_ms() / ours.best_ms().max(0.001),
        );
    }
    text
}
