//! What would be bought for the objects in these files?
//!
//! `joiner plan`: no cluster, no cloud, no clock but the one it is given. The same files give the same bytes.

mod catalog;
pub mod defaults;
mod field;
mod freeze;
mod gather;
mod json;
mod read;
mod report;
mod seen;
mod shared;
mod table;
mod timing;
mod trouble;
mod twins;
mod yaml;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::{Parser, ValueEnum};
use jiff::Timestamp;
use planner::{Budget, Schedule, Snapshot, WhatIf, solve};

pub use catalog::CatalogFile;
pub use report::Plan;
pub use trouble::Trouble;

use crate::args::{MinValues, Preferences};
use crate::snapshot::meaning::Reader;

const TAUGHT: &str = "\
Example, for a cluster as it is:
  kubectl get pods,nodes,nodepools,nodeclaims,daemonsets,pvc,pv,storageclasses,csinodes,namespaces -A -o json |
    joiner plan -f - --catalog catalog.yaml

A catalog with one instance type:
  apiVersion: joiner.dev/v1alpha1
  kind: Catalog
  instanceTypes:
  - name: b3-8
    capacity: {cpu: \"2\", memory: 8Gi, pods: \"110\"}
    overhead: {cpu: 100m, memory: 410Mi}
    offerings:
    - requirements:
      - {key: topology.kubernetes.io/zone, operator: In, values: [gra-a]}
      - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
      price: 0.0465

Exit code 0: every pod has a place. 1: bad input. 2: a plan with refusals.";

/// Reads objects as `kubectl get … -o yaml` prints them and a catalog of what can be bought, and prints the plan.
///
/// Exit code 0: every pod has a place. 1: bad input. 2: a plan with refusals.
#[derive(Debug, Clone, Parser)]
#[command(after_help = TAUGHT)]
pub struct Asked {
    /// File or folder with objects (YAML, JSON, JSON lines, Lists); - is standard input. Can be given several times.
    #[arg(short = 'f', long = "filename", required = true, value_name = "PATH")]
    pub files: Vec<PathBuf>,
    /// File with the instance types and offerings that can be bought.
    #[arg(long, value_name = "FILE")]
    pub catalog: PathBuf,
    /// A table for people, or JSON for programs.
    #[arg(short, long, value_enum, default_value = "table")]
    pub output: Output,
    /// The time the plan is made for, such as 2026-01-01T00:00:00Z. Absent: now.
    #[arg(long)]
    pub now: Option<Timestamp>,
    /// Whether preferences of pods are tried before they are given up.
    #[arg(long, value_enum, default_value = "Respect", ignore_case = true)]
    pub preference_policy: Preferences,
    /// Where a pool asks for more values (minValues) than can be had: refuse, or take what there is.
    #[arg(long, value_enum, default_value = "strict", ignore_case = true)]
    pub min_values_policy: MinValues,
    /// kube-scheduler's configuration file: its default topology constraints apply to pods that have none.
    #[arg(long, value_name = "FILE")]
    pub scheduler_config: Option<PathBuf>,
    /// Add how long reading and solving took, and the most memory that was held.
    #[arg(long)]
    pub timing: bool,
    /// Solve this many times, for --timing.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeat: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Output {
    Table,
    Json,
}

/// What was planned, and what a reader should know about the input.
#[derive(Debug)]
pub struct Answer {
    pub plan: Plan,
    pub currency: Option<String>,
    pub warnings: Vec<String>,
}

/// The whole subcommand.
pub fn run(asked: &Asked) -> ExitCode {
    match answer(asked, asked.now.unwrap_or_else(Timestamp::now)) {
        Ok(answer) => show(asked, &answer),
        Err(trouble) => {
            eprintln!("error: {trouble}");
            ExitCode::from(1)
        }
    }
}

/// The JSON schemas of what goes in and what comes out, by the name of their file in `docs/reference`.
pub fn schemas() -> Vec<(&'static str, schemars::Schema)> {
    vec![
        ("plan-catalog", schemars::schema_for!(CatalogFile)),
        ("plan", schemars::schema_for!(Plan)),
    ]
}

/// Reads, plans, tells.
pub fn answer(asked: &Asked, now: Timestamp) -> Result<Answer, Trouble> {
    let started = Instant::now();
    let catalog = catalog::read(&asked.catalog, now)?;
    let defaults = defaults::read(asked.scheduler_config.as_deref())?;
    let reader = Reader::new(catalog.well_known.clone(), defaults);
    let mut gathered = gather::Gathered::new(reader);
    read::each(&asked.files, &mut |document| gathered.add(&document))?;
    let frozen = freeze::freeze(gathered, &catalog, options(asked), now)?;
    let read_ms = timing::ms(started);
    let (schedule, solve_ms) = solved(&frozen.snapshot, asked.repeat);
    let mut plan = report::plan(&frozen.snapshot, &schedule);
    if asked.timing {
        plan.timing = Some(timing::Timing {
            read_ms,
            solve_ms,
            peak_rss_kib: timing::peak_rss_kib(),
            steps: schedule.steps,
        });
    }
    Ok(Answer {
        plan,
        currency: catalog.currency,
        warnings: frozen.warnings,
    })
}

/// The planner's options, as far as they come from flags.
fn options(asked: &Asked) -> freeze::Flags {
    freeze::Flags {
        min_values: asked.min_values_policy.into(),
        preferences: asked.preference_policy.into(),
    }
}

fn solved(snapshot: &Snapshot, repeat: u32) -> (Schedule, Vec<f64>) {
    let mut times = Vec::new();
    let mut last = Schedule::default();
    for _ in 0..repeat.max(1) {
        let started = Instant::now();
        last = solve(&WhatIf::nothing_changes(snapshot), Budget::UNLIMITED);
        times.push(timing::ms(started));
    }
    (last, times)
}

fn show(asked: &Asked, answer: &Answer) -> ExitCode {
    for warning in &answer.warnings {
        eprintln!("warning: {warning}");
    }
    let mut out = io::BufWriter::with_capacity(1 << 18, io::stdout().lock());
    let written = match asked.output {
        Output::Json => answer.plan.write_json(&mut out),
        Output::Table => {
            let text = table::table(&answer.plan, answer.currency.as_deref());
            out.write_all(text.as_bytes())
        }
    };
    // A reader that has seen enough (`| head`) is no failure of ours.
    let _ = written.and_then(|()| out.flush());
    if answer.plan.totals.refused == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(2)
    }
}
