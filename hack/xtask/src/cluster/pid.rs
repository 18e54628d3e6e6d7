//! Is this process still the one we started?
//!
//! A pid alone does not say: the kernel gives it to somebody else later. Pid, start time and boot together do.

use std::process::Command;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pid {
    pub pid: u32,
    /// Clock ticks since boot, as /proc/<pid>/stat tells.
    pub started: u64,
    pub boot: String,
}

impl Pid {
    /// The process that has this pid now.
    pub fn of(pid: u32) -> Option<Self> {
        Some(Self {
            pid,
            started: start_time(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)?,
            boot: boot(),
        })
    }

    /// Is that very process alive? (Not another one with the same number, not a zombie.)
    pub fn is_alive(&self) -> bool {
        Self::of(self.pid).as_ref() == Some(self)
    }

    /// Sends a signal (`TERM`, `KILL`) to that very process, or does nothing.
    pub fn signal(&self, signal: &str) {
        if self.is_alive() {
            // A shell builtin: there is no signal in std, and unsafe code is forbidden here.
            let _ = Command::new("sh")
                .args(["-c", &format!("kill -{signal} {}", self.pid)])
                .status();
        }
    }

    /// Waits until it is gone; false when it still lives after `within`.
    pub fn is_gone_within(&self, within: Duration) -> bool {
        let deadline = Instant::now() + within;
        while self.is_alive() {
            if Instant::now() >= deadline {
                return false;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        true
    }
}

/// Field 22; the second field is the program's name in parentheses and may contain anything.
fn start_time(stat: &str) -> Option<u64> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    if fields.next()? == "Z" {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

fn boot() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .unwrap_or_default()
        .trim()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_time_is_read_behind_a_name_with_spaces_and_parentheses() {
        let stat = "42 (a) (b c) S 1 42 42 0 -1 4194560 9 0 0 0 1 2 3 4 20 0 1 0 777 1 2";
        assert_eq!(start_time(stat), Some(777));
        assert_eq!(
            start_time(&stat.replace(" S ", " Z ")),
            None,
            "a zombie is not alive"
        );
    }

    #[test]
    fn a_recycled_pid_is_not_the_process_we_started() {
        let own = Pid::of(std::process::id()).unwrap();
        assert!(own.is_alive());
        assert!(
            !Pid {
                started: own.started + 1,
                ..own.clone()
            }
            .is_alive()
        );
        assert!(
            !Pid {
                boot: "another boot".into(),
                ..own
            }
            .is_alive()
        );
    }
}
