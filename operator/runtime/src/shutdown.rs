//! Who asked us to stop, and how is it passed on?
//!
//! The first SIGTERM or SIGINT cancels the token: parts stop taking work, finish what they have and end. The second means
//! that somebody is tired of waiting: the process ends at once.

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Exit code after a second signal: 128 + SIGINT, what a shell shows for an interrupted program.
const IMPATIENT: i32 = 130;

/// Installs the signal handlers; must be called inside a tokio runtime.
pub fn on_signal() -> std::io::Result<CancellationToken> {
    let stop = CancellationToken::new();
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let told = stop.clone();
    tokio::spawn(async move {
        let which = either(&mut terminate, &mut interrupt).await;
        tracing::info!(
            signal = which,
            "stopping; a second signal ends the process at once"
        );
        told.cancel();
        let which = either(&mut terminate, &mut interrupt).await;
        tracing::warn!(signal = which, "second signal: ending without waiting");
        std::process::exit(IMPATIENT);
    });
    Ok(stop)
}

async fn either(terminate: &mut Signal, interrupt: &mut Signal) -> &'static str {
    tokio::select! {
        biased;
        _ = terminate.recv() => "SIGTERM",
        _ = interrupt.recv() => "SIGINT",
    }
}
