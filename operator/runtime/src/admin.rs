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
