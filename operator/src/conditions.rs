//! How are conditions written so that their times and generations tell the truth?

use crds::shared::conditions::{Condition, ConditionStatus};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

/// The conditions of one object, as read, to be changed and written back whole.
#[derive(Clone, Debug, PartialEq)]
pub struct Conditions {
    list: Vec<Condition>,
    generation: Option<i64>,
    /// Conditions nobody has decided yet count from here.
    created: Timestamp,
    now: Timestamp,
}

impl Conditions {
    pub fn of(
        list: Option<&Vec<Condition>>,
        generation: Option<i64>,
        created: Option<&Time>,
        now: Timestamp,
    ) -> Self {
        Self {
            list: list.cloned().unwrap_or_default(),
            generation,
            created: created.map_or(now, |time| time.0),
            now,
        }
    }

    pub fn get(&self, kind: &str) -> Option<&Condition> {
        self.list.iter().find(|condition| condition.type_ == kind)
    }

    pub fn holds(&self, kind: &str) -> bool {
        self.get(kind)
            .is_some_and(|condition| condition.status == ConditionStatus::True)
    }

    /// When its status last changed.
    pub fn since(&self, kind: &str) -> Option<Timestamp> {
        self.get(kind)
            .map(|condition| condition.last_transition_time.0)
    }

    pub fn holds_now(&mut self, kind: &str) {
        self.set(kind, ConditionStatus::True, kind, "");
    }

    pub fn set(&mut self, kind: &str, status: ConditionStatus, reason: &str, message: &str) {
        let since = match self.get(kind) {
            Some(old) if old.status == status => old.last_transition_time.0,
            None if status == ConditionStatus::Unknown => self.created,
            Some(_) | None => self.now,
        };
        let fresh = Condition {
            type_: kind.to_owned(),
            status,
            reason: reason.to_owned(),
            message: message.to_owned(),
            last_transition_time: Time(since),
            observed_generation: self.generation,
        };
        match self
            .list
            .iter_mut()
            .find(|condition| condition.type_ == kind)
        {
            Some(there) => *there = fresh,
            None => self.list.push(fresh),
        }
    }

    pub fn clear(&mut self, kind: &str) {
        self.list.retain(|condition| condition.type_ != kind);
    }

    /// Sums the parts up in `Ready`; parts nobody decided are awaited.
    pub fn sum_up(&mut self, parts: &[&str]) {
        for part in parts {
            if self.get(part).is_none() {
                self.set(
                    part,
                    ConditionStatus::Unknown,
                    "AwaitingReconciliation",
                    "object is awaiting reconciliation",
                );
            }
        }
        let of = |status: ConditionStatus| -> Vec<String> {
            let with = parts
                .iter()
                .filter(|part| self.get(part).is_some_and(|one| one.status == status));
            with.map(|part| {
                let said = self.get(part).map_or("", |one| one.message.as_str());
                if said.is_empty() {
                    format!("{part}={status:?}")
                } else {
                    format!("{part}={status:?} ({said})")
                }
            })
            .collect()
        };
        let (bad, open) = (of(ConditionStatus::False), of(ConditionStatus::Unknown));
        match (bad.is_empty(), open.is_empty()) {
            (true, true) => self.set("Ready", ConditionStatus::True, "Ready", ""),
            (false, _) => self.set(
                "Ready",
                ConditionStatus::False,
                "UnhealthyDependents",
                &bad.join(", "),
            ),
            (true, false) => self.set(
                "Ready",
                ConditionStatus::Unknown,
                "ReconcilingDependents",
                &open.join(", "),
            ),
        }
    }

    pub fn list(&self) -> &[Condition] {
        &self.list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn conditions(list: &[Condition], now: i64) -> Conditions {
        Conditions::of(Some(&list.to_vec()), Some(1), Some(&Time(at(1))), at(now))
    }

    #[test]
    fn a_time_changes_only_with_the_status() {
        let mut first = conditions(&[], 5);
        first.holds_now("Launched");
        let mut later = conditions(first.list(), 9);
        later.holds_now("Launched");
        assert_eq!(later.since("Launched"), Some(at(5)));
        later.set("Launched", ConditionStatus::False, "No", "");
        assert_eq!(later.since("Launched"), Some(at(9)));
    }

    #[test]
    fn what_nobody_decided_counts_from_creation_and_keeps_the_sum_open() {
        let mut all = conditions(&[], 5);
        all.holds_now("Launched");
        all.sum_up(&["Launched", "Registered"]);
        assert_eq!(all.since("Registered"), Some(at(1)));
        assert_eq!(all.get("Ready").unwrap().status, ConditionStatus::Unknown);
        all.holds_now("Registered");
        all.sum_up(&["Launched", "Registered"]);
        assert!(all.holds("Ready"));
    }
}
