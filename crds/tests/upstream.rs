//! Are our `karpenter.sh` CRDs the ones inside the Go module `sigs.k8s.io/karpenter` v1.15.0, descriptions aside?
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

const MODULE: &str = "sigs.k8s.io/karpenter@v1.15.0";

/// Differences we keep: JSON pointer and reason.
const EXCEPTIONS: &[(&str, &str)] = &[(
    "/metadata/annotations",
    "upstream notes which version of controller-gen wrote the file; we do not use it",
)];

#[test]
fn our_karpenter_crds_equal_upstreams_without_descriptions() {
    let folder = match module_folder() {
        Ok(folder) => folder.join("pkg/apis/crds"),
        Err(why) => return skip(&why),
    };
    let mut differences = String::new();
    let mut excused = BTreeSet::new();
    for crd in crds::karpenter::crds() {
        let plural = crd.spec.names.plural.clone();
        let file = folder.join(format!("karpenter.sh_{plural}.yaml"));
        let theirs: Value =
            serde_saphyr::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        for (pointer, theirs, ours) in compare(&theirs, &serde_json::to_value(&crd).unwrap()) {
            match EXCEPTIONS.iter().find(|(known, _)| *known == pointer) {
                Some((known, _)) => _ = excused.insert(*known),
                None => {
                    writeln!(
                        differences,
                        "{plural} {pointer}\n  upstream {theirs}\n  ours     {ours}"
                    )
                    .unwrap();
                }
            }
        }
    }
    assert!(differences.is_empty(), "{differences}");
    assert_eq!(
        excused.len(),
        EXCEPTIONS.len(),
        "an exception that excuses nothing is no exception"
    );
}

#[test]
fn the_comparison_sees_what_is_missing_added_or_changed() {
    let theirs = serde_json::json!({"a": {"type": "string", "description": "x"}, "l": [1, 2], "gone": true, "n": 1});
    let ours = serde_json::json!({"a": {"type": "integer", "description": "y"}, "l": [1], "new": true, "n": 1.0});
    let pointers: Vec<_> = compare(&theirs, &ours)
        .into_iter()
        .map(|(pointer, ..)| pointer)
        .collect();
    assert_eq!(pointers, ["/a/type", "/gone", "/l/1", "/new"]);
}

fn module_folder() -> Result<PathBuf, String> {
    let pinned = Path::new(env!("CARGO_MANIFEST_DIR")).join("../hack/tools/karpenter");
    let output = Command::new("go")
        .args(["mod", "download", "-json", MODULE])
        .current_dir(pinned)
        .env("GOTOOLCHAIN", "auto")
        .env("GOFLAGS", "-mod=mod")
        .output()
        .map_err(|_| "no Go toolchain".to_owned())?;
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    match answer["Dir"].as_str() {
        Some(folder) => Ok(folder.into()),
        None => Err(format!(
            "{MODULE} could not be fetched: {} {}",
            answer["Error"],
            String::from_utf8_lossy(&output.stderr)
        )),
    }
}

/// Named in the last lines of `cargo xtask test`, a failure with `CI=true`.
fn skip(why: &str) {
    let line = format!("upstream CRD comparison: {}", why.trim().replace('\n', " "));
    println!("skipped: {line}");
    if let Some(list) = std::env::var_os("JOINER_SKIPS") {
        let mut list = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(list)
            .unwrap();
        writeln!(list, "{line}").unwrap();
    }
}

/// Every pointer where two documents differ, with both sides as text; `description` fields and `1` against `1.0` aside.
fn compare(theirs: &Value, ours: &Value) -> Vec<(String, String, String)> {
    let mut found = Vec::new();
    walk(String::new(), Some(theirs), Some(ours), &mut found);
    found
}

fn walk(
    pointer: String,
    theirs: Option<&Value>,
    ours: Option<&Value>,
    found: &mut Vec<(String, String, String)>,
) {
    match (theirs, ours) {
        (Some(Value::Object(a)), Some(Value::Object(b))) => {
            let is_text = |key: &str| a.get(key).or(b.get(key)).is_some_and(Value::is_string);
            let keys: BTreeSet<_> = a.keys().chain(b.keys()).collect();
            for key in keys
                .into_iter()
                .filter(|key| !(*key == "description" && is_text(key)))
            {
                walk(
                    format!("{pointer}/{}", key.replace('/', "~1")),
                    a.get(key),
                    b.get(key),
                    found,
                );
            }
        }
        (Some(Value::Array(a)), Some(Value::Array(b))) => {
            for index in 0..a.len().max(b.len()) {
                walk(
                    format!("{pointer}/{index}"),
                    a.get(index),
                    b.get(index),
                    found,
                );
            }
        }
        (Some(Value::Number(a)), Some(Value::Number(b))) if a.as_f64() == b.as_f64() => {}
        (a, b) if a == b => {}
        (a, b) => {
            let text = |side: Option<&Value>| side.map_or("(absent)".to_owned(), Value::to_string);
            found.push((pointer, text(a), text(b)));
        }
    }
}
