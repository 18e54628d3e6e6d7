//! What do probes, scrapers and operators on duty ask a running process?
//!
//! `/healthz` (alive), `/readyz` (which gate is closed and why), `/metrics`, and `PUT /log-level?filter=…`. The last changes
//! something, so only the process's own host may ask for it: `kubectl port-forward` arrives from there, behind its RBAC.

use std::net::SocketAddr;

use axum::extract::{ConnectInfo, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, put};
use axum::{Json, Router};
use serde::Deserialize;

use crate::metrics::Metrics;
use crate::readiness::Readiness;
use crate::telemetry::LogFilter;

#[derive(Clone)]
pub struct Admin {
    pub readiness: Readiness,
    pub metrics: Metrics,
    /// Absent where logs cannot be changed (tests, embedded runs): the route then says so.
    pub logs: Option<LogFilter>,
}

impl Admin {
    pub fn router(self) -> Router {
        Router::new()
            .route("/healthz", get(|| async { "ok\n" }))
            .route("/readyz", get(readyz))
            .route("/metrics", get(metrics))
            .route("/log-level", put(set_log_level).get(log_level))
            .with_state(self)
    }
}

async fn readyz(State(admin): State<Admin>) -> Response {
    let report = admin.readiness.report();
    let status = if report.ready {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    (status, Json(report)).into_response()
}

async fn metrics(State(admin): State<Admin>) -> Response {
    const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, OPEN_METRICS)], admin.metrics.text()).into_response()
}

async fn log_level(State(admin): State<Admin>) -> Response {
    match admin.logs {
        Some(logs) => format!("{}\n", logs.current()).into_response(),
        None => NO_LOGS.into_response(),
    }
}

const NO_LOGS: (StatusCode, &str) = (
    StatusCode::NOT_FOUND,
    "this process has no log filter to change\n",
);

#[derive(Deserialize)]
struct NewLevel {
    filter: String,
}

async fn set_log_level(
    State(admin): State<Admin>,
    ConnectInfo(from): ConnectInfo<SocketAddr>,
    Query(new): Query<NewLevel>,
) -> Response {
    if !from.ip().to_canonical().is_loopback() {
        let refusal =
            "the log level can be changed from this host only; use kubectl port-forward\n";
        return (StatusCode::FORBIDDEN, refusal).into_response();
    }
    let Some(logs) = admin.logs else {
        return NO_LOGS.into_response();
    };
    match logs.change(&new.filter) {
        Ok(()) => format!("{}\n", logs.current()).into_response(),
        Err(why) => (StatusCode::BAD_REQUEST, format!("{why}\n")).into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admin() -> (Admin, impl Sized) {
        let (logs, layer) = LogFilter::detached("info");
        let admin = Admin {
            readiness: Readiness::default(),
            metrics: Metrics::default(),
            logs: Some(logs),
        };
        (admin, layer)
    }

    async fn change(admin: &Admin, from: &str, filter: &str) -> StatusCode {
        let from = ConnectInfo(SocketAddr::new(from.parse().unwrap(), 40000));
        let new = Query(NewLevel {
            filter: filter.to_owned(),
        });
        set_log_level(State(admin.clone()), from, new)
            .await
            .status()
    }

    #[tokio::test]
    async fn only_the_own_host_may_change_the_log_level() {
        let (admin, _layer) = admin();
        for stranger in ["10.0.0.7", "fd00::1", "::ffff:10.0.0.7"] {
            assert_eq!(
                change(&admin, stranger, "debug").await,
                StatusCode::FORBIDDEN,
                "{stranger}"
            );
        }
        assert_eq!(admin.logs.as_ref().unwrap().current(), "info");
        for (own, filter) in [
            ("127.0.0.1", "debug"),
            ("::1", "warn"),
            ("::ffff:127.0.0.1", "error"),
        ] {
            assert_eq!(change(&admin, own, filter).await, StatusCode::OK, "{own}");
            assert_eq!(admin.logs.as_ref().unwrap().current(), filter);
        }
    }

    #[tokio::test]
    async fn readyz_fails_while_a_gate_is_closed() {
        let (admin, _layer) = admin();
        let gate = admin.readiness.gate("mirror", "no list yet");
        assert_eq!(
            readyz(State(admin.clone())).await.status(),
            StatusCode::SERVICE_UNAVAILABLE
        );
        gate.open();
        assert_eq!(readyz(State(admin)).await.status(), StatusCode::OK);
    }
}
