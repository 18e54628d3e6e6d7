//! What is a long step doing, and for how long?
//!
//! On a terminal one line is rewritten in place; elsewhere (CI, a pipe) a line every ten seconds proves that the step
//! still lives. Everything goes to stderr: stdout belongs to results.

use std::io::{IsTerminal, Write, stderr};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const HEARTBEAT: Duration = Duration::from_secs(10);
const REDRAW: Duration = Duration::from_millis(200);

/// One long step. Say what is going on with [`Step::now`], end it with [`Step::done`]; dropping it says "stopped".
pub struct Step {
    what: String,
    detail: Arc<Mutex<String>>,
    started: Instant,
    ticker: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Step {
    pub fn start(what: impl Into<String>) -> Self {
        let (what, detail, started) = (
            what.into(),
            Arc::new(Mutex::new(String::new())),
            Instant::now(),
        );
        let (stop, stopped) = channel();
        let (shown, seen, live) = (what.clone(), Arc::clone(&detail), stderr().is_terminal());
        let ticker = std::thread::spawn(move || {
            let every = if live { REDRAW } else { HEARTBEAT };
            while stopped.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                let detail = seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
                show(&line(&shown, &detail, started.elapsed()), live);
            }
        });
        Self {
            what,
            detail,
            started,
            ticker: Some((stop, ticker)),
        }
    }

    /// What the step is busy with at this moment.
    pub fn now(&self, detail: impl Into<String>) {
        *self.detail.lock().unwrap_or_else(PoisonError::into_inner) = detail.into();
    }

    /// The step succeeded; says so and returns how long it took.
    pub fn done(mut self) -> Duration {
        self.end("done");
        self.started.elapsed()
    }

    fn end(&mut self, how: &str) {
        let Some((stop, ticker)) = self.ticker.take() else {
            return;
        };
        drop(stop);
        let _ = ticker.join();
        if stderr().is_terminal() {
            show("", true);
        }
        show(
            &format!(
                "{}: {how} after {}",
                self.what,
                seconds(self.started.elapsed())
            ),
            false,
        );
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        self.end("stopped");
    }
}

/// `12.3 s`, or `4 min 05 s` where tenths no longer matter.
pub fn seconds(time: Duration) -> String {
    match time.as_secs() {
        0..60 => format!("{:.1} s", time.as_secs_f64()),
        whole => format!("{} min {:02} s", whole / 60, whole % 60),
    }
}

fn line(what: &str, detail: &str, elapsed: Duration) -> String {
    let time = seconds(elapsed);
    if detail.is_empty() {
        format!("{what}: {time}")
    } else {
        format!("{what}: {time}, {detail}")
    }
}

/// Written straight to stderr, so that the test runner's capture does not hide a ten-minute build.
fn show(text: &str, live: bool) {
    let mut out = stderr().lock();
    let _ = if live {
        write!(out, "\r\x1b[2K{}", clipped(text))
    } else {
        writeln!(out, "{text}")
    };
    let _ = out.flush();
}

fn clipped(text: &str) -> String {
    text.chars().take(110).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_shows_what_it_does_and_for_how_long() {
        assert_eq!(
            line(
                "building etcd",
                "412 packages",
                Duration::from_millis(12_340)
            ),
            "building etcd: 12.3 s, 412 packages"
        );
        assert_eq!(
            line("building etcd", "", Duration::from_secs(245)),
            "building etcd: 4 min 05 s"
        );
    }
}
