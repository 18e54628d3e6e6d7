//! A snapshot from a few words per line: `kind name word word …`. Numbers are enough where it does not matter.

use crate::catalog::{CapacityType, Catalog, InstanceType, Offering};
use crate::identity::ClassRef;
use crate::labels;
use crate::requirements::{Operator, Requirement};
use crate::resources::{ResourceName, Resources};
use crate::snapshot::{
    Claim, Daemon, Guard, HostPort, MinValuesPolicy, Namespace, Node, Pod, PodTerm, Pods, Policy,
    Pool, PoolState, PreferencePolicy, Protocol, Selector, Shape, Snapshot, Spread, Volume,
    VolumeLimit,
};
use crate::taints::{Effect, Taint, Toleration, TolerationOperator};
use crate::why::Constraint;
use jiff::Timestamp;
use std::sync::Arc;

pub(crate) fn now() -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap()
}

/// One line: its words as `key=value` (or `key`).
struct Line<'a> {
    kind: &'a str,
    name: &'a str,
    words: Vec<(&'a str, &'a str)>,
}

impl<'a> Line<'a> {
    fn read(text: &'a str) -> Option<Self> {
        let mut words = text.split_whitespace();
        let (kind, name) = (words.next()?, words.next().unwrap_or(""));
        let words = words
            .map(|word| word.split_once('=').unwrap_or((word, "")))
            .collect();
        Some(Self { kind, name, words })
    }

    fn get(&self, key: &str) -> Option<&'a str> {
        self.words
            .iter()
            .find(|(known, _)| *known == key)
            .map(|(_, value)| *value)
    }

    fn all(&self, key: &str) -> impl Iterator<Item = &'a str> {
        self.words
            .iter()
            .filter(move |(known, _)| *known == key)
            .map(|(_, value)| *value)
    }

    /// `prefix.key=value` words.
    fn under(&self, prefix: &str) -> Vec<(&'a str, &'a str)> {
        let strip = |(key, value): &(&'a str, &'a str)| {
            Some((key.strip_prefix(prefix)?.strip_prefix('.')?, *value))
        };
        self.words.iter().filter_map(strip).collect()
    }

    fn labels(&self) -> Vec<(Arc<str>, Arc<str>)> {
        self.under("label")
            .into_iter()
            .map(|(key, value)| (key.into(), value.into()))
            .collect()
    }

    /// cpu, memory, pods and gpu words.
    fn amounts(&self) -> Resources {
        let known = ["cpu", "memory", "pods", "gpu", "ephemeral-storage"];
        let words = self.words.iter().filter(|(key, _)| known.contains(key));
        Resources::parse(words.copied()).unwrap()
    }

    fn roomy(&self) -> Resources {
        let roomy = Resources::parse([("memory", "1Ti"), ("pods", "110")]).unwrap();
        self.amounts()
            .iter()
            .fold(roomy, |all, (name, amount)| all.with(name.clone(), amount))
    }

    fn taints(&self) -> Vec<Taint> {
        self.all("taint").map(taint).collect()
    }

    fn ports(&self) -> Vec<HostPort> {
        let port = |text: &str| HostPort {
            ip: None,
            port: text.parse().unwrap(),
            protocol: Protocol::Tcp,
        };
        self.all("port").map(port).collect()
    }

    fn shape(&self) -> Shape {
        let tolerations = self.all("tolerate").map(|key| Toleration {
            key: key.into(),
            operator: TolerationOperator::Exists,
            value: "".into(),
            effect: None,
        });
        let term = |text: &str| text.split(';').map(requirement).collect();
        let beyond = self.all("beyond").map(|name| {
            let constraint = if name == "spread" {
                Constraint::TopologySpread
            } else {
                Constraint::Volume
            };
            (constraint, name.into())
        });
        let mut labels = self.labels();
        labels.sort_unstable();
        Shape {
            namespace: self.get("ns").unwrap_or("default").into(),
            labels,
            preferred: self
                .all("prefer")
                .map(|text| weighted(text, |rest| rest.split(';').map(requirement).collect()))
                .collect(),
            spreads: self.all("spread").map(spread).collect(),
            near: self.all("near").map(pod_term).collect(),
            apart: self.all("apart").map(pod_term).collect(),
            preferred_near: self
                .all("prefer-near")
                .map(|text| weighted(text, pod_term))
                .collect(),
            preferred_apart: self
                .all("prefer-apart")
                .map(|text| weighted(text, pod_term))
                .collect(),
            volumes: self.all("volume").map(volume).collect(),
            requests: self.amounts(),
            selector: self
                .under("select")
                .into_iter()
                .map(|(key, value)| Requirement::one_of(key, [value]))
                .collect(),
            terms: self.all("term").map(term).collect(),
            tolerations: tolerations.collect(),
            ports: self.ports(),
            beyond: beyond.collect(),
            unreadable: Vec::new(),
        }
    }
}

/// `zone`, `host` and `ct` stand for the well-known keys.
fn key(text: &str) -> &str {
    match text {
        "zone" => labels::ZONE,
        "host" => labels::HOSTNAME,
        "ct" => labels::CAPACITY_TYPE,
        "arch" => labels::ARCH,
        other => other,
    }
}

/// `7:rest`.
fn weighted<T>(text: &str, rest: impl Fn(&str) -> T) -> (i32, T) {
    let (weight, text) = text.split_once(':').unwrap();
    (weight.parse().unwrap(), rest(text))
}

/// `app=web,rev!=1,team,!gone,size~a|b`; empty means all pods, `-` none.
fn selector(text: &str) -> Option<Selector> {
    let one = |word: &str| {
        let read = |key: &str, operator, values: &[&str]| {
            Requirement::label(key, operator, values).unwrap()
        };
        if let Some((key, value)) = word.split_once("!=") {
            read(key, Operator::NotIn, &[value])
        } else if let Some((key, value)) = word.split_once('=') {
            read(key, Operator::In, &[value])
        } else if let Some((key, values)) = word.split_once('~') {
            read(key, Operator::In, &values.split('|').collect::<Vec<_>>())
        } else if let Some(key) = word.strip_prefix('!') {
            read(key, Operator::DoesNotExist, &[])
        } else {
            read(word, Operator::Exists, &[])
        }
    };
    let words = text.split(',').filter(|word| !word.is_empty());
    (text != "-").then(|| Selector::new(words.map(one)))
}

/// `zone:1:app=web` with more words behind colons: `soft`, `min3`, `any-node`, `no-taints`, `key.rev`.
fn spread(text: &str) -> Spread {
    let mut parts = text.split(':');
    let (topology, skew) = (parts.next().unwrap(), parts.next().unwrap());
    let mut spread = Spread::new(
        key(topology),
        skew.parse().unwrap(),
        selector(parts.next().unwrap_or("")),
    );
    for word in parts {
        match word {
            "soft" => spread.hard = false,
            "any-node" => spread.node_affinity = Policy::Ignore,
            "no-taints" => spread.node_taints = Policy::Honor,
            word => match word.strip_prefix("key.") {
                Some(label) => spread.match_label_keys.push(label.into()),
                None => spread.min_domains = word.strip_prefix("min").unwrap().parse().unwrap(),
            },
        }
    }
    spread
}

/// `zone:app=web` with more words behind colons: `ns.prod`, `ns-all`, `ns-with.env=prod`, `key.rev`, `other.rev`.
fn pod_term(text: &str) -> PodTerm {
    let mut parts = text.split(':');
    let topology = parts.next().unwrap();
    let mut term = PodTerm::new(key(topology), selector(parts.next().unwrap_or("")));
    for word in parts {
        let (kind, rest) = word.split_once('.').unwrap_or((word, ""));
        match kind {
            "ns" => term.namespaces.push(rest.into()),
            "ns-all" => term.namespace_selector = Some(Selector::everything()),
            "ns-with" => term.namespace_selector = selector(rest),
            "key" => term.match_label_keys.push(rest.into()),
            "other" => term.mismatch_label_keys.push(rest.into()),
            other => panic!("no such word: {other}"),
        }
    }
    term
}

/// `data:csi:a|b`: the claim, its driver (or nothing) and the zones it can be reached from.
fn volume(text: &str) -> Volume {
    let mut parts = text.split(':');
    let (claim, driver) = (parts.next().unwrap(), parts.next().unwrap_or(""));
    let zones = parts
        .next()
        .unwrap_or("")
        .split('|')
        .filter(|zone| !zone.is_empty());
    let one = |zone: &str| match zone.strip_prefix('@') {
        Some(host) => vec![Requirement::one_of(labels::HOSTNAME, [host])],
        None => vec![Requirement::one_of(labels::ZONE, [zone])],
    };
    Volume {
        claim: claim.into(),
        driver: (!driver.is_empty()).then(|| driver.into()),
        alternatives: zones.map(one).collect(),
    }
}

/// `key:Operator:a|b:minValues`.
fn requirement(text: &str) -> Requirement {
    let parts: Vec<&str> = text.split(':').collect();
    let operator: Operator = parts[1].parse().unwrap();
    let values: Vec<&str> = parts
        .get(2)
        .filter(|values| !values.is_empty())
        .map(|values| values.split('|').collect())
        .unwrap_or_default();
    let min_values = parts.get(3).map(|number| number.parse().unwrap());
    Requirement::new(key(parts[0]), operator, &values)
        .unwrap()
        .with_min_values(min_values)
}

fn taint(text: &str) -> Taint {
    match text.split_once(':') {
        Some((key, "Prefer")) => Taint::new(key, "", Effect::PreferNoSchedule),
        _ => Taint::new(text, "", Effect::NoSchedule),
    }
}

fn class() -> ClassRef {
    ClassRef::new("joiner.test", "TestClass", "one")
}

pub(crate) fn world(text: &str) -> Snapshot {
    let mut snapshot = Snapshot::empty(now());
    snapshot.options.guard = None;
    let (mut types, mut offerings, mut pods) = (Vec::new(), Vec::new(), Vec::new());
    for line in text.lines().filter_map(Line::read) {
        match line.kind {
            "type" => {
                types.push(instance_type(&line));
                offerings.extend(offerings_of(&line));
            }
            "pool" => snapshot.pools.push(pool(&line)),
            "node" => snapshot.nodes.push(node(&line)),
            "claim" => snapshot.claims.push(claim(&line)),
            "daemon" => snapshot.daemons.push(Daemon {
                name: line.name.into(),
                shape: line.shape(),
            }),
            "pod" | "bound" => pods.extend(pod(&line)),
            "guard" => {
                snapshot.options.guard = Some(Guard {
                    at_least: line.name.parse().unwrap(),
                    percent: 10,
                });
            }
            "min-values" => snapshot.options.min_values = MinValuesPolicy::BestEffort,
            "preferences" => snapshot.options.preferences = PreferencePolicy::Ignore,
            "namespace" => snapshot.namespaces.push(Namespace {
                name: line.name.into(),
                labels: line
                    .words
                    .iter()
                    .map(|(key, value)| ((*key).into(), (*value).into()))
                    .collect(),
            }),
            "volume-limit" => snapshot.volumes.limits.push(VolumeLimit {
                instance_type: line.get("type").map(Into::into),
                driver: line.name.into(),
                most: line.get("most").unwrap().parse().unwrap(),
            }),
            "max-types" => snapshot.options.max_types = line.name.parse().unwrap(),
            "known" => {
                snapshot.options.well_known = crate::labels::WellKnown::with([line.name.into()]);
            }
            other => panic!("no such line: {other}"),
        }
    }
    if snapshot.pools.is_empty() && !types.is_empty() {
        snapshot.pools.push(Pool::new("default", class()));
    }
    snapshot
        .catalogs
        .push(Catalog::new(class(), now(), types, offerings).unwrap());
    snapshot.pods = Pods::gather(pods);
    snapshot.freeze()
}

fn instance_type(line: &Line<'_>) -> InstanceType {
    InstanceType {
        name: line.name.into(),
        aliases: line.all("alias").map(Into::into).collect(),
        capacity: line.roomy(),
        overhead: Resources::parse(line.under("overhead")).unwrap(),
        requirements: line
            .under("label")
            .into_iter()
            .map(|(key, value)| Requirement::one_of(key, value.split('|')))
            .collect(),
    }
}

fn offerings_of(line: &Line<'_>) -> Vec<Offering> {
    let mut offerings = Vec::new();
    for zone in line.get("zones").unwrap_or("a").split(',') {
        for kind in line.get("ct").unwrap_or("on-demand").split(',') {
            let mut offering = Offering::new(line.name, zone, kind.parse().unwrap());
            let own = line.under("price").into_iter().find(|(of, _)| *of == kind);
            let price = own.map(|(_, price)| price).or(line.get("price"));
            offering.price = price.map(|price| price.parse().unwrap());
            if line.all("gone").any(|gone| gone == zone) {
                offering = offering.unavailable_until(now() + jiff::SignedDuration::from_mins(3));
            }
            offerings.push(offering);
        }
    }
    offerings.extend(line.all("reserved").map(|text| reserved(line.name, text)));
    offerings
}

/// `a:2:0.5:shared`: the zone, how many are left, the price if there is one, and the reservation if it is not the type's own.
fn reserved(kind: &str, text: &str) -> Offering {
    let parts: Vec<&str> = text.split(':').collect();
    let name = parts.get(3).unwrap_or(&kind).to_string();
    let mut offering = Offering::new(kind, parts[0], CapacityType::Reserved)
        .reserved_in(name, parts[1].parse().unwrap());
    offering.price = parts
        .get(2)
        .filter(|price| !price.is_empty())
        .map(|price| price.parse().unwrap());
    offering
}

fn pool(line: &Line<'_>) -> Pool {
    let mut pool = Pool::new(line.name, class());
    pool.weight = line
        .get("weight")
        .map_or(0, |weight| weight.parse().unwrap());
    pool.labels = line.labels();
    pool.requirements = line.all("need").map(requirement).collect();
    pool.taints = line.taints();
    pool.limits = Resources::parse(line.under("limit")).unwrap();
    pool.state = match line.get("state") {
        Some("paused") => PoolState::Paused,
        Some("fixed") => PoolState::Fixed,
        Some(said) => PoolState::NotReady { said: said.into() },
        None => PoolState::Ready,
    };
    pool
}

fn node(line: &Line<'_>) -> Node {
    let mut used = Resources::parse(line.under("used")).unwrap();
    if let Some(cpu) = line.get("used") {
        used.set(
            ResourceName::Cpu,
            ResourceName::Cpu.amount(cpu.parse().unwrap()),
        );
    }
    let mut labels = line.labels();
    labels.extend(
        line.get("zone")
            .map(|zone| (crate::labels::ZONE.into(), zone.into())),
    );
    Node {
        name: line.name.into(),
        pool: line.get("pool").map(Into::into),
        labels,
        taints: line.taints(),
        capacity: line.roomy(),
        allocatable: line.roomy(),
        used,
        daemons: Resources::parse(line.under("daemons")).unwrap(),
        ports: line.ports(),
        volume_limits: line
            .under("volumes")
            .into_iter()
            .map(|(driver, most)| (driver.into(), most.parse().ok()))
            .collect(),
        initialized: line.get("uninitialized").is_none(),
        leaving: line.get("leaving").is_some(),
    }
}

fn claim(line: &Line<'_>) -> Claim {
    let offering = line.get("offering").map(|text| {
        let parts: Vec<&str> = text.split('/').collect();
        (
            parts[0].into(),
            parts[1].into(),
            parts.get(2).unwrap_or(&"on-demand").parse().unwrap(),
        )
    });
    Claim {
        name: line.name.into(),
        pool: line.get("pool").unwrap_or("default").into(),
        labels: line.labels(),
        requirements: line.all("need").map(requirement).collect(),
        taints: line.taints(),
        requests: line.amounts(),
        offering,
        told: told(line),
        leaving: line.get("leaving").is_some(),
    }
}

/// `told.cpu=3`: what the cloud said of it, all of it for pods.
fn told(line: &Line<'_>) -> Option<(Resources, Resources)> {
    let words = line.under("told");
    let said = Resources::parse(
        [("memory", "1Ti"), ("pods", "110")]
            .into_iter()
            .chain(words.clone()),
    )
    .unwrap();
    (!words.is_empty()).then(|| (said.clone(), said))
}

/// `x3` makes three of them: `web-1`, `web-2`, `web-3`.
fn pod(line: &Line<'_>) -> Vec<(Pod, Shape)> {
    let times = line
        .words
        .iter()
        .find_map(|(word, _)| word.strip_prefix('x')?.parse::<u32>().ok());
    let names = match times {
        Some(times) => (1..=times)
            .map(|at| format!("{}-{at}", line.name))
            .collect(),
        None => vec![line.name.to_owned()],
    };
    let pod = |name: String| {
        let mut pod = Pod::pending(name.clone(), name, now());
        pod.pending = line.kind == "pod";
        pod.node = line.get("on").map(Into::into);
        let age = line
            .get("age")
            .map_or(0, |minutes| minutes.parse().unwrap());
        pod.created = now() - jiff::SignedDuration::from_mins(age);
        pod.passed_over = line
            .get("passed-over")
            .map_or(0, |times| times.parse().unwrap());
        (pod, line.shape())
    };
    names.into_iter().map(pod).collect()
}
