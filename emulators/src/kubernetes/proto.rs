//! What does a protobuf body say, for the few kinds that kubectl sends in no other way?
//!
//! `kubectl create namespace`, `create token`, `auth can-i` and `drain` use typed clients, and those speak protobuf.
//! One table of fields is enough for them. Everything else is refused as an unknown format.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

const MAGIC: &[u8] = b"k8s\0";

#[derive(Clone, Copy)]
enum Type {
    Text,
    Int,
    Bool,
    Texts,
    /// From strings to strings.
    TextMap,
    BytesMap,
    Message(&'static str),
}

use Type::{Bool, BytesMap, Int, Message, Text, TextMap, Texts};

/// (message, number, name, type). Empty texts are as good as absent.
#[rustfmt::skip]
const FIELDS: &[(&str, u64, &str, Type)] = &[
    ("Meta", 1, "name", Text), ("Meta", 2, "generateName", Text), ("Meta", 3, "namespace", Text),
    ("Meta", 5, "uid", Text), ("Meta", 6, "resourceVersion", Text),
    ("Meta", 11, "labels", TextMap), ("Meta", 12, "annotations", TextMap), ("Meta", 14, "finalizers", Texts),
    ("Namespace", 1, "metadata", Message("Meta")),
    ("ServiceAccount", 1, "metadata", Message("Meta")),
    ("ConfigMap", 1, "metadata", Message("Meta")), ("ConfigMap", 2, "data", TextMap),
    ("ConfigMap", 3, "binaryData", BytesMap), ("ConfigMap", 4, "immutable", Bool),
    ("Secret", 1, "metadata", Message("Meta")), ("Secret", 2, "data", BytesMap), ("Secret", 3, "type", Text),
    ("Secret", 4, "stringData", TextMap), ("Secret", 5, "immutable", Bool),
    ("Eviction", 1, "metadata", Message("Meta")), ("Eviction", 2, "deleteOptions", Message("DeleteOptions")),
    ("DeleteOptions", 1, "gracePeriodSeconds", Int), ("DeleteOptions", 2, "preconditions", Message("Preconditions")),
    ("DeleteOptions", 3, "orphanDependents", Bool), ("DeleteOptions", 4, "propagationPolicy", Text),
    ("DeleteOptions", 5, "dryRun", Texts),
    ("Preconditions", 1, "uid", Text), ("Preconditions", 2, "resourceVersion", Text),
    ("TokenRequest", 1, "metadata", Message("Meta")), ("TokenRequest", 2, "spec", Message("TokenRequestSpec")),
    ("TokenRequestSpec", 1, "audiences", Texts), ("TokenRequestSpec", 4, "expirationSeconds", Int),
    ("SelfSubjectReview", 1, "metadata", Message("Meta")),
    ("SelfSubjectRulesReview", 1, "metadata", Message("Meta")),
    ("SelfSubjectAccessReview", 1, "metadata", Message("Meta")),
    ("SelfSubjectAccessReview", 2, "spec", Message("AccessSpec")),
    ("AccessSpec", 1, "resourceAttributes", Message("ResourceAttributes")),
    ("AccessSpec", 2, "nonResourceAttributes", Message("PathAttributes")),
    ("ResourceAttributes", 1, "namespace", Text), ("ResourceAttributes", 2, "verb", Text),
    ("ResourceAttributes", 3, "group", Text), ("ResourceAttributes", 4, "version", Text),
    ("ResourceAttributes", 5, "resource", Text), ("ResourceAttributes", 6, "subresource", Text),
    ("ResourceAttributes", 7, "name", Text),
    ("PathAttributes", 1, "path", Text), ("PathAttributes", 2, "verb", Text),
];

/// The object, or `None` for a kind that is not in the table and for bytes that are no protobuf.
pub(super) fn read(body: &[u8]) -> Option<Value> {
    let mut envelope = Parts(body.strip_prefix(MAGIC)?);
    let (mut version, mut kind, mut raw) = (String::new(), String::new(), &[][..]);
    while let Some((number, part)) = envelope.next()? {
        match (number, part) {
            (1, Part::Bytes(types)) => {
                let mut types = Parts(types);
                while let Some((number, part)) = types.next()? {
                    match number {
                        1 => version = part.text()?,
                        2 => kind = part.text()?,
                        _ => {}
                    }
                }
            }
            (2, Part::Bytes(bytes)) => raw = bytes,
            _ => {}
        }
    }
    let known = FIELDS.iter().map(|(message, ..)| *message);
    let message = known
        .filter(|message| !message.ends_with("Meta"))
        .find(|message| *message == kind)?;
    let mut members = object(raw, message)?;
    members.insert("apiVersion".to_owned(), version.into());
    members.insert("kind".to_owned(), kind.into());
    Some(Value::Object(members))
}

fn object(bytes: &[u8], message: &str) -> Option<Map<String, Value>> {
    let mut members = Map::new();
    let mut parts = Parts(bytes);
    while let Some((number, part)) = parts.next()? {
        let field = FIELDS
            .iter()
            .find(|(of, at, ..)| *of == message && *at == number);
        let Some((_, _, name, kind)) = field else {
            continue;
        };
        let value = match kind {
            Text => Value::String(part.text()?),
            Int => part.int()?.into(),
            Bool => (part.int()? != 0).into(),
            Message(inner) => Value::Object(object(part.bytes()?, inner)?),
            Texts => {
                let list = members
                    .entry(*name)
                    .or_insert_with(|| Value::Array(Vec::new()));
                list.as_array_mut()?.push(part.text()?.into());
                continue;
            }
            TextMap | BytesMap => {
                let map = members
                    .entry(*name)
                    .or_insert_with(|| Value::Object(Map::new()));
                let (key, value) = entry(part.bytes()?, matches!(kind, BytesMap))?;
                map.as_object_mut()?.insert(key, value);
                continue;
            }
        };
        if value != "" {
            members.insert((*name).to_owned(), value);
        }
    }
    Some(members)
}

fn entry(bytes: &[u8], encoded: bool) -> Option<(String, Value)> {
    let (mut key, mut value) = (String::new(), String::new());
    let mut parts = Parts(bytes);
    while let Some((number, part)) = parts.next()? {
        match number {
            1 => key = part.text()?,
            2 if encoded => value = STANDARD.encode(part.bytes()?),
            2 => value = part.text()?,
            _ => {}
        }
    }
    Some((key, value.into()))
}

enum Part<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    /// Fixed-size numbers, which no field of ours has.
    Other,
}

impl<'a> Part<'a> {
    fn bytes(&self) -> Option<&'a [u8]> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    fn text(&self) -> Option<String> {
        String::from_utf8(self.bytes()?.to_vec()).ok()
    }

    fn int(&self) -> Option<i64> {
        match self {
            Self::Number(number) => Some(number.cast_signed()),
            _ => None,
        }
    }
}

/// The fields of one message, in the order of its bytes.
struct Parts<'a>(&'a [u8]);

impl<'a> Parts<'a> {
    /// `None`: broken. `Some(None)`: through.
    #[allow(clippy::option_option)] // broken and finished are two things
    fn next(&mut self) -> Option<Option<(u64, Part<'a>)>> {
        if self.0.is_empty() {
            return Some(None);
        }
        let tag = self.number()?;
        let part = match tag & 7 {
            0 => Part::Number(self.number()?),
            1 => self.take(8).map(|_| Part::Other)?,
            2 => {
                let length = usize::try_from(self.number()?).ok()?;
                Part::Bytes(self.take(length)?)
            }
            5 => self.take(4).map(|_| Part::Other)?,
            _ => return None,
        };
        Some(Some((tag >> 3, part)))
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = *self.take(1)?.first()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        let length = u8::try_from(bytes.len()).unwrap();
        [&[number << 3 | 2, length], bytes].concat()
    }

    fn envelope(kind: &str, raw: &[u8]) -> Vec<u8> {
        let types = [field(1, b"v1"), field(2, kind.as_bytes())].concat();
        [MAGIC.to_vec(), field(1, &types), field(2, raw)].concat()
    }

    #[test]
    fn a_namespace_is_read_with_name_and_labels() {
        let label = [field(1, b"a"), field(2, b"b")].concat();
        let meta = [field(1, b"x"), field(2, b""), field(11, &label)].concat();
        let body = envelope("Namespace", &field(1, &meta));
        assert_eq!(
            read(&body),
            Some(
                json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x", "labels": {"a": "b"}}})
            )
        );
    }

    #[test]
    fn numbers_are_read_and_broken_bytes_are_refused() {
        let spec = [&[4 << 3, 0x90, 0x1c][..], &field(1, b"aud")].concat();
        let body = envelope("TokenRequest", &field(2, &spec));
        assert_eq!(
            read(&body).unwrap()["spec"],
            json!({"expirationSeconds": 3600, "audiences": ["aud"]})
        );
        for end in 0..body.len() {
            let _ = read(&body[..end]);
        }
        assert_eq!(read(&envelope("Pod", &[])), None);
        assert_eq!(read(b"{}"), None);
    }
}
