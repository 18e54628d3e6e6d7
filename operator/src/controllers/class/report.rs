//! How does a class say what it amounts to, once and in the right condition?

use cloud::class::conditions as names;
use cloud::{Provider, Resolved, Trouble};
use crds::openstack::status::{FlavorStatus, ImageStatus, OpenStackNodeClassStatus};
use crds::openstack::v1::OpenStackNodeClass;
use crds::shared::class_status::{Condition, ConditionStatus, NamedResource};
use kube::ResourceExt;
use serde_json::json;

use crate::brakes;
use crate::controllers::Turn;
use crate::explain::same_fact;
use crate::hub::Shared;
use crate::write::Who;

/// Machines of the class can be told how to join.
pub(super) const BOOTSTRAP: &str = "BootstrapReady";
const ALL: [&str; 8] = [
    names::VALIDATION,
    names::CREDENTIALS,
    names::IMAGES,
    names::NETWORKS,
    names::SECURITY_GROUPS,
    names::TYPES,
    names::ZONES,
    BOOTSTRAP,
];

/// As its status says.
pub(super) fn is_ready(class: &OpenStackNodeClass) -> bool {
    let status = class.status.as_ref();
    let conditions = status.and_then(|status| status.conditions.as_ref());
    let mut all = conditions.into_iter().flatten();
    all.any(|one| one.type_ == "Ready" && one.status == ConditionStatus::True)
}

pub(super) async fn report(
    hub: &Shared,
    class: &OpenStackNodeClass,
    found: Option<&Resolved>,
    troubles: &[Trouble],
) -> Result<(), Turn> {
    let before = class.status.clone().unwrap_or_default();
    let mut status = match found {
        Some(found) => resolved_status(&before, found),
        None => before.clone(),
    };
    if troubles.is_empty()
        && let Some(known) = hub.providers.get(&class.name_any())
        && let Ok(quota) = known.provider.quota().await
    {
        status.quota = Some(openstack::status::left(&quota));
    }
    let verdict = Verdict {
        class,
        old: before.conditions.clone().unwrap_or_default(),
        asked: found.is_some(),
        paused_by: paused_by(hub, class),
        troubles,
        now: hub.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
    };
    let conditions = verdict.conditions();
    let news = verdict.news(&conditions);
    status.conditions = Some(conditions);
    if status == before {
        return Ok(());
    }
    hub.write
        .merge_status(&hub.access.classes(), Who::Class, class, json!(status))
        .await?;
    for said in news {
        hub.tell_class(class, true, "NodeClassNotReady", said).await;
    }
    Ok(())
}

fn paused_by(hub: &Shared, class: &OpenStackNodeClass) -> Option<&'static str> {
    if brakes::is_paused(class) {
        return Some("annotation joiner.dev/paused");
    }
    hub.brake.pulled()
}

/// What is to be said of a class, beside what was said before.
struct Verdict<'a> {
    class: &'a OpenStackNodeClass,
    old: Vec<Condition>,
    /// Whether the cloud was asked at all.
    asked: bool,
    /// Who has paused the class, if anybody.
    paused_by: Option<&'static str>,
    troubles: &'a [Trouble],
    now: String,
}

impl Verdict<'_> {
    fn conditions(&self) -> Vec<Condition> {
        let mut all: Vec<Condition> = ALL.iter().map(|kind| self.part(kind)).collect();
        if let Some(by) = self.paused_by {
            let said = format!("{by}: no instance is created or removed");
            all.push(self.one("Paused", ConditionStatus::True, "Paused", &said));
        }
        all.push(self.ready());
        all
    }

    fn before(&self, kind: &str) -> Option<&Condition> {
        self.old.iter().find(|there| there.type_ == kind)
    }

    fn part(&self, kind: &str) -> Condition {
        let bad = self.troubles.iter().find(|bad| bad.condition == kind);
        match bad {
            Some(bad) if bad.transient => {
                self.one(kind, ConditionStatus::Unknown, bad.reason, &bad.message)
            }
            Some(bad) => self.one(kind, ConditionStatus::False, bad.reason, &bad.message),
            None if self.asked || kind == BOOTSTRAP => {
                self.one(kind, ConditionStatus::True, kind, "")
            }
            None => self.one(
                kind,
                ConditionStatus::Unknown,
                "NotAsked",
                "another condition comes first",
            ),
        }
    }

    /// May the class be used? While the cloud does not answer for a while, what was ready stays usable.
    fn ready(&self) -> Condition {
        let was_ready = self
            .before("Ready")
            .is_some_and(|there| there.status == ConditionStatus::True);
        let passing = self.troubles.iter().all(|bad| bad.transient);
        if self.troubles.is_empty() || (passing && was_ready) {
            return self.one("Ready", ConditionStatus::True, "Ready", "");
        }
        let said: Vec<String> = self.troubles.iter().map(sentence).collect();
        self.one(
            "Ready",
            ConditionStatus::False,
            "UnhealthyDependents",
            &said.join("; "),
        )
    }

    /// A text that says the same as before is not written again.
    fn one(&self, kind: &str, status: ConditionStatus, reason: &str, message: &str) -> Condition {
        let same = self.before(kind).filter(|there| there.status == status);
        let since = same.map_or(&self.now, |there| &there.last_transition_time);
        let message = match same {
            Some(there) if there.reason == reason && same_fact(&there.message, message) => {
                &there.message
            }
            _ => message,
        };
        Condition {
            type_: kind.to_owned(),
            status,
            observed_generation: self.class.metadata.generation,
            last_transition_time: since.clone(),
            reason: reason.to_owned(),
            message: message.to_owned(),
        }
    }

    /// Troubles nobody was told of: another one than before, or another one since the class was changed.
    fn news(&self, conditions: &[Condition]) -> Vec<String> {
        let new = |bad: &&Trouble| {
            let after = conditions.iter().find(|one| one.type_ == bad.condition);
            let (Some(before), Some(after)) = (self.before(bad.condition), after) else {
                return true;
            };
            before.status != after.status
                || before.reason != after.reason
                || (before.observed_generation != after.observed_generation
                    && before.message != after.message)
        };
        self.troubles.iter().filter(new).map(sentence).collect()
    }
}

fn sentence(bad: &Trouble) -> String {
    format!("{}: {}", bad.condition, bad.message)
}

fn resolved_status(
    before: &OpenStackNodeClassStatus,
    found: &Resolved,
) -> OpenStackNodeClassStatus {
    let named = |one: &cloud::Named| NamedResource {
        id: one.id.to_string(),
        name: Some(one.name.to_string()),
    };
    OpenStackNodeClassStatus {
        images: Some(
            found
                .images
                .iter()
                .map(|image| ImageStatus {
                    id: image.id.to_string(),
                    name: Some(image.name.to_string()),
                    architecture: image.architecture.as_ref().map(ToString::to_string),
                })
                .collect(),
        ),
        networks: Some(
            found
                .ports
                .iter()
                .map(|port| named(&port.network))
                .collect(),
        ),
        security_groups: Some(found.security_groups.iter().map(named).collect()),
        flavors: Some(FlavorStatus {
            count: i32::try_from(found.types.len()).unwrap_or(i32::MAX),
        }),
        availability_zones: Some(
            found
                .zones
                .iter()
                .map(|zone| zone.name.to_string())
                .collect(),
        ),
        ..before.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(generation: i64) -> OpenStackNodeClass {
        serde_json::from_value(json!({
            "apiVersion": "karpenter.k8s.openstack/v1", "kind": "OpenStackNodeClass",
            "metadata": { "name": "default", "generation": generation },
            "spec": { "imageSelectorTerms": [{ "name": "i" }], "ports": [{ "network": { "name": "n" } }] },
        }))
        .unwrap()
    }

    fn trouble(reason: &'static str, message: &str) -> Trouble {
        Trouble {
            condition: names::IMAGES,
            reason,
            message: message.to_owned(),
            transient: false,
        }
    }

    /// The conditions after one more look, and what people are told.
    fn after(generation: i64, old: &[Condition], troubles: &[Trouble]) -> (Vec<Condition>, usize) {
        let class = class(generation);
        let verdict = Verdict {
            class: &class,
            old: old.to_vec(),
            asked: true,
            paused_by: None,
            troubles,
            now: "2026-01-01T00:00:00Z".to_owned(),
        };
        let conditions = verdict.conditions();
        let told = verdict.news(&conditions).len();
        (conditions, told)
    }

    #[test]
    fn a_trouble_is_told_once_even_if_the_cloud_numbers_its_answers() {
        let (first, told) = after(1, &[], &[trouble("Refused", "no [req-11111111]")]);
        assert_eq!(told, 1);
        let (second, told) = after(1, &first, &[trouble("Refused", "no [req-22222222]")]);
        assert_eq!((told, &second), (0, &first));
        let (_, told) = after(1, &second, &[trouble("NotFound", "none")]);
        assert_eq!(told, 1);
    }

    #[test]
    fn a_class_that_was_changed_and_is_still_wrong_is_told_of_again() {
        let (first, _) = after(1, &[], &[trouble("NotFound", "no image a")]);
        assert_eq!(after(2, &first, &[trouble("NotFound", "no image a")]).1, 0);
        assert_eq!(after(2, &first, &[trouble("NotFound", "no image b")]).1, 1);
    }

    #[test]
    fn a_healed_class_is_ready_and_silence_of_the_cloud_keeps_it_so() {
        let (bad, _) = after(1, &[], &[trouble("NotFound", "none")]);
        let (good, told) = after(1, &bad, &[]);
        assert_eq!(told, 0);
        assert!(good.iter().all(|one| one.status == ConditionStatus::True));
        let silent = Trouble {
            transient: true,
            ..trouble("NoAnswer", "no answer")
        };
        let (silent, _) = after(1, &good, &[silent]);
        let ready = silent.iter().find(|one| one.type_ == "Ready").unwrap();
        assert_eq!(ready.status, ConditionStatus::True);
    }
}
