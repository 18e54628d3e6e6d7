//! Are pods as near, as far apart and as evenly spread as they ask for?

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use super::check::{World, labels, list, selected, text};
use super::labels::selects;

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const HOSTNAME: &str = "kubernetes.io/hostname";

/// Pods that no selector can tell apart, counted by spot.
struct Class {
    labels: BTreeMap<String, String>,
    namespace: String,
    on: BTreeMap<usize, usize>,
}

/// One constraint, shared by all pods that write it alike.
struct Asked<'a> {
    term: &'a Value,
    namespace: String,
    pods: Vec<usize>,
}

pub fn check(world: &World<'_>, wrong: &mut Vec<String>) {
    let classes = classes(world);
    let asked = |path: &str| gather(world, path);
    for one in asked(&format!("/spec/affinity/podAntiAffinity/{REQUIRED}")) {
        apart(world, &classes, &one, wrong);
    }
    for one in asked(&format!("/spec/affinity/podAffinity/{REQUIRED}")) {
        near(world, &classes, &one, wrong);
    }
    for one in asked("/spec/topologySpreadConstraints") {
        if text(one.term, "/whenUnsatisfiable") == "DoNotSchedule" {
            spread(world, &classes, &one, wrong);
        }
    }
}

fn classes(world: &World<'_>) -> Vec<Class> {
    let mut found: HashMap<String, Class> = HashMap::new();
    for (pod, spot) in &world.spot_of {
        let object = world.pods[*pod];
        let namespace = text(object, "/metadata/namespace").to_owned();
        let has = object.pointer("/metadata/labels").map(ToString::to_string);
        let key = format!("{namespace} {}", has.unwrap_or_default());
        let class = found.entry(key).or_insert_with(|| Class {
            labels: labels(object, "/metadata/labels"),
            namespace,
            on: BTreeMap::new(),
        });
        *class.on.entry(*spot).or_default() += 1;
    }
    found.into_values().collect()
}

/// Constraints of the pods that were placed in this plan.
fn gather<'a>(world: &World<'a>, path: &str) -> Vec<Asked<'a>> {
    let mut found: BTreeMap<String, Asked<'a>> = BTreeMap::new();
    for pod in world.spot_of.keys() {
        let object: &'a Value = world.pods[*pod];
        if !text(object, "/spec/nodeName").is_empty() {
            continue;
        }
        let namespace = text(object, "/metadata/namespace");
        for term in list(object, path) {
            let key = format!("{namespace} {term}");
            let one = found.entry(key).or_insert_with(|| Asked {
                term,
                namespace: namespace.to_owned(),
                pods: Vec::new(),
            });
            one.pods.push(*pod);
        }
    }
    found.into_values().collect()
}

fn domain<'a>(world: &'a World<'_>, spot: usize, key: &str) -> Option<&'a str> {
    let spot = &world.spots[spot];
    match key {
        HOSTNAME => Some(&spot.name),
        key => spot.labels.get(key).map(String::as_str),
    }
}

/// Pods that the term's selector matches on these spots, by domain.
fn counts<'a>(
    world: &'a World<'_>,
    classes: &[Class],
    one: &Asked<'_>,
    on: impl Fn(usize) -> bool,
) -> BTreeMap<&'a str, usize> {
    let key = text(one.term, "/topologyKey");
    let mut counts = BTreeMap::new();
    let matching = classes.iter().filter(|class| {
        class.namespace == one.namespace && selects(one.term.get("labelSelector"), &class.labels)
    });
    let counted = matching.flat_map(|class| &class.on);
    for (spot, count) in counted.filter(|(spot, _)| on(**spot)) {
        if let Some(domain) = domain(world, *spot, key) {
            *counts.entry(domain).or_default() += count;
        }
    }
    counts
}

fn is_self(world: &World<'_>, one: &Asked<'_>, pod: usize) -> usize {
    let has = labels(world.pods[pod], "/metadata/labels");
    usize::from(selects(one.term.get("labelSelector"), &has))
}

fn apart(world: &World<'_>, classes: &[Class], one: &Asked<'_>, wrong: &mut Vec<String>) {
    let counts = counts(world, classes, one, |_| true);
    let key = text(one.term, "/topologyKey");
    for pod in &one.pods {
        let place = domain(world, world.spot_of[pod], key);
        let there = place
            .and_then(|place| counts.get(place))
            .copied()
            .unwrap_or(0);
        if there > is_self(world, one, *pod) {
            let name = text(world.pods[*pod], "/metadata/name");
            wrong.push(format!("{name}: not apart in {place:?}"));
        }
    }
}

fn near(world: &World<'_>, classes: &[Class], one: &Asked<'_>, wrong: &mut Vec<String>) {
    let counts = counts(world, classes, one, |_| true);
    let key = text(one.term, "/topologyKey");
    let mut askers: BTreeMap<&str, usize> = BTreeMap::new();
    for pod in &one.pods {
        let name = text(world.pods[*pod], "/metadata/name");
        let Some(place) = domain(world, world.spot_of[pod], key) else {
            wrong.push(format!("{name}: near nobody, its node has no {key}"));
            continue;
        };
        *askers.entry(place).or_default() += is_self(world, one, *pod);
        if counts.get(place).is_none_or(|there| *there == 0) {
            wrong.push(format!("{name}: near nobody in {place}"));
        }
    }
    // Where nobody is but who asks, one of them came first. Only the first of all its kind may.
    let begun = |place: &&str| counts.get(place) == askers.get(place);
    let begun: Vec<&str> = askers.keys().copied().filter(begun).collect();
    if begun.len() > 1 || (begun.len() == 1 && runs_already(world, one)) {
        wrong.push(format!("{}: begun anew in {begun:?}", one.term));
    }
}

/// Does a pod that the term selects run anywhere in the cluster?
fn runs_already(world: &World<'_>, one: &Asked<'_>) -> bool {
    world.spot_of.keys().any(|pod| {
        let object = world.pods[*pod];
        !text(object, "/spec/nodeName").is_empty()
            && text(object, "/metadata/namespace") == one.namespace
            && is_self(world, one, *pod) == 1
    })
}

/// Only where all new pods that count also ask: others may come later and spoil it, as Kubernetes allows.
///
/// Pods can be bound one by one without ever passing the skew exactly if, in the end, no domain that got some is that far
/// above the emptiest.
fn spread(world: &World<'_>, classes: &[Class], one: &Asked<'_>, wrong: &mut Vec<String>) {
    let key = text(one.term, "/topologyKey");
    let skew = one.term.get("maxSkew").and_then(Value::as_u64).unwrap_or(1);
    let is_new = |pod: &usize| text(world.pods[*pod], "/spec/nodeName").is_empty();
    let counted = |pod: &usize| {
        text(world.pods[*pod], "/metadata/namespace") == one.namespace
            && is_self(world, one, *pod) == 1
    };
    let asking = one.pods.iter().filter(|pod| counted(pod));
    let new = world
        .spot_of
        .keys()
        .filter(|pod| is_new(pod) && counted(pod));
    if asking.clone().count() != new.count() {
        return;
    }
    let compared = compared(world, world.pods[one.pods[0]]);
    let counts = counts(world, classes, one, |spot| compared[spot]);
    let least = (0..world.spots.len())
        .filter(|spot| compared[*spot])
        .filter_map(|spot| domain(world, spot, key))
        .map(|place| counts.get(place).copied().unwrap_or(0))
        .min()
        .unwrap_or(0);
    let got_some = asking.filter_map(|pod| domain(world, world.spot_of[pod], key));
    let most = got_some.filter_map(|place| counts.get(place)).max();
    let most = most.copied().unwrap_or(0);
    if (most.saturating_sub(least)) as u64 > skew {
        wrong.push(format!(
            "{}: skew {most}-{least} above {skew}: {counts:?}",
            one.term
        ));
    }
}

/// By spot, as kube-scheduler does: places which the pod may go to and which have all labels it spreads by.
fn compared(world: &World<'_>, pod: &Value) -> Vec<bool> {
    let spec = pod.get("spec").unwrap_or(&Value::Null);
    let terms = list(pod, "/spec/topologySpreadConstraints");
    let hard = |term: &&Value| text(term, "/whenUnsatisfiable") == "DoNotSchedule";
    let keys = terms.iter().filter(hard);
    let keys: Vec<&str> = keys.map(|term| text(term, "/topologyKey")).collect();
    let looked_at = |spot: usize| {
        selected(spec, &world.spots[spot].labels)
            && keys.iter().all(|key| domain(world, spot, key).is_some())
    };
    (0..world.spots.len()).map(looked_at).collect()
}
