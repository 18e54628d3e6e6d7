//! What does the process consist of, and in which order does it start and stop?
//!
//! Start: everything that can be wrong (certificate, busy ports) is found before the first connection. Stop: say "not
//! ready" and keep serving while Endpoints forget us, then take no new connections and finish what has begun, the admin
//! server last, so that probes and scrapers see how it ended.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use runtime::admin::Admin;
use runtime::clock::Clock;
use runtime::metrics::Metrics;
use runtime::readiness::Readiness;
use runtime::serve::{CannotListen, ConnectionMetrics, Limited, Limits, Listener, Until};
use runtime::telemetry::LogFilter;
use runtime::tls::{BadPair, Files, Rotation, TlsMetrics};
use thiserror::Error;
use tokio_util::sync::CancellationToken;

use crate::answer::Reviewers;
use crate::counts::Counts;
use crate::room::{Bounds, Room};
use crate::routes::{App, router};

#[derive(Debug, Clone)]
pub struct Settings {
    pub https: SocketAddr,
    pub admin: SocketAddr,
    pub tls: Files,
    /// How often the certificate files are looked at.
    pub reload_every: Duration,
    pub bounds: Bounds,
    pub limits: Limits,
    pub drain: Drain,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drain {
    /// How long we go on serving after we were told to stop, so that nobody is sent here any more.
    pub notice: Duration,
    /// How long requests that have begun may take to finish.
    pub grace: Duration,
}

#[derive(Debug, Error)]
pub enum CannotStart {
    #[error(transparent)]
    Certificate(#[from] BadPair),
    #[error(transparent)]
    Listen(#[from] CannotListen),
}

/// Bound and ready to run.
pub struct Webhook {
    settings: Settings,
    https: Listener,
    admin: Listener,
    rotation: Rotation,
    app: App,
    metrics: Metrics,
    readiness: Readiness,
    logs: Option<LogFilter>,
}

impl Webhook {
    pub fn prepare(
        settings: Settings,
        reviewers: Reviewers,
        clock: Clock,
        logs: Option<LogFilter>,
    ) -> Result<Self, CannotStart> {
        let metrics = Metrics::default();
        let rotation =
            Rotation::start(settings.tls.clone(), clock, TlsMetrics::register(&metrics))?;
        let https = Listener::bind("HTTPS (--listen)", settings.https)?;
        let admin = Listener::bind("the admin server (--admin)", settings.admin)?;
        let app = App {
            reviewers,
            room: Room::new(settings.bounds),
            counts: Counts::register(&metrics),
        };
        Ok(Webhook {
            settings,
            https,
            admin,
            rotation,
            app,
            metrics,
            readiness: Readiness::default(),
            logs,
        })
    }

    pub fn https_address(&self) -> SocketAddr {
        self.https.address()
    }

    pub fn admin_address(&self) -> SocketAddr {
        self.admin.address()
    }

    /// Serves until `stop`, then drains.
    pub async fn run(self, stop: CancellationToken) -> io::Result<()> {
        let serving = self.readiness.gate("serving", "starting");
        let (https_until, admin_until, rotation_stop) =
            (self.until(), self.until(), CancellationToken::new());
        let (stop_https, stop_admin) = (https_until.stop.clone(), admin_until.stop.clone());
        let limited = Limited::new(
            self.settings.limits,
            ConnectionMetrics::register(&self.metrics),
        );
        // Probes and scrapers must get in when the webhook is full, so they are not counted with it.
        let unlimited = Limited::new(Limits::default(), ConnectionMetrics::default());

        tracing::info!(
            https = %self.https.address(),
            admin = %self.admin.address(),
            certificate_until = %self.rotation.validity().not_after,
            "listening"
        );
        let tls = self.rotation.config();
        tokio::spawn(
            self.rotation
                .run(self.settings.reload_every, rotation_stop.clone()),
        );
        let _ends_rotation = rotation_stop.drop_guard();
        let pages = Admin {
            readiness: self.readiness,
            metrics: self.metrics,
            logs: self.logs,
        }
        .router();
        let admin = self.admin.serve(pages, &unlimited, admin_until);
        let https = self
            .https
            .serve_tls(router(self.app), tls, &limited, https_until);
        serving.open();

        let drain = async {
            stop.cancelled().await;
            serving.close("stopping");
            tracing::info!(notice = ?self.settings.drain.notice, grace = ?self.settings.drain.grace, "draining");
            tokio::time::sleep(self.settings.drain.notice).await;
            stop_https.cancel();
        };
        let https = async {
            let served = https.await;
            stop_admin.cancel();
            served
        };
        tokio::pin!(drain);
        let ((), served, administered) = tokio::join!(
            async {
                // When HTTPS ends by itself there is nothing to drain.
                tokio::select! { biased; () = stop_admin.cancelled() => {}, () = &mut drain => {} }
            },
            https,
            admin
        );
        tracing::info!("stopped");
        served.and(administered)
    }

    fn until(&self) -> Until {
        Until {
            stop: CancellationToken::new(),
            grace: self.settings.drain.grace,
        }
    }
}
