//! How long does planning take, and what does the plan cost? `cargo run --release -p planner --example solve [workload]`
#![allow(
    clippy::too_many_lines,
    clippy::unchecked_time_subtraction,
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    clippy::unwrap_used,
    reason = "measures and prints"
)]

use planner::schedule::Ground;
use planner::snapshot::{
    Daemon, Node, NodeId, Pod, PodId, PodTerm, Pods, Pool, Selector, Shape, Spread, Volume,
    VolumeLimit,
};
use planner::{
    Budget, CapacityType, Catalog, InstanceType, Offering, Price, Requirement, Resources, Schedule,
    Snapshot, WhatIf, labels,
};
use std::collections::BTreeMap;
use std::time::Duration;

/// A small generator that is the same everywhere.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    fn of<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[usize::try_from(self.roll(list.len() as u64)).unwrap()]
    }
}

fn now() -> jiff::Timestamp {
    jiff::Timestamp::from_second(1_800_000_000).unwrap()
}

fn class() -> planner::ClassRef {
    planner::ClassRef::new("joiner.test", "TestClass", "one")
}

fn amounts(list: &[(&str, String)]) -> Resources {
    Resources::parse(list.iter().map(|(name, text)| (*name, text.as_str()))).unwrap()
}

/// 400 types of i+1 cpus, 2(i+1) Gi.
fn catalog() -> Catalog {
    let mut types = Vec::new();
    let mut offerings = Vec::new();
    for i in 0..400_u64 {
        let (cpu, gib) = (i + 1, 2 * (i + 1));
        let name = format!("fake-it-{i}");
        let bytes = gib * (1 << 30);
        let price = Price::from_billionths(cpu * 100_000_000 + bytes / 10).unwrap();
        types.push(InstanceType {
            name: name.as_str().into(),
            aliases: Vec::new(),
            capacity: amounts(&[
                ("cpu", cpu.to_string()),
                ("memory", format!("{gib}Gi")),
                ("pods", (10 * cpu).to_string()),
            ]),
            overhead: amounts(&[("cpu", "100m".into()), ("memory", "10Mi".into())]),
            requirements: [
                Requirement::one_of(labels::ARCH, ["amd64"]),
                Requirement::one_of(labels::OS, ["linux", "windows", "darwin"]),
            ]
            .into_iter()
            .collect(),
        });
        for (zone, kind) in [
            ("test-zone-1", CapacityType::Spot),
            ("test-zone-2", CapacityType::Spot),
            ("test-zone-1", CapacityType::OnDemand),
            ("test-zone-2", CapacityType::OnDemand),
            ("test-zone-3", CapacityType::OnDemand),
        ] {
            offerings.push(Offering::new(&name, zone, kind).at(price));
        }
    }
    Catalog::new(class(), now(), types, offerings).unwrap()
}

fn world() -> Snapshot {
    let mut snapshot = Snapshot::empty(now());
    snapshot.options.guard = None;
    snapshot.catalogs.push(catalog());
    let mut pool = Pool::new("default", class());
    pool.limits = amounts(&[("cpu", "10000000".into()), ("memory", "10000000Gi".into())]);
    snapshot.pools.push(pool);
    snapshot
}

fn sized(dice: &mut Dice) -> Shape {
    let cpu = *dice.of(&[100, 250, 500, 1000, 1500]);
    let memory = *dice.of(&[100, 256, 512, 1024, 2048, 4096]);
    Shape {
        namespace: "default".into(),
        requests: amounts(&[
            ("cpu", format!("{cpu}m")),
            ("memory", format!("{memory}Mi")),
        ]),
        ..Shape::default()
    }
}

fn diverse(count: usize) -> Snapshot {
    let mut dice = Dice(42);
    let letters = ["a", "b", "c", "d", "e", "f", "g"];
    let mut list = Vec::new();
    let fifth = count / 5;
    for at in 0..count {
        let (letter, other) = (*dice.of(&letters), *dice.of(&letters));
        let mut shape = sized(&mut dice);
        let mine = Some(Selector::labels([("my-label", other)]));
        shape.labels = vec![("my-label".into(), letter.into())];
        match at / fifth.max(1) {
            0 => shape.spreads.push(Spread::new(labels::ZONE, 1, mine)),
            1 => shape.spreads.push(Spread::new(labels::HOSTNAME, 1, mine)),
            2 => {
                shape.labels = vec![("my-affininity".into(), letter.into())];
                shape.near.push(PodTerm::new(
                    labels::ZONE,
                    Some(Selector::labels([("my-affininity", letter)])),
                ));
            }
            3 => {
                shape.labels = vec![("app".into(), "nginx".into())];
                shape.apart.push(PodTerm::new(
                    labels::HOSTNAME,
                    Some(Selector::labels([("app", "nginx")])),
                ));
            }
            _ => {}
        }
        list.push((
            Pod::pending(format!("default/p{at}"), format!("u{at}"), now()),
            shape,
        ));
    }
    let mut snapshot = world();
    snapshot.pods = Pods::gather(list);
    snapshot.freeze()
}

fn preferences(count: usize, ignore: bool) -> Snapshot {
    let mut snapshot = world();
    let nginx = Some(Selector::labels([("app", "nginx")]));
    let shape = Shape {
        namespace: "default".into(),
        requests: amounts(&[("cpu", "500m".into()), ("memory", "512Mi".into())]),
        labels: vec![("app".into(), "nginx".into())],
        preferred: vec![(1, vec![Requirement::one_of(labels::ZONE, ["test-zone-1"])])],
        preferred_apart: vec![
            (10, PodTerm::new(labels::ZONE, nginx.clone())),
            (1, PodTerm::new(labels::HOSTNAME, nginx)),
        ],
        ..Shape::default()
    };
    let pod = |at| {
        (
            Pod::pending(format!("default/p{at}"), format!("u{at}"), now()),
            shape.clone(),
        )
    };
    snapshot.pods = Pods::gather((0..count).map(pod));
    if ignore {
        snapshot.options.preferences = planner::snapshot::PreferencePolicy::Ignore;
    }
    snapshot.freeze()
}

/// `count` pods of 200 shapes on so many nodes with daemons, volumes and spreads.
fn headline(count: usize, nodes: usize) -> Snapshot {
    let mut dice = Dice(7);
    let mut snapshot = world();
    snapshot.nodes = (0..nodes).map(|at| standing(at, &mut dice)).collect();
    snapshot.volumes.limits.push(VolumeLimit {
        instance_type: None,
        driver: "csi".into(),
        most: 25,
    });
    for at in 0..5 {
        let shape = Shape {
            requests: amounts(&[("cpu", "50m".into()), ("memory", "64Mi".into())]),
            ..Shape::default()
        };
        snapshot.daemons.push(Daemon {
            name: format!("daemon-{at}").as_str().into(),
            shape,
        });
    }
    let mut list = Vec::new();
    for kind in 0..200 {
        members(kind, count / 200, &mut dice, &mut list);
    }
    list.extend((0..nodes * 4).map(|at| running(at, nodes)));
    snapshot.pods = Pods::gather(list);
    snapshot.freeze()
}

fn standing(at: usize, dice: &mut Dice) -> Node {
    let zone = format!("test-zone-{}", at % 3 + 1);
    let name = format!("node-{at:05}");
    let room = amounts(&[
        ("cpu", "16".into()),
        ("memory", "64Gi".into()),
        ("pods", "110".into()),
    ]);
    Node {
        name: name.as_str().into(),
        pool: Some("default".into()),
        labels: vec![
            (labels::HOSTNAME.into(), name.as_str().into()),
            (labels::ZONE.into(), zone.as_str().into()),
            (labels::ARCH.into(), "amd64".into()),
            (labels::OS.into(), "linux".into()),
            (labels::POOL.into(), "default".into()),
            (labels::CAPACITY_TYPE.into(), "on-demand".into()),
            ("rack".into(), format!("r{}", at % 50).as_str().into()),
        ],
        capacity: room.clone(),
        allocatable: room,
        used: amounts(&[
            ("cpu", format!("{}m", 1000 + dice.roll(8000))),
            ("memory", format!("{}Mi", 1000 + dice.roll(30_000))),
            ("pods", "10".into()),
        ]),
        volume_limits: vec![("csi".into(), Some(25))],
        initialized: true,
        ..Node::default()
    }
}

/// The pods of one app.
fn members(kind: usize, count: usize, dice: &mut Dice, list: &mut Vec<(Pod, Shape)>) {
    let mut shape = sized(dice);
    let app = format!("app-{kind}");
    let selector = Some(Selector::labels([("app", app.as_str())]));
    shape.labels = vec![("app".into(), app.as_str().into())];
    match kind % 8 {
        0 | 1 => shape.spreads.push(Spread::new(labels::ZONE, 1, selector)),
        2 => shape
            .spreads
            .push(Spread::new(labels::HOSTNAME, 2, selector)),
        3 => shape.apart.push(PodTerm::new(labels::HOSTNAME, selector)),
        4 => shape.near.push(PodTerm::new(labels::ZONE, selector)),
        _ => {}
    }
    for at in 0..count {
        let mut shape = shape.clone();
        let name = format!("default/{app}-{at}");
        if kind.is_multiple_of(5) {
            shape.volumes.push(Volume {
                claim: name.as_str().into(),
                driver: Some("csi".into()),
                alternatives: Vec::new(),
            });
        }
        list.push((Pod::pending(name, format!("u{kind}-{at}"), now()), shape));
    }
}

fn running(at: usize, nodes: usize) -> (Pod, Shape) {
    let app = format!("app-{}", at % 400);
    let shape = Shape {
        namespace: "default".into(),
        labels: vec![("app".into(), app.as_str().into())],
        requests: amounts(&[("cpu", "100m".into())]),
        ..Shape::default()
    };
    let pod = Pod::bound(format!("default/b{at}"), format!("b{at}"), now())
        .on(format!("node-{:05}", at % nodes));
    (pod, shape)
}

/// Time this thread has had a processor for: other work on the machine does not count.
fn on_cpu() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(text.split(' ').next().unwrap().parse().unwrap())
}

fn show(name: &str, snapshot: &Snapshot) {
    let view = WhatIf::nothing_changes(snapshot);
    let _warm = planner::solve(&view, Budget::UNLIMITED);
    let start = on_cpu();
    let ground = Ground::of(snapshot, None);
    let laid = on_cpu() - start;
    let sketch = ground.sketch(&view, Budget::UNLIMITED);
    let sketched = on_cpu() - start - laid;
    let schedule = ground.solve(&view, Budget::UNLIMITED);
    let solved = on_cpu() - start - laid - sketched;
    println!(
        "{name}: {} shapes, ground {laid:.1?}, one run {sketched:.1?} ({}), best {solved:.1?} ({})",
        snapshot.pods.shapes().count(),
        figures(&sketch, snapshot),
        figures(&schedule, snapshot)
    );
}

/// What consolidation asks: could the pods of this node go elsewhere, or onto something cheaper?
fn ask_about_nodes(name: &str, snapshot: &Snapshot, questions: usize) {
    let mut on: BTreeMap<&str, Vec<PodId>> = BTreeMap::new();
    for (id, pod) in snapshot.pods.members() {
        on.entry(pod.node.as_deref().unwrap()).or_default().push(id);
    }
    let start = on_cpu();
    let ground = Ground::of(snapshot, None);
    let laid = on_cpu() - start;
    let (mut placed, mut opened) = (0, 0);
    for (at, node) in snapshot.nodes.iter().enumerate().take(questions) {
        let id = NodeId(u32::try_from(at).unwrap());
        let view = WhatIf::without_nodes(snapshot, [id], &on[&*node.name]);
        let answer = ground.sketch(&view, Budget::UNLIMITED);
        placed += answer.placements.len();
        opened += answer.openings.len();
    }
    let each = (on_cpu() - start - laid) / u32::try_from(questions).unwrap();
    println!(
        "{name}: {} nodes, {} pods, ground {laid:.1?}, then {questions} questions at {each:.1?} each ({placed} pods placed, {opened} claims)",
        snapshot.nodes.len(),
        snapshot.pods.len(),
    );
}

fn figures(schedule: &Schedule, snapshot: &Snapshot) -> String {
    let price = schedule
        .openings
        .iter()
        .filter_map(|opening| opening.price)
        .fold(0, |sum, price| sum + price.billionths());
    format!(
        "{} claims, {}.{:03}/h, {} refused, {} steps",
        schedule.openings.len(),
        price / 1_000_000_000,
        price % 1_000_000_000 / 1_000_000,
        schedule.refused(&snapshot.pods).count(),
        schedule.steps
    )
}

fn made(name: &str, count: usize) -> Snapshot {
    match name {
        "diverse" => diverse(count),
        "preferences" => preferences(count, false),
        "bare" => headline(count, 0),
        _ => headline(count, 5000),
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    // For who counts instructions: with and without planning.
    if let [how @ ("make" | "once"), name, count] = words[..] {
        let snapshot = made(name, count.parse().unwrap());
        if how == "once" {
            let view = WhatIf::nothing_changes(&snapshot);
            println!("{}", planner::solve(&view, Budget::UNLIMITED).steps);
        }
        return;
    }
    let wanted = words.first().copied().unwrap_or_default();
    for count in [1, 50, 100, 500, 1000, 2000, 5000, 10_000, 20_000] {
        if "diverse".contains(wanted) {
            show(&format!("diverse {count}"), &diverse(count));
        }
    }
    if "preferences".contains(wanted) {
        show("preferences respected 4000", &preferences(4000, false));
        show("preferences ignored 4000", &preferences(4000, true));
    }
    if "what-ifs".contains(wanted) {
        ask_about_nodes("what-ifs", &headline(0, 5000), 1000);
    }
    for count in [10_000, 100_000] {
        if "headline".contains(wanted) {
            show(&format!("headline {count}"), &headline(count, 5000));
        }
        if "bare".contains(wanted) {
            show(&format!("bare {count}"), &headline(count, 0));
        }
    }
}
