//! Is this class sound, as far as CEL cannot tell, and what would an update lose?
//!
//! The API server hands us objects in the version of the request (the webhook is registered for every served version with
//! `matchPolicy: Exact`). The hub's rules refuse; for an older version they only warn, because whatever the prototype
//! accepted must stay accepted. What the stored object already had wrong never blocks an update of something else.

use serde_json::Value;

use crate::convert::Pair;
use crate::convert::Trouble;
use crate::convert::dropped::{annotation_of, dropped};
use crate::convert::stash::{Stash, StashError};
use crate::validate::{Finding, Verdict};

/// What is particular to one cloud.
pub(crate) struct ClassRules {
    pub pair: &'static Pair,
    /// Judges the spec of the hub version.
    pub hub: fn(&Value, &mut Verdict),
    /// Warnings about fields of the older version that do nothing.
    pub ignored: fn(&Value) -> Vec<String>,
}

impl ClassRules {
    pub(crate) fn check(&self, new: &Value, old: Option<&Value>) -> Verdict {
        if new.pointer("/metadata/deletionTimestamp").is_some() {
            // Nothing but finalizers changes any more; refusing would keep the object for ever.
            return Verdict::default();
        }
        let is_spoke = new.get("apiVersion").and_then(Value::as_str) == Some(self.pair.spoke_api_version().as_str());
        let judge = |object| if is_spoke { self.spoke(object) } else { self.hub(object) };
        let mut verdict = judge(new);
        if let Some(old) = old {
            excuse(&mut verdict, &judge(old).refusals);
            if is_spoke {
                verdict.warnings.extend(self.lost(new, old));
            }
        }
        verdict
    }

    fn hub(&self, object: &Value) -> Verdict {
        let mut verdict = Verdict::default();
        (self.hub)(object.get("spec").unwrap_or(&Value::Null), &mut verdict);
        let leftovers = self.pair.spoke_stash();
        let ours = [self.pair.hub_stash(), leftovers.clone()];
        if let Some(text) = annotation_of(object, &leftovers)
            && let Err(StashError::Malformed { annotation, reason }) = Stash::read(&leftovers, text, &ours)
        {
            verdict.refusals.push(broken(&annotation, &reason));
        }
        if let Err(trouble) = self.pair.down(object.clone()) {
            verdict.refusals.push(unconvertible(self.pair.spoke, &trouble));
        }
        verdict
    }

    fn spoke(&self, object: &Value) -> Verdict {
        let mut verdict = Verdict::default();
        match self.pair.up(object.clone()) {
            Ok(hub) => {
                let mut judged = Verdict::default();
                (self.hub)(hub.get("spec").unwrap_or(&Value::Null), &mut judged);
                let hub = self.pair.hub;
                let as_warning = |finding: &Finding| format!("in {hub} terms: {}", sentence(finding));
                verdict.warnings.extend(judged.refusals.iter().map(as_warning));
                verdict.warnings.extend(judged.warnings);
            }
            Err(Trouble::Stash(StashError::Malformed { annotation, reason })) => {
                verdict.refusals.push(broken(&annotation, &reason));
            }
            Err(trouble) => verdict.refusals.push(unconvertible(self.pair.hub, &trouble)),
        }
        verdict.warnings.extend((self.ignored)(object.get("spec").unwrap_or(&Value::Null)));
        verdict
    }

    fn lost(&self, new: &Value, old: &Value) -> Option<String> {
        let lost = dropped(self.pair, new, old);
        (!lost.is_empty()).then(|| {
            format!(
                "this update drops fields that {} cannot show: {}; to keep them, edit a fetched object, use kubectl apply, or \
                 write {}",
                self.pair.spoke,
                lost.join(", "),
                self.pair.hub,
            )
        })
    }
}

/// Turns what was already wrong before into warnings.
pub(crate) fn excuse(verdict: &mut Verdict, before: &[Finding]) {
    let all = std::mem::take(&mut verdict.refusals).into_iter();
    let (old, new): (Vec<_>, Vec<_>) = all.partition(|finding| before.contains(finding));
    verdict.refusals = new;
    verdict.warnings.extend(old.iter().map(sentence));
}

pub(crate) fn sentence(finding: &Finding) -> String {
    format!("{}: {}; {}", finding.field, finding.problem, finding.fix)
}

pub(crate) fn refuse(verdict: &mut Verdict, field: impl Into<String>, problem: impl Into<String>, fix: &str) {
    verdict.refusals.push(Finding {
        field: field.into(),
        problem: problem.into(),
        fix: fix.to_owned(),
    });
}

fn broken(annotation: &str, reason: &str) -> Finding {
    Finding {
        field: format!("metadata.annotations[{annotation:?}]"),
        problem: format!("cannot be read: {reason}"),
        fix: "restore it from a fresh read of the object, or remove it to give up the fields it holds".to_owned(),
    }
}

fn unconvertible(version: &str, trouble: &Trouble) -> Finding {
    Finding {
        field: "metadata.annotations".to_owned(),
        problem: format!("the object could not be read in {version}: {trouble}"),
        fix: "make the object smaller or flatter".to_owned(),
    }
}
