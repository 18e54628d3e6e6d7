//! Was this pod read before, under another name?
//!
//! The pods of a Deployment differ in nothing but name and uid. What the first of them means is known; reading the others
//! word by word would be most of the work.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};
use std::sync::Arc;

use crate::snapshot::meaning::Meaning;

/// What a pod means, whatever it is called.
#[derive(Clone)]
pub(super) struct Twin {
    pub(super) namespace: Arc<str>,
    /// `None`: it is nobody to plan for.
    pub(super) meaning: Option<Meaning>,
}

pub(super) type Twins = HashMap<Rest, Twin>;

/// All of a text but the name and the uid, as a number that no other text has.
pub(super) type Rest = (u64, u64);

/// Its name stands for nothing but itself; claims made for one pod are called after it.
pub(super) fn is_shared(meaning: &Meaning) -> bool {
    !meaning.claims.iter().any(|one| one.ephemeral)
}

/// The parts of a pod's text.
pub(super) struct Told<'t> {
    pub(super) name: &'t str,
    pub(super) uid: Option<&'t str>,
    pub(super) rest: Rest,
}

/// Takes the text of a pod apart; `None` if it is not as simple as most are.
pub(super) fn told(text: &[u8]) -> Option<Told<'_>> {
    let metadata = members(text, 0)?.find(|member| member.key == b"metadata")?;
    let mut name = None;
    let mut uid = None;
    for member in members(text, metadata.start)? {
        let slot = match member.key {
            b"name" => &mut name,
            b"uid" => &mut uid,
            _ => continue,
        };
        if slot.replace(member.plain(text)?).is_some() {
            return None; // said twice: its reader will complain
        }
    }
    let mut cuts: Vec<(usize, usize)> = [name, uid].into_iter().flatten().collect();
    cuts.sort_unstable();
    let text_of = |(start, end): (usize, usize)| std::str::from_utf8(&text[start..end]).ok();
    Some(Told {
        name: text_of(name?)?,
        uid: match uid {
            Some(uid) => Some(text_of(uid)?),
            None => None,
        },
        rest: (rest(text, &cuts, 1), rest(text, &cuts, 2)),
    })
}

fn rest(text: &[u8], cuts: &[(usize, usize)], salt: u8) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write_u8(salt);
    let mut from = 0;
    for (start, end) in cuts {
        hasher.write(&text[from..*start]);
        hasher.write_u8(0);
        from = *end;
    }
    hasher.write(&text[from..]);
    hasher.finish()
}

/// A member of an object: its key, and where its value stands.
struct Member<'t> {
    key: &'t [u8],
    start: usize,
    end: usize,
}

impl Member<'_> {
    /// Where the text stands, if the value is a string without escapes.
    fn plain(&self, text: &[u8]) -> Option<(usize, usize)> {
        let value = &text[self.start..self.end];
        let inner = value.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
        (!inner.contains(&b'\\')).then_some((self.start + 1, self.end - 1))
    }
}

/// The members of the object that begins here or after blanks.
fn members(text: &[u8], at: usize) -> Option<impl Iterator<Item = Member<'_>>> {
    let mut at = blanks(text, at);
    if text.get(at) != Some(&b'{') {
        return None;
    }
    Some(std::iter::from_fn(move || {
        at = blanks(text, at + 1);
        let key_end = string(text, at)?;
        let key = &text[at + 1..key_end - 1];
        let colon = blanks(text, key_end);
        if text.get(colon) != Some(&b':') {
            return None;
        }
        let start = blanks(text, colon + 1);
        let end = value(text, start)?;
        at = blanks(text, end);
        Some(Member { key, start, end })
    }))
}

fn blanks(text: &[u8], mut at: usize) -> usize {
    while text.get(at).is_some_and(u8::is_ascii_whitespace) {
        at += 1;
    }
    at
}

/// Behind the string that begins here.
fn string(text: &[u8], mut at: usize) -> Option<usize> {
    if text.get(at) != Some(&b'"') {
        return None;
    }
    loop {
        at += 1;
        match text.get(at)? {
            b'\\' => at += 1,
            b'"' => return Some(at + 1),
            _ => {}
        }
    }
}

/// Behind the value that begins here.
fn value(text: &[u8], mut at: usize) -> Option<usize> {
    let mut depth = 0_usize;
    loop {
        match text.get(at)? {
            b'"' => at = string(text, at)?,
            b'{' | b'[' => {
                depth += 1;
                at += 1;
            }
            b'}' | b']' | b',' if depth == 0 => return Some(at),
            b'}' | b']' => {
                depth -= 1;
                at += 1;
            }
            _ => at += 1,
        }
        if depth == 0 && text.get(at).is_none_or(|next| b",}] \n".contains(next)) {
            return Some(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> Option<(String, Option<String>, Rest)> {
        let told = told(text.as_bytes())?;
        Some((told.name.into(), told.uid.map(Into::into), told.rest))
    }

    #[test]
    fn pods_that_differ_in_name_and_uid_only_have_the_same_rest() {
        let pod = |name: &str, uid: &str, cpu: &str| {
            format!(
                r#"{{"kind":"Pod", "spec":{{"a":[1,{{"name":"x"}}],"cpu":"{cpu}"}},"metadata": {{"name" : "{name}","labels":{{"name":"l"}},"uid":"{uid}"}} }}"#
            )
        };
        let (name, uid, rest) = parts(&pod("a", "1", "5")).unwrap();
        assert_eq!((name.as_str(), uid.as_deref()), ("a", Some("1")));
        assert_eq!(parts(&pod("bcd", "22", "5")).unwrap().2, rest);
        assert_ne!(parts(&pod("a", "1", "6")).unwrap().2, rest);
    }

    #[test]
    fn what_is_not_simple_is_left_to_its_reader() {
        for text in [
            "",
            "[]",
            "{",
            r#"{"metadata":{}}"#,
            r#"{"metadata":{"name":1}}"#,
            r#"{"metadata":{"name":"a\"b"}}"#,
            r#"{"metadata":{"name":"a","name":"b"}}"#,
            r#"{"metadata":"name"}"#,
            r#"{"metadata":{"name":"a"#,
        ] {
            assert!(parts(text).is_none(), "{text}");
        }
    }
}
