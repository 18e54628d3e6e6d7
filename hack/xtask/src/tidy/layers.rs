//! Do the arrows between our crates still point down, and are the pure crates still pure?

use super::metadata::Metadata;
use super::tree::Package;

/// Who may know whom (DESIGN 1.2). A crate that is not listed here may not exist.
const MAY_KNOW: &[(&str, &[&str])] = &[
    ("planner", &[]),
    ("crds", &[]),
    ("runtime", &[]),
    ("emulators", &[]),
    ("cloud", &["planner"]),
    ("openstack", &["cloud", "planner", "crds"]),
    ("cloudstack", &["cloud", "planner", "crds"]),
    ("ovhcloud", &["cloud", "planner", "crds"]),
    ("autoscaler", &["planner"]),
    ("webhook", &["crds", "runtime"]),
    (
        "operator",
        &[
            "crds",
            "planner",
            "cloud",
            "openstack",
            "cloudstack",
            "ovhcloud",
            "autoscaler",
            "runtime",
        ],
    ),
    (
        "e2e",
        &[
            "crds",
            "planner",
            "cloud",
            "openstack",
            "cloudstack",
            "ovhcloud",
            "autoscaler",
            "runtime",
            "webhook",
            "operator",
            "emulators",
            "xtask",
        ],
    ),
    ("xtask", &["crds"]),
];

/// What must never be in the closure of a crate that has to stay free of it.
const PURE: &[(&str, &[&str])] = &[
    (
        "planner",
        &[
            "kube",
            "k8s-openapi",
            "tokio",
            "reqwest",
            "tracing",
            "hyper",
            "serde_json",
        ],
    ),
    (
        "crds",
        &["tokio", "hyper", "reqwest", "axum", "kube-client"],
    ),
];

/// Edges that no row of the table allows.
pub fn broken(metadata: &Metadata) -> Vec<String> {
    let strangers = metadata
        .workspace_members
        .iter()
        .map(|id| metadata.name(id))
        .filter(|name| row(name).is_none());
    let mut findings: Vec<String> = strangers
        .map(|name| format!("crate {name}: not in the table of hack/xtask/src/tidy/layers.rs; add its row and an ADR"))
        .collect();
    findings.extend(metadata.inner_edges().iter().filter(|(from, to)| !allowed(from, to)).map(|(from, to)| {
        format!("{from} depends on {to}: arrows point down only (docs/architecture.md); move the shared part below both")
    }));
    findings
}

/// The crates that have to stay pure.
pub fn pure() -> impl Iterator<Item = &'static str> {
    PURE.iter().map(|(name, _)| *name)
}

/// Crates in the closure of a pure crate that do I/O.
pub fn impure(name: &str, closure: &[Package]) -> Vec<String> {
    let forbidden = PURE
        .iter()
        .filter(|(pure, _)| *pure == name)
        .flat_map(|(_, forbidden)| forbidden.iter());
    let found =
        forbidden.filter(|forbidden| closure.iter().any(|package| package.name == **forbidden));
    found
        .map(|forbidden| format!("{name} must stay pure but its closure holds {forbidden}"))
        .collect()
}

fn row(name: &str) -> Option<&'static [&'static str]> {
    MAY_KNOW
        .iter()
        .find(|(from, _)| *from == name)
        .map(|(_, to)| *to)
}

fn allowed(from: &str, to: &str) -> bool {
    row(from).is_some_and(|known| known.contains(&to))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tidy::{metadata, tree};

    fn world(edges: &[(&str, &str)]) -> Metadata {
        let mut names: Vec<&str> = edges.iter().flat_map(|(from, to)| [*from, *to]).collect();
        names.sort_unstable();
        names.dedup();
        let node = |name: &str| {
            let deps: Vec<_> = edges
                .iter()
                .filter(|(from, _)| *from == name)
                .map(|(_, to)| json!({"pkg": to}))
                .collect();
            json!({"id": name, "deps": deps})
        };
        let packages: Vec<_> = names
            .iter()
            .map(|name| json!({"id": name, "name": name}))
            .collect();
        let nodes: Vec<_> = names.iter().map(|name| node(name)).collect();
        let metadata =
            json!({"packages": packages, "workspace_members": names, "resolve": {"nodes": nodes}});
        serde_json::from_value(metadata).unwrap()
    }

    #[test]
    fn the_real_workspace_obeys_the_table() {
        let metadata = metadata::read(&crate::root()).unwrap();
        assert_eq!(broken(&metadata), Vec::<String>::new());
        assert_eq!(metadata.workspace_members.len(), MAY_KNOW.len());
    }

    #[test]
    fn a_reversed_arrow_is_found() {
        assert_eq!(
            broken(&world(&[("cloud", "planner")])),
            Vec::<String>::new()
        );
        let findings = broken(&world(&[("planner", "cloud")]));
        assert_eq!(findings.len(), 1);
        assert!(
            findings[0].starts_with("planner depends on cloud"),
            "{findings:?}"
        );
    }

    #[test]
    fn a_provider_that_tests_itself_on_an_emulator_is_found() {
        assert_eq!(broken(&world(&[("openstack", "emulators")])).len(), 1);
    }

    #[test]
    fn a_crate_without_a_row_is_found() {
        assert!(broken(&world(&[("new-thing", "planner")]))[0].starts_with("crate new-thing"));
    }

    #[test]
    fn the_real_planner_and_api_do_no_io() {
        for name in pure() {
            let closure = tree::read(&crate::root(), Some(name)).unwrap();
            assert_eq!(impure(name, &closure), Vec::<String>::new());
        }
    }

    #[test]
    fn io_deep_below_the_planner_is_found() {
        let closure = tree::parse("planner v0.1.0 (/x)|MIT\ninnocent v1.0.0|MIT\ntokio v1.0.0|MIT");
        assert_eq!(
            impure("planner", &closure),
            ["planner must stay pure but its closure holds tokio"]
        );
    }
}
