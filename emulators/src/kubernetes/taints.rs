//! Which taints does a pod tolerate, and for how long?

use jiff::SignedDuration;
use serde_json::Value;

use super::reading::{list, seconds, text};

pub const NOT_READY: &str = "node.kubernetes.io/not-ready";
pub const UNREACHABLE: &str = "node.kubernetes.io/unreachable";
pub const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Taint {
    pub key: String,
    pub value: String,
    pub effect: String,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Toleration {
    key: String,
    /// `None`: any value.
    value: Option<String>,
    effect: String,
    pub seconds: Option<SignedDuration>,
}

impl Taint {
    pub fn new(key: &str, value: &str, effect: &str) -> Self {
        Self {
            key: key.to_owned(),
            value: value.to_owned(),
            effect: effect.to_owned(),
        }
    }

    /// All taints of a Node.
    pub fn of_node(node: &Value) -> Vec<Self> {
        let taints = list(&node["spec"]["taints"]).iter();
        taints
            .map(|taint| {
                Self::new(
                    text(taint, "key"),
                    text(taint, "value"),
                    text(taint, "effect"),
                )
            })
            .collect()
    }

    /// As in `key=value:Effect` or `key:Effect`.
    pub fn parse(written: &str) -> Option<Self> {
        let (front, effect) = written.rsplit_once(':')?;
        let (key, value) = front.split_once('=').unwrap_or((front, ""));
        let known = ["NoSchedule", "PreferNoSchedule", "NoExecute"].contains(&effect);
        (known && !key.is_empty()).then(|| Self::new(key, value, effect))
    }

    /// Does it keep pods away, rather than advise against?
    pub fn repels(&self) -> bool {
        matches!(self.effect.as_str(), "NoSchedule" | "NoExecute")
    }
}

impl Toleration {
    pub fn of_pod(pod: &Value) -> Vec<Self> {
        list(&pod["spec"]["tolerations"])
            .iter()
            .map(Self::of)
            .collect()
    }

    pub fn of(value: &Value) -> Self {
        let exists = text(value, "operator") == "Exists";
        Self {
            key: text(value, "key").to_owned(),
            value: (!exists).then(|| text(value, "value").to_owned()),
            effect: text(value, "effect").to_owned(),
            seconds: seconds(&value["tolerationSeconds"]),
        }
    }

    /// An empty key with `Exists` tolerates everything, an empty effect every effect.
    pub fn covers(&self, taint: &Taint) -> bool {
        let effect = self.effect.is_empty() || self.effect == taint.effect;
        let key = self.key == taint.key || self.key.is_empty() && self.value.is_none();
        effect
            && key
            && self
                .value
                .as_ref()
                .is_none_or(|value| *value == taint.value)
    }
}

pub fn tolerated(taint: &Taint, tolerations: &[Toleration]) -> bool {
    tolerations
        .iter()
        .any(|toleration| toleration.covers(taint))
}

/// The first taint that keeps the pod away.
pub fn repelled_by<'a>(taints: &'a [Taint], tolerations: &[Toleration]) -> Option<&'a Taint> {
    taints
        .iter()
        .find(|taint| taint.repels() && !tolerated(taint, tolerations))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_toleration_covers_by_key_value_and_effect() {
        let taint = Taint::new("team", "a", "NoSchedule");
        let cases = [
            (
                json!({"key": "team", "value": "a", "effect": "NoSchedule"}),
                true,
            ),
            (
                json!({"key": "team", "operator": "Equal", "value": "a"}),
                true,
            ),
            (json!({"key": "team", "value": "b"}), false),
            (json!({"key": "team", "operator": "Exists"}), true),
            (json!({"key": "other", "operator": "Exists"}), false),
            (json!({"operator": "Exists"}), true),
            (json!({"operator": "Exists", "effect": "NoExecute"}), false),
        ];
        for (toleration, wanted) in cases {
            assert_eq!(
                Toleration::of(&toleration).covers(&taint),
                wanted,
                "{toleration}"
            );
        }
    }

    #[test]
    fn taints_are_read_as_flags_write_them() {
        assert_eq!(
            Taint::parse("a=b:NoSchedule"),
            Some(Taint::new("a", "b", "NoSchedule"))
        );
        assert_eq!(
            Taint::parse("a/b:NoExecute"),
            Some(Taint::new("a/b", "", "NoExecute"))
        );
        assert_eq!(Taint::parse("a=b"), None);
        assert_eq!(Taint::parse("a:Sometimes"), None);
    }
}
