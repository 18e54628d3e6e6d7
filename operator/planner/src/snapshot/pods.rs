//! Which pods are there, and which of them are alike?
//!
//! Pods that a planner cannot tell apart share a shape. Work is done per shape, so its cost grows with the number of
//! distinct shapes and not with the number of pods.

use crate::requirements::Requirement;
use crate::resources::{ResourceName, Resources};
use crate::taints::Toleration;
use crate::why::{Constraint, Why};
use indexmap::IndexMap;
use jiff::Timestamp;
use rustc_hash::FxBuildHasher;
use std::cmp::Reverse;
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
            shape: ShapeId(0),
        }
    }

    pub fn bound(name: impl Into<Arc<str>>, uid: impl Into<Arc<str>>, created: Timestamp) -> Self {
        Self {
            pending: false,
            ..Self::pending(name, uid, created)
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
        for (pod, mut shape) in list {
            shape.requests = shape.requests.with(ResourceName::Pods, 1).without_zeros();
            groups.entry(shape).or_default().push(pod);
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

impl HostPort {
    /// Two pods cannot both have the port on one address; an unspecified address is every address.
    pub fn conflicts(&self, other: &Self) -> bool {
        let everywhere = |port: &Self| port.ip.is_none_or(|ip| ip.is_unspecified());
        let same_address = self.ip == other.ip || everywhere(self) || everywhere(other);
        self.port == other.port && self.protocol == other.protocol && same_address
    }
}
