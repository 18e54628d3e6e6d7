//! Beside whom, or away from whom, does a pod want to be?
//!
//! Values as the pod writes them. What they mean for a place is worked out in `schedule::topology`.

use crate::requirements::{Requirement, Text};

/// Which pods are meant: every expression must hold. Without expressions all pods are meant.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Selector(Vec<Requirement>);

/// One topology spread constraint.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Spread {
    pub key: Text,
    pub max_skew: u32,
    /// `DoNotSchedule`; otherwise it is a preference.
    pub hard: bool,
    /// `None` selects no pod.
    pub selector: Option<Selector>,
    /// 0 when unset.
    pub min_domains: u32,
    pub node_affinity: Policy,
    pub node_taints: Policy,
    /// Labels whose value on the pod itself narrows the selector.
    pub match_label_keys: Vec<Text>,
}

/// Does a spread look only at nodes that the pod's own affinity or tolerations admit?
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Policy {
    Honor,
    Ignore,
}

/// One term of pod affinity or anti-affinity.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PodTerm {
    pub key: Text,
    /// `None` selects no pod.
    pub selector: Option<Selector>,
    /// Without names and selector: the pod's own namespace.
    pub namespaces: Vec<Text>,
    pub namespace_selector: Option<Selector>,
    pub match_label_keys: Vec<Text>,
    pub mismatch_label_keys: Vec<Text>,
}

/// A namespace with the labels that terms may select it by.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Namespace {
    pub name: Text,
    pub labels: Vec<(Text, Text)>,
}

impl Selector {
    pub fn everything() -> Self {
        Self::default()
    }

    /// Build the expressions with `Requirement::label`: the keys of pods have no older spellings.
    pub fn new(expressions: impl IntoIterator<Item = Requirement>) -> Self {
        let mut all: Vec<_> = expressions.into_iter().collect();
        all.sort_unstable();
        all.dedup();
        Self(all)
    }

    /// `matchLabels`.
    pub fn labels<'a>(labels: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        Self::new(
            labels
                .into_iter()
                .map(|(key, value)| Requirement::label_is(key, value)),
        )
    }

    /// Does it mean a pod with these labels, sorted by key?
    pub fn matches(&self, labels: &[(Text, Text)]) -> bool {
        self.0
            .iter()
            .all(|asked| match value_of(labels, asked.key()) {
                Some(value) => asked.has(value),
                None => asked.accepts_absence(),
            })
    }

    #[must_use]
    pub fn and(&self, others: impl IntoIterator<Item = Requirement>) -> Self {
        Self::new(self.0.iter().cloned().chain(others))
    }

    pub fn expressions(&self) -> &[Requirement] {
        &self.0
    }
}

impl std::fmt::Display for Selector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0.is_empty() {
            return f.write_str("all pods");
        }
        for (at, expression) in self.0.iter().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            write!(f, "{comma}{expression}")?;
        }
        Ok(())
    }
}

impl Spread {
    /// A hard constraint with the defaults of Kubernetes.
    pub fn new(key: impl Into<Text>, max_skew: u32, selector: Option<Selector>) -> Self {
        Self {
            key: key.into(),
            max_skew,
            hard: true,
            selector,
            min_domains: 0,
            node_affinity: Policy::Honor,
            node_taints: Policy::Ignore,
            match_label_keys: Vec::new(),
        }
    }

    /// The cluster's default constraint for a pod that has none, with the selector its owner and services give it.
    #[must_use]
    pub fn for_pods(&self, selector: Selector) -> Self {
        Self {
            selector: Some(selector),
            ..self.clone()
        }
    }

    pub(super) fn resolve(&mut self, labels: &[(Text, Text)]) {
        let more = picked(&std::mem::take(&mut self.match_label_keys), labels, true);
        self.selector = self.selector.as_ref().map(|selector| selector.and(more));
        self.max_skew = self.max_skew.max(1);
    }
}

impl PodTerm {
    pub fn new(key: impl Into<Text>, selector: Option<Selector>) -> Self {
        Self {
            key: key.into(),
            selector,
            ..Self::default()
        }
    }

    pub(super) fn resolve(&mut self, labels: &[(Text, Text)]) {
        let mut more = picked(&std::mem::take(&mut self.match_label_keys), labels, true);
        more.extend(picked(
            &std::mem::take(&mut self.mismatch_label_keys),
            labels,
            false,
        ));
        self.selector = self.selector.as_ref().map(|selector| selector.and(more));
        self.namespaces.sort_unstable();
        self.namespaces.dedup();
    }
}

/// For each key that the pod has: the same value, or any other.
fn picked(keys: &[Text], labels: &[(Text, Text)], same: bool) -> Vec<Requirement> {
    let one = |key: &Text| {
        let value = value_of(labels, key)?;
        Some(if same {
            Requirement::label_is(key, value)
        } else {
            Requirement::label_is_not(key, value)
        })
    };
    keys.iter().filter_map(one).collect()
}

fn value_of<'a>(labels: &'a [(Text, Text)], key: &str) -> Option<&'a str> {
    labels
        .binary_search_by(|(known, _)| known.as_ref().cmp(key))
        .ok()
        .map(|at| labels[at].1.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requirements::Operator;
    use rstest::rstest;

    fn labels() -> Vec<(Text, Text)> {
        vec![("app".into(), "web".into()), ("rev".into(), "1".into())]
    }

    #[rstest]
    #[case("app", Operator::In, &["web", "api"], true)]
    #[case("app", Operator::In, &["api"], false)]
    #[case("app", Operator::NotIn, &["api"], true)]
    #[case("app", Operator::NotIn, &["web"], false)]
    #[case("app", Operator::Exists, &[], true)]
    #[case("team", Operator::Exists, &[], false)]
    #[case("team", Operator::DoesNotExist, &[], true)]
    #[case("app", Operator::DoesNotExist, &[], false)]
    #[case("team", Operator::NotIn, &["red"], true)]
    #[case("team", Operator::In, &["red"], false)]
    fn a_selector_means_a_pod_as_kubernetes_says(
        #[case] key: &str,
        #[case] operator: Operator,
        #[case] values: &[&str],
        #[case] expected: bool,
    ) {
        let expression = Requirement::label(key, operator, values).unwrap();
        assert_eq!(Selector::new([expression]).matches(&labels()), expected);
    }

    #[test]
    fn a_selector_without_expressions_means_every_pod() {
        assert!(Selector::everything().matches(&labels()) && Selector::everything().matches(&[]));
    }

    #[test]
    fn match_label_keys_take_the_pods_own_value_and_unknown_keys_do_nothing() {
        let mut spread = Spread::new("zone", 1, Some(Selector::labels([("app", "web")])));
        spread.match_label_keys = vec!["rev".into(), "nope".into()];
        spread.resolve(&labels());
        let selector = spread.selector.unwrap();
        assert!(selector.matches(&labels()));
        assert!(!selector.matches(&[("app".into(), "web".into()), ("rev".into(), "2".into())]));
    }

    #[test]
    fn mismatch_label_keys_mean_pods_of_any_other_value() {
        let mut term = PodTerm::new("zone", Some(Selector::everything()));
        term.mismatch_label_keys = vec!["rev".into()];
        term.resolve(&labels());
        let selector = term.selector.unwrap();
        assert!(!selector.matches(&labels()));
        assert!(selector.matches(&[("rev".into(), "2".into())]));
    }

    #[test]
    fn resolving_twice_changes_nothing() {
        let mut once = Spread::new("zone", 0, Some(Selector::everything()));
        once.match_label_keys = vec!["app".into()];
        once.resolve(&labels());
        let mut twice = once.clone();
        twice.resolve(&labels());
        assert_eq!(once, twice);
        assert_eq!(once.max_skew, 1);
    }
}
