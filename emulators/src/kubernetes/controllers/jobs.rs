//! Has a Job had as many successful pods as it asks for?

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::conditions::{self, Condition};
use super::driver::Controller;
use super::pods;
use crate::kubernetes::object::{Object, stamp};
use crate::kubernetes::reading::{after, condition, count, instant, open, seconds};
use crate::kubernetes::rules::{Deletion, Propagation};
use crate::kubernetes::store::Store;

pub struct Jobs;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Going,
    Complete,
    BackoffLimit,
    Deadline,
}

impl Controller for Jobs {
    fn kind(&self) -> &'static str {
        "jobs.batch"
    }

    fn children(&self) -> &'static [&'static str] {
        &["pods"]
    }

    fn reconcile(
        &mut self,
        store: &mut Store,
        object: &Arc<Object>,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let value = object.value();
        if object.meta.deleted_at.is_some() {
            return None;
        }
        let over = ["Complete", "Failed"]
            .iter()
            .find_map(|kind| condition(&value, kind));
        if let Some(over) = over {
            return forget_later(store, object, (&value, over), now);
        }
        let have = pods::of(store, object);
        let phase = |phase: &str| have.iter().filter(|pod| pod.meta.phase == phase).count();
        let (done, failed) = (phase("Succeeded"), phase("Failed"));
        let active: Vec<&Arc<Object>> = have.iter().filter(|pod| pods::active(pod)).collect();
        let started = instant(&value["status"]["startTime"]).unwrap_or(now);
        let until =
            seconds(&value["spec"]["activeDeadlineSeconds"]).map(|limit| after(started, limit));
        let late = until.is_some_and(|until| until <= now);
        let verdict = judge(&value, (done, failed), late);
        let suspended = value["spec"]["suspend"] == true;
        let running = if verdict == Verdict::Going && !suspended {
            start_more(store, (object, &value), (active.len(), done), now)
        } else {
            for pod in &active {
                let at = (pod.namespace(), pod.name());
                let _ = store.delete("pods", at, &Deletion::default(), now);
            }
            0
        };
        report(store, object, (verdict, [running, done, failed]), now);
        until.filter(|until| *until > now && verdict == Verdict::Going)
    }
}

fn judge(value: &Value, (done, failed): (usize, usize), late: bool) -> Verdict {
    let spec = &value["spec"];
    let wanted = spec["completions"].as_i64();
    let done = i64::try_from(done).unwrap_or(0);
    let failed = i64::try_from(failed).unwrap_or(0);
    // without completions, one success ends a queue that is worked on in parallel
    let complete = match wanted {
        Some(wanted) => done >= wanted,
        None => done >= 1,
    };
    if complete {
        Verdict::Complete
    } else if failed > count(&spec["backoffLimit"], 6) {
        Verdict::BackoffLimit
    } else if late {
        Verdict::Deadline
    } else {
        Verdict::Going
    }
}

/// Returns how many run now.
fn start_more(
    store: &mut Store,
    job: (&Object, &Value),
    (active, done): (usize, usize),
    now: Timestamp,
) -> usize {
    let (object, value) = job;
    let parallelism = usize::try_from(count(&value["spec"]["parallelism"], 1)).unwrap_or(0);
    let left = value["spec"]["completions"]
        .as_u64()
        .map_or(parallelism, |wanted| {
            usize::try_from(wanted).unwrap_or(0).saturating_sub(done)
        });
    let goal = parallelism.min(left);
    let mut running = active;
    while running < goal {
        let mut pod = pods::from_template(&value["spec"]["template"], object);
        pod["metadata"]["generateName"] = format!("{}-", object.name()).into();
        for prefix in ["", "batch.kubernetes.io/"] {
            let labels = &mut pod["metadata"]["labels"];
            labels[format!("{prefix}job-name")] = object.name().into();
            labels[format!("{prefix}controller-uid")] = object.meta.uid.clone().into();
        }
        if store.create("pods", pod, now).is_err() {
            break;
        }
        running += 1;
    }
    running
}

fn report(store: &mut Store, object: &Object, seen: (Verdict, [usize; 3]), now: Timestamp) {
    let (verdict, [active, done, failed]) = seen;
    let at = (object.namespace(), object.name());
    let _ = store.change("jobs.batch", at, now, |value| {
        let status = open(value, "status");
        if !status["startTime"].is_string() {
            status["startTime"] = stamp(now).into();
        }
        for (member, number) in [
            ("active", active),
            ("ready", active),
            ("succeeded", done),
            ("failed", failed),
        ] {
            status[member] = json!(number);
        }
        let (kind, reason, message) = match verdict {
            Verdict::Going => return,
            Verdict::Complete => (
                "Complete",
                "CompletionsReached",
                "Reached expected number of succeeded pods",
            ),
            Verdict::BackoffLimit => (
                "Failed",
                "BackoffLimitExceeded",
                "Job has reached the specified backoff limit",
            ),
            Verdict::Deadline => (
                "Failed",
                "DeadlineExceeded",
                "Job was active longer than specified deadline",
            ),
        };
        if verdict == Verdict::Complete {
            status["completionTime"] = stamp(now).into();
        }
        let condition = Condition {
            kind,
            status: "True",
            reason,
            message,
        };
        conditions::set(status, condition, Some("lastProbeTime"), now);
    });
}

fn forget_later(
    store: &mut Store,
    object: &Object,
    (value, over): (&Value, &Value),
    now: Timestamp,
) -> Option<Timestamp> {
    let keep = seconds(&value["spec"]["ttlSecondsAfterFinished"])?;
    let until = after(instant(&over["lastTransitionTime"])?, keep);
    if until > now {
        return Some(until);
    }
    let how = Deletion {
        propagation: Some(Propagation::Background),
        ..Deletion::default()
    };
    let _ = store.delete("jobs.batch", (object.namespace(), object.name()), &how, now);
    None
}
