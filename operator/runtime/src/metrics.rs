//! What does this process count, and how does a counter get its name?
//!
//! One registry per process, handed in, never global. The functions here exist so that a family is made and registered in
//! one line and cannot be forgotten in between.

use std::fmt::Debug;
use std::hash::Hash;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};

use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Metric, Registry};

/// A label set: a struct that derives `EncodeLabelSet`.
pub trait Labels: EncodeLabelSet + Clone + Debug + Hash + Eq + Send + Sync + 'static {}
impl<T: EncodeLabelSet + Clone + Debug + Hash + Eq + Send + Sync + 'static> Labels for T {}

pub type Counters<L> = Family<L, Counter>;
pub type Gauges<L> = Family<L, Gauge>;
/// Gauges of amounts that need not be whole.
pub type Levels<L> = Family<L, Gauge<f64, AtomicU64>>;
pub type Histograms<L> = Family<L, Histogram, fn() -> Histogram>;

/// Seconds from half a millisecond to half a minute: the length of anything a client waits for.
pub const WAIT_SECONDS: [f64; 14] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0,
];

#[derive(Debug, Clone, Default)]
pub struct Metrics {
    registry: Arc<Mutex<Registry>>,
}

impl Metrics {
    /// `name` without `_total`: the text format adds it.
    pub fn counters<L: Labels>(&self, name: &str, help: &str) -> Counters<L> {
        self.register(name, help, Counters::default())
    }

    pub fn counter(&self, name: &str, help: &str) -> Counter {
        self.register(name, help, Counter::default())
    }

    pub fn gauges<L: Labels>(&self, name: &str, help: &str) -> Gauges<L> {
        self.register(name, help, Gauges::default())
    }

    pub fn gauge(&self, name: &str, help: &str) -> Gauge {
        self.register(name, help, Gauge::default())
    }

    /// Histograms over [`WAIT_SECONDS`].
    pub fn waits<L: Labels>(&self, name: &str, help: &str) -> Histograms<L> {
        let make: fn() -> Histogram = || Histogram::new(WAIT_SECONDS);
        self.register(name, help, Family::new_with_constructor(make))
    }

    pub fn levels<L: Labels>(&self, name: &str, help: &str) -> Levels<L> {
        self.register(name, help, Levels::default())
    }

    /// Histograms over buckets of one's own.
    pub fn histograms<L: Labels>(
        &self,
        name: &str,
        help: &str,
        make: fn() -> Histogram,
    ) -> Histograms<L> {
        self.register(name, help, Family::new_with_constructor(make))
    }

    pub fn histogram(&self, name: &str, help: &str, make: fn() -> Histogram) -> Histogram {
        self.register(name, help, make())
    }

    /// Everything registered, in the OpenMetrics text format.
    pub fn text(&self) -> String {
        let mut out = String::new();
        let registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        // Writing into a String cannot fail.
        let _ = text::encode(&mut out, &registry);
        out
    }

    fn register<M: Metric + Clone>(&self, name: &str, help: &str, metric: M) -> M {
        self.registry
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .register(name, help, metric.clone());
        metric
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
    struct Route {
        route: &'static str,
    }

    #[test]
    fn what_is_counted_is_shown_under_its_name_and_labels() {
        let metrics = Metrics::default();
        let reviews = metrics.counters::<Route>("reviews", "Reviews answered");
        let waits = metrics.waits::<Route>("review_seconds", "How long");
        reviews.get_or_create(&Route { route: "convert" }).inc();
        waits
            .get_or_create(&Route { route: "convert" })
            .observe(0.002);
        let text = metrics.text();
        assert!(
            text.contains("reviews_total{route=\"convert\"} 1\n"),
            "{text}"
        );
        assert!(
            text.contains("review_seconds_bucket{le=\"0.0025\",route=\"convert\"} 1\n"),
            "{text}"
        );
        assert!(text.ends_with("# EOF\n"));
    }
}
