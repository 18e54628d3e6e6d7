//! Has a pool's template changed in a way that makes its nodes drift?
//!
//! Upstream's hash version `v3`, bit for bit, so that nodes bought by Karpenter are not replaced when Joiner takes over:
//! the Go structs walked by `hashstructure` v2 (lists as sets, zero values left out) over 64-bit FNV-1. The names below
//! are those of the Go types and fields, because they are mixed in.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::template::{
    DEFAULT_EXPIRE_AFTER, NodeClaimTemplate, NodeClaimTemplateSpec, NodeClassReference, Taint,
    TemplateMetadata,
};
use crate::shared::duration::{BadDuration, GoDuration};

/// Goes beside the hash; hashes of different versions are never compared.
pub const VERSION: &str = "v3";

/// Hash of a pool's template without its requirements (those drift by themselves). Annotations carry it in decimal.
///
/// What the API server would default is defaulted here too. Fails only if a duration has no length.
pub fn node_pool_hash(template: &NodeClaimTemplate) -> Result<u64, BadDuration> {
    let metadata = template
        .metadata
        .as_ref()
        .map(metadata_fields)
        .unwrap_or_default();
    Ok(structure(
        "NodeClaimTemplate",
        &[
            ("ObjectMeta", nonzero("ObjectMeta", &metadata)),
            ("Spec", spec(&template.spec)?),
        ],
    ))
}

/// A field and the hash of its value; `None` is a zero value, which is left out.
type Field = (&'static str, Option<u64>);

fn metadata_fields(metadata: &TemplateMetadata) -> Vec<Field> {
    vec![
        ("Labels", metadata.labels.as_ref().map(map)),
        ("Annotations", metadata.annotations.as_ref().map(map)),
    ]
}

fn spec(spec: &NodeClaimTemplateSpec) -> Result<Option<u64>, BadDuration> {
    let default = GoDuration::new(DEFAULT_EXPIRE_AFTER);
    let expire_after = spec
        .expire_after
        .as_ref()
        .unwrap_or(&default)
        .nanoseconds()?;
    let grace = spec
        .termination_grace_period
        .as_ref()
        .map(GoDuration::nanoseconds)
        .transpose()?;
    let fields = [
        ("Taints", spec.taints.as_deref().map(taints)),
        ("StartupTaints", spec.startup_taints.as_deref().map(taints)),
        ("NodeClassRef", Some(class_reference(&spec.node_class_ref))),
        // Pointers: a grace period of zero is present, a duration of `Never` holds a nil pointer and is zero.
        (
            "TerminationGracePeriod",
            grace.map(|length| duration("Duration", length.filter(|nanos| *nanos != 0))),
        ),
        (
            "ExpireAfter",
            expire_after.map(|nanos| duration("NillableDuration", Some(nanos))),
        ),
    ];
    Ok(nonzero("NodeClaimTemplateSpec", &fields))
}

fn duration(type_name: &str, nanos: Option<i64>) -> u64 {
    structure(
        type_name,
        &[("Duration", nanos.map(|nanos| fnv(&nanos.to_le_bytes())))],
    )
}

/// A set: order does not matter, and two equal taints cancel each other out as they do upstream.
fn taints(list: &[Taint]) -> u64 {
    list.iter().map(taint).fold(0, |all, one| all ^ one)
}

fn taint(taint: &Taint) -> u64 {
    structure(
        "Taint",
        &[
            ("Key", text(&taint.key)),
            ("Value", taint.value.as_deref().and_then(text)),
            ("Effect", text(taint.effect.as_str())),
            ("TimeAdded", taint.time_added.as_ref().map(time)),
        ],
    )
}

fn class_reference(class: &NodeClassReference) -> u64 {
    structure(
        "NodeClassReference",
        &[
            ("Kind", text(&class.kind)),
            ("Name", text(&class.name)),
            ("Group", text(&class.group)),
        ],
    )
}

/// Go's binary form of a time in a zone called `Local` without offset, which is what a container reads.
fn time(time: &Time) -> u64 {
    const YEAR_ONE_TO_1970: i64 = 62_135_596_800;
    let mut bytes = vec![1_u8];
    bytes.extend((time.0.as_second() + YEAR_ONE_TO_1970).to_be_bytes());
    bytes.extend(time.0.subsec_nanosecond().to_be_bytes());
    bytes.extend(0_i16.to_be_bytes());
    structure("Time", &[("Time", Some(fnv(&bytes)))])
}

/// `None` if the text is empty, the zero value of a string.
fn text(text: &str) -> Option<u64> {
    (!text.is_empty()).then(|| fnv(text.as_bytes()))
}

fn map(entries: &BTreeMap<String, String>) -> u64 {
    finish(
        entries
            .iter()
            .map(|(key, value)| pair(fnv(key.as_bytes()), fnv(value.as_bytes())))
            .fold(0, |all, one| all ^ one),
    )
}

/// A struct held by value: zero if all its fields are.
fn nonzero(type_name: &str, fields: &[Field]) -> Option<u64> {
    fields
        .iter()
        .any(|(_, value)| value.is_some())
        .then(|| structure(type_name, fields))
}

fn structure(type_name: &str, fields: &[Field]) -> u64 {
    fields
        .iter()
        .filter_map(|(name, value)| value.map(|value| pair(fnv(name.as_bytes()), value)))
        .fold(fnv(type_name.as_bytes()), |hash, field| {
            finish(hash ^ field)
        })
}

fn pair(first: u64, second: u64) -> u64 {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&first.to_le_bytes());
    bytes[8..].copy_from_slice(&second.to_le_bytes());
    fnv(&bytes)
}

fn finish(hash: u64) -> u64 {
    fnv(&hash.to_le_bytes())
}

/// FNV-1 (multiply, then xor), not the commoner FNV-1a.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(14_695_981_039_346_656_037, |hash, byte| {
        hash.wrapping_mul(1_099_511_628_211) ^ u64::from(*byte)
    })
}
