//! May a pod with these tolerations go where these taints are?

use std::fmt;
use std::sync::Arc;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effect {
    NoSchedule,
    PreferNoSchedule,
    NoExecute,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Taint {
    pub key: Arc<str>,
    pub value: Arc<str>,
    pub effect: Effect,
}

/// How a toleration compares its value with the taint's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TolerationOperator {
    Equal,
    Exists,
    Lt,
    Gt,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Toleration {
    /// Empty: every key, only with `Exists`.
    pub key: Arc<str>,
    pub operator: TolerationOperator,
    pub value: Arc<str>,
    /// `None`: every effect.
    pub effect: Option<Effect>,
}

/// Whether a `PreferNoSchedule` taint keeps a pod away: at first yes, when nothing else is left no.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preferred {
    Avoid,
    Accept,
}

pub const DISRUPTED: &str = "karpenter.sh/disrupted";
pub const UNREGISTERED: &str = "karpenter.sh/unregistered";
pub const REBOOTING: &str = "karpenter.sh/rebooting";

impl Taint {
    pub fn new(key: &str, value: &str, effect: Effect) -> Self {
        Self {
            key: key.into(),
            value: value.into(),
            effect,
        }
    }

    /// The same taint as far as adding and removing goes: values do not matter.
    pub fn matches(&self, other: &Self) -> bool {
        self.key == other.key && self.effect == other.effect
    }

    /// Taints every fresh node has for a while: they say "not yet", not "not you".
    pub fn is_ephemeral(&self) -> bool {
        match (self.key.as_ref(), self.effect) {
            ("node.kubernetes.io/not-ready", Effect::NoSchedule | Effect::NoExecute)
            | (
                "node.kubernetes.io/unreachable" | "node.cloudprovider.kubernetes.io/uninitialized",
                Effect::NoSchedule,
            )
            | (UNREGISTERED, Effect::NoExecute) => true,
            (key, _) => key.starts_with("readiness.k8s.io/"),
        }
    }
}

impl Toleration {
    pub fn tolerates(&self, taint: &Taint) -> bool {
        if self.effect.is_some_and(|effect| effect != taint.effect) {
            return false;
        }
        if self.key.is_empty() {
            return self.operator == TolerationOperator::Exists;
        }
        let numbers = || {
            Some((
                taint.value.parse::<i64>().ok()?,
                self.value.parse::<i64>().ok()?,
            ))
        };
        self.key == taint.key
            && match self.operator {
                TolerationOperator::Exists => true,
                TolerationOperator::Equal => self.value == taint.value,
                TolerationOperator::Lt => numbers().is_some_and(|(taint, mine)| taint < mine),
                TolerationOperator::Gt => numbers().is_some_and(|(taint, mine)| taint > mine),
            }
    }
}

/// The first taint that keeps a pod with these tolerations away, if any.
pub fn first_untolerated<'a>(
    taints: &'a [Taint],
    tolerations: &[Toleration],
    preferred: Preferred,
) -> Option<&'a Taint> {
    taints
        .iter()
        .filter(|taint| taint.effect != Effect::PreferNoSchedule || preferred == Preferred::Avoid)
        .find(|taint| {
            !tolerations
                .iter()
                .any(|toleration| toleration.tolerates(taint))
        })
}

/// The taints that count for planning. On a node of ours that is not initialized (or is rebooting) those that will go away by themselves do not.
pub fn lasting(taints: &[Taint], startup: &[Taint], settled: bool) -> Vec<Taint> {
    let passing = |taint: &&Taint| {
        taint.is_ephemeral()
            || taint.key.as_ref() == REBOOTING
            || startup.iter().any(|startup| startup.matches(taint))
    };
    taints
        .iter()
        .filter(|taint| settled || !passing(taint))
        .cloned()
        .collect()
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoSchedule => "NoSchedule",
            Self::PreferNoSchedule => "PreferNoSchedule",
            Self::NoExecute => "NoExecute",
        })
    }
}

impl fmt::Display for Taint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.value.is_empty() {
            write!(f, "{}:{}", self.key, self.effect)
        } else {
            write!(f, "{}={}:{}", self.key, self.value, self.effect)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn toleration(
        key: &str,
        operator: TolerationOperator,
        value: &str,
        effect: Option<Effect>,
    ) -> Toleration {
        Toleration {
            key: key.into(),
            operator,
            value: value.into(),
            effect,
        }
    }

    #[rstest]
    #[case(toleration("a", TolerationOperator::Equal, "1", None), true)]
    #[case(toleration("a", TolerationOperator::Equal, "2", None), false)]
    #[case(
        toleration("a", TolerationOperator::Exists, "", Some(Effect::NoSchedule)),
        true
    )]
    #[case(
        toleration("a", TolerationOperator::Exists, "", Some(Effect::NoExecute)),
        false
    )]
    #[case(toleration("", TolerationOperator::Exists, "", None), true)]
    #[case(toleration("", TolerationOperator::Equal, "1", None), false)]
    #[case(toleration("b", TolerationOperator::Exists, "", None), false)]
    #[case(toleration("a", TolerationOperator::Lt, "5", None), true)]
    #[case(toleration("a", TolerationOperator::Gt, "5", None), false)]
    #[case(toleration("a", TolerationOperator::Gt, "x", None), false)]
    fn a_toleration_covers_a_taint_as_kubernetes_says(
        #[case] toleration: Toleration,
        #[case] expected: bool,
    ) {
        assert_eq!(
            toleration.tolerates(&Taint::new("a", "1", Effect::NoSchedule)),
            expected
        );
    }

    #[test]
    fn a_preference_keeps_away_only_while_it_is_respected() {
        let taints = [Taint::new("a", "", Effect::PreferNoSchedule)];
        assert_eq!(
            first_untolerated(&taints, &[], Preferred::Avoid),
            Some(&taints[0])
        );
        assert_eq!(first_untolerated(&taints, &[], Preferred::Accept), None);
    }

    #[rstest]
    #[case("node.kubernetes.io/not-ready", Effect::NoSchedule, true)]
    #[case("node.kubernetes.io/not-ready", Effect::NoExecute, true)]
    #[case("node.kubernetes.io/not-ready", Effect::PreferNoSchedule, false)]
    #[case("node.kubernetes.io/unreachable", Effect::NoSchedule, true)]
    #[case("node.kubernetes.io/unreachable", Effect::NoExecute, false)]
    #[case(
        "node.cloudprovider.kubernetes.io/uninitialized",
        Effect::NoSchedule,
        true
    )]
    #[case(
        "node.cloudprovider.kubernetes.io/uninitialized",
        Effect::NoExecute,
        false
    )]
    #[case(UNREGISTERED, Effect::NoExecute, true)]
    #[case(UNREGISTERED, Effect::NoSchedule, false)]
    #[case("readiness.k8s.io/cni", Effect::NoSchedule, true)]
    #[case("readiness.k8s.io/cni", Effect::NoExecute, true)]
    #[case(REBOOTING, Effect::NoSchedule, true)]
    #[case(DISRUPTED, Effect::NoSchedule, false)]
    #[case("team", Effect::NoSchedule, false)]
    fn what_a_fresh_node_has_for_a_while_does_not_count_until_it_is_initialized(
        #[case] key: &str,
        #[case] effect: Effect,
        #[case] passes: bool,
    ) {
        let taints = [Taint::new(key, "any", effect)];
        assert_eq!(lasting(&taints, &[], false).is_empty(), passes);
        assert_eq!(lasting(&taints, &[], true), taints);
    }

    #[test]
    fn every_taint_must_be_tolerated() {
        let taints = [
            Taint::new("a", "", Effect::NoSchedule),
            Taint::new("b", "", Effect::NoExecute),
        ];
        let on_a = toleration("a", TolerationOperator::Exists, "", None);
        let on_b = toleration("b", TolerationOperator::Exists, "", None);
        let first = |tolerations: &[Toleration]| {
            first_untolerated(&taints, tolerations, Preferred::Avoid).map(|taint| &*taint.key)
        };
        assert_eq!(first(&[]), Some("a"));
        assert_eq!(first(std::slice::from_ref(&on_a)), Some("b"));
        assert_eq!(first(&[on_a, on_b]), None);
    }

    #[test]
    fn a_startup_taint_counts_again_once_the_node_is_initialized() {
        let startup = [Taint::new("cni", "", Effect::NoSchedule)];
        let there = [
            Taint::new("cni", "x", Effect::NoSchedule),
            Taint::new(UNREGISTERED, "", Effect::NoExecute),
        ];
        let other = [Taint::new("cni", "", Effect::NoExecute)];
        assert_eq!(lasting(&there, &other, false), there[..1]);
        assert_eq!(lasting(&there, &startup, false), []);
        assert_eq!(lasting(&there, &startup, true), there);
    }
}
