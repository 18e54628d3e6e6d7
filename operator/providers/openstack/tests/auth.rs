//! Is there one authentication for all who wait, in time, and no storm when it fails?

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use std::time::Duration;

use cloud::{CloudError, Provider};
use openstack::OpenStack;
use serde_json::json;
use support::*;

const LIST: &str = "GET /nova/v2.1/servers/detail";
const AUTH: &str = "POST /v3/auth/tokens";

/// So many lists at once; how many of them failed?
async fn at_once(provider: &OpenStack, calls: usize) -> usize {
    let mut failed = 0;
    let all: Vec<_> = (0..calls).map(|_| provider.list()).collect();
    for outcome in all_together(all).await {
        failed += usize::from(outcome.is_err());
    }
    failed
}

/// Polls all futures together on this task.
async fn all_together<F: std::future::Future>(futures: Vec<F>) -> Vec<F::Output> {
    let mut waiting: Vec<_> = futures
        .into_iter()
        .map(|future| (Box::pin(future), None))
        .collect();
    std::future::poll_fn(|context| {
        for (future, output) in &mut waiting {
            if output.is_none()
                && let std::task::Poll::Ready(value) = future.as_mut().poll(context)
            {
                *output = Some(value);
            }
        }
        if waiting.iter().all(|(_, output)| output.is_some()) {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
    waiting
        .into_iter()
        .filter_map(|(_, output)| output)
        .collect()
}

#[tokio::test(start_paused = true)]
async fn many_calls_at_once_authenticate_once() {
    let cloud = cloud();
    *cloud.slow_auth.lock().unwrap() = Duration::from_secs(2);
    cloud.json(LIST, servers(&[]));
    let provider = provider(&cloud, json!({}));
    assert_eq!(at_once(&provider, 20).await, 0);
    assert_eq!((cloud.count(AUTH), cloud.count(LIST)), (1, 20));
}

#[tokio::test(start_paused = true)]
async fn a_token_is_renewed_two_minutes_before_its_end_and_not_earlier() {
    let cloud = cloud();
    cloud.json(LIST, servers(&[]));
    let provider = provider(&cloud, json!({}));
    provider.list().await.unwrap();
    tokio::time::advance(Duration::from_secs(3600 - 125)).await;
    provider.list().await.unwrap();
    assert_eq!(cloud.count(AUTH), 1);
    tokio::time::advance(Duration::from_secs(10)).await;
    assert_eq!(at_once(&provider, 10).await, 0);
    assert_eq!(cloud.count(AUTH), 2);
    let last = cloud.seen().pop().unwrap();
    assert_eq!(last.token.as_deref(), Some("canary-token-2"));
}

#[tokio::test(start_paused = true)]
async fn a_short_token_is_used_for_half_its_life() {
    let cloud = cloud();
    *cloud.lifetime.lock().unwrap() = 60;
    cloud.json(LIST, servers(&[]));
    let provider = provider(&cloud, json!({}));
    provider.list().await.unwrap();
    tokio::time::advance(Duration::from_secs(20)).await;
    provider.list().await.unwrap();
    assert_eq!(cloud.count(AUTH), 1);
    tokio::time::advance(Duration::from_secs(20)).await;
    provider.list().await.unwrap();
    assert_eq!(cloud.count(AUTH), 2);
}

#[tokio::test(start_paused = true)]
async fn a_token_refused_in_mid_flight_is_renewed_once_for_all_and_no_call_is_lost() {
    let cloud = cloud();
    *cloud.slow_auth.lock().unwrap() = Duration::from_secs(1);
    cloud.json(LIST, servers(&[]));
    let provider = provider(&cloud, json!({}));
    provider.list().await.unwrap();
    cloud.revoked.lock().unwrap().push("canary-token-1");
    assert_eq!(at_once(&provider, 20).await, 0);
    assert_eq!(cloud.count(AUTH), 2);
    // All are refused at the same moment, after each had its token.
    cloud.revoked.lock().unwrap().push("canary-token-2");
    *cloud.slow_calls.lock().unwrap() = Duration::from_millis(50);
    assert_eq!(at_once(&provider, 20).await, 0);
    assert_eq!(cloud.count(AUTH), 3);
}

#[tokio::test(start_paused = true)]
async fn a_create_is_sent_once_even_after_a_401_and_the_next_one_has_a_new_token() {
    let cloud = cloud();
    furnished(&cloud);
    let provider = provider(&cloud, json!({}));
    let order = order(provider.resolve().await.unwrap());
    let refused = Reply::Json(
        401,
        json!({"error": {"code": 401, "title": "Unauthorized", "message": "no"}}),
    );
    cloud.on(
        "POST /nova/v2.1/servers",
        [refused, Reply::Json(202, json!({"server": {"id": "s1"}}))],
    );
    assert!(matches!(
        provider.launch(&order).await,
        Err(CloudError::Unknown(_))
    ));
    assert_eq!(cloud.count("POST /nova/v2.1/servers"), 1);
    assert_eq!(provider.launch(&order).await.unwrap().id.as_str(), "s1");
    assert_eq!(cloud.count(AUTH), 2);
}

#[tokio::test(start_paused = true)]
async fn a_second_401_is_final() {
    let cloud = cloud();
    let refused = Reply::Json(
        401,
        json!({"error": {"code": 401, "title": "Unauthorized", "message": "no"}}),
    );
    cloud.on(LIST, [refused]);
    let provider = provider(&cloud, json!({}));
    assert!(matches!(
        provider.list().await,
        Err(CloudError::Unauthorized { .. })
    ));
    assert_eq!((cloud.count(AUTH), cloud.count(LIST)), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn refused_credentials_make_no_storm_and_are_never_shown() {
    let cloud = cloud();
    let message = format!("The request you have made requires authentication: {PASSWORD}");
    cloud.on(
        AUTH,
        [Reply::Json(
            401,
            json!({"error": {"code": 401, "message": message, "title": "Unauthorized"}}),
        )],
    );
    cloud.json(LIST, servers(&[]));
    let provider = provider(&cloud, json!({}));
    assert_eq!(at_once(&provider, 20).await, 20);
    assert_eq!(cloud.count(AUTH), 1);
    let error = provider.list().await.unwrap_err();
    let shown = format!("{error} {error:?}");
    assert!(
        shown.contains("check user, password") && !shown.contains("canary"),
        "{shown}"
    );
    tokio::time::advance(Duration::from_secs(6)).await;
    let _ = provider.list().await;
    assert_eq!(cloud.count(AUTH), 2, "asked again after a while");
}

#[tokio::test(start_paused = true)]
async fn an_application_credential_sends_no_scope() {
    let cloud = cloud();
    cloud.json(LIST, servers(&[]));
    let env = [
        ("OS_AUTH_URL", "http://cloud/v3"),
        ("OS_APPLICATION_CREDENTIAL_ID", "i"),
        ("OS_APPLICATION_CREDENTIAL_SECRET", "s"),
        ("OS_PROJECT_NAME", "demo"),
    ];
    let env = env
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    let credentials = openstack::credentials::from_env(&env).unwrap();
    let clock = cloud.clone();
    let with = openstack::Opening::new(
        "c1".into(),
        cloud.clone(),
        std::sync::Arc::new(move || clock.now()),
    );
    let provider = openstack::open(&class(json!({})), credentials, with).unwrap();
    provider.list().await.unwrap();
    let sent = cloud.only(AUTH).body;
    assert!(sent["auth"].get("scope").is_none(), "{sent}");
    assert_eq!(
        sent["auth"]["identity"]["application_credential"],
        json!({"id": "i", "secret": "s"})
    );
}

#[tokio::test(start_paused = true)]
async fn a_keystone_that_hangs_is_given_up_after_a_minute_for_all_who_wait() {
    let cloud = cloud();
    cloud.on(AUTH, [Reply::Silence]);
    let provider = provider(&cloud, json!({}));
    let begin = tokio::time::Instant::now();
    assert_eq!(at_once(&provider, 20).await, 20);
    assert!(
        begin.elapsed() < Duration::from_secs(70),
        "{:?}",
        begin.elapsed()
    );
    assert_eq!(cloud.count(AUTH), 1);
}
