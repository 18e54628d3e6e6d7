//! What does each document mean, and what of it is kept?

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use crds::karpenter::{NodeClaim, NodePool};
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod};
use k8s_openapi::api::storage::v1::{CSINode, StorageClass};
use planner::snapshot::Daemon;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use super::field::typed;
use super::read::Document;
use super::seen::{ClaimSeen, ClassSeen, NodeSeen, PoolSeen};
use super::trouble::Trouble;
use super::twins::{self, Twin, Twins};
use crate::ingest;
use crate::ingest::file::{self, Misread};
use crate::ingest::volume::{self, Storage};
use crate::snapshot::meaning::{Meaning, Reader, Seen};
use crate::snapshot::settle::is_unreadable;

/// Everything that was read, lowered to planner values.
pub(super) struct Gathered {
    pub(super) pods: Vec<Seen>,
    pub(super) nodes: Vec<NodeSeen>,
    pub(super) claims: Vec<ClaimSeen>,
    pub(super) pools: Vec<PoolSeen>,
    pub(super) classes: Vec<ClassSeen>,
    pub(super) daemons: Vec<Daemon>,
    pub(super) namespaces: Vec<planner::snapshot::Namespace>,
    pub(super) storage: Storage,
    /// By node.
    pub(super) volume_limits: HashMap<Arc<str>, volume::Limits>,
    /// How many objects were met, whatever they mean.
    pub(super) documents: usize,
    /// Kinds that mean nothing here, and how often each was met.
    pub(super) passed_by: BTreeMap<String, usize>,
    names: HashSet<(&'static str, Arc<str>)>,
    reader: Reader,
    twins: Twins,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct What {
    #[serde(default)]
    api_version: Option<String>,
    #[serde(default)]
    kind: Option<String>,
}

impl Gathered {
    pub(super) fn new(reader: Reader) -> Self {
        Self {
            pods: Vec::new(),
            nodes: Vec::new(),
            claims: Vec::new(),
            pools: Vec::new(),
            classes: Vec::new(),
            daemons: Vec::new(),
            namespaces: Vec::new(),
            storage: Storage::default(),
            volume_limits: HashMap::new(),
            documents: 0,
            passed_by: BTreeMap::new(),
            names: HashSet::new(),
            reader,
            twins: Twins::default(),
        }
    }

    /// Takes one object in, or says what is wrong with it.
    pub(super) fn add(&mut self, document: &Document) -> Result<(), Trouble> {
        if let Some(other) = instead_of_an_object(&document.text) {
            let said = format!("{other}; write Kubernetes objects, as kubectl prints them");
            return Err(self.trouble(document, "", said));
        }
        self.documents += 1;
        let what = match at_the_head(&document.text) {
            Some(what) => what,
            None => self.read(document)?,
        };
        let kind = what.kind.or_else(|| document.kind.clone());
        let Some(kind) = kind else {
            return Err(self.trouble(document, "kind", "missing; is this a Kubernetes object?"));
        };
        let group = group_of(what.api_version.as_deref());
        match (group, kind.as_str()) {
            ("", "Pod") => self.pod(document),
            ("", "Node") => self.node(document),
            ("", "Namespace") => self.namespace(document),
            ("", "PersistentVolumeClaim" | "PersistentVolume")
            | ("storage.k8s.io", "StorageClass" | "CSINode") => self.storage(document, &kind),
            // Read by nobody here: a plan evicts no pod, and what preempts whom is kube-scheduler's to say.
            ("scheduling.k8s.io", "PriorityClass") | ("policy", "PodDisruptionBudget") => {
                self.whole(document)
            }
            ("apps", "DaemonSet") => self.daemon(document),
            ("karpenter.sh", "NodePool") => self.pool(document),
            ("karpenter.sh", "NodeClaim") => self.claim(document),
            (group, kind) if file::is_class(group, kind) => self.class(document, group, kind),
            ("", kind) if kind.ends_with("List") => self.whole(document),
            (_, kind) => {
                *self.passed_by.entry(kind.to_owned()).or_default() += 1;
                self.whole(document)
            }
        }
    }

    fn pod(&mut self, document: &Document) -> Result<(), Trouble> {
        let told = twins::told(&document.text);
        if let Some(told) = &told
            && let Some(twin) = self.twins.get(&told.rest).cloned()
        {
            let name = format!("{}/{}", twin.namespace, told.name);
            let name = self.name_once(document, "Pod", name)?;
            let uid = told.uid.map(Arc::from);
            self.keep(name, uid, twin.meaning);
            return Ok(());
        }
        let mut pod: Pod = self.read(document)?;
        let namespace = pod.metadata.namespace.get_or_insert_with(in_default);
        let namespace = namespace.as_str().into();
        let name = self.name_once(document, "Pod", crate::mirror::key(&pod))?;
        let meaning = self.meaning(document, &pod)?;
        let shared = meaning.as_ref().is_none_or(twins::is_shared);
        if let (Some(told), true) = (told, shared) {
            let meaning = meaning.clone();
            self.twins.insert(told.rest, Twin { namespace, meaning });
        }
        self.keep(name, pod.metadata.uid.as_deref().map(Arc::from), meaning);
        Ok(())
    }

    /// What a pod means to a plan; `None` if nothing.
    fn meaning(&mut self, document: &Document, pod: &Pod) -> Result<Option<Meaning>, Trouble> {
        if !ingest::pod::is_active(pod) {
            return Ok(None);
        }
        let no_place = ingest::pod::is_nobodys_to_place(pod) || ingest::pod::is_ending(pod);
        if no_place && ingest::pod::node_of(pod).is_none() {
            return Ok(None);
        }
        let meaning = self.reader.read(pod);
        let meaning = meaning.ok_or_else(|| self.trouble(document, "spec", "missing"))?;
        let mut whys = meaning.shape.unreadable.iter();
        let unknown = whys.find(|why| is_unreadable(why));
        if let (Some(why), Some(_)) = (unknown, &meaning.node) {
            // A pod that waits is refused with its reason; one that runs takes room we would not know of.
            let said = crate::explain::sentence(why);
            return Err(self.trouble(document, "spec", said));
        }
        Ok(Some(meaning))
    }

    fn keep(&mut self, name: Arc<str>, uid: Option<Arc<str>>, meaning: Option<Meaning>) {
        let Some(meaning) = meaning else { return };
        let uid = uid.unwrap_or_else(|| name.clone());
        self.pods.push(Seen { name, uid, meaning });
    }

    fn node(&mut self, document: &Document) -> Result<(), Trouble> {
        let node: Node = self.read(document)?;
        self.name_once(document, "Node", crate::mirror::key(&node))?;
        let provider_id = ingest::node::provider_id(&node).map(Arc::from);
        let node = file::node(&node).map_err(|bad| self.misread(document, &bad))?;
        self.nodes.push(NodeSeen { node, provider_id });
        Ok(())
    }

    fn daemon(&mut self, document: &Document) -> Result<(), Trouble> {
        let mut set: DaemonSet = self.read(document)?;
        set.metadata.namespace.get_or_insert_with(in_default);
        let name = self.name_once(document, "DaemonSet", crate::mirror::key(&set))?;
        let shape = file::daemon_shape(&set).map_err(|bad| self.misread(document, &bad))?;
        if let Some(why) = shape.unreadable.first() {
            let said = crate::explain::sentence(why);
            return Err(self.trouble(document, "spec.template.spec", said));
        }
        if !ingest::pod::needs_devices(&shape) {
            self.daemons.push(Daemon { name, shape });
        }
        Ok(())
    }

    fn namespace(&mut self, document: &Document) -> Result<(), Trouble> {
        let namespace: Namespace = self.read(document)?;
        let name = self.name_once(document, "Namespace", crate::mirror::key(&namespace))?;
        let labels = ingest::labels(&namespace.metadata.labels.unwrap_or_default());
        self.namespaces
            .push(planner::snapshot::Namespace { name, labels });
        Ok(())
    }

    fn storage(&mut self, document: &Document, kind: &str) -> Result<(), Trouble> {
        let read = match kind {
            "PersistentVolumeClaim" => {
                let mut claim: PersistentVolumeClaim = self.read(document)?;
                claim.metadata.namespace.get_or_insert_with(in_default);
                let key = crate::mirror::key(&claim);
                let key = self.name_once(document, "PersistentVolumeClaim", key)?;
                self.storage.add_claim(key, &claim);
                Ok(())
            }
            "PersistentVolume" => {
                let volume: PersistentVolume = self.read(document)?;
                self.name_once(document, "PersistentVolume", crate::mirror::key(&volume))?;
                self.storage.add_volume(&volume)
            }
            "StorageClass" => {
                let class: StorageClass = self.read(document)?;
                self.name_once(document, "StorageClass", crate::mirror::key(&class))?;
                self.storage.add_class(&class)
            }
            _ => {
                let node: CSINode = self.read(document)?;
                let name = self.name_once(document, "CSINode", crate::mirror::key(&node))?;
                self.volume_limits.insert(name, volume::limits(&node));
                Ok(())
            }
        };
        read.map_err(|why| {
            let said = crate::explain::sentence(&why);
            self.trouble(document, "spec", said)
        })
    }

    fn pool(&mut self, document: &Document) -> Result<(), Trouble> {
        let pool: NodePool = self.read(document)?;
        self.name_once(document, "NodePool", crate::mirror::key(&pool))?;
        let pool = file::pool(&pool).map_err(|bad| self.misread(document, &bad))?;
        self.pools.push(PoolSeen { pool });
        Ok(())
    }

    fn claim(&mut self, document: &Document) -> Result<(), Trouble> {
        let claim: NodeClaim = self.read(document)?;
        self.name_once(document, "NodeClaim", crate::mirror::key(&claim))?;
        let value = file::claim(&claim).map_err(|bad| self.misread(document, &bad))?;
        let status = claim.status.as_ref();
        let told = |text: Option<&String>| {
            let text = text.filter(|text| !text.is_empty());
            text.map(|text| Arc::from(text.as_str()))
        };
        self.claims.push(ClaimSeen {
            provider_id: told(status.and_then(|status| status.provider_id.as_ref())),
            node_name: told(status.and_then(|status| status.node_name.as_ref())),
            initialized: ingest::claim::holds(&claim, "Initialized"),
            startup_taints: ingest::crd_taints(claim.spec.startup_taints.as_ref()),
            counts_as_room: value.told.is_some(),
            claim: value,
        });
        Ok(())
    }

    fn class(&mut self, document: &Document, group: &str, kind: &str) -> Result<(), Trouble> {
        let class: file::Class = self.read(document)?;
        self.classes.push(ClassSeen {
            not_ready: class.not_ready(),
            key: (group.to_owned(), kind.to_owned(), class.metadata.name),
        });
        Ok(())
    }

    /// What nobody reads may still be cut off, and more with it.
    fn whole(&self, document: &Document) -> Result<(), Trouble> {
        self.read::<IgnoredAny>(document).map(drop)
    }

    #[allow(clippy::unused_self, reason = "reads beside its siblings")]
    fn read<T: DeserializeOwned>(&self, document: &Document) -> Result<T, Trouble> {
        typed(&document.text)
            .map_err(|(field, said)| Trouble::new(document.place.clone(), field, said))
    }

    /// Two objects of one name: nobody could say which one was meant.
    fn name_once(
        &mut self,
        document: &Document,
        kind: &'static str,
        name: String,
    ) -> Result<Arc<str>, Trouble> {
        let name: Arc<str> = name.into();
        if name.is_empty() || name.ends_with('/') {
            return Err(self.trouble(document, "metadata.name", "missing; give it a name"));
        }
        if self.names.insert((kind, name.clone())) {
            return Ok(name);
        }
        let said = format!("{kind} {name} is given twice; leave one of them out");
        Err(self.trouble(document, "metadata.name", said))
    }

    #[allow(clippy::unused_self, reason = "reads beside its siblings")]
    fn trouble(&self, document: &Document, field: &str, said: impl Into<String>) -> Trouble {
        Trouble::new(document.place.clone(), field, said)
    }

    fn misread(&self, document: &Document, bad: &Misread) -> Trouble {
        self.trouble(document, &bad.field, &bad.said)
    }
}

fn in_default() -> String {
    "default".to_owned()
}

/// What a document holds, if not an object.
fn instead_of_an_object(text: &[u8]) -> Option<&'static str> {
    match text.trim_ascii_start().first()? {
        b'{' => None,
        b'[' => Some("a bare list"),
        b'"' => Some("bare text"),
        b'0'..=b'9' | b'-' => Some("a bare number"),
        _ => Some("no object"),
    }
}

/// Most texts begin with both: then nobody has to read all of one to know what it is.
fn at_the_head(text: &[u8]) -> Option<What> {
    let text = std::str::from_utf8(text.get(..text.len().min(200))?).ok()?;
    let (api_version, rest) = member(text.trim_start().strip_prefix('{')?, "apiVersion")?;
    let (kind, _) = member(rest.trim_start().strip_prefix(',')?, "kind")?;
    Some(What {
        api_version: Some(api_version.to_owned()),
        kind: Some(kind.to_owned()),
    })
}

/// The value of a member that comes next, if it is plain text, and what follows.
fn member<'t>(text: &'t str, key: &str) -> Option<(&'t str, &'t str)> {
    let text = text.trim_start().strip_prefix('"')?.strip_prefix(key)?;
    let text = text.strip_prefix('"')?.trim_start().strip_prefix(':')?;
    let (value, rest) = text.trim_start().strip_prefix('"')?.split_once('"')?;
    (!value.contains('\\')).then_some((value, rest))
}

/// `apps/v1` → `apps`, `v1` → the core group.
fn group_of(api_version: Option<&str>) -> &str {
    let version = api_version.unwrap_or("");
    version.split_once('/').map_or("", |(group, _)| group)
}
