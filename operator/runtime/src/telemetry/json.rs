//! How does one event look as a line of JSON?
//!
//! Upstream's keys, because people have dashboards on them: `level`, `time`, `logger`, `message`, then the fields of the
//! spans around the event, then its own (an inner one wins).

use std::fmt;

use jiff::Timestamp;
use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::{JsonFields, Writer};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, FormattedFields, MakeWriter};
use tracing_subscriber::layer::Layer;
use tracing_subscriber::registry::LookupSpan;

pub(super) fn layer<S, W>(service: &'static str, to: W) -> impl Layer<S>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    tracing_subscriber::fmt::layer()
        .fmt_fields(JsonFields::new())
        .event_format(Line { service })
        .with_writer(to)
}

struct Line {
    service: &'static str,
}

impl<S, N> FormatEvent<S, N> for Line
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut to: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut line = Map::new();
        line.insert("level".into(), level(*event.metadata().level()).into());
        line.insert("time".into(), format!("{:.3}", Timestamp::now()).into());
        line.insert("logger".into(), self.service.into());
        if *event.metadata().level() >= Level::DEBUG {
            line.insert("caller".into(), event.metadata().target().into());
        }
        for span in context
            .event_scope()
            .into_iter()
            .flat_map(tracing_subscriber::registry::Scope::from_root)
        {
            let extensions = span.extensions();
            let fields = extensions
                .get::<FormattedFields<N>>()
                .map_or("", |fields| fields.fields.as_str());
            line.extend(serde_json::from_str::<Map<_, _>>(fields).unwrap_or_default());
        }
        event.record(&mut Fields(&mut line));
        writeln!(to, "{}", Value::Object(line))
    }
}

/// Upstream knows no TRACE and writes WARN as itself.
fn level(level: Level) -> &'static str {
    match level {
        Level::ERROR => "ERROR",
        Level::WARN => "WARN",
        Level::INFO => "INFO",
        _ => "DEBUG",
    }
}

struct Fields<'a>(&'a mut Map<String, Value>);

impl Fields<'_> {
    fn put(&mut self, field: &Field, value: impl Into<Value>) {
        self.0.insert(field.name().to_owned(), value.into());
    }
}

impl Visit for Fields<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, value);
    }
    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, value);
    }
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, value);
    }
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, value);
    }
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, value);
    }
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field, format!("{value:?}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;
    use std::sync::{Arc, Mutex};
    use tracing_subscriber::layer::SubscriberExt;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_line_has_upstreams_keys_and_the_fields_of_its_spans() {
        let lines = Lines::default();
        let to = lines.clone();
        let subscriber =
            tracing_subscriber::registry().with(layer("controller", move || to.clone()));
        tracing::subscriber::with_default(subscriber, || {
            let _span = tracing::info_span!("pass", controller = "claim", attempt = 1).entered();
            tracing::info!(attempt = 2, node = %"n\"1", "launched nodeclaim");
        });
        let written = lines.0.lock().unwrap().clone();
        let line: Value = serde_json::from_slice(&written).unwrap();
        assert_eq!(line["message"], "launched nodeclaim");
        assert_eq!(line["level"], "INFO");
        assert_eq!(line["logger"], "controller");
        assert_eq!(line["controller"], "claim");
        assert_eq!(line["attempt"], 2);
        assert_eq!(line["node"], "n\"1");
        assert!(line["time"].as_str().unwrap().parse::<Timestamp>().is_ok());
        assert_eq!(line.get("caller"), None);
        assert!(written.ends_with(b"}\n"));
    }
}
