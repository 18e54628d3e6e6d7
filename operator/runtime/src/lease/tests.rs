//! Does the holder stop in time, and does the next one start only then?

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::fake::{FakeServer, Link, Trip};
use super::verdict::{epoch, holder, new_lease};
use super::{Candidate, Ended, Leadership, contest};
use crate::clock::{Clock, Moment};
use crate::dice::Dice;

const SECOND: Duration = Duration::from_secs(1);

struct Running {
    leadership: Leadership,
    clock: Clock,
    stop: CancellationToken,
    ended: JoinHandle<Ended>,
}

fn start(name: &str, link: Link) -> Running {
    start_at(name, link, "2026-11-18T00:00:00Z")
}

fn start_at(name: &str, link: Link, wall: &str) -> Running {
    let clock = Clock::starting_at(wall.parse().unwrap());
    let stop = CancellationToken::new();
    let (leadership, run) = contest(
        link,
        Candidate::named(name),
        clock.clone(),
        Dice::seeded(1),
        stop.clone(),
    );
    Running {
        leadership,
        clock,
        stop,
        ended: tokio::spawn(run.run()),
    }
}

/// How it ended; a test whose candidate never ends must end all the same.
async fn end(ended: JoinHandle<Ended>) -> Ended {
    let ended = tokio::time::timeout(60 * SECOND, ended).await;
    ended.expect("it goes on and on").unwrap()
}

/// A link that can be cut: from then on every call meets `trip`.
fn cuttable(server: &FakeServer, trip: Trip) -> (Link, Arc<AtomicBool>) {
    let cut = Arc::new(AtomicBool::new(false));
    let is_cut = cut.clone();
    let good = Trip::Arrives(Duration::from_millis(5), Duration::from_millis(5));
    (
        server.link(move || {
            if is_cut.load(Ordering::Relaxed) {
                trip
            } else {
                good
            }
        }),
        cut,
    )
}

fn quick() -> Duration {
    Duration::from_millis(5)
}

/// The moment at which the lease object on the server was last renewed, on the clock of `running`.
fn renewed_at(server: &FakeServer, running: &Running) -> Moment {
    let Some(MicroTime(time)) = server.lease().unwrap().spec.unwrap().renew_time else {
        panic!("never renewed")
    };
    let ago = running.clock.now().duration_since(time);
    running.clock.moment() - Duration::try_from(ago).unwrap()
}

#[tokio::test(start_paused = true)]
async fn the_first_candidate_creates_the_lease_and_leads() {
    let server = FakeServer::default();
    let mut one = start("one", server.good_link());
    let held = one.leadership.acquired().await.unwrap();
    assert!(one.leadership.may_act());
    let lease = server.lease().unwrap();
    assert_eq!((holder(&lease), epoch(&lease)), ("one", held.epoch));
    assert_eq!(
        lease.metadata.name.as_deref(),
        Some("karpenter-leader-election")
    );
    assert_eq!(lease.spec.unwrap().lease_duration_seconds, Some(15));
}

#[tokio::test(start_paused = true)]
async fn a_healthy_holder_leads_for_hours_under_one_epoch() {
    let server = FakeServer::default();
    let mut one = start("one", server.good_link());
    let first = one.leadership.acquired().await.unwrap();
    for _ in 0..3600 {
        tokio::time::sleep(SECOND).await;
        assert_eq!(one.leadership.held().unwrap().epoch, first.epoch);
    }
}

#[tokio::test(start_paused = true)]
async fn a_holder_that_is_cut_off_stops_before_its_lease_ends() {
    for trip in [Trip::Vanishes, Trip::Refused, Trip::AnswerVanishes(quick())] {
        let server = FakeServer::default();
        let (link, cut) = cuttable(&server, trip);
        let mut one = start("one", link);
        one.leadership.acquired().await.unwrap();
        tokio::time::sleep(7 * SECOND).await;
        cut.store(true, Ordering::Relaxed);
        let ends = renewed_at(&server, &one) + 15 * SECOND;

        let over = one.leadership.over();
        let ended = tokio::time::timeout(15 * SECOND, over.cancelled()).await;
        assert!(ended.is_ok(), "{trip:?}: it never noticed");
        assert!(!one.leadership.may_act(), "{trip:?}");
        assert!(one.clock.moment() < ends, "{trip:?}: stopped too late");
        assert!(matches!(end(one.ended).await, Ended::Lost { .. }));
    }
}

#[tokio::test(start_paused = true)]
async fn may_act_says_no_at_the_deadline_even_when_nobody_drives_the_loop() {
    let server = FakeServer::default();
    let clock = Clock::starting_at(Timestamp::UNIX_EPOCH);
    let (mut leadership, run) = contest(
        server.good_link(),
        Candidate::named("one"),
        clock.clone(),
        Dice::seeded(1),
        CancellationToken::new(),
    );
    let run = run.run();
    tokio::pin!(run);
    let held = tokio::select! {
        _ = &mut run => panic!("ended"),
        held = leadership.acquired() => held.unwrap(),
    };
    // The process freezes: `run` is not polled any more.
    tokio::time::sleep((held.until - Duration::from_millis(1)).since(clock.moment())).await;
    assert!(leadership.may_act());
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert!(!leadership.may_act());
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_comes_after_the_deadline_proves_nothing() {
    // Frozen between the request and its answer for longer than the deadline: the API server said yes, we must say no.
    let server = FakeServer::default();
    let clock = Clock::starting_at(Timestamp::UNIX_EPOCH);
    let stop = CancellationToken::new();
    let (leadership, run) = contest(
        server.good_link(),
        Candidate::named("one"),
        clock,
        Dice::seeded(1),
        stop,
    );
    let run = run.run();
    tokio::pin!(run);
    // Drive it until the lease exists on the server, then stop driving before the answer is read.
    while server.lease().is_none() {
        let _ = tokio::time::timeout(Duration::from_millis(1), &mut run).await;
    }
    tokio::time::sleep(11 * SECOND).await;
    let _ = tokio::time::timeout(Duration::from_millis(1), &mut run).await;
    assert!(!leadership.may_act());
    // It is ours by name, so the next round renews it and then we lead.
    let _ = tokio::time::timeout(5 * SECOND, &mut run).await;
    assert!(leadership.may_act());
}

#[tokio::test(start_paused = true)]
async fn an_api_server_slower_than_the_deadline_is_not_led_by() {
    let server = FakeServer::default();
    let one = start("one", server.link(|| Trip::Arrives(6 * SECOND, 6 * SECOND)));
    for _ in 0..600 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(!one.leadership.may_act());
    }
}

#[tokio::test(start_paused = true)]
async fn a_renewal_that_meets_another_holder_ends_the_leadership_at_once() {
    let server = FakeServer::default();
    let mut one = start("one", server.good_link());
    one.leadership.acquired().await.unwrap();
    let until = one.leadership.held().unwrap().until;
    server.put(Some(new_lease(
        &Candidate::named("thief"),
        super::NAME,
        one.clock.now(),
    )));
    let Ended::Lost { why } = end(one.ended).await else {
        panic!("still leads")
    };
    assert!(why.contains("\"thief\" has taken the lease"), "{why}");
    assert!(
        one.clock.moment() < until,
        "it waited for the deadline although it knew"
    );
    assert!(!one.leadership.may_act());
}

#[tokio::test(start_paused = true)]
async fn a_renewal_that_finds_the_lease_deleted_ends_the_leadership() {
    let server = FakeServer::default();
    let mut one = start("one", server.good_link());
    one.leadership.acquired().await.unwrap();
    server.put(None);
    assert_eq!(
        end(one.ended).await,
        Ended::Lost {
            why: "the lease was deleted".into()
        }
    );
}

#[tokio::test(start_paused = true)]
async fn a_conflict_with_our_own_lost_answer_is_no_loss() {
    // Every fourth answer vanishes: the write happened, so the next one conflicts with it.
    let server = FakeServer::default();
    let mut calls = 0;
    let link = server.link(move || {
        calls += 1;
        if calls % 4 == 0 {
            Trip::AnswerVanishes(quick())
        } else {
            Trip::Arrives(quick(), quick())
        }
    });
    let mut one = start("one", link);
    let first = one.leadership.acquired().await.unwrap();
    for _ in 0..600 {
        tokio::time::sleep(SECOND).await;
        assert_eq!(
            one.leadership.held().map(|held| held.epoch),
            Some(first.epoch)
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_released_lease_is_taken_at_the_next_look_under_a_higher_epoch() {
    let server = FakeServer::default();
    let mut one = start("one", server.good_link());
    let first = one.leadership.acquired().await.unwrap();
    let mut two = start("two", server.good_link());
    tokio::time::sleep(5 * SECOND).await;
    assert!(!two.leadership.may_act());

    one.stop.cancel();
    assert_eq!(end(one.ended).await, Ended::Released(true));
    assert!(!one.leadership.may_act());
    let asked = two.clock.moment();
    let second = two.leadership.acquired().await.unwrap();
    assert_eq!(second.epoch, first.epoch + 1);
    assert!(
        two.clock.moment().since(asked) < 3 * SECOND,
        "it waited although the lease was free"
    );
}

#[tokio::test(start_paused = true)]
async fn a_candidate_that_is_stopped_before_it_led_just_ends() {
    let server = FakeServer::default();
    let mut one = start("one", server.good_link());
    one.leadership.acquired().await.unwrap();
    let mut two = start("two", server.good_link());
    tokio::time::sleep(5 * SECOND).await;
    two.stop.cancel();
    assert_eq!(two.leadership.acquired().await, None);
    assert_eq!(end(two.ended).await, Ended::Stopped);
    assert!(one.leadership.may_act());
}

#[tokio::test(start_paused = true)]
async fn the_lease_of_a_dead_holder_is_taken_after_its_duration_as_we_saw_it_whatever_the_clocks_say()
 {
    for wall in [
        "2026-11-17T22:00:00Z",
        "2026-11-18T00:00:00Z",
        "2026-11-18T02:00:00Z",
    ] {
        let server = FakeServer::default();
        let mut dead = start("dead", server.good_link());
        dead.leadership.acquired().await.unwrap();
        dead.ended.abort();
        let mut two = start_at("two", server.good_link(), wall);
        two.leadership.acquired().await.unwrap();
        let waited = two.clock.moment();
        assert!(
            waited >= Moment::ZERO + 15 * SECOND,
            "{wall}: took a live lease after {waited:?}"
        );
        assert!(
            waited < Moment::ZERO + 19 * SECOND,
            "{wall}: took {waited:?}"
        );
    }
}
