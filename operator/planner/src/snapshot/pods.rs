//! Which pods are there, and which of them are alike?
//!
//! Pods that a planner cannot tell apart share a shape. Work is done per shape, so its cost grows with the number of
//! distinct shapes and not with the number of pods.

use crate::requirements::Requirement;
use crate::requirements::Text;
use crate::resources::{ResourceName, Resources};
use crate::snapshot::{PodTerm, Spread, Volume};
use crate::taints::Toleration;
use crate::why::{Constraint, Why};
use indexmap::IndexMap;
use jiff::Timestamp;
use rustc_hash::FxBuildHasher;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

/// Everything about a pod that matters to where it can go.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Shape {
    pub requests: Resources,
    /// `nodeSelector`.
    pub selector: Vec<Requirement>,
    /// Required node affinity: one of these must hold. Empty: anywhere.
    pub terms: Vec<Vec<Requirement>>,
    pub tolerations: Vec<Toleration>,
    pub ports: Vec<HostPort>,
    pub namespace: Text,
    /// The pod's own labels. `Pods::gather` keeps those that some selector asks for.
    pub labels: Vec<(Text, Text)>,
    /// Preferred node affinity with its weights.
    pub preferred: Vec<(i32, Vec<Requirement>)>,
    pub spreads: Vec<Spread>,
    /// Required pod affinity: all of these must hold.
    pub near: Vec<PodTerm>,
    /// Required pod anti-affinity.
    pub apart: Vec<PodTerm>,
    pub preferred_near: Vec<(i32, PodTerm)>,
    pub preferred_apart: Vec<(i32, PodTerm)>,
    pub volumes: Vec<Volume>,
    /// Hard constraints this planner cannot honour yet, with a name to show.
    pub beyond: Vec<(Constraint, Arc<str>)>,
    /// What could not be read; such a pod is refused with these reasons.
    pub unreadable: Vec<Why>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Protocol {
    Tcp,
    Udp,
    Sctp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostPort {
    /// `None`: every address.
    pub ip: Option<IpAddr>,
    pub port: u16,
    pub protocol: Protocol,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PodId(pub u32);
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShapeId(pub u32);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pod {
    /// `namespace/name`.
    pub name: Arc<str>,
    pub uid: Arc<str>,
    pub created: Timestamp,
    /// Waiting for a place; otherwise it is bound and only takes part in a what-if.
    pub pending: bool,
    /// Passes that ended before its shape was tried: those go first.
    pub passed_over: u32,
    /// The node it is bound to: there it counts for spreads and affinities.
    pub node: Option<Arc<str>>,
    shape: ShapeId,
}

/// Shapes in the order in which they are served, members in the order in which they get places.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pods {
    shapes: Vec<Shape>,
    members: Vec<Pod>,
}

impl Pod {
    pub fn pending(
        name: impl Into<Arc<str>>,
        uid: impl Into<Arc<str>>,
        created: Timestamp,
    ) -> Self {
        let (name, uid) = (name.into(), uid.into());
        Self {
            name,
            uid,
            created,
            pending: true,
            passed_over: 0,
            node: None,
            shape: ShapeId(0),
        }
    }

    pub fn bound(name: impl Into<Arc<str>>, uid: impl Into<Arc<str>>, created: Timestamp) -> Self {
        Self {
            pending: false,
            ..Self::pending(name, uid, created)
        }
    }

    #[must_use]
    pub fn on(self, node: impl Into<Arc<str>>) -> Self {
        Self {
            node: Some(node.into()),
            ..self
        }
    }

    pub fn shape(&self) -> ShapeId {
        self.shape
    }
}

impl Pods {
    /// Groups pods by shape. Each pod counts as one of `pods`, whatever its requests say.
    ///
    /// Order of shapes: passed over before, then cpu and memory descending, then the oldest pod, then its name.
    pub fn gather(list: impl IntoIterator<Item = (Pod, Shape)>) -> Self {
        let mut groups: IndexMap<Shape, Vec<Pod>, FxBuildHasher> = IndexMap::default();
        for (pod, shape) in list {
            groups.entry(shape).or_default().push(pod);
        }
        Self::of_groups(groups)
    }

    /// The same for pods that are grouped already, as far as whoever read them could tell.
    pub fn of_groups(list: impl IntoIterator<Item = (Shape, Vec<Pod>)>) -> Self {
        let mut list: Vec<(Shape, Vec<Pod>)> = list.into_iter().collect();
        for (shape, _) in &mut list {
            shape.resolve();
        }
        blank_what_nobody_asks_for(&mut list);
        let mut groups: IndexMap<Shape, Vec<Pod>, FxBuildHasher> = IndexMap::default();
        for (shape, mut pods) in list {
            groups.entry(shape).or_default().append(&mut pods);
        }
        for members in groups.values_mut() {
            members.sort_unstable_by(|a, b| {
                (a.created, &a.name, &a.uid).cmp(&(b.created, &b.name, &b.uid))
            });
        }
        let mut groups: Vec<_> = groups.into_iter().collect();
        groups.sort_by_cached_key(|(shape, members)| {
            let requests = &shape.requests;
            let passed_over = members.iter().map(|pod| pod.passed_over).max();
            let oldest = members
                .first()
                .map(|pod| (pod.created, pod.name.clone(), pod.uid.clone()));
            let size = (
                requests.get(&ResourceName::Cpu),
                requests.get(&ResourceName::Memory),
            );
            (Reverse((passed_over, size)), oldest)
        });
        let mut pods = Self::default();
        for (at, (shape, members)) in groups.into_iter().enumerate() {
            let id = ShapeId(u32::try_from(at).unwrap_or(u32::MAX));
            pods.shapes.push(shape);
            pods.members
                .extend(members.into_iter().map(|pod| Pod { shape: id, ..pod }));
        }
        pods
    }

    pub fn shapes(&self) -> impl Iterator<Item = (ShapeId, &Shape)> {
        self.shapes
            .iter()
            .enumerate()
            .map(|(at, shape)| (ShapeId(u32::try_from(at).unwrap_or(u32::MAX)), shape))
    }

    pub fn shape(&self, id: ShapeId) -> &Shape {
        &self.shapes[id.0 as usize]
    }

    /// All pods, those of one shape next to each other.
    pub fn members(&self) -> impl Iterator<Item = (PodId, &Pod)> {
        self.members
            .iter()
            .enumerate()
            .map(|(at, pod)| (PodId(u32::try_from(at).unwrap_or(u32::MAX)), pod))
    }

    pub fn pod(&self, id: PodId) -> &Pod {
        &self.members[id.0 as usize]
    }

    pub fn shape_of(&self, id: PodId) -> &Shape {
        self.shape(self.pod(id).shape)
    }

    pub fn len(&self) -> usize {
        self.members.len()
    }

    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }
}

impl Shape {
    /// Is there something it would like but can do without?
    pub fn prefers(&self) -> bool {
        let soft = self.spreads.iter().any(|spread| !spread.hard);
        let liked = self.preferred_near.len() + self.preferred_apart.len();
        soft || liked + self.preferred.len() > 0
    }

    /// Each pod counts as one of `pods`; selectors take the pod's own labels where they ask for them.
    fn resolve(&mut self) {
        let requests = std::mem::take(&mut self.requests);
        self.requests = requests.with(ResourceName::Pods, 1).without_zeros();
        self.labels.sort_unstable();
        self.labels.dedup_by(|a, b| a.0 == b.0);
        let labels = &self.labels;
        for spread in &mut self.spreads {
            spread.resolve(labels);
        }
        let preferred = self
            .preferred_near
            .iter_mut()
            .chain(&mut self.preferred_apart);
        let terms = self.near.iter_mut().chain(&mut self.apart);
        for term in terms.chain(preferred.map(|(_, term)| term)) {
            term.resolve(labels);
        }
    }

    /// All terms about other pods, required or preferred.
    pub(crate) fn pod_terms(&self) -> impl Iterator<Item = &PodTerm> {
        let preferred = self.preferred_near.iter().chain(&self.preferred_apart);
        let terms = self.near.iter().chain(&self.apart);
        terms.chain(preferred.map(|(_, term)| term))
    }
}

/// Labels that no selector asks for, the namespace if there are no selectors, and the names of claims that one pod has for
/// itself make no difference to where a pod can go.
fn blank_what_nobody_asks_for(list: &mut [(Shape, Vec<Pod>)]) {
    let mut keys: BTreeSet<Text> = BTreeSet::new();
    let mut selected = false;
    let mut users: BTreeMap<Text, usize> = BTreeMap::new();
    for (shape, pods) in list.iter() {
        let spreads = shape.spreads.iter().map(|spread| spread.selector.as_ref());
        let terms = shape.pod_terms().map(|term| term.selector.as_ref());
        for selector in spreads.chain(terms).flatten() {
            selected = true;
            for expression in selector.expressions() {
                if !keys.contains(expression.key()) {
                    keys.insert(expression.key().into());
                }
            }
        }
        for volume in &shape.volumes {
            *users.entry(volume.claim.clone()).or_default() += pods.len();
        }
    }
    for (shape, _) in list {
        shape.labels.retain(|(key, _)| keys.contains(key));
        if !selected {
            shape.namespace = Text::default();
        }
        for volume in &mut shape.volumes {
            if users.get(&volume.claim).is_none_or(|users| *users < 2) {
                volume.claim = Text::default();
            }
        }
        shape.volumes.sort_unstable();
    }
}

impl HostPort {
    /// Two pods cannot both have the port on one address; an unspecified address is every address.
    pub fn conflicts(&self, other: &Self) -> bool {
        let everywhere = |port: &Self| port.ip.is_none_or(|ip| ip.is_unspecified());
        let same_address = self.ip == other.ip || everywhere(self) || everywhere(other);
        self.port == other.port && self.protocol == other.protocol && same_address
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    /// `tcp:80`, or with an address behind it.
    fn port(text: &str) -> HostPort {
        let mut words = text.splitn(3, ':');
        HostPort {
            protocol: match words.next().unwrap() {
                "udp" => Protocol::Udp,
                "sctp" => Protocol::Sctp,
                _ => Protocol::Tcp,
            },
            port: words.next().unwrap().parse().unwrap(),
            ip: words.next().map(|ip| ip.parse().unwrap()),
        }
    }

    #[rstest]
    #[case("tcp:80", "tcp:80", true)]
    #[case("tcp:80", "tcp:443", false)]
    #[case("tcp:80", "udp:80", false)]
    #[case("udp:80", "sctp:80", false)]
    #[case("tcp:80", "tcp:80:10.0.0.1", true)]
    #[case("tcp:80:0.0.0.0", "tcp:80:10.0.0.1", true)]
    #[case("tcp:80:::", "tcp:80:10.0.0.1", true)]
    #[case("tcp:80:::", "tcp:80:0.0.0.0", true)]
    #[case("tcp:80:10.0.0.1", "tcp:80:10.0.0.1", true)]
    #[case("tcp:80:10.0.0.1", "tcp:80:10.0.0.2", false)]
    #[case("tcp:80:10.0.0.1", "tcp:80:fe80::1", false)]
    #[case("tcp:80:0.0.0.0", "udp:80:0.0.0.0", false)]
    fn two_pods_cannot_have_one_port_on_one_address(
        #[case] one: &str,
        #[case] other: &str,
        #[case] conflict: bool,
    ) {
        assert_eq!(port(one).conflicts(&port(other)), conflict);
        assert_eq!(port(other).conflicts(&port(one)), conflict);
    }
}
