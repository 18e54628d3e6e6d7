//! What can be set when the webhook is started, and what is each setting for?

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use jiff::SignedDuration;
use runtime::serve::Limits;
use runtime::telemetry::{LogFormat, Telemetry};
use runtime::tls::Files;

use crate::room::Bounds;
use crate::serve::{Drain, Settings};

/// Answers the Kubernetes API server's conversion and validation requests for Joiner's kinds.
///
/// The API server calls POST /convert and POST /validate over HTTPS (--listen). Probes and metrics are plain HTTP on
/// another port (--admin): /healthz, /readyz (lists what is missing), /metrics, and PUT /log-level?filter=debug from the
/// same host (kubectl port-forward). The process keeps no state and talks to nobody: run as many as you like.
///
/// Every flag can also be given as the environment variable shown beside it. Durations are written 500ms, 30s, 2m;
/// sizes 512Ki, 64Mi, 1Gi or plain bytes.
#[derive(Debug, Clone, Parser)]
#[command(
    name = "joiner-webhook",
    version,
    max_term_width = 100,
    args_override_self = true
)]
pub struct Args {
    /// Where the API server reaches us (HTTPS).
    #[arg(long, env = "JOINER_WEBHOOK_LISTEN", default_value = "0.0.0.0:9443")]
    pub listen: SocketAddr,

    /// Where probes and scrapers reach us (plain HTTP). The log level can be changed from this host only.
    #[arg(long, env = "JOINER_WEBHOOK_ADMIN", default_value = "0.0.0.0:8081")]
    pub admin: SocketAddr,

    /// Certificate chain in PEM, leaf first. Looked at again every --tls-reload; a new pair is served without a restart.
    #[arg(long, env = "JOINER_WEBHOOK_TLS_CERT", default_value = "/tls/tls.crt")]
    pub tls_cert: PathBuf,

    /// Private key of the certificate in PEM, unencrypted.
    #[arg(long, env = "JOINER_WEBHOOK_TLS_KEY", default_value = "/tls/tls.key")]
    pub tls_key: PathBuf,

    /// How often the certificate files are looked at. A pair that does not match or has expired is not taken.
    #[arg(long, env = "JOINER_WEBHOOK_TLS_RELOAD", default_value = "10s", value_parser = duration)]
    pub tls_reload: Duration,

    /// Largest review. One may carry a whole LIST (5000 objects of 3 KiB are 15 MiB), although kube-apiserver 1.35 asks for
    /// one object at a time.
    #[arg(long, env = "JOINER_WEBHOOK_MAX_BODY", default_value = "64Mi", value_parser = size)]
    pub max_body: usize,

    /// All reviews being read or answered together; more wait for room, and get 503 after --patience. A review takes up to
    /// ten times its size while it is answered, so keep this below a tenth of the memory limit.
    #[arg(long, env = "JOINER_WEBHOOK_MAX_BODIES", default_value = "128Mi", value_parser = size)]
    pub max_bodies: usize,

    /// Reviews answered at the same time; by default one per processor.
    #[arg(long, env = "JOINER_WEBHOOK_MAX_REVIEWS")]
    pub max_reviews: Option<NonZeroUsize>,

    /// How long a client may take to send a review, and how long a review may wait for room.
    #[arg(long, env = "JOINER_WEBHOOK_PATIENCE", default_value = "15s", value_parser = duration)]
    pub patience: Duration,

    /// Open HTTPS connections; one more is closed at once.
    #[arg(long, env = "JOINER_WEBHOOK_MAX_CONNECTIONS", default_value = "512")]
    pub max_connections: NonZeroUsize,

    /// How long a client may take for the TLS handshake, and how long to send its headers (also how long it may idle).
    #[arg(long, env = "JOINER_WEBHOOK_HEADER_TIMEOUT", default_value = "30s", value_parser = duration)]
    pub header_timeout: Duration,

    /// After SIGTERM: how long to go on serving, not ready, so that no new request is sent here.
    #[arg(long, env = "JOINER_WEBHOOK_DRAIN_NOTICE", default_value = "3s", value_parser = duration)]
    pub drain_notice: Duration,

    /// After that: how long requests that have begun may take. Both together must be less than the pod's
    /// terminationGracePeriodSeconds.
    #[arg(long, env = "JOINER_WEBHOOK_DRAIN_GRACE", default_value = "20s", value_parser = duration)]
    pub drain_grace: Duration,

    /// json for machines, pretty for people.
    #[arg(long, env = "LOG_FORMAT", value_enum, default_value = "json")]
    pub log_format: Format,

    /// A level (error, warn, info, debug, trace) or directives like info,webhook=debug.
    #[arg(long, env = "LOG_LEVEL", default_value = "info")]
    pub log_level: String,

    /// Send traces to this OTLP collector (gRPC without TLS, http://host:4317). None are made without it.
    #[arg(long, env = "OTEL_EXPORTER_OTLP_ENDPOINT")]
    pub otlp_endpoint: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Json,
    Pretty,
}

impl Args {
    pub fn telemetry(&self) -> Telemetry {
        Telemetry {
            service: "joiner-webhook",
            format: match self.log_format {
                Format::Json => LogFormat::Json,
                Format::Pretty => LogFormat::Pretty,
            },
            filter: self.log_level.clone(),
            // An empty variable is how a chart says "not set".
            otlp_endpoint: self
                .otlp_endpoint
                .clone()
                .filter(|endpoint| !endpoint.is_empty()),
        }
    }

    pub fn settings(self) -> Settings {
        let defaults = Bounds::default();
        Settings {
            https: self.listen,
            admin: self.admin,
            tls: Files {
                certificate: self.tls_cert,
                key: self.tls_key,
            },
            reload_every: self.tls_reload,
            bounds: Bounds {
                body: self.max_body,
                bodies: self.max_bodies,
                patience: self.patience,
                at_once: self.max_reviews.unwrap_or(defaults.at_once),
            },
            limits: Limits {
                connections: self.max_connections.get(),
                handshake: self.header_timeout,
                headers: self.header_timeout,
                ..Limits::default()
            },
            drain: Drain {
                notice: self.drain_notice,
                grace: self.drain_grace,
            },
        }
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    let bad = |why: String| format!("{why}; write a duration like 500ms, 30s or 2m");
    let parsed: SignedDuration = text
        .parse()
        .map_err(|why: jiff::Error| bad(why.to_string()))?;
    Duration::try_from(parsed).map_err(|_| bad("a duration cannot be negative".to_owned()))
}

fn size(text: &str) -> Result<usize, String> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let shift = match &text[digits.len()..] {
        "" => 0,
        "Ki" | "KiB" => 10,
        "Mi" | "MiB" => 20,
        "Gi" | "GiB" => 30,
        unit => {
            return Err(format!(
                "unknown unit {unit:?}; write a size like 512Ki, 64Mi, 1Gi or plain bytes"
            ));
        }
    };
    let number: usize = digits
        .parse()
        .map_err(|_| format!("{digits:?} is not a whole number; write a size like 64Mi"))?;
    match number.checked_mul(1 << shift) {
        Some(0) => Err("a size of zero would refuse everything; write a size like 64Mi".to_owned()),
        Some(bytes) => Ok(bytes),
        None => Err(format!("{text} is more than this machine can count")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_flags_are_consistent_and_every_one_is_explained() {
        Args::command().debug_assert();
        for arg in Args::command().get_arguments() {
            assert!(
                arg.get_help().is_some(),
                "--{} is not explained",
                arg.get_id()
            );
        }
    }

    #[test]
    fn the_defaults_are_those_of_the_library() {
        let settings = Args::parse_from(["joiner-webhook"]).settings();
        assert_eq!(settings.bounds, Bounds::default());
        assert_eq!(settings.https.port(), 9443);
        assert_eq!(settings.admin.port(), 8081);
    }

    #[test]
    fn sizes_are_read_in_the_units_of_kubernetes() {
        assert_eq!(size("64Mi"), Ok(64 << 20));
        assert_eq!(size("512KiB"), Ok(512 << 10));
        assert_eq!(size("1Gi"), Ok(1 << 30));
        assert_eq!(size("1000"), Ok(1000));
        for bad in ["", "Mi", "64MB", "-1", "1.5Mi", "0", "99999999999Gi"] {
            assert!(size(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn durations_are_read_and_wrong_ones_get_an_example() {
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("2m"), Ok(Duration::from_mins(2)));
        assert_eq!(duration("0s"), Ok(Duration::ZERO));
        for bad in ["", "30", "-5s", "soon"] {
            assert!(duration(bad).unwrap_err().contains("like 500ms"), "{bad:?}");
        }
    }
}
