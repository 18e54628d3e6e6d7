//! What is told to people, under which name, and has it been told already?
//!
//! Times come from the caller and names from the content, so that a run can be replayed. The same thing about the same object
//! is one event: told once, then silence for a while, then counted up. A process that starts anew finds the name taken and
//! counts on.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use serde_json::{Value, json};

/// Upstream's name, for which tools filter.
pub const CONTROLLER: &str = "karpenter";
/// The API server keeps events for an hour; what was told longer ago is told anew.
const REMEMBERED: SignedDuration = SignedDuration::from_hours(1);
/// The API server refuses longer ones; in bytes.
const NOTE: usize = 1024;
const INSTANCE: usize = 128;
const NAME: usize = 220;

/// One thing to say about one object.
#[derive(Clone, Debug, PartialEq)]
pub struct Said {
    about: ObjectReference,
    warning: bool,
    reason: String,
    note: String,
}

/// Who said it, as events name us.
#[derive(Clone, Debug)]
pub struct Reporter {
    instance: String,
}

/// What to do with something that is to be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// It has been told a moment ago.
    Silence,
    First,
    /// It has been told before and happened this many times by now.
    Repeat(i32),
}

/// What has been told, by the name of its event.
#[derive(Clone, Default)]
pub struct Told(Arc<Mutex<BTreeMap<String, Last>>>);

#[derive(Clone, Copy)]
struct Last {
    told: Timestamp,
    times: i32,
}

impl Said {
    pub fn new(about: &ObjectReference, warning: bool, reason: &str, note: &str) -> Self {
        Self {
            about: about.clone(),
            warning,
            reason: reason.to_owned(),
            note: cut(note, NOTE).to_owned(),
        }
    }

    /// Events about objects without namespace belong into `default`.
    pub fn namespace(&self) -> &str {
        self.about.namespace.as_deref().unwrap_or("default")
    }

    /// Follows from what is said about whom.
    pub fn name(&self) -> String {
        let of = |text: &Option<String>| text.clone().unwrap_or_default();
        let warning = if self.warning { "Warning" } else { "Normal" };
        let parts = [
            &of(&self.about.kind),
            &of(&self.about.namespace),
            &of(&self.about.name),
            &of(&self.about.uid),
            warning,
            &self.reason,
            &self.note,
        ];
        let object = of(&self.about.name);
        let object = cut(&object, NAME).trim_end_matches(['.', '-']);
        format!("{object}.{:016x}", fingerprint(&parts))
    }

    /// How long it is not told again.
    fn quiet(&self) -> SignedDuration {
        match self.reason.as_str() {
            "FailedScheduling" => SignedDuration::from_mins(5),
            _ => SignedDuration::from_mins(2),
        }
    }

    pub fn event(&self, by: &Reporter, now: Timestamp) -> Event {
        Event {
            metadata: ObjectMeta {
                name: Some(self.name()),
                namespace: Some(self.namespace().to_owned()),
                ..ObjectMeta::default()
            },
            event_time: Some(MicroTime(now)),
            type_: Some(if self.warning { "Warning" } else { "Normal" }.to_owned()),
            reason: Some(self.reason.clone()),
            action: Some(self.reason.clone()),
            note: Some(self.note.clone()),
            regarding: Some(self.about.clone()),
            reporting_controller: Some(CONTROLLER.to_owned()),
            reporting_instance: Some(by.instance.clone()),
            ..Event::default()
        }
    }
}

/// What is changed on an event that is there already.
pub fn repeated(times: i32, now: Timestamp) -> Value {
    json!({ "series": { "count": times, "lastObservedTime": MicroTime(now) } })
}

impl Reporter {
    pub fn named(instance: &str) -> Self {
        Self {
            instance: cut(instance, INSTANCE).to_owned(),
        }
    }
}

impl Told {
    /// Notes that it happened, and says what to do.
    pub fn next(&self, said: &Said, now: Timestamp) -> Next {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, last| now.duration_since(last.told) < REMEMBERED);
        let Some(last) = all.get_mut(&said.name()) else {
            all.insert(
                said.name(),
                Last {
                    told: now,
                    times: 1,
                },
            );
            return Next::First;
        };
        last.times = last.times.saturating_add(1);
        if now.duration_since(last.told) < said.quiet() {
            return Next::Silence;
        }
        last.told = now;
        Next::Repeat(last.times)
    }

    /// It could not be told after all.
    pub fn forget(&self, said: &Said) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.remove(&said.name());
    }
}

/// At most so many bytes, whole characters.
fn cut(text: &str, bytes: usize) -> &str {
    let mut end = text.len().min(bytes);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// FNV-1a over the parts and their ends.
fn fingerprint(parts: &[&str]) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    parts.iter().fold(0xcbf2_9ce4_8422_2325, |hash, part| {
        step(part.bytes().fold(hash, step), 0xff)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(name: &str, note: &str) -> Said {
        let about = ObjectReference {
            kind: Some("Pod".into()),
            namespace: Some("default".into()),
            name: Some(name.into()),
            uid: Some("u".into()),
            ..ObjectReference::default()
        };
        Said::new(&about, true, "LaunchFailed", note)
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    #[test]
    fn the_same_thing_is_told_once_then_kept_quiet_then_counted_up() {
        let told = Told::default();
        let one = said("web", "no");
        assert_eq!(told.next(&one, at(0)), Next::First);
        assert_eq!(told.next(&one, at(119)), Next::Silence);
        assert_eq!(told.next(&one, at(120)), Next::Repeat(3));
        assert_eq!(told.next(&one, at(121)), Next::Silence);
        assert_eq!(told.next(&said("web", "still no"), at(121)), Next::First);
        assert_eq!(told.next(&said("api", "no"), at(121)), Next::First);
    }

    #[test]
    fn after_the_api_server_has_dropped_it_it_is_told_anew() {
        let told = Told::default();
        assert_eq!(told.next(&said("web", "no"), at(0)), Next::First);
        assert_eq!(told.next(&said("web", "no"), at(3600)), Next::First);
    }

    #[test]
    fn what_could_not_be_told_is_told_next_time() {
        let told = Told::default();
        let one = said("web", "no");
        told.next(&one, at(0));
        told.forget(&one);
        assert_eq!(told.next(&one, at(1)), Next::First);
    }

    #[test]
    fn the_name_follows_from_the_content_alone_and_is_a_valid_one() {
        assert_eq!(said("web", "no").name(), said("web", "no").name());
        assert_ne!(said("web", "no").name(), said("web", "nо").name());
        let long = format!("{}-x", "a".repeat(NAME - 1));
        let name = said(&long, "no").name();
        assert!(name.len() < 253 && !name.contains("-."), "{name}");
    }

    #[test]
    fn a_long_note_is_cut_between_characters() {
        let long = said("web", &"é".repeat(600));
        let event = long.event(&Reporter::named("me"), at(0));
        assert_eq!(event.note.unwrap().len(), NOTE);
        assert_eq!(event.metadata.namespace.as_deref(), Some("default"));
    }
}
