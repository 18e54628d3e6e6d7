//! Which objects of one kind are there?
//!
//! Sorted by `namespace/name`, so that whoever reads it reads in the same order every time.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use kube::ResourceExt;

pub struct Store<K> {
    kind: &'static str,
    inner: Arc<RwLock<Inner<K>>>,
}

struct Inner<K> {
    objects: BTreeMap<String, Arc<K>>,
    complete: bool,
}

/// `namespace/name`, or the name alone.
pub fn key(object: &impl ResourceExt) -> String {
    match object.namespace() {
        Some(namespace) => format!("{namespace}/{}", object.name_any()),
        None => object.name_any(),
    }
}

impl<K> Clone for Store<K> {
    fn clone(&self) -> Self {
        Self {
            kind: self.kind,
            inner: self.inner.clone(),
        }
    }
}

impl<K: ResourceExt> Store<K> {
    pub fn named(kind: &'static str) -> Self {
        let inner = Inner {
            objects: BTreeMap::new(),
            complete: false,
        };
        Self {
            kind,
            inner: Arc::new(RwLock::new(inner)),
        }
    }

    /// Complete, with these. For measurements: a running operator's store is filled by its watch.
    #[doc(hidden)]
    pub fn of(kind: &'static str, objects: impl IntoIterator<Item = Arc<K>>) -> Self {
        let objects = objects.into_iter().map(|object| (key(&*object), object));
        let inner = Inner {
            objects: objects.collect(),
            complete: true,
        };
        Self {
            kind,
            inner: Arc::new(RwLock::new(inner)),
        }
    }

    pub fn kind(&self) -> &'static str {
        self.kind
    }

    pub fn complete(&self) -> bool {
        self.read().complete
    }

    pub fn get(&self, key: &str) -> Option<Arc<K>> {
        self.read().objects.get(key).cloned()
    }

    /// All of them, sorted by key.
    pub fn all(&self) -> Vec<Arc<K>> {
        self.read().objects.values().cloned().collect()
    }

    pub fn any(&self, of: impl Fn(&K) -> bool) -> bool {
        self.read().objects.values().any(|object| of(object))
    }

    /// Returns what was there before.
    pub(crate) fn put(&self, object: K) -> (Option<Arc<K>>, Arc<K>) {
        let object = Arc::new(object);
        let old = self.write().objects.insert(key(&*object), object.clone());
        (old, object)
    }

    pub(crate) fn remove(&self, object: &K) -> Option<Arc<K>> {
        self.write().objects.remove(&key(object))
    }

    /// Puts a whole list in the place of what was there; returns what was there before.
    pub(super) fn replace(&self, list: Vec<K>) -> BTreeMap<String, Arc<K>> {
        let fresh = list
            .into_iter()
            .map(|object| (key(&object), Arc::new(object)));
        let mut inner = self.write();
        inner.complete = true;
        std::mem::replace(&mut inner.objects, fresh.collect())
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, Inner<K>> {
        self.inner.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, Inner<K>> {
        self.inner.write().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::Node;

    fn node(name: &str) -> Node {
        serde_json::from_value(serde_json::json!({ "metadata": { "name": name } })).unwrap()
    }

    #[test]
    fn a_store_is_complete_only_after_a_whole_list() {
        let store = Store::named("Node");
        store.put(node("b"));
        assert!(!store.complete());
        store.replace(vec![node("c"), node("a")]);
        assert!(store.complete());
        let names: Vec<_> = store.all().iter().map(|node| node.name_any()).collect();
        assert_eq!(names, ["a", "c"]);
    }
}
