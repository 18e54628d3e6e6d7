//! What leaves a node next, and what holds it back?
//!
//! `waves` says who goes now, `blockers` names who stays and why, `deadline` says when asking ends, `movable` who needs a new place,
//! `volumes` whether the node waits for what still hangs on it.

pub mod blockers;
pub mod deadline;
pub mod movable;
pub mod volumes;
pub mod waves;

use jiff::{SignedDuration, Timestamp};
use std::sync::Arc;

/// A pod on the node that is being emptied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodOnNode {
    /// `namespace/name`.
    pub name: Arc<str>,
    pub uid: Arc<str>,
    /// Priority class `system-cluster-critical` or `system-node-critical`.
    pub critical: bool,
    pub owner: Owner,
    pub standing: Standing,
    /// Its deletion timestamp, which already includes its grace period.
    pub deleted_by: Option<Timestamp>,
    pub grace: Option<SignedDuration>,
    /// Tolerates `karpenter.sh/disrupted:NoSchedule`: it wants to stay to the end.
    pub tolerates_disruption: bool,
    pub do_not_disrupt: DoNotDisrupt,
    pub started: Option<Timestamp>,
    /// PodDisruptionBudgets that select it.
    pub budgets: Vec<PodBudget>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    Workload,
    /// Its pods come back under the same name.
    StatefulSet,
    DaemonSet,
    /// A mirror pod: it ends with the node.
    Node,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    Ready,
    NotReady,
    /// Succeeded or failed.
    Finished,
}

/// A PodDisruptionBudget as one of its pods sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodBudget {
    pub name: Arc<str>,
    /// `status.disruptionsAllowed`.
    pub allowed: i32,
    /// `maxUnavailable` 0 or 0%, `minAvailable` 100%: by its own text it never allows any.
    pub never: bool,
    /// `unhealthyPodEvictionPolicy: AlwaysAllow`.
    pub lets_unready_go: bool,
}

/// The annotation `karpenter.sh/do-not-disrupt` of a pod.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DoNotDisrupt {
    #[default]
    No,
    Always,
    /// From the pod's start.
    For(SignedDuration),
}

/// Terminating for so long after its grace that nothing will come of it.
const STUCK_AFTER: SignedDuration = SignedDuration::from_mins(1);

impl PodOnNode {
    pub fn active(&self) -> bool {
        self.standing != Standing::Finished && self.deleted_by.is_none()
    }

    /// Does not belong to the node and does not want to stay to the end.
    pub fn must_leave(&self) -> bool {
        self.owner != Owner::Node && !self.tolerates_disruption
    }

    /// Leaves when it is asked to, or has done so.
    pub fn drainable(&self, now: Timestamp) -> bool {
        let stuck = self
            .deleted_by
            .is_some_and(|by| now.duration_since(by) > STUCK_AFTER);
        self.must_leave() && !stuck
    }

    /// Must be gone before the node may go.
    pub fn holds_the_node(&self, now: Timestamp) -> bool {
        self.standing != Standing::Finished && self.drainable(now)
    }

    pub fn is_protected(&self, now: Timestamp) -> bool {
        match self.do_not_disrupt {
            DoNotDisrupt::No => false,
            DoNotDisrupt::Always => true,
            DoNotDisrupt::For(length) => self
                .started
                .is_none_or(|started| now.duration_since(started) < length),
        }
    }

    /// May be asked to leave by the Eviction API.
    pub fn evictable(&self, now: Timestamp) -> bool {
        self.active() && self.must_leave() && !self.is_protected(now)
    }
}

impl DoNotDisrupt {
    /// `true`, or a positive Go duration such as `1h30m`. Anything else is `None`: it protects nothing and is told to the user.
    pub fn parse(text: &str) -> Option<Self> {
        if text == "true" {
            return Some(Self::Always);
        }
        go_duration(text)
            .filter(SignedDuration::is_positive)
            .map(Self::For)
    }
}

/// `1h30m`, `90s`, `1.5h`, `250ms` as Go writes durations.
fn go_duration(text: &str) -> Option<SignedDuration> {
    let mut total = SignedDuration::ZERO;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, tail) = rest.split_at(digits);
        let unit = tail
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(tail.len());
        let nanos: i128 = match &tail[..unit] {
            "ns" => 1,
            "us" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return None,
        };
        total = total.checked_add(times(number, nanos)?)?;
        rest = &tail[unit..];
    }
    (!text.is_empty()).then_some(total)
}

/// A decimal number of `nanos`, cut to whole nanoseconds.
fn times(number: &str, nanos: i128) -> Option<SignedDuration> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') || fraction.len() > 15 {
        return None;
    }
    let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
    let scale = 10_i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let nanos = digits.checked_mul(nanos)? / scale;
    let seconds = i64::try_from(nanos / 1_000_000_000).ok()?;
    Some(SignedDuration::new(
        seconds,
        i32::try_from(nanos % 1_000_000_000).ok()?,
    ))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use rstest::rstest;

    pub(crate) fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    /// An ordinary running pod.
    pub(crate) fn pod(name: &str) -> PodOnNode {
        PodOnNode {
            name: name.into(),
            uid: format!("uid-{name}").into(),
            critical: false,
            owner: Owner::Workload,
            standing: Standing::Ready,
            deleted_by: None,
            grace: Some(SignedDuration::from_secs(30)),
            tolerates_disruption: false,
            do_not_disrupt: DoNotDisrupt::No,
            started: Some(at(0)),
            budgets: Vec::new(),
        }
    }

    #[rstest]
    #[case("true", Some(DoNotDisrupt::Always))]
    #[case("90s", Some(DoNotDisrupt::For(SignedDuration::from_secs(90))))]
    #[case("1h30m", Some(DoNotDisrupt::For(SignedDuration::from_mins(90))))]
    #[case("1.5h", Some(DoNotDisrupt::For(SignedDuration::from_mins(90))))]
    #[case("0s", None)]
    #[case("-1h", None)]
    #[case("1", None)]
    #[case("yes", None)]
    #[case("", None)]
    #[case("1h1", None)]
    fn do_not_disrupt_is_true_or_a_positive_duration(
        #[case] text: &str,
        #[case] expected: Option<DoNotDisrupt>,
    ) {
        assert_eq!(DoNotDisrupt::parse(text), expected);
    }

    #[test]
    fn a_timed_protection_ends_and_an_unstarted_pod_keeps_it() {
        let timed = PodOnNode {
            do_not_disrupt: DoNotDisrupt::For(SignedDuration::from_secs(60)),
            ..pod("a")
        };
        assert!(timed.is_protected(at(59)) && !timed.is_protected(at(60)));
        assert!(
            PodOnNode {
                started: None,
                ..timed
            }
            .is_protected(at(999))
        );
    }

    #[test]
    fn a_pod_stuck_in_termination_holds_nothing() {
        let stuck = PodOnNode {
            deleted_by: Some(at(0)),
            ..pod("a")
        };
        assert!(stuck.holds_the_node(at(60)) && !stuck.holds_the_node(at(61)));
    }
}
