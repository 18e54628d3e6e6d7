//! Is every answer true, whatever happens to whichever call behind it?
//!
//! For each call an operation makes, each fault, before and after its effect, once and lasting: a world of its own.

use std::time::Duration;

use cloud::{CloudError, Footprint, Provider, may_forget};
use emulators::openstack::Settings;

use crate::matrix::{Spoil, Table};
use crate::stage::{CLUSTER, Stage, end, meaning, ours};

/// A world with two running instances of other claims; with `own`, one of the claim itself.
async fn furnished(own: bool) -> (Stage, Option<Footprint>) {
    let stage = Stage::new(Settings::default()).await;
    // Small pages, so that lists of servers have several.
    stage
        .cloud
        .engine
        .with(|cloud| cloud.settings.page_limit = 1);
    for claim in ["a1", "a2"] {
        let who = e2e::openstack::identity(CLUSTER, claim);
        stage.launched(&who).await;
    }
    let footprint = if own {
        Some(Footprint::of(&stage.launched(&ours()).await))
    } else {
        None
    };
    tokio::time::sleep(Duration::from_secs(10)).await;
    (stage, footprint)
}

/// The calls that `operation` makes when nothing goes wrong.
async fn calls_of(own: bool, operation: impl AsyncFn(&Stage)) -> Vec<(String, String)> {
    let (stage, _) = furnished(own).await;
    let before = stage.calls().len();
    operation(&stage).await;
    stage.calls().split_off(before)
}

#[tokio::test(start_paused = true)]
async fn a_launch_never_makes_two_and_never_denies_the_one_it_made() {
    let mut table = Table::default();
    let plain = async |stage: &Stage| drop(stage.launched(&ours()).await);
    let calls = calls_of(false, plain).await;
    assert_eq!(calls.len(), 4, "token, port, its tags, server: {calls:?}");
    for (at, call) in calls.iter().enumerate() {
        for spoil in Spoil::all_but_repetitions(&calls, at) {
            let (stage, _) = furnished(false).await;
            spoil.strike(&stage, at + 1, call);
            let provider = stage.provider();
            let outcome = provider.launch(&stage.order(&ours())).await;
            let case = format!("{call:?} {spoil:?}: {outcome:?}");
            table.note("launch", &spoil, meaning(&outcome));
            let servers = stage.servers(&ours());
            assert!(servers.len() <= 1, "two servers: {case}");
            assert!(spoil.allows(meaning(&outcome)), "{case}");
            match &outcome {
                Ok(instance) => assert_eq!(servers, [instance.id.as_str()], "{case}"),
                Err(CloudError::Unknown(_)) => {}
                Err(_) => assert!(servers.is_empty() || spoil.lies(), "denied: {case}"),
            }
            stage.forgive();
            tokio::time::sleep(Duration::from_mins(5)).await;
            let found = stage.provider().find(&ours()).await.unwrap();
            let found: Vec<&str> = found.iter().map(|one| one.id.as_str()).collect();
            assert_eq!(found, servers, "{case}");
            let footprint = Footprint {
                identity: ours(),
                instance: outcome.ok().map(|instance| instance.id),
                side: Vec::new(),
            };
            end(&stage.provider(), &footprint, Duration::from_secs(1)).await;
            assert_eq!(
                (stage.servers(&ours()).len(), stage.ports()),
                (0, 4),
                "{case}"
            );
        }
    }
    table.print();
}

#[tokio::test(start_paused = true)]
async fn nobody_is_absent_who_is_there_and_nobody_is_listed_who_is_not() {
    let mut table = Table::default();
    for own in [true, false] {
        let find = async |stage: &Stage| drop(stage.provider().find(&ours()).await.unwrap());
        let calls = calls_of(own, find).await;
        for (at, call) in calls.iter().enumerate() {
            for spoil in Spoil::all_but_repetitions(&calls, at) {
                let (stage, _) = furnished(own).await;
                spoil.strike(&stage, at + 1, call);
                let outcome = stage.provider().find(&ours()).await;
                table.note(
                    if own { "find one" } else { "find none" },
                    &spoil,
                    meaning(&outcome),
                );
                assert!(
                    spoil.allows(meaning(&outcome)),
                    "{call:?} {spoil:?} {outcome:?}"
                );
                if let Ok(found) = outcome {
                    assert_eq!(found.len(), usize::from(own), "{call:?} {spoil:?}");
                }
            }
        }
    }
    let list = async |stage: &Stage| assert_eq!(stage.provider().list().await.unwrap().len(), 3);
    let calls = calls_of(true, list).await;
    for (at, call) in calls.iter().enumerate() {
        for spoil in Spoil::all_but_repetitions(&calls, at) {
            let (stage, footprint) = furnished(true).await;
            spoil.strike(&stage, at + 1, call);
            let outcome = stage.provider().list().await;
            table.note("list", &spoil, meaning(&outcome));
            assert!(
                spoil.allows(meaning(&outcome)),
                "{call:?} {spoil:?} {outcome:?}"
            );
            if let Ok(listed) = outcome {
                assert_eq!(listed.len(), 3, "{call:?} {spoil:?}");
            }
            stage.forgive();
            let id = footprint.and_then(|footprint| footprint.instance).unwrap();
            let path = format!("/compute/v2.1/servers/{id}");
            spoil.strike(&stage, 2, &("GET".to_owned(), path));
            let outcome = stage.provider().get(&id).await;
            table.note("get", &spoil, meaning(&outcome));
            assert!(spoil.allows(meaning(&outcome)), "{spoil:?} {outcome:?}");
        }
    }
    table.print();
}

/// Asks until nothing is left, forgiving errors; the words for what came, and whether "gone" was ever untrue.
async fn ended(stage: &Stage, what: &Footprint, spoil: &Spoil) -> Vec<&'static str> {
    let provider = stage.provider();
    let mut said = Vec::new();
    for round in 0..40 {
        if round == 3 {
            stage.forgive();
        }
        let outcome = provider.terminate(what).await;
        said.push(meaning(&outcome));
        if may_forget(&outcome) {
            let left = (stage.servers(&what.identity).len(), stage.ports());
            assert_eq!(left, (0, 4), "gone, but it is there: {spoil:?} {said:?}");
            return said;
        }
        assert!(spoil.allows(meaning(&outcome)), "{spoil:?}: {outcome:?}");
        tokio::time::sleep(Duration::from_secs(3)).await;
    }
    panic!("it never ends: {spoil:?} {said:?}");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_gone_before_nothing_is_left_and_in_the_end_everything_is() {
    let mut table = Table::default();
    for knows_id in [true, false] {
        let (stage, footprint) = furnished(true).await;
        let forget = |footprint: Option<Footprint>| {
            let mut footprint = footprint.unwrap();
            footprint.instance = footprint.instance.filter(|_| knows_id);
            footprint
        };
        let before = stage.calls().len();
        end(
            &stage.provider(),
            &forget(footprint),
            Duration::from_secs(3),
        )
        .await;
        let calls = stage.calls().split_off(before);
        for (at, call) in calls.iter().enumerate() {
            for spoil in Spoil::all_but_repetitions(&calls, at) {
                let (stage, footprint) = furnished(true).await;
                spoil.strike(&stage, at + 1, call);
                for word in ended(&stage, &forget(footprint), &spoil).await {
                    table.answer("terminate", &spoil, word);
                }
                table.count += 1;
                assert_eq!(
                    stage.provider().list().await.unwrap().len(),
                    2,
                    "{call:?} {spoil:?}"
                );
            }
        }
    }
    table.print();
}
