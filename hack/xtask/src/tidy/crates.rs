//! Which crates in our graph are banned, doubled or under a licence we did not agree to?
//!
//! The same questions as `hack/deny.toml` asks in the workflows, answered offline from `cargo tree`.

use std::collections::{BTreeMap, BTreeSet};

use super::tree::Package;

/// Never in what we ship, with the reason.
const BANNED: &[(&str, &str)] = &[
    ("ring", "one TLS stack: rustls with aws-lc-rs"),
    ("openssl", "one TLS stack: rustls with aws-lc-rs"),
    ("openssl-sys", "one TLS stack: rustls with aws-lc-rs"),
    ("native-tls", "one TLS stack: rustls with aws-lc-rs"),
    ("chrono", "jiff is the time type of kube and k8s-openapi"),
    ("backoff", "unmaintained (RUSTSEC-2025-0012); use backon"),
    ("serde_yaml", "deprecated; use serde-saphyr"),
    (
        "rustls-pemfile",
        "unmaintained (RUSTSEC-2025-0134); use rustls_pki_types",
    ),
];

/// Crates that come in several versions, and whom we wait for.
const DOUBLED: &[(&str, &str)] = &[
    (
        "base64",
        "0.22 by k8s-openapi, 0.23 by kube-client and us: wait for k8s-openapi",
    ),
    (
        "hashbrown",
        "0.16 by kube-runtime, 0.17 by indexmap: wait for kube-runtime",
    ),
    ("syn", "2 and 3, half the derives each: build time only"),
    (
        "tower-http",
        "0.6 by reqwest, 0.7 by kube-client: wait for reqwest",
    ),
];

/// The same list as in `hack/deny.toml`.
const LICENCES: &[&str] = &[
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Zlib",
];

pub fn banned(shipped: &[Package]) -> Vec<String> {
    let found = shipped.iter().filter_map(|package| {
        let (name, reason) = BANNED.iter().find(|(name, _)| *name == package.name)?;
        Some(format!(
            "crate {name} is banned: {reason}; `cargo tree -i {name}` shows who brings it"
        ))
    });
    found.collect()
}

/// Doubled crates that are not on the list, and list entries that are no longer doubled.
pub fn duplicates(shipped: &[Package]) -> Vec<String> {
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for package in shipped {
        versions
            .entry(&package.name)
            .or_default()
            .insert(&package.version);
    }
    let doubled: BTreeSet<&str> = versions
        .iter()
        .filter(|(_, found)| found.len() > 1)
        .map(|(name, _)| *name)
        .collect();
    let listed: BTreeSet<&str> = DOUBLED.iter().map(|(name, _)| *name).collect();
    let new = doubled.difference(&listed).map(|name| {
        format!("crate {name} comes in versions {:?}: align them or add a reason to DOUBLED in tidy/crates.rs", versions[name])
    });
    let old = listed
        .difference(&doubled)
        .map(|name| format!("crate {name} is no longer doubled: remove it from DOUBLED"));
    new.chain(old).collect()
}

/// Packages none of whose licence alternatives we accept.
pub fn licences(shipped: &[Package]) -> Vec<String> {
    let refused = shipped.iter().filter(|package| !accepted(&package.licence));
    refused
        .map(|package| {
            let Package { name, licence, .. } = package;
            format!("crate {name} is under `{licence}`: not on the list in tidy/crates.rs and hack/deny.toml")
        })
        .collect()
}

/// `A OR (B AND C)`, old style `A/B` included: some alternative must consist of accepted licences only.
fn accepted(expression: &str) -> bool {
    let flat = expression.replace('/', " OR ").replace(['(', ')'], "");
    flat.split(" OR ").any(|side| {
        side.split(" AND ")
            .all(|licence| LICENCES.contains(&licence.trim()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn world(packages: &str) -> Vec<Package> {
        crate::tidy::tree::parse(packages)
    }

    #[test]
    fn a_second_tls_stack_is_found() {
        assert!(banned(&world("ring v0.17.0|ISC"))[0].contains("ring is banned"));
        assert_eq!(banned(&world("rustls v0.23.0|ISC")), Vec::<String>::new());
    }

    #[test]
    fn an_unlisted_second_version_is_found() {
        let twice = world("url v1.0.0|MIT\nurl v2.0.0|MIT");
        assert!(
            duplicates(&twice)
                .iter()
                .any(|finding| finding.starts_with("crate url comes in versions"))
        );
    }

    #[test]
    fn every_alternative_of_a_licence_is_tried() {
        assert!(accepted("GPL-3.0 OR (MIT AND ISC)"));
        assert!(accepted("MIT/Apache-2.0"));
        assert!(!accepted("MIT AND AGPL-3.0"));
        assert!(licences(&world("x v1.0.0|AGPL-3.0"))[0].contains("AGPL-3.0"));
    }
}
