//! What is counted about reviews?

use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue};
use prometheus_client::metrics::gauge::Gauge;
use runtime::metrics::{Counters, Histograms, Metrics};

use crate::answer::{Outcome, Route};

#[derive(Clone)]
pub struct Counts {
    reviews: Counters<ReviewLabels>,
    seconds: Histograms<RouteLabels>,
    bytes: Counters<ByteLabels>,
    in_flight: Gauge,
}

/// Why a request ended; the first four are answers of `crds`, the rest never got there.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, EncodeLabelValue)]
#[allow(non_camel_case_types)] // they are label values, written as Prometheus users write them
pub(crate) enum Result {
    accepted,
    refused,
    malformed,
    broken,
    too_large,
    wrong_type,
    too_slow,
    no_room,
    cut_off,
}

#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, EncodeLabelValue)]
#[allow(non_camel_case_types)]
enum RouteName {
    convert,
    validate,
}

#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, EncodeLabelValue)]
#[allow(non_camel_case_types)]
pub(crate) enum Direction {
    received,
    sent,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RouteLabels {
    route: RouteName,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ReviewLabels {
    route: RouteName,
    result: Result,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ByteLabels {
    route: RouteName,
    direction: Direction,
}

impl Counts {
    pub fn register(metrics: &Metrics) -> Self {
        Counts {
            reviews: metrics.counters(
                "joiner_webhook_reviews",
                "Requests to /convert and /validate, by how they ended",
            ),
            seconds: metrics.waits(
                "joiner_webhook_review_duration_seconds",
                "From the headers of a request to its answer",
            ),
            bytes: metrics.counters(
                "joiner_webhook_review_bytes",
                "Bytes of reviews received and of answers sent",
            ),
            in_flight: metrics.gauge(
                "joiner_webhook_reviews_in_flight",
                "Requests being read or answered now",
            ),
        }
    }

    /// One more request under way, until the value is dropped.
    pub(crate) fn begin(&self) -> InFlight {
        self.in_flight.inc();
        InFlight(self.in_flight.clone())
    }

    pub(crate) fn ended(&self, route: Route, result: Result, seconds: f64) {
        let route = name(route);
        self.reviews
            .get_or_create(&ReviewLabels { route, result })
            .inc();
        self.seconds
            .get_or_create(&RouteLabels { route })
            .observe(seconds);
    }

    pub(crate) fn moved(&self, route: Route, direction: Direction, bytes: usize) {
        self.bytes
            .get_or_create(&ByteLabels {
                route: name(route),
                direction,
            })
            .inc_by(bytes as u64);
    }
}

pub(crate) struct InFlight(Gauge);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl From<Outcome> for Result {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Yes => Result::accepted,
            Outcome::No => Result::refused,
            Outcome::Malformed => Result::malformed,
            Outcome::Broken => Result::broken,
        }
    }
}

fn name(route: Route) -> RouteName {
    match route {
        Route::Convert => RouteName::convert,
        Route::Validate => RouteName::validate,
    }
}
