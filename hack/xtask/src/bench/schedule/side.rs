//! How is each scheduler asked, and what did it answer?

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::workload::Workload;

/// One question on disk.
pub struct Files {
    pub folder: PathBuf,
    pub objects: PathBuf,
    pub catalog: PathBuf,
    pending: usize,
}

/// What a scheduler made of it.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    pub pods: u64,
    pub claims: u64,
    pub refused: u64,
    pub price: f64,
    pub solve_ms: Vec<f64>,
    pub peak_kib: u64,
    pub steps: u64,
    /// It was stopped before its end.
    pub unfinished: bool,
}

/// Our release binary.
pub struct Joiner(PathBuf);

pub struct Karpenter {
    pub binary: PathBuf,
    pub workers: u32,
    pub patience: u64,
}

pub fn write(below: &Path, workload: &Workload) -> Result<Files> {
    let folder = below.join(workload.name.replace(' ', "-"));
    std::fs::create_dir_all(&folder)?;
    let (objects, catalog) = (folder.join("objects.jsonl"), folder.join("catalog.json"));
    let mut out = BufWriter::new(std::fs::File::create(&objects)?);
    for object in &workload.objects {
        writeln!(out, "{object}")?;
    }
    out.flush()?;
    std::fs::write(&catalog, workload.catalog.to_string())?;
    let waits = |one: &&Value| {
        one.get("kind").and_then(Value::as_str) == Some("Pod")
            && one.pointer("/spec/nodeName").is_none()
    };
    Ok(Files {
        pending: workload.objects.iter().filter(waits).count(),
        folder,
        objects,
        catalog,
    })
}

impl Joiner {
    /// The one that is named, or one built as users run it.
    pub fn ready(named: Option<&Path>) -> Result<Self> {
        if let Some(path) = named {
            return Ok(Self(path.to_owned()));
        }
        super::super::cargo(&[
            "build",
            "--release",
            "--package",
            "operator",
            "--bin",
            "joiner",
        ])?;
        Ok(Self(crate::root().join("target/release/joiner")))
    }

    /// The figures and the plan itself.
    pub fn plan(&self, files: &Files, ignore: bool, repeat: u32) -> Result<(Figures, Value)> {
        let mut command = Command::new(&self.0);
        command
            .args([
                "plan",
                "-o",
                "json",
                "--timing",
                "--now",
                "2026-01-02T00:00:00Z",
            ])
            .args(["--repeat", &repeat.to_string(), "-f"])
            .arg(&files.objects)
            .arg("--catalog")
            .arg(&files.catalog)
            .args([
                "--preference-policy",
                if ignore { "Ignore" } else { "Respect" },
            ]);
        let plan = answer(command, &[0, 2])?;
        let totals = plan.get("totals").cloned().unwrap_or_default();
        let timing = plan.get("timing").cloned().unwrap_or_default();
        let figures = Figures {
            steps: whole(&timing, "steps"),
            peak_kib: whole(&timing, "peakRssKiB"),
            solve_ms: times(&timing),
            ..figures(&totals)
        };
        Ok((figures, plan))
    }
}

impl Karpenter {
    pub fn plan(&self, files: &Files, ignore: bool) -> Result<Figures> {
        // A warm run of the same question; of a part of it where the whole would take minutes.
        let warm = files.pending.min(2000).to_string();
        let mut command = self.asked(files, ignore);
        command.args(["-warm", &warm]);
        Ok(said(&answer(command, &[0])?))
    }

    /// With the plan itself, as far as it can be checked.
    pub fn listed(&self, files: &Files, ignore: bool) -> Result<(Figures, Value)> {
        let mut command = self.asked(files, ignore);
        command.arg("-claims");
        let mut answer = answer(command, &[0])?;
        let plan = answer.get_mut("plan").map(Value::take);
        Ok((said(&answer), plan.unwrap_or_default()))
    }

    fn asked(&self, files: &Files, ignore: bool) -> Command {
        let mut command = Command::new(&self.binary);
        let policy = if ignore { "Ignore" } else { "Respect" };
        command
            .args(["-workers", &self.workers.to_string()])
            .args(["-limit", &format!("{}s", self.patience)])
            .args(["-preference-policy", policy, "-f"])
            .arg(&files.objects)
            .arg("-catalog")
            .arg(&files.catalog);
        command
    }
}

fn said(answer: &Value) -> Figures {
    Figures {
        peak_kib: whole(answer, "peakRssKiB"),
        solve_ms: times(answer),
        unfinished: answer.get("unfinished") == Some(&Value::Bool(true)),
        ..figures(answer)
    }
}

fn answer(mut command: Command, fine: &[i32]) -> Result<Value> {
    let output = command
        .output()
        .with_context(|| format!("running {}", command.get_program().display()))?;
    if !output
        .status
        .code()
        .is_some_and(|code| fine.contains(&code))
    {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{command:?} failed ({}): {said}", output.status);
    }
    serde_json::from_slice(&output.stdout).context("its answer is not JSON")
}

fn figures(totals: &Value) -> Figures {
    Figures {
        pods: whole(totals, "pods"),
        claims: whole(totals, "claims"),
        refused: whole(totals, "refused"),
        price: totals
            .get("pricePerHour")
            .and_then(Value::as_f64)
            .unwrap_or(0.0),
        ..Figures::default()
    }
}

fn whole(value: &Value, key: &str) -> u64 {
    value.get(key).and_then(Value::as_u64).unwrap_or(0)
}

fn times(value: &Value) -> Vec<f64> {
    let list = value.get("solveMs").and_then(Value::as_array);
    list.into_iter()
        .flatten()
        .filter_map(Value::as_f64)
        .collect()
}

impl Figures {
    pub fn best_ms(&self) -> f64 {
        self.solve_ms.iter().copied().fold(f64::INFINITY, f64::min)
    }

    #[allow(clippy::cast_precision_loss, reason = "a figure for people")]
    pub fn pods_per_second(&self) -> f64 {
        self.pods as f64 / (self.best_ms() / 1000.0).max(1e-6)
    }
}
