//! Does `joiner plan` answer as its format says, the same way every time, and never fall over bad files?
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use clap::Parser;
use operator::plan::{Answer, Asked, Trouble, answer};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A folder that goes when the test ends.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("joiner-plan-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn joiner(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_joiner"))
        .arg("plan")
        .args(arguments)
        .output()
        .unwrap()
}

fn planned(objects: &Path, catalog: &Path, more: &[&str]) -> Result<Answer, Trouble> {
    let (objects, catalog) = (objects.to_str().unwrap(), catalog.to_str().unwrap());
    let mut words = vec!["plan", "-f", objects, "--catalog", catalog];
    words.extend(more);
    let asked = Asked::try_parse_from(words).unwrap();
    answer(&asked, "2026-01-01T00:00:00Z".parse().unwrap())
}

fn example(name: &str) -> (PathBuf, PathBuf) {
    let folder = root().join("examples/plan").join(name);
    (folder.join("cluster.yaml"), folder.join("catalog.yaml"))
}

#[test]
fn every_example_gives_the_answer_that_is_written_beside_it() {
    let mut names: Vec<_> = fs::read_dir(root().join("examples/plan"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    names.sort();
    assert!(!names.is_empty());
    for folder in names {
        let (cluster, catalog) = (folder.join("cluster.yaml"), folder.join("catalog.yaml"));
        for (form, file) in [("table", "plan.txt"), ("json", "plan.json")] {
            let output = joiner(&[
                "-f",
                cluster.to_str().unwrap(),
                "--catalog",
                catalog.to_str().unwrap(),
                "-o",
                form,
            ]);
            let said = String::from_utf8(output.stdout).unwrap();
            let complaint = String::from_utf8(output.stderr).unwrap();
            assert!(complaint.is_empty(), "{}: {complaint}", folder.display());
            let path = folder.join(file);
            if std::env::var_os("JOINER_WRITE").is_some() {
                fs::write(&path, &said).unwrap();
            }
            let expected = fs::read_to_string(&path).unwrap_or_default();
            assert_eq!(
                said,
                expected,
                "{}; JOINER_WRITE=1 rewrites it",
                path.display()
            );
        }
    }
}

#[test]
fn the_exit_code_tells_refusals_from_bad_input() {
    let scratch = Scratch::new("codes");
    let (cluster, catalog) = example("first");
    let catalog = catalog.to_str().unwrap();
    let code = |path: &Path| {
        let output = joiner(&["-f", path.to_str().unwrap(), "--catalog", catalog]);
        output.status.code()
    };
    assert_eq!(code(&cluster), Some(2), "one pod is refused");
    let text = fs::read_to_string(&cluster).unwrap();
    let fewer = scratch.file("fewer.yaml", text.replace("cpu: \"64\"", "cpu: \"1\""));
    assert_eq!(code(&fewer), Some(0));
    assert_eq!(code(&scratch.file("bad.yaml", "{")), Some(1));
    assert_eq!(code(Path::new("/nowhere")), Some(1));
}

#[test]
fn a_word_that_joiner_does_not_know_is_bad_input_and_help_is_none() {
    let wrong = joiner(&["--no-such-flag"]);
    assert_eq!(wrong.status.code(), Some(1));
    let said = String::from_utf8_lossy(&wrong.stderr);
    assert!(said.contains("--no-such-flag"), "{said}");
    let help = joiner(&["--help"]);
    assert_eq!(help.status.code(), Some(0));
    assert!(!help.stdout.is_empty());
}

#[test]
fn the_same_objects_in_any_order_and_format_give_the_same_bytes() {
    let scratch = Scratch::new("order");
    let (cluster, catalog) = example("first");
    let text = fs::read_to_string(&cluster).unwrap();
    let expected = planned(&cluster, &catalog, &[]).unwrap().plan.to_json();

    let mut documents: Vec<&str> = text.split("\n---\n").collect();
    for turn in 0..documents.len() {
        documents.rotate_left(1);
        if turn % 2 == 0 {
            documents.reverse();
        }
        let path = scratch.file("turned.yaml", documents.join("\n---\n"));
        let turned = planned(&path, &catalog, &[]).unwrap().plan.to_json();
        assert_eq!(turned, expected);
    }
    let mut objects: Vec<serde_json::Value> = Vec::new();
    for document in &documents {
        let value: serde_json::Value = serde_saphyr::from_str(document).unwrap();
        match value.get("items").and_then(|items| items.as_array()) {
            Some(items) => objects.extend(items.clone()),
            None => objects.push(value),
        }
    }
    objects.reverse();
    let lines: Vec<String> = objects.iter().map(ToString::to_string).collect();
    let path = scratch.file("lines.jsonl", lines.join("\n"));
    assert_eq!(
        planned(&path, &catalog, &[]).unwrap().plan.to_json(),
        expected
    );
    let list = serde_json::json!({ "apiVersion": "v1", "items": objects, "kind": "List" });
    let path = scratch.file("list.json", serde_json::to_string_pretty(&list).unwrap());
    assert_eq!(
        planned(&path, &catalog, &[]).unwrap().plan.to_json(),
        expected
    );
}

#[test]
fn a_folder_is_read_whole_and_kinds_that_mean_nothing_are_named_once() {
    let scratch = Scratch::new("folder");
    let (cluster, catalog) = example("first");
    scratch.file("a.yaml", fs::read(&cluster).unwrap());
    scratch.file(
        "b.yaml",
        "kind: Service\napiVersion: v1\n---\nkind: Service\napiVersion: v1\n",
    );
    scratch.file("notes.txt", "not for us");
    let answer = planned(&scratch.0, &catalog, &[]).unwrap();
    assert_eq!(answer.plan.totals.pods, 5);
    assert_eq!(answer.warnings.len(), 1, "{:?}", answer.warnings);
    assert!(answer.warnings[0].contains("2 objects of kind Service"));
}

#[test]
fn a_pod_that_is_done_leaving_or_a_daemons_is_not_placed_but_one_on_a_leaving_node_is() {
    let scratch = Scratch::new("who");
    let (_, catalog) = example("first");
    let pod = |name: &str, more: &str| {
        format!(
            "{{apiVersion: v1, kind: Pod, metadata: {{name: {name}{more}}}, spec: {{containers: []"
        )
    };
    let text = [
        pod("waits", "") + "}}",
        pod("done", "") + "}, status: {phase: Succeeded}}",
        pod("leaving", ", deletionTimestamp: \"2026-01-01T00:00:00Z\"") + "}}",
        pod("daemon", ", ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: d, uid: d, controller: true}]") + "}}",
        pod("moves", "") + ", nodeName: old}}",
        "{apiVersion: v1, kind: Node, metadata: {name: old, deletionTimestamp: \"2026-01-01T00:00:00Z\"}}".to_owned(),
    ]
    .join("\n---\n");
    let path = scratch.file("pods.yaml", text);
    let plan = planned(&path, &catalog, &[]).unwrap().plan;
    let refused: Vec<_> = plan.refusals.iter().map(|one| one.pod.as_str()).collect();
    assert_eq!(refused, ["default/moves", "default/waits"]);
}

/// The example's cluster with more objects, and who gets which room of what is there already.
fn placed_on(name: &str, more: &str) -> Vec<String> {
    let scratch = Scratch::new(name);
    let (_, catalog) = example("first");
    let path = scratch.file("more.yaml", more);
    let plan = planned(&path, &catalog, &[]).unwrap().plan;
    let mut all: Vec<String> = plan.placements.iter().map(|one| one.pod.clone()).collect();
    all.sort();
    all
}

const NODES: &str = "{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {topology.kubernetes.io/zone: a, kubernetes.io/hostname: n1}}, status: {allocatable: {cpu: '4', memory: 8Gi, pods: '10'}}}";

#[test]
fn what_runs_is_believed_whatever_it_once_asked_for() {
    // A pending pod may not name a host; one that runs there may have, and daemons find their nodes by themselves.
    let more = [
        NODES,
        "{apiVersion: v1, kind: Pod, metadata: {name: old}, spec: {nodeName: n1, nodeSelector: {kubernetes.io/hostname: n1}, affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{}]}}}, containers: [{name: a, resources: {requests: {cpu: '2'}}}]}}",
        "{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: logs}, spec: {selector: {}, template: {spec: {nodeSelector: {karpenter.sh/initialized: 'true'}, containers: [{name: a, resources: {requests: {cpu: '2'}}}]}}}}",
        "{apiVersion: v1, kind: Pod, metadata: {name: new}, spec: {containers: [{name: a, resources: {requests: {cpu: '2'}}}]}}",
    ];
    assert_eq!(
        placed_on("believed", &more.join("\n---\n")),
        ["default/new"]
    );
}

#[test]
fn pods_alike_but_for_their_names_have_volumes_of_their_own() {
    let claim = |name: &str, zone: &str| {
        format!(
            "{{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {{name: {name}-data, annotations: {{pv.kubernetes.io/bind-completed: 'yes'}}}}, spec: {{volumeName: {name}}}}}
---
{{apiVersion: v1, kind: PersistentVolume, metadata: {{name: {name}}}, spec: {{csi: {{driver: csi, volumeHandle: x}}, nodeAffinity: {{required: {{nodeSelectorTerms: [{{matchExpressions: [{{key: topology.kubernetes.io/zone, operator: In, values: [{zone}]}}]}}]}}}}}}}}"
        )
    };
    let pod = |name: &str| {
        format!(
            "{{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{{\"name\":\"{name}\",\"namespace\":\"default\"}},\"spec\":{{\"containers\":[],\"volumes\":[{{\"name\":\"data\",\"ephemeral\":{{\"volumeClaimTemplate\":{{\"spec\":{{}}}}}}}}]}}}}"
        )
    };
    let more = [
        NODES.to_owned(),
        claim("one", "a"),
        claim("two", "b"),
        pod("one"),
        pod("two"),
    ];
    assert_eq!(placed_on("alike", &more.join("\n---\n")), ["default/one"]);
}

/// A document and what the complaint must contain beside the file's name.
const BAD_OBJECTS: &[(&str, &[&str])] = &[
    ("a: [", &["document 1", "its line 1, column 4"]),
    ("kind: Pod\nkind: Pod\n", &["duplicate mapping key: kind\n"]),
    ("- a\n- b\n", &["document 1", "a bare list", "kubectl"]),
    ("42\n", &["document 1", "a bare number", "kubectl"]),
    ("[{\"kind\": \"Pod\"}]", &["document 1", "a bare list"]),
    (
        "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"na",
        &["document 1, item 1", "cut off"],
    ),
    (
        "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[{\"apiVersion\":\"v1\",\"kind\":\"Event\"},\n",
        &["document 1", "cut off"],
    ),
    (
        "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[],\"metadata\":{",
        &["document 1", "cut off"],
    ),
    (
        "{\"apiVersion\":\"v1\",\"kind\":\"Event\",\"metadata\":{",
        &["document 1", "cut off"],
    ),
    ("{\"kind\": \"Pod\"", &["document 1"]),
    ("just words", &["document 1", "bare text", "kubectl"]),
    ("a: 1\n---\nkind: Pod\n", &["document 1", "kind"]),
    (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: 7}\n",
        &["document 1", "spec.containers"],
    ),
    (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n",
        &["document 1", "spec"],
    ),
    (
        "apiVersion: v1\nkind: Pod\nspec: {containers: []}\n",
        &["document 1", "metadata.name"],
    ),
    (
        "apiVersion: v1\nkind: Node\nmetadata: {name: n}\nstatus: {allocatable: {cpu: lots}}\n",
        &["status.allocatable.cpu", "lots"],
    ),
    (
        "apiVersion: v1\nkind: Node\nmetadata: {name: n}\nstatus: {allocatable: {cpu: \"-1\"}}\n",
        &["status.allocatable.cpu", "below zero"],
    ),
    (
        "apiVersion: v1\nkind: Node\nmetadata: {name: n}\nspec: {taints: [{key: a, effect: Never}]}\n",
        &["spec.taints[0].effect", "NoSchedule"],
    ),
    (
        "apiVersion: v1\nkind: Node\nmetadata: {name: n}\n---\napiVersion: v1\nkind: Node\nmetadata: {name: n}\n",
        &["document 2", "twice"],
    ),
    (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {nodeName: n, containers: [{name: a, resources: {requests: {cpu: \"-5\"}}}]}\n",
        &["document 1", "below zero"],
    ),
    (
        "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: p}\nspec: {limits: {cpu: much}, template: {spec: {nodeClassRef: {group: g, kind: k, name: n}, requirements: []}}}\n",
        &["spec.limits.cpu", "much"],
    ),
    (
        "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: p}\nspec: {template: {spec: {nodeClassRef: {group: g, kind: k, name: n}, requirements: [{key: a, operator: Near, values: [b]}]}}}\n",
        &["document 1", "requirements[0]"],
    ),
    (
        "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: p}\nspec: {template: {spec: {nodeClassRef: {group: g, kind: k, name: n}, requirements: [{key: a, operator: Gt, values: [b]}]}}}\n",
        &["document 1", "requirements[0]"],
    ),
    (
        "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: p}\nspec: {weight: -1, template: {spec: {nodeClassRef: {group: g, kind: k, name: n}, requirements: []}}}\n",
        &["document 1", "spec.weight", "-1", "between 1 and 100"],
    ),
    (
        "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: p}\nspec: {weight: 101, template: {spec: {nodeClassRef: {group: g, kind: k, name: n}, requirements: []}}}\n",
        &["document 1", "spec.weight", "101"],
    ),
    (
        "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: p}\nspec: {limits: {cpu: null}, template: {spec: {nodeClassRef: {group: g, kind: k, name: n}, requirements: []}}}\n",
        &["document 1", "spec.limits", "500m"],
    ),
    (
        "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: p}\nspec: {template: {spec: {nodeClassRef: {group: g, kind: k, name: n}, requirements: [{key: a, operator: In, values: []}]}}}\n",
        &["document 1", "requirements[0].values", "at least one value"],
    ),
    (
        "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: p}\nspec: {template: {spec: {nodeClassRef: {group: g, kind: k, name: n}, requirements: [{key: a, operator: Exists, minValues: -1}]}}}\n",
        &[
            "document 1",
            "requirements[0].minValues",
            "between 1 and 50",
        ],
    ),
    (
        "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: p}\nspec: {template: {spec: {nodeClassRef: {group: g, kind: k, name: n}, requirements: [{key: kubernetes.io/hostname, operator: In, values: [n]}]}}}\n",
        &["document 1", "requirements[0].key", "restricted"],
    ),
    (
        "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: p}\nspec: {template: {spec: {nodeClassRef: {group: g, kind: k, name: n}, requirements: [{key: karpenter.sh/nodepool, operator: In, values: [q]}]}}}\n",
        &["document 1", "requirements[0].key", "restricted", "remove"],
    ),
];

#[test]
fn a_bad_object_is_named_by_file_document_and_field() {
    let scratch = Scratch::new("objects");
    let (_, catalog) = example("first");
    for (text, wanted) in BAD_OBJECTS {
        let path = scratch.file("bad.yaml", text);
        let said = planned(&path, &catalog, &[]).unwrap_err().to_string() + "\n";
        assert!(said.contains("bad.yaml"), "{said}\n{text}");
        for ours in ["struct", "enum", "from_str", "Options"] {
            assert!(!said.contains(ours), "{said} names what only we know");
        }
        for word in *wanted {
            assert!(
                said.contains(word),
                "{word:?} is missing in: {said}\n{text}"
            );
        }
    }
}

/// A change to the example's catalog and what the complaint must contain.
const BAD_CATALOGS: &[(&str, &str, &[&str])] = &[
    (
        "kind: Catalog",
        "kind: Catalogue",
        &["kind", "instanceTypes"],
    ),
    (
        "cpu: \"2\", memory: 8Gi",
        "cpu: null, memory: 8Gi",
        &["instanceTypes[0].capacity.cpu", "500m"],
    ),
    (
        "operator: In, values: [amd64]",
        "operator: In, values: []",
        &["requirements[0]", "at least one"],
    ),
    (
        "  - {key: kubernetes.io/os, operator: In, values: [linux]}",
        "  - {key: kubernetes.io/arch, operator: In, values: [arm64]}",
        &[
            "instanceTypes[0] (b3-8).requirements[1]",
            "kubernetes.io/arch",
            "excludes",
        ],
    ),
    (
        "name: b3-16",
        "name: b3-8",
        &["instanceTypes[1]", "name of its own"],
    ),
    (
        "cpu: \"2\", memory: 8Gi",
        "cpu: two, memory: 8Gi",
        &["instanceTypes[0] (b3-8).capacity.cpu"],
    ),
    (
        "cpu: \"2\", memory: 8Gi",
        "cpu: \"-2\", memory: 8Gi",
        &["b3-8", "capacity.cpu", "below zero"],
    ),
    ("price: 0.0465", "price: -1", &["offerings[0].price"]),
    (
        "price: 0.0465",
        "price: cheap",
        &["instanceTypes[0].offerings[0].price"],
    ),
    ("price: 0.0465", "prize: 0.0465", &["prize"]),
    (
        "    - {key: topology.kubernetes.io/zone, operator: In, values: [gra-a]}\n",
        "",
        &["offerings[0]", "without a zone"],
    ),
    (
        "    - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}\n",
        "",
        &["offerings[0]", "without a capacity type"],
    ),
    (
        "values: [on-demand]",
        "values: [borrowed]",
        &["offerings[0]", "borrowed"],
    ),
    (
        "price: 0.0465",
        "reservationCapacity: 3",
        &["offerings[0].reservationCapacity", "reserved"],
    ),
    (
        "operator: In, values: [amd64]",
        "operator: Near, values: [amd64]",
        &["requirements[0]", "Near"],
    ),
];

#[test]
fn a_bad_catalog_is_named_by_its_entry() {
    let scratch = Scratch::new("catalogs");
    let (cluster, catalog) = example("first");
    let good = fs::read_to_string(catalog).unwrap();
    for (from, to, wanted) in BAD_CATALOGS {
        assert!(good.contains(from), "{from}");
        let path = scratch.file("catalog.yaml", good.replacen(from, to, 1));
        let said = planned(&cluster, &path, &[]).unwrap_err().to_string();
        assert!(said.contains("catalog.yaml"), "{said}");
        for word in *wanted {
            assert!(said.contains(word), "{word:?} is missing in: {said}");
        }
    }
}

/// A pod's spec (beside its containers) that no planner can serve, and the reason it must get.
const HOPELESS_PODS: &[(&str, &str)] = &[
    (
        "containers: [{name: a, resources: {requests: {cpu: \"-1\"}}}]",
        "Unreadable",
    ),
    (
        "containers: [{name: a, resources: {requests: {cpu: \"1e400\"}}}]",
        "NothingLargeEnough",
    ),
    (
        "containers: [{name: a, resources: {requests: {cpu: 9999999999999999999999}}}]",
        "NothingLargeEnough",
    ),
    (
        "containers: [{name: a, resources: {requests: {cpu: nine}}}]",
        "Unreadable",
    ),
    (
        "containers: [], affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Near}]}]}}}",
        "Unreadable",
    ),
    ("containers: [], nodeSelector: {\"a b\": c}", "BadTerm"),
    (
        "containers: [], affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{}]}}}",
        "Unreadable",
    ),
    (
        "containers: [], affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: []}}}",
        "Unreadable",
    ),
    (
        "containers: [{name: a, ports: [{containerPort: 1, hostPort: 65536}]}]",
        "Unreadable",
    ),
    (
        "containers: [{name: a, ports: [{containerPort: 1, hostPort: -1}]}]",
        "Unreadable",
    ),
    (
        "containers: [], nodeSelector: {kubernetes.io/arch: amd64}, affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/arch, operator: NotIn, values: [amd64]}]}]}}}",
        "Contradiction",
    ),
];

#[test]
fn a_pod_that_nobody_can_serve_gets_a_reason_and_the_others_a_place() {
    let scratch = Scratch::new("hopeless");
    let (cluster, catalog) = example("first");
    let good = fs::read_to_string(cluster).unwrap();
    for (spec, reason) in HOPELESS_PODS {
        let pod = format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: odd}}\nspec: {{{spec}}}\n");
        let path = scratch.file("odd.yaml", format!("{good}\n---\n{pod}"));
        let plan = planned(&path, &catalog, &[]).unwrap().plan;
        let refusal = plan.refusals.iter().find(|one| one.pod == "default/odd");
        let refusal = refusal.unwrap_or_else(|| panic!("{spec} got a place"));
        assert_eq!(refusal.why[0].reason, *reason, "{spec}: {:?}", refusal.why);
        assert_eq!(plan.totals.placed, 4, "{spec}");
    }
}

#[test]
fn an_empty_catalog_file_is_told_what_to_write() {
    let scratch = Scratch::new("nothing");
    let (cluster, _) = example("first");
    let path = scratch.file("nothing.yaml", "# to be written\n");
    let said = planned(&cluster, &path, &[]).unwrap_err().to_string();
    assert!(said.contains("nothing.yaml"), "{said}");
    assert!(said.contains("kind: Catalog"), "{said}");
    let path = scratch.file("picture.yaml", b"\xff\xd8\xff\xe0");
    for said in [
        planned(&cluster, &path, &[]).unwrap_err().to_string(),
        planned(&path, &cluster, &[]).unwrap_err().to_string(),
    ] {
        assert!(
            said.contains("picture.yaml") || said.contains("cluster.yaml"),
            "{said}"
        );
        assert!(!said.contains("stream"), "{said}");
    }
}

#[test]
fn a_catalog_of_thousands_of_types_is_read_from_yaml_too() {
    use std::fmt::Write;
    let scratch = Scratch::new("thousands");
    let (cluster, catalog) = example("first");
    let mut text = fs::read_to_string(catalog).unwrap();
    for at in 0..6000 {
        writeln!(text, "- {{name: t{at}, requirements: *linux, capacity: {{cpu: \"1\", memory: 1Gi, pods: \"9\"}}, offerings: [{{requirements: *in-a}}, {{requirements: *in-b}}]}}").unwrap();
    }
    let path = scratch.file("catalog.yaml", text);
    let plan = planned(&cluster, &path, &[]).unwrap().plan;
    assert_eq!(plan.totals.placed, 4);
}

#[test]
fn what_is_probably_not_meant_is_warned_of() {
    let scratch = Scratch::new("doubts");
    let (cluster, catalog) = example("first");
    let warned = |objects: &Path, catalog: &Path| planned(objects, catalog, &[]).unwrap().warnings;
    assert_eq!(
        warned(&scratch.file("empty.yaml", ""), &catalog),
        ["the input holds no object"]
    );
    assert!(
        warned(&scratch.file("blank.yaml", "null\n---\n~\n"), &catalog)[0].contains("no object")
    );
    let text = fs::read_to_string(&catalog).unwrap() + "pools: {defualt: [b3-8]}\n";
    let typo = scratch.file("catalog.yaml", text);
    assert!(warned(&cluster, &typo)[0].contains("defualt"));
    let text = fs::read_to_string(&cluster).unwrap();
    let fixed = scratch.file(
        "fixed.yaml",
        text.replacen("spec:\n", "spec:\n  replicas: 3\n", 1),
    );
    assert!(warned(&fixed, &catalog)[0].contains("spec.replicas"));
}

#[test]
fn items_of_a_yaml_list_may_point_at_one_another() {
    let scratch = Scratch::new("anchors");
    let (_, catalog) = example("first");
    let list = "apiVersion: v1
kind: List
items:
- apiVersion: karpenter.sh/v1
  kind: NodePool
  metadata: {name: default}
  spec:
    template:
      spec:
        nodeClassRef: {group: g, kind: k, name: n}
        requirements: []
- apiVersion: v1
  kind: Pod
  metadata: {name: one}
  spec: &spec
    containers: [{name: a, resources: {requests: &requests {cpu: \"1\"}}}]
- apiVersion: v1
  kind: Pod
  metadata: {name: two}
  spec: *spec
- apiVersion: v1
  kind: Pod
  metadata: {name: three}
  spec: {containers: [{name: b, resources: {requests: *requests}}]}
";
    let path = scratch.file("list.yaml", list);
    let plan = planned(&path, &catalog, &[]).unwrap().plan;
    assert_eq!(plan.claims[0].pods.len(), 3);
    assert_eq!(plan.claims[0].requests["cpu"], "3");
    let path = scratch.file("gone.yaml", format!("{list}- *nothing\n"));
    let said = planned(&path, &catalog, &[]).unwrap_err().to_string();
    assert!(said.contains("document 1, item 5"), "{said}");
}

#[test]
fn yaml_documents_may_begin_on_the_line_of_their_separator() {
    let scratch = Scratch::new("separators");
    let (cluster, catalog) = example("first");
    let text = fs::read_to_string(&cluster).unwrap();
    let expected = planned(&cluster, &catalog, &[]).unwrap().plan.to_json();
    let more = format!(
        "%YAML 1.2\n---\n{text}\n--- {{apiVersion: v1, kind: Namespace, metadata: {{name: a}}}}\n"
    );
    let path = scratch.file("more.yaml", more);
    assert_eq!(
        planned(&path, &catalog, &[]).unwrap().plan.to_json(),
        expected
    );
}

#[test]
fn an_empty_catalog_refuses_everybody_with_a_reason() {
    let scratch = Scratch::new("empty");
    let (cluster, _) = example("first");
    let catalog = scratch.file(
        "catalog.yaml",
        "apiVersion: joiner.dev/v1alpha1\nkind: Catalog\ninstanceTypes: []\n",
    );
    let plan = planned(&cluster, &catalog, &[]).unwrap().plan;
    assert!(plan.claims.is_empty() && !plan.refusals.is_empty());
    assert!(plan.refusals.iter().all(|one| !one.why.is_empty()));
}

#[test]
fn timing_is_there_when_asked_for_and_counts_every_solve() {
    let (cluster, catalog) = example("first");
    assert!(
        planned(&cluster, &catalog, &[])
            .unwrap()
            .plan
            .timing
            .is_none()
    );
    let timed = planned(&cluster, &catalog, &["--timing", "--repeat", "3"]).unwrap();
    let timing = timed.plan.timing.unwrap();
    assert_eq!(timing.solve_ms.len(), 3);
    assert!(timing.steps > 0);
}

#[test]
fn the_schemas_in_the_reference_are_those_of_the_code() {
    for (name, schema) in operator::plan::schemas() {
        let path = root()
            .join("docs/reference")
            .join(format!("{name}.schema.json"));
        let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        if std::env::var_os("JOINER_WRITE").is_some() {
            fs::write(&path, &text).unwrap();
        }
        assert_eq!(
            fs::read_to_string(&path).unwrap_or_default(),
            text,
            "{name}; JOINER_WRITE=1 rewrites it"
        );
    }
}
