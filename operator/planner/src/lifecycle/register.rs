//! Which node is this claim's, and what must be written on it, once?

use crate::labels;
use crate::taints::{Effect, Taint, UNREGISTERED};
use std::sync::Arc;

/// A node with the claim's provider id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeSeen {
    pub name: Arc<str>,
    pub labels: Vec<(Arc<str>, Arc<str>)>,
    pub taints: Vec<Taint>,
}

/// What the claim hands to its node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dowry {
    pub labels: Vec<(Arc<str>, Arc<str>)>,
    pub taints: Vec<Taint>,
    pub startup_taints: Vec<Taint>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Registration {
    NodeNotFound,
    /// Several nodes claim to be this machine: nobody is touched, `liveness` ends it.
    MultipleNodesFound(Vec<Arc<str>>),
    Register(NodeEdit),
}

/// What to write on the node, besides finalizer and owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeEdit {
    pub node: Arc<str>,
    /// To be set; other labels stay.
    pub labels: Vec<(Arc<str>, Arc<str>)>,
    /// The whole list, because it is written as one.
    pub taints: Vec<Taint>,
    /// The node came without the taint that keeps pods away until now: say so.
    pub unregistered_taint_missing: bool,
}

/// The label by which a node asks to keep its own taints.
const KEEP_TAINTS: &str = "karpenter.sh/do-not-sync-taints";

pub fn decide(nodes: &[NodeSeen], dowry: &Dowry) -> Registration {
    match nodes {
        [] => Registration::NodeNotFound,
        [node] => Registration::Register(edit(node, dowry)),
        several => {
            let mut names: Vec<_> = several.iter().map(|node| node.name.clone()).collect();
            names.sort_unstable();
            Registration::MultipleNodesFound(names)
        }
    }
}

fn edit(node: &NodeSeen, dowry: &Dowry) -> NodeEdit {
    let has_label = |key: &str, value: &str| {
        node.labels
            .iter()
            .any(|(k, v)| k.as_ref() == key && v.as_ref() == value)
    };
    let unregistered = Taint::new(UNREGISTERED, "", Effect::NoExecute);
    let carries_it = node.taints.iter().any(|taint| taint.matches(&unregistered));
    let mut taints: Vec<Taint> = node
        .taints
        .iter()
        .filter(|taint| !taint.matches(&unregistered))
        .cloned()
        .collect();
    if !has_label(KEEP_TAINTS, "true") {
        for taint in dowry.taints.iter().chain(&dowry.startup_taints) {
            if !taints.iter().any(|there| there.matches(taint)) {
                taints.push(taint.clone());
            }
        }
    }
    let mut set = dowry.labels.clone();
    set.retain(|(key, _)| key.as_ref() != labels::REGISTERED);
    set.push((labels::REGISTERED.into(), "true".into()));
    NodeEdit {
        node: node.name.clone(),
        labels: set,
        taints,
        unregistered_taint_missing: !carries_it && !has_label(labels::REGISTERED, "true"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, labels: &[(&str, &str)], taints: &[Taint]) -> NodeSeen {
        let labels = labels
            .iter()
            .map(|(key, value)| ((*key).into(), (*value).into()))
            .collect();
        NodeSeen {
            name: name.into(),
            labels,
            taints: taints.to_vec(),
        }
    }

    fn unregistered() -> Taint {
        Taint::new(UNREGISTERED, "", Effect::NoExecute)
    }

    fn dowry() -> Dowry {
        Dowry {
            labels: vec![("team".into(), "blue".into())],
            taints: vec![Taint::new("gpu", "", Effect::NoSchedule)],
            startup_taints: vec![Taint::new("cni", "", Effect::NoSchedule)],
        }
    }

    fn registered(node: NodeSeen) -> NodeEdit {
        match decide(&[node], &dowry()) {
            Registration::Register(edit) => edit,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn one_node_gets_labels_and_taints_and_loses_the_unregistered_taint() {
        let kubelet = Taint::new("node.kubernetes.io/not-ready", "", Effect::NoSchedule);
        let edit = registered(node("n1", &[], &[unregistered(), kubelet.clone()]));
        let shown: Vec<String> = edit.taints.iter().map(ToString::to_string).collect();
        assert_eq!(
            shown,
            [
                kubelet.to_string().as_str(),
                "gpu:NoSchedule",
                "cni:NoSchedule"
            ]
        );
        assert!(
            edit.labels
                .contains(&(labels::REGISTERED.into(), "true".into()))
        );
        assert!(!edit.unregistered_taint_missing);
    }

    #[test]
    fn a_taint_that_is_there_is_not_added_again_whatever_its_value() {
        let edit = registered(node(
            "n1",
            &[],
            &[unregistered(), Taint::new("gpu", "yes", Effect::NoSchedule)],
        ));
        assert_eq!(
            edit.taints
                .iter()
                .filter(|taint| taint.key.as_ref() == "gpu")
                .count(),
            1
        );
    }

    #[test]
    fn a_node_may_keep_its_own_taints_but_the_unregistered_one_goes() {
        assert_eq!(
            registered(node("n1", &[(KEEP_TAINTS, "true")], &[unregistered()])).taints,
            []
        );
    }

    #[test]
    fn a_node_that_came_without_the_unregistered_taint_is_told_of() {
        assert!(registered(node("n1", &[], &[])).unregistered_taint_missing);
        assert!(
            !registered(node("n1", &[(labels::REGISTERED, "true")], &[]))
                .unregistered_taint_missing
        );
    }

    #[test]
    fn no_node_waits_and_several_nodes_are_left_alone() {
        assert_eq!(decide(&[], &dowry()), Registration::NodeNotFound);
        let twice = [node("b", &[], &[]), node("a", &[], &[])];
        assert_eq!(
            decide(&twice, &dowry()),
            Registration::MultipleNodesFound(vec!["a".into(), "b".into()])
        );
    }
}
