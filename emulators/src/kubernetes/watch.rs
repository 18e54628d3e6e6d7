//! What does a watch deliver, and when does it end?
//!
//! A watch is a cursor into the log of one kind. A front asks [`Watch::pull`] whenever something may have changed and
//! at [`Watch::due`]; it never misses a change, or says 410.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use super::ask::Ask;
use super::object::Object;
use super::print;
use super::selectors::Selector;
use super::status::Status;
use super::store::{Change, Event, Store};
use super::view;

/// How often a quiet watch hears how far it is.
const BOOKMARK_EVERY: SignedDuration = SignedDuration::from_secs(60);
/// So many events in one piece.
const PIECE: usize = 500;

#[derive(Debug, Clone)]
pub struct Watch {
    ask: Arc<Ask>,
    selector: Selector,
    /// Everything up to this revision was seen.
    after: u64,
    /// What is there already, still to be told.
    first: VecDeque<Arc<Object>>,
    /// Tell when `first` is through.
    say_when_through: bool,
    bookmark_at: Option<Timestamp>,
    ends_at: Timestamp,
    /// Watches of an older epoch are broken off.
    epoch: u64,
    /// Break off after so many pieces.
    breaks_after: Option<u32>,
    head_sent: bool,
    over: bool,
}

/// What a watch has to say now.
#[derive(Debug, Default)]
pub struct Pulled {
    pub bytes: Vec<Bytes>,
    pub end: Option<End>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The time that was asked for is over.
    Clean,
    /// The connection breaks.
    Broken,
}

/// What a watch begins with, read from its request.
pub struct Start {
    pub selector: Selector,
    pub after: u64,
    pub first: VecDeque<Arc<Object>>,
    pub say_when_through: bool,
    pub seconds: i64,
    pub epoch: u64,
    pub breaks_after: Option<u32>,
}

impl Watch {
    pub fn new(ask: Arc<Ask>, start: Start, now: Timestamp) -> Self {
        let bookmarks = ask.query.is("allowWatchBookmarks");
        let later = |by: SignedDuration| now.checked_add(by).unwrap_or(now);
        Self {
            ask,
            selector: start.selector,
            after: start.after,
            first: start.first,
            say_when_through: start.say_when_through,
            bookmark_at: bookmarks.then(|| later(BOOKMARK_EVERY)),
            ends_at: later(SignedDuration::from_secs(start.seconds)),
            epoch: start.epoch,
            breaks_after: start.breaks_after,
            head_sent: false,
            over: false,
        }
    }

    /// When there is something to say even if nothing changes.
    pub fn due(&self) -> Timestamp {
        self.bookmark_at
            .map_or(self.ends_at, |at| at.min(self.ends_at))
    }

    pub fn pull(&mut self, store: &Store, epoch: u64, now: Timestamp) -> Pulled {
        let mut pulled = Pulled::default();
        if self.over {
            pulled.end = Some(End::Clean);
            return pulled;
        }
        if self.epoch != epoch {
            self.over = true;
            pulled.end = Some(End::Broken);
            return pulled;
        }
        if self.first.is_empty() && !self.say_when_through {
            self.follow(store, &mut pulled, now);
        } else {
            self.tell_first(&mut pulled, now);
        }
        if pulled.bytes.is_empty() && self.bookmark_at.is_some_and(|at| at <= now) {
            self.catch_up(store);
            pulled.bytes.push(self.bookmark(false));
        }
        if !pulled.bytes.is_empty() {
            self.bookmark_at = self
                .bookmark_at
                .and_then(|_| now.checked_add(BOOKMARK_EVERY).ok());
        }
        if pulled.bytes.is_empty() && self.ends_at <= now {
            self.over = true;
            pulled.end = Some(End::Clean);
        }
        self.maybe_break(&mut pulled);
        pulled
    }

    fn tell_first(&mut self, pulled: &mut Pulled, now: Timestamp) {
        for _ in 0..PIECE {
            let Some(object) = self.first.pop_front() else {
                break;
            };
            let line = self.line("ADDED", &object, now);
            pulled.bytes.push(line);
        }
        if self.first.is_empty() && self.say_when_through {
            self.say_when_through = false;
            pulled.bytes.push(self.bookmark(true));
        }
    }

    fn follow(&mut self, store: &Store, pulled: &mut Pulled, now: Timestamp) {
        let changes: Vec<Arc<Change>> = match store.changes_since(&self.ask.stored.id, self.after) {
            Ok(changes) => changes.take(PIECE).cloned().collect(),
            Err(too_old) => {
                self.over = true;
                let said = format!(
                    "too old resource version: {} ({})",
                    self.after, too_old.oldest
                );
                let status = Status::expired(said).to_value().to_string();
                pulled.bytes.push(view::event("ERROR", status.as_bytes()));
                pulled.end = Some(End::Clean);
                return;
            }
        };
        for change in changes {
            self.after = change.revision;
            if let Some(line) = self.seen(&change, now) {
                pulled.bytes.push(line);
            }
        }
    }

    /// What a change is to someone who sees only what his selector picks.
    fn seen(&mut self, change: &Change, now: Timestamp) -> Option<Bytes> {
        let picks = |object: &Object| {
            (self.ask.namespace.is_empty() || object.namespace() == self.ask.namespace)
                && self.selector.picks(object)
        };
        let is = change.event != Event::Deleted && picks(&change.object);
        let was = change.previous.as_deref().is_some_and(picks);
        let (kind, object) = match (was, is) {
            (false, false) => return None,
            (false, true) => ("ADDED", Arc::clone(&change.object)),
            (true, true) => ("MODIFIED", Arc::clone(&change.object)),
            (true, false) if change.event == Event::Deleted => {
                ("DELETED", Arc::clone(&change.object))
            }
            (true, false) => ("DELETED", left(change)),
        };
        Some(self.line(kind, &object, now))
    }

    fn line(&mut self, kind: &str, object: &Object, now: Timestamp) -> Bytes {
        if self.ask.table {
            let rows = vec![print::row(&self.ask, object, now)];
            let table = print::table(&self.ask, rows, !self.head_sent, &view::meta_of(object));
            self.head_sent = true;
            return view::event(kind, table.to_string().as_bytes());
        }
        view::event(kind, &view::bytes(&self.ask, object))
    }

    fn bookmark(&self, initial: bool) -> Bytes {
        let mut meta =
            json!({"resourceVersion": self.after.to_string(), "creationTimestamp": null});
        if initial {
            meta["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        let object = if self.ask.table {
            json!({"apiVersion": "meta.k8s.io/v1", "kind": "Table", "metadata": meta, "columnDefinitions": [], "rows": []})
        } else {
            json!({"apiVersion": self.ask.kind.api_version(&self.ask.version), "kind": self.ask.kind.kind, "metadata": meta})
        };
        view::event("BOOKMARK", object.to_string().as_bytes())
    }

    /// With nothing left to tell, it is as far as the store.
    fn catch_up(&mut self, store: &Store) {
        if self.first.is_empty() {
            self.after = self.after.max(store.revision());
        }
    }

    fn maybe_break(&mut self, pulled: &mut Pulled) {
        if let Some(left) = &mut self.breaks_after
            && !pulled.bytes.is_empty()
        {
            if *left == 0 {
                pulled.bytes.clear();
                pulled.end = Some(End::Broken);
                self.over = true;
            } else {
                *left -= 1;
            }
        }
    }
}

/// An object that is no longer picked looks as it did, at the revision at which it went.
fn left(change: &Change) -> Arc<Object> {
    let last = change.previous.as_ref().unwrap_or(&change.object);
    let mut value = (*last.value()).clone();
    value["metadata"]["resourceVersion"] = change.revision.to_string().into();
    Arc::new(Object::new(value, false))
}
