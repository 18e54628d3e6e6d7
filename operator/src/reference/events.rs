//! Which events does the operator write, about what, and what should the reader do?

/// How loud an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Normal,
    Warning,
}

impl Kind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

/// One reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    pub reason: &'static str,
    pub kind: Kind,
    /// Kinds of the objects it is written about.
    pub about: &'static str,
    pub when: &'static str,
    pub fix: &'static str,
}

/// Sorted by reason.
pub const ALL: &[Told] = &[
    normal(
        "AwaitingVolumeDetachment",
        "NodeClaim",
        "the node is drained, and volumes are still attached to it",
        "nothing; if it stays, look at the VolumeAttachments the note names",
    ),
    normal(
        "DisruptionTerminating",
        "NodeClaim",
        "a node is taken away on purpose; the note says why",
        "nothing; to keep it, annotate the node karpenter.sh/do-not-disrupt=true or change the pool's disruption settings",
    ),
    warning(
        "FailedDraining",
        "Node",
        "a pod could not be evicted; the note names it and what holds it",
        "let the PodDisruptionBudget allow a disruption, or remove karpenter.sh/do-not-disrupt from the pod; the drain goes on by itself",
    ),
    warning(
        "FailedScheduling",
        "Pod",
        "no node can be bought for the pod; the note has every reason, each with its fix",
        "follow the fix in the note; the reasons are listed in reasons.md",
    ),
    warning(
        "GhostFound",
        "NodeClaim",
        "the claim's instance is gone from the cloud, seen in two sweeps and confirmed by a look at the instance itself",
        "nothing; the claim is replaced. Find out who removes instances if it repeats",
    ),
    warning(
        "InsufficientCapacity",
        "NodeClaim",
        "the cloud has nothing left of the offering that was chosen",
        "nothing; another offering is tried. Allow more instance types or zones in the NodePool, or raise the quota, if it repeats",
    ),
    warning(
        "LaunchFailed",
        "NodeClaim",
        "the cloud refused to create the instance, or gave up on it; the note has its words",
        "correct what the cloud names: usually a field of the NodeClass, a quota or the credentials' rights",
    ),
    normal(
        "Launched",
        "NodeClaim",
        "the cloud has created the instance named in the note",
        "nothing",
    ),
    warning(
        "LivenessTimeout",
        "NodeClaim",
        "an instance was not created, or did not become a node, in time; the claim is deleted",
        "read the instance's console log: user data, network and the address of the API server are the usual reasons",
    ),
    warning(
        "NodeClassNotFound",
        "NodePool",
        "the class that the pool refers to does not exist",
        "create the class, or correct spec.template.spec.nodeClassRef",
    ),
    warning(
        "NodeClassNotReady",
        "NodeClaim, OpenStackNodeClass",
        "something the class names cannot be found or read, or claims still use a class that is being deleted",
        "correct the field that the note names; the class is looked at again by itself",
    ),
    normal(
        "Nominated",
        "Pod",
        "the pod is expected on the node or claim named in the note",
        "nothing",
    ),
    warning(
        "TerminationGracePeriodExpiring",
        "NodeClaim",
        "the claim's terminationGracePeriod runs: pods that are left then are deleted, whatever protects them",
        "move those pods before the time in the note, or give the NodePool a longer terminationGracePeriod",
    ),
    warning(
        "UnregisteredTaintMissing",
        "Node",
        "a node joined without the taint karpenter.sh/unregistered:NoExecute, so pods may have started too early",
        "let the user data register the node with that taint (the preset of bootstrap mode Kubelet does)",
    ),
];

const fn normal(
    reason: &'static str,
    about: &'static str,
    when: &'static str,
    fix: &'static str,
) -> Told {
    Told {
        reason,
        kind: Kind::Normal,
        about,
        when,
        fix,
    }
}

const fn warning(
    reason: &'static str,
    about: &'static str,
    when: &'static str,
    fix: &'static str,
) -> Told {
    Told {
        kind: Kind::Warning,
        ..normal(reason, about, when, fix)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::reference::tests::sources;

    /// Literals that look like a reason among the arguments of calls that tell something.
    fn told() -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for (_, text) in sources() {
            for call in text.split(".tell").skip(1) {
                let arguments = call.split(".await").next().unwrap_or_default();
                let words = arguments.split('"').skip(1).step_by(2);
                let reason = |word: &&str| {
                    word.starts_with(|first: char| first.is_ascii_uppercase())
                        && word.chars().all(|letter| letter.is_ascii_alphabetic())
                };
                found.extend(words.filter(reason).map(str::to_owned));
            }
        }
        found
    }

    #[test]
    fn every_event_that_is_written_is_explained_and_no_other() {
        let listed: BTreeSet<String> = ALL.iter().map(|one| one.reason.to_owned()).collect();
        assert_eq!(listed, told());
    }

    #[test]
    fn events_come_sorted_and_say_what_to_do() {
        assert!(ALL.is_sorted_by_key(|one| one.reason));
        assert!(
            ALL.iter()
                .all(|one| !one.when.is_empty() && !one.fix.is_empty())
        );
    }
}
