//! Are pods as near, as far apart and as evenly spread as they ask for?

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::{Value, json};

use super::check::{World, labels, list, selected, text};
use super::labels::{selects, tolerated};

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const HOSTNAME: &str = "kubernetes.io/hostname";

/// Pods that no selector can tell apart, counted by spot.
struct Class {
    labels: BTreeMap<String, String>,
    namespace: String,
    on: BTreeMap<usize, usize>,
}

/// One constraint, shared by all pods that mean the same by it.
struct Asked<'a> {
    /// What the pod's own labels add is in the selector.
    term: Cow<'a, Value>,
    /// Whose pods are counted.
    namespaces: BTreeSet<String>,
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
        if text(&one.term, "/whenUnsatisfiable") == "DoNotSchedule" {
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
            let term = with_own_labels(term, object);
            let key = format!("{namespace} {term}");
            let one = found.entry(key).or_insert_with(|| Asked {
                namespaces: scope(world, &term, namespace),
                term,
                pods: Vec::new(),
            });
            one.pods.push(*pod);
        }
    }
    found.into_values().collect()
}

/// `matchLabelKeys` stand for the values that the pod itself has; keys it does not have say nothing.
fn with_own_labels<'a>(term: &'a Value, pod: &Value) -> Cow<'a, Value> {
    let keys = list(term, "/matchLabelKeys");
    if keys.is_empty() {
        return Cow::Borrowed(term);
    }
    let has = labels(pod, "/metadata/labels");
    let mut narrowed = term.clone();
    let mut all = list(term, "/labelSelector/matchExpressions").to_vec();
    for key in keys.iter().filter_map(Value::as_str) {
        let value = has.get(key);
        all.extend(value.map(|value| json!({ "key": key, "operator": "In", "values": [value] })));
    }
    narrowed["labelSelector"]["matchExpressions"] = json!(all);
    Cow::Owned(narrowed)
}

/// The named namespaces and those that are selected; the pod's own where the term speaks of none.
fn scope(world: &World<'_>, term: &Value, own: &str) -> BTreeSet<String> {
    let named = list(term, "/namespaces").iter().filter_map(Value::as_str);
    let mut all: BTreeSet<String> = named.map(str::to_owned).collect();
    match term.get("namespaceSelector") {
        Some(selector) => {
            let known = world.namespaces.iter();
            let selected = known.filter(|(_, has)| selects(Some(selector), has));
            all.extend(selected.map(|(name, _)| (*name).to_owned()));
        }
        None if all.is_empty() => drop(all.insert(own.to_owned())),
        None => {}
    }
    all
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
    let key = text(&one.term, "/topologyKey");
    let mut counts = BTreeMap::new();
    let matching = classes.iter().filter(|class| {
        one.namespaces.contains(&class.namespace)
            && selects(one.term.get("labelSelector"), &class.labels)
    });
    let counted = matching.flat_map(|class| &class.on);
    for (spot, count) in counted.filter(|(spot, _)| on(**spot)) {
        if let Some(domain) = domain(world, *spot, key) {
            *counts.entry(domain).or_default() += count;
        }
    }
    counts
}

/// 1 if the term means this pod.
fn is_meant(world: &World<'_>, one: &Asked<'_>, pod: usize) -> usize {
    let object = world.pods[pod];
    let has = labels(object, "/metadata/labels");
    let here = one.namespaces.contains(text(object, "/metadata/namespace"));
    usize::from(here && selects(one.term.get("labelSelector"), &has))
}

fn apart(world: &World<'_>, classes: &[Class], one: &Asked<'_>, wrong: &mut Vec<String>) {
    let counts = counts(world, classes, one, |_| true);
    let key = text(&one.term, "/topologyKey");
    for pod in &one.pods {
        let place = domain(world, world.spot_of[pod], key);
        let there = place
            .and_then(|place| counts.get(place))
            .copied()
            .unwrap_or(0);
        if there > is_meant(world, one, *pod) {
            let name = text(world.pods[*pod], "/metadata/name");
            wrong.push(format!("{name}: not apart in {place:?}"));
        }
    }
}

fn near(world: &World<'_>, classes: &[Class], one: &Asked<'_>, wrong: &mut Vec<String>) {
    let counts = counts(world, classes, one, |_| true);
    let key = text(&one.term, "/topologyKey");
    let mut askers: BTreeMap<&str, usize> = BTreeMap::new();
    for pod in &one.pods {
        let name = text(world.pods[*pod], "/metadata/name");
        let Some(place) = domain(world, world.spot_of[pod], key) else {
            wrong.push(format!("{name}: near nobody, its node has no {key}"));
            continue;
        };
        *askers.entry(place).or_default() += is_meant(world, one, *pod);
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
        !text(object, "/spec/nodeName").is_empty() && is_meant(world, one, *pod) == 1
    })
}

/// Only where all new pods that count also ask: others may come later and spoil it, as Kubernetes allows.
///
/// Pods can be bound one by one without ever passing the skew exactly if, in the end, no domain that got some is that far
/// above the emptiest.
fn spread(world: &World<'_>, classes: &[Class], one: &Asked<'_>, wrong: &mut Vec<String>) {
    let key = text(&one.term, "/topologyKey");
    let skew = one.term.get("maxSkew").and_then(Value::as_u64).unwrap_or(1);
    let is_new = |pod: &usize| text(world.pods[*pod], "/spec/nodeName").is_empty();
    let counted = |pod: &usize| is_meant(world, one, *pod) == 1;
    let asking = one.pods.iter().filter(|pod| counted(pod));
    let new = world
        .spot_of
        .keys()
        .filter(|pod| is_new(pod) && counted(pod));
    if asking.clone().count() != new.count() {
        return;
    }
    let compared = compared(world, world.pods[one.pods[0]], &one.term);
    let counts = counts(world, classes, one, |spot| compared[spot]);
    let places: BTreeSet<&str> = (0..world.spots.len())
        .filter(|spot| compared[*spot])
        .filter_map(|spot| domain(world, spot, key))
        .collect();
    let wanted = one.term.get("minDomains").and_then(Value::as_u64);
    let too_few = (places.len() as u64) < wanted.unwrap_or(1);
    let in_place = |place: &&str| counts.get(place).copied().unwrap_or(0);
    let least = places.iter().map(in_place).min().filter(|_| !too_few);
    let least = least.unwrap_or(0);
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

/// By spot, as kube-scheduler does: places which have all labels the pod spreads by, and, as far as the constraint says so,
/// which the pod's own affinity and tolerations admit.
fn compared(world: &World<'_>, pod: &Value, term: &Value) -> Vec<bool> {
    let spec = pod.get("spec").unwrap_or(&Value::Null);
    let terms = list(pod, "/spec/topologySpreadConstraints");
    let hard = |term: &&Value| text(term, "/whenUnsatisfiable") == "DoNotSchedule";
    let keys = terms.iter().filter(hard);
    let keys: Vec<&str> = keys.map(|term| text(term, "/topologyKey")).collect();
    let past_affinity = text(term, "/nodeAffinityPolicy") == "Ignore";
    let past_taints = text(term, "/nodeTaintsPolicy") != "Honor";
    let looked_at = |spot: usize| {
        let place = &world.spots[spot];
        (past_affinity || selected(spec, &place.labels))
            && (past_taints || tolerated(&place.hard_taints(), list(spec, "/tolerations")))
            && keys.iter().all(|key| domain(world, spot, key).is_some())
    };
    (0..world.spots.len()).map(looked_at).collect()
}

#[cfg(test)]
mod tests {
    use super::super::check::check;
    use super::*;

    const ZONE: &str = "topology.kubernetes.io/zone";

    /// `a1 a2 b1`: nodes by zone; a trailing `!` taints one.
    fn nodes(names: &str) -> Vec<Value> {
        let node = |name: &str| {
            let (name, tainted) = match name.strip_suffix('!') {
                Some(name) => (name, true),
                None => (name, false),
            };
            let taints = tainted.then(|| json!([{ "key": "dedicated", "effect": "NoSchedule" }]));
            json!({ "kind": "Node", "metadata": { "name": name, "labels": { ZONE: &name[..1] } },
                "spec": { "taints": taints }, "status": { "allocatable": { "pods": "99" } } })
        };
        names.split(' ').map(node).collect()
    }

    /// Findings where pods `web-0`, `web-1`… with this spec and these labels go to these nodes.
    fn found(nodes: &[Value], spec: &Value, pods: &[(&str, Value)]) -> Vec<String> {
        let mut objects = nodes.to_vec();
        let mut placements = Vec::new();
        for (at, (node, labels)) in pods.iter().enumerate() {
            let mut spec = spec.clone();
            spec["containers"] = json!([{}]);
            objects.push(json!({ "kind": "Pod", "spec": spec,
                "metadata": { "name": format!("web-{at}"), "namespace": "d", "labels": labels } }));
            placements.push(json!({ "pod": format!("d/web-{at}"), "node": node }));
        }
        let plan = json!({ "placements": placements });
        check(&objects, &json!({}), &plan)
    }

    fn web(on: &[&'static str]) -> Vec<(&'static str, Value)> {
        on.iter().map(|on| (*on, json!({ "app": "web" }))).collect()
    }

    fn spread(more: &Value) -> Value {
        let mut one = json!({ "maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": { "matchLabels": { "app": "web" } } });
        for (key, value) in more.as_object().into_iter().flatten() {
            one[key] = value.clone();
        }
        json!({ "topologySpreadConstraints": [one] })
    }

    fn complains(findings: &[String], of: &str) {
        assert!(findings.iter().any(|one| one.contains(of)), "{findings:?}");
    }

    #[test]
    fn fewer_domains_than_asked_for_take_no_more_than_the_skew() {
        let nodes = nodes("a1 b1");
        let (two, three) = (json!({ "minDomains": 2 }), json!({ "minDomains": 3 }));
        let pods = web(&["a1", "a1", "b1"]);
        assert!(found(&nodes, &spread(&two), &pods).is_empty());
        complains(&found(&nodes, &spread(&three), &pods), "skew 2-0");
        let pods = web(&["a1", "b1"]);
        assert!(found(&nodes, &spread(&three), &pods).is_empty());
    }

    #[test]
    fn revisions_are_spread_each_for_itself() {
        let nodes = nodes("a1 b1");
        let keys = json!({ "matchLabelKeys": ["revision", "unknown"] });
        let of = |revision: &str| json!({ "app": "web", "revision": revision });
        // Two in a, two in b, but the old ones are both in a.
        let pods = [
            ("a1", of("old")),
            ("a1", of("old")),
            ("b1", of("new")),
            ("b1", of("new")),
        ];
        complains(&found(&nodes, &spread(&keys), &pods), "skew 2-0");
        assert!(found(&nodes, &spread(&json!({})), &pods).is_empty());
        let pods = [("a1", of("old")), ("a1", of("new"))];
        assert!(found(&nodes, &spread(&keys), &pods).is_empty());
        complains(&found(&nodes, &spread(&json!({})), &pods), "skew 2-0");
    }

    #[test]
    fn a_tainted_zone_holds_back_unless_taints_are_honored() {
        let nodes = nodes("a1 b1!");
        let pods = web(&["a1", "a1"]);
        complains(&found(&nodes, &spread(&json!({})), &pods), "skew 2-0");
        let honored = spread(&json!({ "nodeTaintsPolicy": "Honor" }));
        assert!(found(&nodes, &honored, &pods).is_empty());
    }

    #[test]
    fn a_zone_that_is_not_selected_holds_back_only_where_affinity_is_ignored() {
        let nodes = nodes("a1 b1");
        let pods = web(&["a1", "a1"]);
        let mut spec = spread(&json!({}));
        spec["nodeSelector"] = json!({ ZONE: "a" });
        assert!(found(&nodes, &spec, &pods).is_empty());
        spec["topologySpreadConstraints"][0]["nodeAffinityPolicy"] = json!("Ignore");
        complains(&found(&nodes, &spec, &pods), "skew 2-0");
    }

    /// Two nodes, a running pod `app=db` of the namespace `far` on a1, and namespaces with labels.
    fn with_neighbour() -> Vec<Value> {
        let mut all = nodes("a1 b1");
        for name in ["d", "far"] {
            all.push(json!({ "kind": "Namespace", "metadata": { "name": name, "labels": { "side": name } } }));
        }
        all.push(
            json!({ "kind": "Pod", "spec": { "nodeName": "a1", "containers": [{}] },
            "metadata": { "name": "db", "namespace": "far", "labels": { "app": "db" } } }),
        );
        all
    }

    fn term(kind: &str, more: &Value) -> Value {
        let mut term =
            json!({ "topologyKey": ZONE, "labelSelector": { "matchLabels": { "app": "db" } } });
        for (key, value) in more.as_object().into_iter().flatten() {
            term[key] = value.clone();
        }
        json!({ "affinity": { kind: { REQUIRED: [term] } } })
    }

    #[test]
    fn terms_mean_the_namespaces_they_name_or_select() {
        let world = with_neighbour();
        let far = [
            json!({ "namespaces": ["far"] }),
            json!({ "namespaceSelector": {} }),
            json!({ "namespaceSelector": { "matchLabels": { "side": "far" } } }),
            json!({ "namespaces": ["d"], "namespaceSelector": { "matchLabels": { "side": "far" } } }),
        ];
        for scope in &far {
            let (apart, near) = (term("podAntiAffinity", scope), term("podAffinity", scope));
            complains(&found(&world, &apart, &web(&["a1"])), "not apart");
            assert!(found(&world, &apart, &web(&["b1"])).is_empty(), "{scope}");
            complains(&found(&world, &near, &web(&["b1"])), "near nobody");
            assert!(found(&world, &near, &web(&["a1"])).is_empty(), "{scope}");
        }
        let own = [
            json!({}),
            json!({ "namespaceSelector": { "matchLabels": { "side": "nowhere" } } }),
        ];
        for scope in &own {
            let (apart, near) = (term("podAntiAffinity", scope), term("podAffinity", scope));
            assert!(found(&world, &apart, &web(&["a1"])).is_empty(), "{scope}");
            complains(&found(&world, &near, &web(&["a1"])), "near nobody");
        }
    }
}
