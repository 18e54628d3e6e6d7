//! What does a pod mean to whoever plans?
//!
//! Read once, from an object or from a file, and kept for as long as the pod does not change.

use std::collections::HashSet;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use planner::labels::WellKnown;
use planner::snapshot::{Shape, Spread};
use rustc_hash::FxBuildHasher;

use crate::ingest;
use crate::ingest::volume::{self, Mounted};

/// What a pod means, whatever it is called.
#[derive(Clone, Debug)]
pub struct Meaning {
    pub created: Timestamp,
    pub shape: Arc<Shape>,
    /// Without one it waits.
    pub node: Option<Arc<str>>,
    pub claims: Vec<Mounted>,
    /// Lands on nodes by itself.
    pub daemon: bool,
    /// On its way out: takes room where it is, and counts for nobody's spread.
    pub ending: bool,
}

/// A pod that uses room or asks for it.
#[derive(Clone, Debug)]
pub struct Seen {
    pub name: Arc<str>,
    pub uid: Arc<str>,
    pub meaning: Meaning,
}

/// Knows the shapes of the pods it has read, each once: a hundred thousand pods have a few hundred.
#[derive(Default)]
pub struct Reader {
    well_known: WellKnown,
    /// For pods that ask for none.
    spreads: Vec<Spread>,
    shapes: HashSet<Arc<Shape>, FxBuildHasher>,
}

impl Reader {
    pub fn new(well_known: WellKnown, spreads: Vec<Spread>) -> Self {
        Self {
            well_known,
            spreads,
            shapes: HashSet::default(),
        }
    }

    /// Would it read everything as one that knows these?
    pub fn knows(&self, well_known: &WellKnown, spreads: &[Spread]) -> bool {
        self.well_known == *well_known && self.spreads == spreads
    }

    /// None if the pod has no spec.
    pub fn read(&mut self, pod: &Pod) -> Option<Meaning> {
        let mut shape = ingest::pod::shape(pod, &self.well_known)?;
        if shape.spreads.is_empty() {
            shape.spreads = ingest::defaults::given(&self.spreads, pod);
        }
        Some(Meaning {
            created: ingest::pod::created(pod),
            shape: self.one(shape),
            node: ingest::pod::node_of(pod).map(Arc::from),
            claims: volume::mounted(pod),
            daemon: ingest::pod::is_nobodys_to_place(pod),
            ending: ingest::pod::is_ending(pod),
        })
    }

    /// The shape as all pods that are alike share it.
    fn one(&mut self, shape: Shape) -> Arc<Shape> {
        if let Some(known) = self.shapes.get(&shape) {
            return known.clone();
        }
        let shape = Arc::new(shape);
        self.shapes.insert(shape.clone());
        shape
    }

    /// Forgets shapes that no pod has any more.
    pub fn forget_unused(&mut self) {
        self.shapes.retain(|shape| Arc::strong_count(shape) > 1);
    }

    #[cfg(test)]
    pub(super) fn shapes(&self) -> usize {
        self.shapes.len()
    }
}
