//! What happens to the whole operator, in one process and on virtual time, when everything around it goes wrong?
//!
//! [`world`] cluster, cloud and operator · [`tap`] every outbound call passes here: counted, traced, broken, or died at ·
//! [`ways`] the two ways out · [`phase`] what a call is part of · [`judge`] what must never happen · [`crash`] death at each
//! call · [`storm`], [`workload`], [`seeds`] chance, from a seed · [`planted`] bugs that must be found.

pub mod crash;
pub mod judge;
pub mod phase;
pub mod planted;
pub mod rounds;
pub mod seeds;
pub mod storm;
pub mod tap;
pub mod trace;
pub mod ways;
pub mod workload;
pub mod world;

use std::future::Future;

/// Runs a story on virtual time: the clock jumps to the next moment at which something happens.
pub fn on_virtual_time<T>(story: impl Future<Output = T>) -> std::io::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()?;
    let outcome = runtime.block_on(story);
    Ok(outcome)
}
