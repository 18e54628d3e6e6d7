//! Who keeps the lease while a long plan is made?
//!
//! All of the operator is one future. A plan that takes seconds would hold up everything else in it, the renewal of the
//! lease included, so plans are made on a thread of their own. On virtual time there is one thread only: there a plan is made
//! in place, and the order of everything replays.

use planner::{Budget, Schedule, Snapshot, WhatIf, solve};
use tokio::runtime::{Handle, RuntimeFlavor};

/// The plan for a snapshot, and the snapshot back.
pub(crate) async fn plan(frozen: Snapshot, limits: Budget) -> (Snapshot, Schedule) {
    aside(move || {
        let schedule = solve(&WhatIf::nothing_changes(&frozen), limits);
        (frozen, schedule)
    })
    .await
}

/// Whoever drops this future leaves the thought to end alone: it touches nothing.
async fn aside<T: Send + 'static>(thought: impl FnOnce() -> T + Send + 'static) -> T {
    if Handle::current().runtime_flavor() == RuntimeFlavor::CurrentThread {
        return thought();
    }
    match tokio::task::spawn_blocking(thought).await {
        Ok(thought) => thought,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime is going down, and we with it.
            Err(_) => std::future::pending().await,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::thread;

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn the_rest_of_the_future_goes_on_meanwhile() {
        let (said, heard) = mpsc::channel();
        let thought = aside(move || heard.recv().unwrap());
        let rest = async { said.send("renewed").unwrap() };
        let (thought, ()) = tokio::join!(thought, rest);
        assert_eq!(thought, "renewed");
    }

    #[tokio::test]
    async fn where_there_is_one_thread_the_order_stays() {
        let here = thread::current().id();
        assert_eq!(aside(|| thread::current().id()).await, here);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    #[should_panic(expected = "a bug in a plan")]
    async fn a_panic_comes_through() {
        aside(|| panic!("a bug in a plan")).await;
    }
}
