//! Has the certificate on disk changed, and shall the new one be served?
//!
//! Files are compared by content on a timer. The kubelet swaps a symbolic link, so there is no event on the file to wait
//! for; and a reading that falls between two swaps gives a pair that does not match, which is kept out and read again.

use std::time::Duration;

use axum_server::tls_rustls::RustlsConfig;
use jiff::Timestamp;
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue};
use prometheus_client::metrics::gauge::Gauge;
use tokio_util::sync::CancellationToken;

use super::pair::{BadPair, Contents, Files, Pair};
use super::validity::Validity;
use crate::clock::Clock;
use crate::metrics::{Counters, Metrics};

/// A pair that is served, and the files it came from.
pub struct Rotation {
    files: Files,
    /// What the files held when they were last looked at, good or bad: a bad pair is reported once, not at every look.
    looked_at: Contents,
    served: Pair,
    config: RustlsConfig,
    clock: Clock,
    metrics: TlsMetrics,
}

#[derive(Clone)]
pub struct TlsMetrics {
    expiry: Gauge,
    reloads: Counters<ReloadLabels>,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ReloadLabels {
    result: Reload,
}

#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, EncodeLabelValue)]
#[allow(non_camel_case_types)] // label values, written as Prometheus users write them
enum Reload {
    swapped,
    kept,
}

impl TlsMetrics {
    pub fn register(metrics: &Metrics) -> Self {
        TlsMetrics {
            expiry: metrics.gauge(
                "joiner_tls_certificate_expiry_timestamp_seconds",
                "Unix time at which the certificate being served expires",
            ),
            reloads: metrics.counters(
                "joiner_tls_certificate_reloads",
                "Changed certificate files, by whether the new pair was swapped in or the old one kept",
            ),
        }
    }
}

impl Rotation {
    /// Reads the pair for the first time; without one that can be served there is nothing to start.
    pub fn start(files: Files, clock: Clock, metrics: TlsMetrics) -> Result<Self, BadPair> {
        let contents = files.read()?;
        let served = files.pair(&contents, clock.now())?;
        if clock.now() < served.validity.not_before {
            tracing::warn!(file = %files.certificate.display(), from = %served.validity.not_before, "the certificate is not valid yet");
        }
        metrics.expiry.set(served.validity.not_after.as_second());
        let config = RustlsConfig::from_config(served.config.clone());
        Ok(Rotation {
            files,
            looked_at: contents,
            served,
            config,
            clock,
            metrics,
        })
    }

    /// For the listener: always the pair that is served now.
    pub fn config(&self) -> RustlsConfig {
        self.config.clone()
    }

    pub fn validity(&self) -> Validity {
        self.served.validity
    }

    /// Looks at the files again and again until `stop`.
    pub async fn run(mut self, every: Duration, stop: CancellationToken) {
        while stop
            .run_until_cancelled(tokio::time::sleep(every))
            .await
            .is_some()
        {
            self.look();
        }
    }

    /// Two small reads: not worth a thread of their own.
    pub(super) fn look(&mut self) {
        let now = self.clock.now();
        let contents = match self.files.read() {
            Ok(contents) => contents,
            Err(why) => {
                return tracing::warn!(%why, "cannot look for a new certificate; keeping the one in use");
            }
        };
        if contents == self.looked_at {
            return;
        }
        let judged = self.files.pair(&contents, now);
        // A pair whose time has not come is looked at again at the next turn, as if we had not seen it.
        if !matches!(&judged, Ok(new) if waits(&new.validity, &self.served.validity, now)) {
            self.looked_at = contents;
        }
        let result = match judged {
            Ok(new) if waits(&new.validity, &self.served.validity, now) => {
                tracing::warn!(from = %new.validity.not_before, "the new certificate is not valid yet; keeping the one in use until then");
                Reload::kept
            }
            Ok(new) => {
                self.swap(new);
                Reload::swapped
            }
            Err(why) => {
                tracing::error!(%why, until = %self.served.validity.not_after, "the new certificate cannot be used; keeping the one in use");
                Reload::kept
            }
        };
        self.metrics
            .reloads
            .get_or_create(&ReloadLabels { result })
            .inc();
    }

    fn swap(&mut self, new: Pair) {
        tracing::info!(until = %new.validity.not_after, "serving the new certificate");
        self.config.reload_from_config(new.config.clone());
        self.metrics.expiry.set(new.validity.not_after.as_second());
        self.served = new;
    }
}

/// A certificate from the future is worse than one that still works, and better than one that does not.
fn waits(new: &Validity, served: &Validity, now: Timestamp) -> bool {
    now < new.not_before && now <= served.not_after
}
