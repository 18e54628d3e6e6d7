//! How is the lease won, kept and given back?
//!
//! The loop around `verdict`. Every call to the API has a time limit, and while we hold the lease none of them may last
//! beyond our own deadline.

use std::future::Future;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::api::{LeaseApi, LeaseTrouble};
use super::candidate::Candidate;
use super::verdict::{Verdict, epoch, holder, new_lease, released, renewed, taken, verdict};
use super::{Ended, Held};
use crate::clock::{Clock, Moment};
use crate::dice::Dice;

pub(super) struct Contest<A> {
    pub(super) api: A,
    pub(super) me: Candidate,
    pub(super) clock: Clock,
    pub(super) dice: Dice,
    pub(super) publish: watch::Sender<Option<Held>>,
    pub(super) over: CancellationToken,
}

/// A lease as the API server last confirmed it to be ours, and how long that lets us act.
struct Mine {
    lease: Lease,
    until: Moment,
}

/// Which version of the lease we saw last, and since when it has not changed.
struct Seen {
    version: Option<String>,
    since: Moment,
}

impl<A: LeaseApi> Contest<A> {
    pub(super) async fn run(mut self, stop: CancellationToken) -> Ended {
        let won = tokio::select! {
            biased;
            () = stop.cancelled() => None,
            mine = self.win() => Some(mine),
        };
        let ended = match won {
            Some(mine) => self.keep(mine, &stop).await,
            None => Ended::Stopped,
        };
        self.step_down();
        ended
    }

    /// From here on nothing may act in our name.
    fn step_down(&self) {
        self.publish.send_replace(None);
        self.over.cancel();
    }

    async fn win(&mut self) -> Mine {
        let mut seen = None;
        loop {
            match self.look_and_take(&mut seen).await {
                Ok(Some(mine)) if self.clock.moment() < mine.until => return mine,
                // The answer came so late that it proves nothing any more. The lease names us, so the next round renews it.
                Ok(Some(_)) => tracing::warn!(
                    lease = self.api.name(),
                    "won the lease, but learned it too late; trying again"
                ),
                Ok(None) | Err(LeaseTrouble::Conflict) => {}
                Err(trouble) => {
                    tracing::warn!(lease = self.api.name(), %trouble, "cannot look at the lease; trying again");
                }
            }
            let pause = self.me.timings.pause(&mut self.dice);
            tokio::time::sleep(pause).await;
        }
    }

    async fn look_and_take(&self, seen: &mut Option<Seen>) -> Result<Option<Mine>, LeaseTrouble> {
        let limit = self.me.timings.call_timeout();
        let lease = within(limit, self.api.get()).await?;
        let now = self.clock.moment();
        let version = lease
            .as_ref()
            .and_then(|lease| lease.metadata.resource_version.clone());
        let since = match seen {
            Some(seen) if seen.version == version => seen.since,
            _ => now,
        };
        *seen = Some(Seen { version, since });
        let judged = verdict(lease.as_ref(), since, now, &self.me);
        let today = self.clock.now();
        let sent = self.clock.moment();
        let answer = match (judged, lease) {
            (Verdict::Taken { by, until }, _) => {
                tracing::debug!(lease = self.api.name(), holder = by, patience = ?until.since(now), "somebody else leads");
                return Ok(None);
            }
            (Verdict::Free { epoch }, Some(lease)) => {
                within(
                    limit,
                    self.api.replace(&taken(lease, &self.me, epoch, today)),
                )
                .await?
            }
            (Verdict::Mine { .. }, Some(lease)) => {
                within(limit, self.api.replace(&renewed(lease, &self.me, today))).await?
            }
            (Verdict::Absent | Verdict::Free { .. } | Verdict::Mine { .. }, _) => {
                within(
                    limit,
                    self.api
                        .create(&new_lease(&self.me, self.api.name(), today)),
                )
                .await?
            }
        };
        Ok(Some(self.confirmed(answer, sent)))
    }

    /// `sent` is the moment before the call that the API server has now answered with `lease`.
    fn confirmed(&self, lease: Lease, sent: Moment) -> Mine {
        Mine {
            lease,
            until: sent + self.me.timings.renew_deadline(),
        }
    }

    async fn keep(&mut self, mut mine: Mine, stop: &CancellationToken) -> Ended {
        tracing::info!(
            lease = self.api.name(),
            identity = self.me.identity,
            epoch = epoch(&mine.lease),
            "we lead"
        );
        loop {
            self.publish.send_replace(Some(Held {
                epoch: epoch(&mine.lease),
                until: mine.until,
            }));
            let deadline = mine.until;
            let next = tokio::select! {
                biased;
                () = stop.cancelled() => None,
                () = self.clock.sleep_until(deadline) => Some(Err("no renewal succeeded before our deadline".to_owned())),
                renewal = self.renew(&mine) => Some(renewal),
            };
            match next {
                None => return self.give_back(mine).await,
                Some(Ok(renewal)) if self.clock.moment() < renewal.until => mine = renewal,
                Some(Ok(_)) => {
                    return self.lost("the renewal was answered after our deadline".to_owned());
                }
                Some(Err(why)) => return self.lost(why),
            }
        }
    }

    fn lost(&self, why: String) -> Ended {
        self.step_down();
        tracing::error!(
            lease = self.api.name(),
            identity = self.me.identity,
            why,
            "we no longer lead"
        );
        Ended::Lost { why }
    }

    /// Pauses, then tries until one renewal succeeds or the lease is provably not ours. Bounded by the caller's deadline.
    async fn renew(&self, mine: &Mine) -> Result<Mine, String> {
        let mut lease = mine.lease.clone();
        let mut next = self.clock.moment() + self.me.timings.retry_period();
        loop {
            self.clock.sleep_until(next).await;
            let sent = self.clock.moment();
            // From the start of this try: one that ran into its time limit has waited long enough.
            next = sent + self.me.timings.retry_period();
            let fresh = renewed(lease.clone(), &self.me, self.clock.now());
            match within(self.me.timings.call_timeout(), self.api.replace(&fresh)).await {
                Ok(answer) => return Ok(self.confirmed(answer, sent)),
                Err(LeaseTrouble::Gone) => return Err("the lease was deleted".to_owned()),
                Err(LeaseTrouble::Conflict) => {
                    if let Some(current) = self.still_ours(&lease).await? {
                        (lease, next) = (current, sent);
                    }
                }
                Err(trouble) => {
                    tracing::warn!(lease = self.api.name(), %trouble, "renewal failed; trying again");
                }
            }
        }
    }

    /// After a conflict: was it an earlier renewal of our own whose answer got lost, or somebody else?
    async fn still_ours(&self, before: &Lease) -> Result<Option<Lease>, String> {
        match within(self.me.timings.call_timeout(), self.api.get()).await {
            Ok(Some(current))
                if holder(&current) == self.me.identity && epoch(&current) == epoch(before) =>
            {
                Ok(Some(current))
            }
            Ok(Some(current)) => Err(format!("{:?} has taken the lease", holder(&current))),
            Ok(None) => Err("the lease was deleted".to_owned()),
            Err(_) => Ok(None),
        }
    }

    async fn give_back(&self, mine: Mine) -> Ended {
        self.step_down();
        let limit = self.me.timings.call_timeout();
        let mut taken_back = within(
            limit,
            self.api
                .replace(&released(mine.lease.clone(), self.clock.now())),
        )
        .await;
        if taken_back == Err(LeaseTrouble::Conflict) {
            // A renewal was under way when we were told to stop, and it arrived.
            if let Ok(Some(current)) = self.still_ours(&mine.lease).await {
                taken_back = within(
                    limit,
                    self.api.replace(&released(current, self.clock.now())),
                )
                .await;
            }
        }
        match &taken_back {
            Ok(_) => tracing::info!(lease = self.api.name(), "lease given back"),
            Err(trouble) => {
                tracing::warn!(lease = self.api.name(), %trouble, "lease not given back; it ends by itself");
            }
        }
        Ended::Released(taken_back.is_ok())
    }
}

async fn within<T>(
    limit: Duration,
    call: impl Future<Output = Result<T, LeaseTrouble>>,
) -> Result<T, LeaseTrouble> {
    match tokio::time::timeout(limit, call).await {
        Ok(answer) => answer,
        Err(_) => Err(LeaseTrouble::Unknown(format!("no answer within {limit:?}"))),
    }
}
