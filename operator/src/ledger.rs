//! What has been tried for this claim, as it stands on the claim itself?
//!
//! `joiner.dev/offerings` is written at creation, `joiner.dev/ledger` before every cloud call that could leave something
//! behind. Both are text that anybody could have changed: what cannot be read stops the claim, it is never taken as empty.

use crds::karpenter::NodeClaim;
use jiff::Timestamp;
use kube::ResourceExt;
use planner::InstanceId;
use planner::lifecycle::ledger::{Attempt, AttemptState, Ledger, OfferingName};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::write::{Write, WriteError};

pub const OFFERINGS: &str = "joiner.dev/offerings";
pub const LEDGER: &str = "joiner.dev/ledger";
const VERSION: u32 = 1;
const LARGEST: usize = 16 << 10;

#[derive(Debug, thiserror::Error)]
#[error(
    "annotation {annotation} of the claim cannot be read ({said}); delete the claim, or restore the annotation"
)]
pub struct BadLedger {
    annotation: &'static str,
    said: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Text {
    version: u32,
    cluster: String,
    epoch: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    account: Option<String>,
    attempts: Vec<AttemptText>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AttemptText {
    offering: String,
    state: StateText,
    at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    instance: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    sides: Vec<(String, String)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    said: Option<String>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum StateText {
    Intended,
    Created,
    Ending,
    Gone,
}

/// The ledger of a claim; none if nothing was ever tried.
pub fn read(claim: &NodeClaim) -> Result<Option<Ledger>, BadLedger> {
    let Some(text) = claim.annotations().get(LEDGER) else {
        return Ok(None);
    };
    let bad = |said: String| BadLedger {
        annotation: LEDGER,
        said,
    };
    let text: Text = serde_json::from_str(text).map_err(|error| bad(error.to_string()))?;
    if text.version != VERSION {
        return Err(bad(format!("version {} is not {VERSION}", text.version)));
    }
    let attempts: Result<Vec<Attempt>, String> = text.attempts.into_iter().map(attempt).collect();
    Ok(Some(Ledger {
        cluster: text.cluster.into(),
        epoch: text.epoch,
        account: text.account.map(Into::into),
        attempts: attempts.map_err(bad)?,
    }))
}

fn attempt(text: AttemptText) -> Result<Attempt, String> {
    let offering: OfferingName = text
        .offering
        .parse()
        .map_err(|bad: planner::lifecycle::ledger::BadOfferingName| bad.to_string())?;
    let instance = text.instance.map(InstanceId::from);
    let state = match (text.state, instance) {
        (StateText::Intended, None) => AttemptState::Intended,
        (StateText::Created, Some(instance)) => AttemptState::Created { instance },
        (StateText::Ending, instance) => AttemptState::Ending { instance },
        (StateText::Gone, _) => AttemptState::Gone,
        (StateText::Intended, Some(_)) => {
            return Err("an intended attempt names an instance".into());
        }
        (StateText::Created, None) => return Err("a created attempt names no instance".into()),
    };
    let sides = text
        .sides
        .into_iter()
        .map(|(kind, id)| (kind.into(), id.into()));
    Ok(Attempt {
        offering,
        state,
        at: text.at,
        sides: sides.collect(),
        said: text.said.map(Into::into),
    })
}

/// The offerings of a claim, in buying order.
pub fn offerings(claim: &NodeClaim) -> Result<Vec<OfferingName>, BadLedger> {
    let Some(text) = claim.annotations().get(OFFERINGS) else {
        return Ok(Vec::new());
    };
    let names = text.split(',').filter(|name| !name.is_empty());
    names
        .map(|name| {
            name.parse().map_err(
                |bad: planner::lifecycle::ledger::BadOfferingName| BadLedger {
                    annotation: OFFERINGS,
                    said: bad.to_string(),
                },
            )
        })
        .collect()
}

/// The text of a ledger, at most 16 KiB.
pub fn text(ledger: &Ledger) -> Result<String, WriteError> {
    let attempts = ledger.attempts.iter().map(|attempt| {
        let (state, instance) = match &attempt.state {
            AttemptState::Intended => (StateText::Intended, None),
            AttemptState::Created { instance } => (StateText::Created, Some(instance.to_string())),
            AttemptState::Ending { instance } => (
                StateText::Ending,
                instance.as_ref().map(ToString::to_string),
            ),
            AttemptState::Gone => (StateText::Gone, None),
        };
        let sides = attempt
            .sides
            .iter()
            .map(|(kind, id)| (kind.to_string(), id.to_string()));
        AttemptText {
            offering: attempt.offering.to_string(),
            state,
            at: attempt.at,
            instance,
            sides: sides.collect(),
            said: attempt
                .said
                .as_ref()
                .map(|said| said.chars().take(200).collect()),
        }
    });
    let text = Text {
        version: VERSION,
        cluster: ledger.cluster.to_string(),
        epoch: ledger.epoch,
        account: ledger.account.as_ref().map(ToString::to_string),
        attempts: attempts.collect(),
    };
    let json = serde_json::to_string(&text)
        .map_err(|error| WriteError::Api(Box::new(kube::Error::SerdeError(error))))?;
    if json.len() > LARGEST {
        return Err(WriteError::TooMany(
            "the ledger would exceed 16 KiB".to_owned(),
        ));
    }
    Ok(json)
}

/// Every instance the claim says it has, in its ledger or its status. An unreadable ledger is an error, never "none".
pub fn instances(claim: &NodeClaim) -> Result<Vec<InstanceId>, BadLedger> {
    let ledger = read(claim)?;
    let last = ledger.as_ref().and_then(|ledger| ledger.attempts.last());
    let recorded = last.and_then(|attempt| match &attempt.state {
        AttemptState::Created { instance } => Some(instance.clone()),
        AttemptState::Ending { instance } => instance.clone(),
        AttemptState::Intended | AttemptState::Gone => None,
    });
    let told = crate::ingest::claim::instance(claim).map(InstanceId::from);
    let mut all: Vec<InstanceId> = recorded.into_iter().chain(told).collect();
    all.dedup();
    Ok(all)
}

/// Makes a ledger durable on the claim as it was read in this turn.
pub async fn record(
    write: &Write,
    claim: &NodeClaim,
    ledger: &Ledger,
) -> Result<NodeClaim, WriteError> {
    let change = json!({ "metadata": { "annotations": { LEDGER: text(ledger)? } } });
    write.claim(claim, change).await
}

/// The same ledger under our epoch, with its last attempt changed.
#[must_use]
pub fn with_last(mut ledger: Ledger, epoch: u64, change: impl FnOnce(&mut Attempt)) -> Ledger {
    ledger.epoch = epoch;
    if let Some(last) = ledger.attempts.last_mut() {
        change(last);
    }
    ledger
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn claim(annotation: &str) -> NodeClaim {
        serde_json::from_value(json!({
            "apiVersion": "karpenter.sh/v1", "kind": "NodeClaim",
            "metadata": { "name": "c", "annotations": { LEDGER: annotation, OFFERINGS: "m1/z1/on-demand,m2/z1/spot" } },
            "spec": { "requirements": [], "nodeClassRef": { "group": "g", "kind": "k", "name": "n" } },
        }))
        .unwrap()
    }

    fn ledger(state: AttemptState) -> Ledger {
        Ledger {
            cluster: "c1".into(),
            epoch: 7,
            account: Some("p1".into()),
            attempts: vec![Attempt {
                offering: "m1/z1/on-demand".parse().unwrap(),
                state,
                at: Timestamp::from_second(5).unwrap(),
                sides: vec![("port".into(), "p1".into())],
                said: Some("no".into()),
            }],
        }
    }

    #[test]
    fn what_was_recorded_is_read_back() {
        let instance: InstanceId = "i1".into();
        for state in [
            AttemptState::Intended,
            AttemptState::Created {
                instance: instance.clone(),
            },
            AttemptState::Ending { instance: None },
            AttemptState::Ending {
                instance: Some(instance),
            },
            AttemptState::Gone,
        ] {
            let written = ledger(state);
            let claim = claim(&text(&written).unwrap());
            assert_eq!(read(&claim).unwrap(), Some(written));
            assert_eq!(offerings(&claim).unwrap().len(), 2);
        }
    }

    #[rstest]
    #[case("")]
    #[case("{}")]
    #[case(r#"{"version":2,"cluster":"c","epoch":1,"attempts":[]}"#)]
    #[case(r#"{"version":1,"cluster":"c","epoch":1,"attempts":[{"offering":"m/z/spot","state":"created","at":"2026-01-01T00:00:00Z"}]}"#)]
    fn a_ledger_that_cannot_be_read_is_an_error_and_never_empty(#[case] text: &str) {
        assert!(read(&claim(text)).is_err());
    }
}
