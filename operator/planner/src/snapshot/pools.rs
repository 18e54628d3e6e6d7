//! What may be bought, under which rules, and what lands on every node by itself?

use crate::identity::ClassRef;
use crate::requirements::Requirements;
use crate::resources::Resources;
use crate::snapshot::Shape;
use crate::taints::Taint;
use std::sync::Arc;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    pub name: Arc<str>,
    /// Heavier pools are asked first; 0 when unset.
    pub weight: i32,
    pub class: ClassRef,
    /// Labels of the template.
    pub labels: Vec<(Arc<str>, Arc<str>)>,
    pub requirements: Requirements,
    pub taints: Vec<Taint>,
    /// Only what is limited is present; `nodes` counts nodes.
    pub limits: Resources,
    pub state: PoolState,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PoolState {
    Ready,
    NotReady {
        said: Arc<str>,
    },
    /// A human stopped us.
    Paused,
    /// Has a fixed number of nodes, so pods never open claims in it.
    Fixed,
}

/// A DaemonSet: one pod of it lands on every node that suits it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Daemon {
    pub name: Arc<str>,
    pub shape: Shape,
}

impl Pool {
    pub fn new(name: impl Into<Arc<str>>, class: ClassRef) -> Self {
        Self {
            name: name.into(),
            weight: 0,
            class,
            labels: Vec::new(),
            requirements: Requirements::new(),
            taints: Vec::new(),
            limits: Resources::new(),
            state: PoolState::Ready,
        }
    }

    /// The label that marks nodes and claims of this pool's class.
    pub fn class_label(&self) -> String {
        format!("{}/{}", self.class.group, self.class.kind.to_lowercase())
    }
}
