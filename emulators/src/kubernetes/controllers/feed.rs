//! What changed of one kind since I last looked?

use std::sync::Arc;

use crate::kubernetes::store::{Change, Store};

/// A place in the change log of one kind.
#[derive(Debug)]
pub struct Feed {
    kind: String,
    seen: Option<u64>,
}

pub enum News {
    /// In order.
    Since(Vec<Arc<Change>>),
    /// The first look, or the log does not reach back: take everything anew.
    All,
}

impl Feed {
    pub fn new(kind: &str) -> Self {
        Self {
            kind: kind.to_owned(),
            seen: None,
        }
    }

    pub fn kind(&self) -> &str {
        &self.kind
    }

    pub fn read(&mut self, store: &Store) -> News {
        let seen = self.seen.replace(store.revision());
        let Some(seen) = seen else {
            return News::All;
        };
        match store.changes_since(&self.kind, seen) {
            Ok(changes) => News::Since(changes.cloned().collect()),
            Err(_) => News::All,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_feed_tells_everything_once_then_only_what_is_new_and_all_again_when_it_lags() {
        let mut store = Store::new(1);
        let mut feed = Feed::new("nodes");
        let now = "2026-01-01T00:00:00Z".parse().unwrap();
        assert!(matches!(feed.read(&store), News::All));
        let add = |store: &mut Store, name: &str| {
            let node = json!({"metadata": {"name": name}});
            store.create("nodes", node, now).unwrap();
        };
        add(&mut store, "a");
        assert!(matches!(feed.read(&store), News::Since(changes) if changes.len() == 1));
        assert!(matches!(feed.read(&store), News::Since(changes) if changes.is_empty()));
        add(&mut store, "b");
        add(&mut store, "c");
        store.keep_changes(1);
        assert!(matches!(feed.read(&store), News::All));
    }
}
