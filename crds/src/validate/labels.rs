//! Is this text a label key or value, and may a pool use the key?

/// Labels every provider understands; a pool may narrow them although their domain is ours.
const WELL_KNOWN: [&str; 8] = [
    NODE_POOL,
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "node.kubernetes.io/instance-type",
    "kubernetes.io/arch",
    "kubernetes.io/os",
    CAPACITY_TYPE,
    "node.kubernetes.io/windows-build",
];

pub const NODE_POOL: &str = "karpenter.sh/nodepool";
pub const CAPACITY_TYPE: &str = "karpenter.sh/capacity-type";
pub const CAPACITY_TYPES: [&str; 3] = ["on-demand", "spot", "reserved"];

/// Domains whose labels only we set. Providers add theirs together with their well-known labels.
const RESTRICTED_DOMAINS: [&str; 1] = ["karpenter.sh"];
const RESTRICTED: [&str; 1] = ["kubernetes.io/hostname"];

/// The present name of a label that Kubernetes once called differently.
pub fn normalize(key: &str) -> &str {
    match key {
        "failure-domain.beta.kubernetes.io/zone" => "topology.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/region" => "topology.kubernetes.io/region",
        "beta.kubernetes.io/arch" => "kubernetes.io/arch",
        "beta.kubernetes.io/os" => "kubernetes.io/os",
        "beta.kubernetes.io/instance-type" => "node.kubernetes.io/instance-type",
        current => current,
    }
}

/// Why nobody but us may set this label.
pub fn restricted(key: &str) -> Option<String> {
    if WELL_KNOWN.contains(&key) {
        return None;
    }
    let domain = key.split_once('/').map_or("", |(domain, _)| domain);
    let ours = |restricted: &&&str| {
        domain
            .strip_suffix(**restricted)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    if let Some(restricted) = RESTRICTED_DOMAINS.iter().find(ours) {
        return Some(format!(
            "label {key:?} is in the restricted domain {restricted:?}"
        ));
    }
    RESTRICTED
        .contains(&key)
        .then(|| format!("label {key:?} is restricted"))
}

/// What is wrong with a key: an optional DNS name and a slash, then a name of at most 63 characters.
pub fn bad_key(key: &str) -> Option<String> {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    if prefix.is_some_and(|prefix| !is_dns_name(prefix)) {
        return Some(format!(
            "{key:?} has a prefix that is no DNS name of at most 253 characters"
        ));
    }
    (!is_name(name)).then(|| format!("{key:?} is not a label name: letters, digits, '-', '_', '.', at most 63, a letter or digit at both ends"))
}

/// What is wrong with a value: empty, or like a name.
pub fn bad_value(value: &str) -> Option<String> {
    (!value.is_empty() && !is_name(value)).then(|| {
        format!("{value:?} is not a label value: letters, digits, '-', '_', '.', at most 63, a letter or digit at both ends")
    })
}

fn is_name(text: &str) -> bool {
    let edge = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    bytes.len() <= 63
        && edge(bytes.first())
        && edge(bytes.last())
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}

fn is_dns_name(text: &str) -> bool {
    let lower = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let label = |label: &str| {
        let bytes = label.as_bytes();
        bytes.first().is_some_and(lower)
            && bytes.last().is_some_and(lower)
            && bytes.iter().all(|byte| lower(byte) || *byte == b'-')
    };
    text.len() <= 253 && text.split('.').all(label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_domain_is_restricted_and_a_lookalike_is_not() {
        assert!(restricted("karpenter.sh/custom").is_some());
        assert!(restricted("sub.karpenter.sh/custom").is_some());
        assert!(restricted("kubernetes.io/hostname").is_some());
        for free in [
            "karpenter.sh/capacity-type",
            "foo-karpenter.sh/x",
            "team",
            "kubernetes.io/custom",
            "karpenter.sh",
        ] {
            assert_eq!(restricted(free), None, "{free}");
        }
    }

    #[test]
    fn keys_are_qualified_names() {
        let long = "a".repeat(64);
        for key in ["team", "A.b_c-1", "a.b/c", &"a".repeat(63)] {
            assert_eq!(bad_key(key), None, "{key}");
        }
        for key in [
            "",
            "/a",
            "a/",
            "A.b/c",
            "a..b/c",
            "a/b/c",
            "-a",
            "a-",
            "a b",
            "é",
            &long,
            &format!("{}/a", "a".repeat(254)),
        ] {
            assert!(bad_key(key).is_some(), "{key}");
        }
    }

    #[test]
    fn values_may_be_empty_but_not_have_spaces() {
        assert_eq!(bad_value(""), None);
        assert_eq!(bad_value("b3-8"), None);
        assert!(bad_value("Medium Instance").is_some());
        assert!(bad_value(&"a".repeat(64)).is_some());
    }
}
