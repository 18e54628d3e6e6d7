//! Which daemons land on a node by themselves, and what do they take?

use super::relax;
use crate::requirements::{Requirements, Undefined};
use crate::resources::{ResourceName, Resources};
use crate::snapshot::{Daemon, HostPort, Snapshot};
use crate::taints::{self, Preferred, Taint};

/// A daemon with its ways worked out once.
pub(super) struct Lander<'a> {
    daemon: &'a Daemon,
    ways: Vec<Requirements>,
}

/// What the daemons of one kind of node take together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Load {
    pub(super) requests: Resources,
    pub(super) ports: Vec<HostPort>,
}

/// Daemons that contradict themselves land nowhere.
pub(super) fn landers(snapshot: &Snapshot) -> Vec<Lander<'_>> {
    let daemons = snapshot.daemons.iter();
    daemons
        .filter_map(|daemon| {
            relax::ways(&daemon.shape)
                .ok()
                .map(|ways| Lander { daemon, ways })
        })
        .collect()
}

/// The load on a place whose labels are known.
pub(super) fn load_on(landers: &[Lander<'_>], place: &Requirements, taints: &[Taint]) -> Load {
    let lands = |way: &Requirements| place.compatible(way, Undefined::Refused).is_ok();
    load(landers, taints, lands)
}

/// The load of all daemons that tolerate the taints and of which some way passes the test. Preferences keep no daemon away.
pub(super) fn load(
    landers: &[Lander<'_>],
    taints: &[Taint],
    lands: impl Fn(&Requirements) -> bool,
) -> Load {
    let mut load = Load::default();
    for lander in landers {
        let shape = &lander.daemon.shape;
        let tolerated =
            taints::first_untolerated(taints, &shape.tolerations, Preferred::Accept).is_none();
        if tolerated && lander.ways.iter().any(&lands) {
            let one = shape.requests.clone().with(ResourceName::Pods, 1);
            load.requests = load.requests.plus(&one);
            load.ports.extend(&shape.ports);
        }
    }
    load
}
