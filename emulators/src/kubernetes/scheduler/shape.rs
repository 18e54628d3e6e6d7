//! Everything about a pod that decides where it may run. Pods of one shape are the same to the scheduler.

use serde_json::Value;

use super::amounts::Amounts;
use crate::kubernetes::label_rules::{LabelRules, Test};
use crate::kubernetes::node_affinity::{Liking, NodeNeeds};
use crate::kubernetes::object::label;
use crate::kubernetes::reading::{count, list, pairs, strings, text};
use crate::kubernetes::taints::Toleration;

#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Shape {
    pub(super) namespace: String,
    pub(super) labels: Vec<(String, String)>,
    pub(super) priority: i64,
    pub(super) may_preempt: bool,
    pub(super) amounts: Amounts,
    pub(super) ports: Vec<Port>,
    pub(super) needs: NodeNeeds,
    pub(super) likings: Vec<Liking>,
    pub(super) tolerations: Vec<Toleration>,
    pub(super) spreads: Vec<Spread>,
    /// Required: beside such pods.
    pub(super) near: Vec<Term>,
    /// Required: away from such pods.
    pub(super) apart: Vec<Term>,
    /// Preferred, with weights; away from them where it is negative.
    pub(super) rather: Vec<(i64, Term)>,
    /// Names of PersistentVolumeClaims.
    pub(super) claims: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Port {
    pub(super) protocol: String,
    pub(super) address: String,
    pub(super) number: i64,
}

/// A pod affinity or anti-affinity term.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Term {
    pub(super) topology: String,
    pub(super) who: Who,
}

/// Which pods are meant.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Who {
    pub(super) namespaces: Vec<String>,
    /// Namespaces by label, besides the named ones.
    pub(super) namespace_rules: Option<LabelRules>,
    pub(super) rules: LabelRules,
    /// Pods that are being deleted count too.
    pub(super) ending: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Spread {
    pub(super) topology: String,
    pub(super) max_skew: i64,
    pub(super) min_domains: i64,
    pub(super) required: bool,
    pub(super) honor_affinity: bool,
    pub(super) honor_taints: bool,
    pub(super) who: Who,
}

impl Shape {
    pub(super) fn of(pod: &Value, priority: i64) -> Self {
        let spec = &pod["spec"];
        let affinity = &spec["affinity"];
        let home = Home {
            namespace: text(&pod["metadata"], "namespace"),
            labels: &pairs(&pod["metadata"]["labels"]),
        };
        let required = "requiredDuringSchedulingIgnoredDuringExecution";
        let terms = |kind: &str| -> Vec<Term> {
            let all = list(&affinity[kind][required]).iter();
            all.map(|term| Term::of(term, &home)).collect()
        };
        let mut rather = likes(&affinity["podAffinity"], 1, &home);
        rather.extend(likes(&affinity["podAntiAffinity"], -1, &home));
        let spreads = list(&spec["topologySpreadConstraints"]).iter();
        Self {
            priority,
            may_preempt: text(spec, "preemptionPolicy") != "Never",
            amounts: Amounts::of_pod(spec),
            ports: ports(spec),
            needs: NodeNeeds::of_pod(pod),
            likings: Liking::of_pod(pod),
            tolerations: Toleration::of_pod(pod),
            spreads: spreads.map(|spread| Spread::of(spread, &home)).collect(),
            near: terms("podAffinity"),
            apart: terms("podAntiAffinity"),
            rather,
            claims: claims(pod),
            namespace: home.namespace.to_owned(),
            labels: home.labels.clone(),
        }
    }

    /// Can another pod's placement make room for it?
    pub(super) fn minds_others(&self) -> bool {
        !self.near.is_empty() || !self.spreads.is_empty()
    }
}

/// Where the pod lives: what its terms mean by "my".
struct Home<'a> {
    namespace: &'a str,
    labels: &'a Vec<(String, String)>,
}

impl Term {
    fn of(value: &Value, home: &Home<'_>) -> Self {
        let mut namespaces = strings(&value["namespaces"]);
        let selector = value.get("namespaceSelector").filter(|one| !one.is_null());
        if namespaces.is_empty() && selector.is_none() {
            namespaces.push(home.namespace.to_owned());
        }
        let mut rules = LabelRules::of_selector(&value["labelSelector"]);
        add_own(&mut rules, &value["matchLabelKeys"], home, true);
        add_own(&mut rules, &value["mismatchLabelKeys"], home, false);
        Self {
            topology: text(value, "topologyKey").to_owned(),
            who: Who {
                namespaces,
                namespace_rules: selector.map(LabelRules::of_selector),
                rules,
                ending: true,
            },
        }
    }
}

impl Spread {
    fn of(value: &Value, home: &Home<'_>) -> Self {
        let mut rules = LabelRules::of_selector(&value["labelSelector"]);
        add_own(&mut rules, &value["matchLabelKeys"], home, true);
        Self {
            topology: text(value, "topologyKey").to_owned(),
            max_skew: count(&value["maxSkew"], 1),
            min_domains: count(&value["minDomains"], 1),
            required: text(value, "whenUnsatisfiable") != "ScheduleAnyway",
            honor_affinity: text(value, "nodeAffinityPolicy") != "Ignore",
            honor_taints: text(value, "nodeTaintsPolicy") == "Honor",
            who: Who {
                namespaces: vec![home.namespace.to_owned()],
                namespace_rules: None,
                rules,
                ending: false,
            },
        }
    }
}

/// The pod's own values of these labels narrow the selector. Labels it does not have are left out.
fn add_own(rules: &mut LabelRules, keys: &Value, home: &Home<'_>, same: bool) {
    for key in strings(keys) {
        if let Some(value) = label(home.labels, &key) {
            let values = vec![value.to_owned()];
            rules.push(
                &key,
                if same {
                    Test::In(values)
                } else {
                    Test::NotIn(values)
                },
            );
        }
    }
}

fn likes(affinity: &Value, sign: i64, home: &Home<'_>) -> Vec<(i64, Term)> {
    let all = list(&affinity["preferredDuringSchedulingIgnoredDuringExecution"]).iter();
    all.map(|one| {
        let weight = sign * count(&one["weight"], 1);
        (weight, Term::of(&one["podAffinityTerm"], home))
    })
    .collect()
}

fn ports(spec: &Value) -> Vec<Port> {
    let containers = list(&spec["containers"])
        .iter()
        .chain(list(&spec["initContainers"]));
    let ports = containers.flat_map(|container| list(&container["ports"]));
    ports
        .filter_map(|port| {
            let own = (spec["hostNetwork"] == true).then(|| port["containerPort"].as_i64());
            let number = port["hostPort"].as_i64().or(own.flatten())?;
            let word = |member: &str, usual: &str| match text(port, member) {
                "" => usual.to_owned(),
                written => written.to_owned(),
            };
            Some(Port {
                protocol: word("protocol", "TCP"),
                address: word("hostIP", "0.0.0.0"),
                number,
            })
        })
        .filter(|port| port.number > 0)
        .collect()
}

fn claims(pod: &Value) -> Vec<String> {
    let name = text(&pod["metadata"], "name");
    let volumes = list(&pod["spec"]["volumes"]).iter();
    volumes
        .filter_map(|volume| {
            if volume["ephemeral"].is_object() {
                return Some(format!("{name}-{}", text(volume, "name")));
            }
            Some(
                volume["persistentVolumeClaim"]["claimName"]
                    .as_str()?
                    .to_owned(),
            )
        })
        .collect()
}

impl Port {
    /// Two pods cannot have the same port of the same address; `0.0.0.0` is every address.
    pub(super) fn conflicts(&self, other: &Self) -> bool {
        let any = "0.0.0.0";
        let same = self.address == other.address || self.address == any || other.address == any;
        same && self.number == other.number && self.protocol == other.protocol
    }
}
