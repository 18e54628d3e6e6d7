//! How does the process say what it is doing?
//!
//! Log lines for people (`pretty`) or for machines (`json`, with upstream's keys), a filter that can be changed while the
//! process runs, and traces over OTLP when an endpoint is given.

mod json;

use std::io::IsTerminal;
use std::sync::{Arc, Mutex, PoisonError};

use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{SpanExporter, WithExportConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use thiserror::Error;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Registry, reload};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    #[default]
    Json,
    Pretty,
}

/// What a process says about itself, from its flags.
#[derive(Debug, Clone)]
pub struct Telemetry {
    /// Name of the process in logs and traces.
    pub service: &'static str,
    pub format: LogFormat,
    /// A level (`info`) or directives (`info,webhook=debug`).
    pub filter: String,
    /// `http://host:4317`; no traces without it.
    pub otlp_endpoint: Option<String>,
}

#[derive(Debug, Error)]
pub enum BadTelemetry {
    #[error(
        "log filter {filter:?}: {why}; write a level (error, warn, info, debug, trace) or directives like info,webhook=debug"
    )]
    Filter { filter: String, why: String },
    #[error(
        "OTLP endpoint {endpoint:?}: {why}; write http://host:4317 (plain gRPC; put TLS in a collector beside us)"
    )]
    Otlp { endpoint: String, why: String },
    #[error("logging is set up already")]
    Twice,
}

/// Changes what is logged while the process runs.
#[derive(Clone)]
pub struct LogFilter {
    handle: reload::Handle<EnvFilter, Registry>,
    current: Arc<Mutex<String>>,
}

/// Keep it until the end of the process: dropping it sends the last traces.
pub struct Guard {
    traces: Option<SdkTracerProvider>,
}

impl Telemetry {
    /// Sets up logging for the whole process; must be called inside a tokio runtime, once.
    pub fn start(self) -> Result<(LogFilter, Guard), BadTelemetry> {
        let (filter, handle) = reload::Layer::new(parse(&self.filter)?);
        let lines: Box<dyn Layer<_> + Send + Sync> = match self.format {
            LogFormat::Json => json::layer(self.service, std::io::stdout).boxed(),
            LogFormat::Pretty => tracing_subscriber::fmt::layer()
                .with_target(false)
                .with_ansi(std::io::stdout().is_terminal())
                .boxed(),
        };
        let traces = self
            .otlp_endpoint
            .as_deref()
            .map(|endpoint| exporter(self.service, endpoint))
            .transpose()?;
        let spans = traces
            .as_ref()
            .map(|traces| tracing_opentelemetry::layer().with_tracer(traces.tracer(self.service)));
        tracing_subscriber::registry()
            .with(filter)
            .with(lines)
            .with(spans)
            .try_init()
            .map_err(|_| BadTelemetry::Twice)?;
        Ok((
            LogFilter {
                handle,
                current: Arc::new(Mutex::new(self.filter)),
            },
            Guard { traces },
        ))
    }
}

impl LogFilter {
    pub fn current(&self) -> String {
        self.current
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// A filter that cannot be read changes nothing.
    pub fn change(&self, filter: &str) -> Result<(), BadTelemetry> {
        let parsed = parse(filter)?;
        let gone = |why: reload::Error| BadTelemetry::Filter {
            filter: filter.to_owned(),
            why: why.to_string(),
        };
        self.handle.reload(parsed).map_err(gone)?;
        filter.clone_into(&mut self.current.lock().unwrap_or_else(PoisonError::into_inner));
        tracing::info!(filter, "log filter changed");
        Ok(())
    }

    /// A filter that belongs to no process, for tests of what stands around it.
    #[cfg(test)]
    pub(crate) fn detached(filter: &str) -> (Self, reload::Layer<EnvFilter, Registry>) {
        let (layer, handle) = reload::Layer::new(parse(filter).unwrap());
        (
            LogFilter {
                handle,
                current: Arc::new(Mutex::new(filter.to_owned())),
            },
            layer,
        )
    }
}

fn parse(filter: &str) -> Result<EnvFilter, BadTelemetry> {
    // An empty text would silence everything; upstream's empty level means the default.
    let text = if filter.trim().is_empty() {
        "info"
    } else {
        filter
    };
    let bad = |why: String| BadTelemetry::Filter {
        filter: filter.to_owned(),
        why,
    };
    // EnvFilter takes a lone unknown word for the name of a module and then logs nothing: a typo in a level must be heard.
    let lone_word = text.trim().chars().all(char::is_alphanumeric);
    if lone_word
        && text
            .trim()
            .parse::<tracing_subscriber::filter::LevelFilter>()
            .is_err()
    {
        return Err(bad("no such level".to_owned()));
    }
    EnvFilter::builder()
        .parse(text)
        .map_err(|why| bad(why.to_string()))
}

fn exporter(service: &'static str, endpoint: &str) -> Result<SdkTracerProvider, BadTelemetry> {
    let bad = |why: String| BadTelemetry::Otlp {
        endpoint: endpoint.to_owned(),
        why,
    };
    if !endpoint.starts_with("http://") {
        return Err(bad("only plain http:// endpoints can be used".to_owned()));
    }
    let exporter = SpanExporter::builder()
        .with_tonic()
        .with_endpoint(endpoint)
        .build()
        .map_err(|why| bad(why.to_string()))?;
    let resource = Resource::builder().with_service_name(service).build();
    Ok(SdkTracerProvider::builder()
        .with_batch_exporter(exporter)
        .with_resource(resource)
        .build())
}

impl Drop for Guard {
    fn drop(&mut self) {
        const LAST_WORDS: std::time::Duration = std::time::Duration::from_secs(2);
        if let Some(traces) = self.traces.take() {
            // A collector that is gone must not hold up the end of the process.
            let _ = traces.shutdown_with_timeout(LAST_WORDS);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_or_directives_are_understood_and_a_typo_is_refused() {
        for good in [
            "",
            "info",
            "DEBUG",
            "error",
            "off",
            "info,webhook=debug",
            "webhook=trace",
        ] {
            assert!(parse(good).is_ok(), "{good:?}");
        }
        for bad in ["verbose", "inof", "webhook=loud", "a=b=c"] {
            let said = parse(bad).map(|_| ()).unwrap_err().to_string();
            assert!(
                said.contains(&format!("{bad:?}")) && said.contains("directives like"),
                "{said}"
            );
        }
    }

    #[test]
    fn an_endpoint_that_needs_tls_is_refused_with_the_way_out() {
        let said = exporter("test", "https://collector:4317")
            .map(|_| ())
            .unwrap_err()
            .to_string();
        assert!(
            said.contains("https://collector:4317") && said.contains("http://host:4317"),
            "{said}"
        );
    }

    #[test]
    fn a_changed_filter_changes_what_is_logged_and_a_bad_one_does_not() {
        let (logs, layer) = LogFilter::detached("info");
        let subscriber = tracing_subscriber::registry().with(layer);
        tracing::subscriber::with_default(subscriber, || {
            assert!(!tracing::enabled!(tracing::Level::DEBUG));
            logs.change("debug").unwrap();
            assert!(tracing::enabled!(tracing::Level::DEBUG));
            assert!(logs.change("verbose").is_err());
            assert_eq!(logs.current(), "debug");
            assert!(tracing::enabled!(tracing::Level::DEBUG));
        });
    }
}
