//! Does every CEL rule refuse what it should, and would somebody notice if it were gone?
//!
//! One table per served version lies in `tests/cel/`: a valid object, and patches that make it invalid with the message
//! the user gets. Here the rules run in process; the suite on a real API server reads the same tables.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::path::Path;

use crds::shared::cel::{RuleAt, rules, without};
use json_patch::Patch;
use kube::core::cel::{CompiledSchema, Validator, compile_schema};
use serde::Deserialize;
use serde_json::Value;

/// One file of `tests/cel/`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    base: Value,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    message: String,
    patch: Patch,
    #[serde(default)]
    update: bool,
    old: Option<Patch>,
    /// Why only a real API server can evaluate the rule.
    server: Option<String>,
}

/// One served version of one kind, with its table.
struct Version {
    name: String,
    schema: Value,
    table: Table,
}

#[test]
fn every_base_is_valid_and_every_case_is_refused_with_its_message() {
    let mut failures = Vec::new();
    for version in versions() {
        let base = &version.table.base;
        let schema = compile_schema(&version.schema);
        for (what, old) in [("create", None), ("update", Some(base))] {
            let refusals = refusals(&schema, base, old);
            if !refusals.is_empty() {
                failures.push(format!(
                    "{}: the base is refused on {what}: {refusals:?}",
                    version.name
                ));
            }
        }
        for case in in_process(&version) {
            let refusals = case.refusals(base, &schema);
            if !refusals.contains(&case.message) {
                failures.push(format!(
                    "{}: {}: expected {:?}, got {refusals:?}",
                    version.name, case.name, case.message
                ));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn every_rule_that_is_deleted_lets_a_case_through() {
    let (mut mutants, mut server_only, mut survivors) = (0, Vec::new(), Vec::new());
    for version in versions() {
        for rule in rules(&version.schema) {
            if let Some(why) = server_reason(&version, &rule) {
                server_only.push(format!("{}: {rule}: {why}", version.name));
                continue;
            }
            mutants += 1;
            let mutant = compile_schema(&without(&version.schema, &rule));
            if !in_process(&version)
                .any(|case| case.refusals(&version.table.base, &mutant).is_empty())
            {
                survivors.push(format!("{}: {rule}", version.name));
            }
        }
    }
    println!(
        "{mutants} mutants, {} killed; {} rules only a server can judge",
        mutants - survivors.len(),
        server_only.len()
    );
    for rule in server_only {
        println!("server only: {rule}");
    }
    assert!(mutants > 0);
    assert!(
        survivors.is_empty(),
        "no case needs these rules:\n{}",
        survivors.join("\n")
    );
}

#[test]
fn every_table_belongs_to_a_version_we_serve() {
    let known: Vec<_> = versions().into_iter().map(|version| version.name).collect();
    for entry in std::fs::read_dir(folder()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(known.contains(&name), "{name} is nobody's table");
    }
}

impl Case {
    fn refusals(&self, base: &Value, schema: &CompiledSchema) -> Vec<String> {
        let mut new = base.clone();
        json_patch::patch(&mut new, &self.patch)
            .unwrap_or_else(|error| panic!("{}: {error}", self.name));
        let mut old = base.clone();
        if let Some(patch) = &self.old {
            json_patch::patch(&mut old, patch)
                .unwrap_or_else(|error| panic!("{}: {error}", self.name));
        }
        refusals(schema, &new, self.update.then_some(&old))
    }
}

/// Messages of the rules that refuse the object.
fn refusals(schema: &CompiledSchema, new: &Value, old: Option<&Value>) -> Vec<String> {
    match Validator::new().validate_compiled(schema, new, old) {
        Ok(()) => Vec::new(),
        Err(errors) => errors.into_iter().map(|error| error.message).collect(),
    }
}

fn in_process(version: &Version) -> impl Iterator<Item = &Case> {
    version
        .table
        .cases
        .iter()
        .filter(|case| case.server.is_none())
}

/// A rule is left to the server if its cases say so.
fn server_reason<'a>(version: &'a Version, rule: &RuleAt) -> Option<&'a str> {
    let mut cases = version
        .table
        .cases
        .iter()
        .filter(|case| case.message == rule.message);
    cases.find_map(|case| case.server.as_deref())
}

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cel")
}

/// Every version of every generated CRD, with the table named after it: `karpenter-nodepool-v1.yaml`.
fn versions() -> Vec<Version> {
    let mut all = Vec::new();
    for crd in crds::generate::all() {
        for version in &crd.spec.versions {
            let name = table_name(&crd.spec.group, &crd.spec.names.kind, &version.name);
            let path = folder().join(&name);
            let text = std::fs::read_to_string(&path)
                .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let table: Table =
                serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(
                table.base["apiVersion"],
                format!("{}/{}", crd.spec.group, version.name),
                "{name}"
            );
            assert_eq!(table.base["kind"], crd.spec.names.kind, "{name}");
            let schema = version
                .schema
                .as_ref()
                .and_then(|schema| schema.open_api_v3_schema.as_ref())
                .unwrap();
            all.push(Version {
                name,
                schema: serde_json::to_value(schema).unwrap(),
                table,
            });
        }
    }
    all
}

/// Group in one word: `karpenter.sh` is karpenter, `karpenter.k8s.openstack` openstack, `karpenter.ovhcloud.sh` ovhcloud.
fn table_name(group: &str, kind: &str, version: &str) -> String {
    let short = match group {
        "karpenter.sh" => "karpenter",
        "karpenter.k8s.openstack" => "openstack",
        "karpenter.k8s.cloudstack" => "cloudstack",
        "karpenter.ovhcloud.sh" => "ovhcloud",
        "joiner.dev" => "joiner",
        other => other,
    };
    format!("{short}-{}-{version}.yaml", kind.to_lowercase())
}
