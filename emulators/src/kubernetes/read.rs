//! How are objects read: one, many in pages, or as a watch?

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::ask::Ask;
use super::object::Object;
use super::print;
use super::selectors::Selector;
use super::status::{Cause, Status};
use super::watch::{Start, Watch};
use super::{Kubernetes, Said, view};

/// What one page of a list holds.
struct Page {
    items: Vec<Arc<Object>>,
    revision: u64,
    /// Key of the last item and how many come after, if any do.
    more: Option<(String, usize)>,
}

impl Kubernetes {
    pub(super) fn read_one(&self, ask: &Ask, now: Timestamp) -> Result<Said, Status> {
        let object = self.find(ask)?;
        if ask.subresource == "scale" {
            return Ok(Said::json(200, &super::scale::of(ask, &object.value())));
        }
        if ask.subresource == "log" {
            return Ok(Said::text(
                200,
                "this cluster runs no containers, so there are no logs\n",
            ));
        }
        Ok(Said::bytes(200, view::answer(ask, &object, now)))
    }

    pub(super) fn find(&self, ask: &Ask) -> Result<Arc<Object>, Status> {
        let id = &ask.stored.id;
        let found = if self.is_stale(ask) {
            let key = super::store::key(&ask.namespace, &ask.name);
            self.stale_shelf(id).remove(&key)
        } else {
            self.world.store.get(id, &ask.namespace, &ask.name).cloned()
        };
        found.ok_or_else(|| Status::not_found(ask.resource(), &ask.name))
    }

    pub(super) fn read_many(&self, ask: &Ask, now: Timestamp) -> Result<Said, Status> {
        let page = self.page(ask)?;
        let mut meta = json!({"resourceVersion": page.revision.to_string()});
        if let Some((after, left)) = &page.more {
            let token = json!({"rv": page.revision, "after": after}).to_string();
            meta["continue"] = URL_SAFE_NO_PAD.encode(token).into();
            if ask.query.get("labelSelector").is_empty()
                && ask.query.get("fieldSelector").is_empty()
            {
                meta["remainingItemCount"] = (*left).into();
            }
        }
        if ask.table {
            let rows = page
                .items
                .iter()
                .map(|object| print::row(ask, object, now))
                .collect();
            return Ok(Said::json(200, &print::table(ask, rows, true, &meta)));
        }
        let items: Vec<Bytes> = page
            .items
            .iter()
            .map(|object| view::bytes(ask, object))
            .collect();
        Ok(Said::bytes(200, view::list(ask, &meta, &items)))
    }

    pub(super) fn matching(&self, ask: &Ask) -> Result<Vec<Arc<Object>>, Status> {
        Ok(self.page(ask)?.items)
    }

    fn page(&self, ask: &Ask) -> Result<Page, Status> {
        let store = &self.world.store;
        let id = &ask.stored.id;
        let selector = selector(ask)?;
        let limit = ask.query.number("limit")?.filter(|limit| *limit > 0);
        let limit = limit.map_or(usize::MAX, |limit| {
            usize::try_from(limit).unwrap_or(usize::MAX)
        });
        let (after, at) = match ask.query.get("continue") {
            "" => (String::new(), self.exact_revision(ask)?),
            token => {
                let (revision, after) = read_token(token)?;
                (after, Some(revision))
            }
        };
        let old: Option<BTreeMap<String, Arc<Object>>> = match at {
            Some(at) if store.last_change(id) > at => Some(self.shelf_at(id, at)?),
            _ if self.is_stale(ask) => Some(self.stale_shelf(id)),
            _ => None,
        };
        let start = format!("{}/", ask.namespace);
        let everywhere = ask.namespace.is_empty();
        let from = if after.is_empty() && !everywhere {
            start.clone()
        } else {
            after
        };
        let live: Box<dyn Iterator<Item = (&String, &Arc<Object>)>> = match &old {
            Some(old) => Box::new(old.range::<String, _>((
                std::ops::Bound::Excluded(&from),
                std::ops::Bound::Unbounded,
            ))),
            None => store.list_after(id, &from),
        };
        let inside = live.take_while(|(key, _)| everywhere || key.starts_with(&start));
        let mut picked = inside.filter(|(_, object)| selector.picks(object));
        let mut items = Vec::new();
        let mut last = String::new();
        for (key, object) in picked.by_ref().take(limit) {
            items.push(Arc::clone(object));
            last.clone_from(key);
        }
        let left = if items.len() == limit {
            picked.count()
        } else {
            0
        };
        Ok(Page {
            items,
            revision: at.unwrap_or(store.revision()),
            more: (left > 0).then_some((last, left)),
        })
    }

    /// The revision a list must be of, if it must be an exact one.
    fn exact_revision(&self, ask: &Ask) -> Result<Option<u64>, Status> {
        let revision = revision(ask)?;
        let wanted = ask.query.get("resourceVersionMatch");
        let limited = !matches!(ask.query.get("limit"), "" | "0");
        match (revision, wanted) {
            (None | Some(0), "Exact") => Err(Status::bad_request(
                "resourceVersionMatch \"Exact\" is forbidden for resourceVersion \"0\" or unset",
            )),
            (Some(revision), "Exact") => Ok(Some(revision)),
            (Some(revision), "") if limited && revision > 0 => Ok(Some(revision)),
            (Some(revision), _) if revision > self.world.store.revision() => {
                Err(self.too_large(revision))
            }
            _ => Ok(None),
        }
    }

    fn too_large(&self, revision: u64) -> Status {
        let have = self.world.store.revision();
        let said = format!("Too large resource version: {revision}, current: {have}");
        let cause = Cause::new("", "ResourceVersionTooLarge", "Too large resource version");
        Status::new(504, "Timeout", said)
            .because(&[cause])
            .retry_after(1)
    }

    fn shelf_at(&self, id: &str, revision: u64) -> Result<BTreeMap<String, Arc<Object>>, Status> {
        let store = &self.world.store;
        if revision > store.revision() {
            return Err(self.too_large(revision));
        }
        let changes = store.changes_since(id, revision).map_err(|_| {
            Status::expired("The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter.")
        })?;
        Ok(store.shelf_before(id, changes.count()))
    }

    pub(super) fn start_watch(&mut self, ask: Ask, now: Timestamp) -> Result<Said, Status> {
        let selector = selector(&ask)?;
        let revision = revision(&ask)?.unwrap_or(0);
        let initial = ask.query.get("sendInitialEvents");
        if !initial.is_empty() && ask.query.get("resourceVersionMatch") != "NotOlderThan" {
            let cause = Cause::new(
                "resourceVersionMatch",
                "FieldValueForbidden",
                "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
            );
            return Err(Status::invalid("ListOptions", "", vec![cause]));
        }
        let wants_first = match initial {
            "" => revision == 0,
            _ => ask.query.is("sendInitialEvents"),
        };
        let mut first = std::collections::VecDeque::new();
        let mut after = revision;
        if wants_first || revision == 0 {
            after = self.world.store.revision();
        }
        if wants_first {
            let namespace = (!ask.namespace.is_empty()).then_some(ask.namespace.as_str());
            let there = self.world.store.list(&ask.stored.id, namespace);
            first.extend(there.filter(|object| selector.picks(object)).cloned());
        }
        let seconds = match ask.query.number("timeoutSeconds")? {
            Some(seconds) if seconds > 0 => i64::try_from(seconds).unwrap_or(3600).min(86_400),
            _ => 1800 + i64::try_from(self.dice.roll() % 1800).unwrap_or_default(),
        };
        let start = Start {
            selector,
            after,
            first,
            say_when_through: ask.query.is("sendInitialEvents")
                && ask.query.is("allowWatchBookmarks"),
            seconds,
            epoch: self.epoch,
            breaks_after: self.has_fate("watch-breaks").then_some(1),
        };
        let mut said = Said::bytes(200, Bytes::new());
        said.watch = Some(Watch::new(Arc::new(ask), start, now));
        Ok(said)
    }

    fn is_stale(&self, ask: &Ask) -> bool {
        // a plain get or list is always current; only one that allows any version may be old
        self.has_fate("stale-read") && !ask.verb.writes()
    }

    fn stale_shelf(&self, id: &str) -> BTreeMap<String, Arc<Object>> {
        self.world
            .store
            .shelf_before(id, self.settings.stale_changes)
    }
}

pub(super) fn selector(ask: &Ask) -> Result<Selector, Status> {
    Selector::parse(
        &ask.kind,
        ask.query.get("labelSelector"),
        ask.query.get("fieldSelector"),
    )
}

fn revision(ask: &Ask) -> Result<Option<u64>, Status> {
    let text = ask.query.get("resourceVersion");
    if text.is_empty() {
        return Ok(None);
    }
    let parsed = text.parse().map_err(|_| {
        let said = format!("Invalid value: {text:?}: strconv.ParseUint: parsing: invalid syntax");
        Status::invalid(
            "ListOptions",
            "",
            vec![Cause::new("resourceVersion", "FieldValueInvalid", said)],
        )
    });
    parsed.map(Some)
}

fn read_token(token: &str) -> Result<(u64, String), Status> {
    let bad = || Status::bad_request("continue key is not valid: it was not made by this server");
    let bytes = URL_SAFE_NO_PAD.decode(token).map_err(|_| bad())?;
    let value: Value = serde_json::from_slice(&bytes).map_err(|_| bad())?;
    match (value["rv"].as_u64(), value["after"].as_str()) {
        (Some(revision), Some(after)) => Ok((revision, after.to_owned())),
        _ => Err(bad()),
    }
}
