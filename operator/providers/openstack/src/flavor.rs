//! What does a flavor amount to as a machine?

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;

use crate::client::flavors::Flavor as Wire;

/// A flavor whose numbers make sense.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Flavor {
    pub id: Arc<str>,
    /// What the catalog and the node's label call it: the name if it can be a label, else the id.
    pub type_name: Arc<str>,
    /// The other of name and id; people may write it in a pool.
    pub alias: Option<Arc<str>>,
    pub vcpus: NonZeroU32,
    pub memory_mib: NonZeroU32,
    /// 0 means that it can only boot from a volume.
    pub disk_gib: u32,
    pub gpus: Option<Gpus>,
    /// As Kubernetes names it; none if the flavor does not say.
    pub architecture: Option<Arc<str>>,
    pub extra_specs: BTreeMap<String, String>,
}

/// Graphics processors under the resource name pods ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Gpus {
    pub resource: &'static str,
    pub count: u32,
}

/// A flavor no node could be made of.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("flavor {flavor}: {field} is {value}")]
pub(crate) struct BadFlavor {
    pub flavor: String,
    pub field: &'static str,
    pub value: String,
}

impl TryFrom<&Wire> for Flavor {
    type Error = BadFlavor;

    fn try_from(raw: &Wire) -> Result<Self, BadFlavor> {
        let bad = |field, value: String| BadFlavor {
            flavor: raw.name.clone(),
            field,
            value,
        };
        let positive = |field, value: i64| {
            u32::try_from(value)
                .ok()
                .and_then(NonZeroU32::new)
                .ok_or_else(|| bad(field, value.to_string()))
        };
        let (type_name, other) = match (is_label_value(&raw.name), is_label_value(&raw.id)) {
            (true, _) => (&raw.name, &raw.id),
            (false, true) => (&raw.id, &raw.name),
            (false, false) => return Err(bad("name", raw.name.clone())),
        };
        Ok(Self {
            id: raw.id.as_str().into(),
            type_name: type_name.as_str().into(),
            alias: (other != type_name && !other.is_empty()).then(|| other.as_str().into()),
            vcpus: positive("vcpus", raw.vcpus)?,
            memory_mib: positive("ram", raw.ram)?,
            disk_gib: u32::try_from(raw.disk).map_err(|_| bad("disk", raw.disk.to_string()))?,
            gpus: gpus(&raw.extra_specs),
            architecture: architecture(&raw.extra_specs),
            extra_specs: raw.extra_specs.clone(),
        })
    }
}

/// May this text be the value of a label?
pub(crate) fn is_label_value(text: &str) -> bool {
    let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    text.len() <= 63
        && text.chars().all(inner)
        && edge(text.chars().next())
        && edge(text.chars().last())
}

/// As Kubernetes names it.
pub(crate) fn kubernetes_arch(text: &str) -> Arc<str> {
    match text.to_lowercase().as_str() {
        "x86_64" | "amd64" => "amd64".into(),
        "aarch64" | "arm64" => "arm64".into(),
        "i686" | "i386" => "386".into(),
        "armv7l" | "armv6l" => "arm".into(),
        other => other.into(),
    }
}

fn architecture(specs: &BTreeMap<String, String>) -> Option<Arc<str>> {
    let named = [
        "hw:architecture",
        "hw_architecture",
        "architecture",
        "capabilities:cpu_arch",
        "capabilities:cpu_info:arch",
    ];
    if let Some(text) = named.iter().find_map(|key| specs.get(*key)) {
        return Some(kubernetes_arch(text.trim_start_matches("s==").trim()));
    }
    let required = |name: &str| specs.get(name).is_some_and(|value| value == "required");
    let traits = [
        ("X86_64", "amd64"),
        ("AARCH64", "arm64"),
        ("PPC64LE", "ppc64le"),
        ("S390X", "s390x"),
    ];
    let by_trait = traits
        .iter()
        .find(|(name, _)| required(&format!("trait:HW_ARCH_{name}")));
    by_trait.map(|(_, arch)| (*arch).into())
}

fn gpus(specs: &BTreeMap<String, String>) -> Option<Gpus> {
    let whole = |key: &str| {
        specs
            .get(key)
            .and_then(|text| text.parse::<u32>().ok())
            .unwrap_or(0)
    };
    let resources: u32 = ["resources:VGPU", "resources:PGPU"]
        .iter()
        .map(|key| whole(key))
        .sum();
    let custom = specs
        .iter()
        .filter(|(key, _)| key.starts_with("resources:CUSTOM_") && is_gpu(key));
    let custom: u32 = custom
        .filter_map(|(_, text)| text.parse::<u32>().ok())
        .sum();
    let aliases = specs
        .get("pci_passthrough:alias")
        .map_or("", String::as_str);
    let passed: u32 = aliases
        .split(',')
        .map(|alias| alias.trim().rsplit_once(':').unwrap_or((alias.trim(), "1")))
        .filter(|(name, _)| is_gpu(name))
        .filter_map(|(_, count)| count.parse::<u32>().ok())
        .sum();
    let count = resources.saturating_add(custom).saturating_add(passed);
    let words: Vec<String> = specs
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    let text = words.join(" ");
    (count > 0).then(|| Gpus {
        resource: gpu_resource(&text),
        count,
    })
}

/// PCI aliases are the operator's words: network cards and disks are passed through as well.
fn is_gpu(name: &str) -> bool {
    const WORDS: [&str; 14] = [
        "gpu", "nvidia", "tesla", "rtx", "a100", "a10", "h100", "h200", "v100", "l40", "t4",
        "mi210", "mi300", "radeon",
    ];
    let name = name.to_lowercase();
    WORDS.iter().any(|word| name.contains(word))
}

fn gpu_resource(text: &str) -> &'static str {
    let text = text.to_lowercase();
    let words: Vec<&str> = text.split(|c: char| !c.is_ascii_alphanumeric()).collect();
    let any = |wanted: &[&str]| words.iter().any(|word| wanted.contains(word));
    match (any(&["amd", "radeon", "mi210", "mi300"]), any(&["intel"])) {
        (true, _) => "amd.com/gpu",
        (_, true) => "gpu.intel.com/i915",
        _ => "nvidia.com/gpu",
    }
}
