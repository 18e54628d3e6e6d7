//! Does a secret ever come out in an error, even when the cloud quotes it?

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cloud::{CloudError, Provider};
use emulators::faults::{Act, Fault};
use emulators::machine::Machine;
use emulators::openstack::Settings;
use serde_json::json;

use crate::stage::{Stage, USER_DATA, ours};

fn quoting(code: u16, text: &str) -> Act {
    let body = json!({"badRequest": {"code": code, "message": text}}).to_string();
    Act::Status {
        code,
        retry_after: None,
        body: Some(body),
    }
}

fn tokens(stage: &Stage) -> BTreeSet<String> {
    stage
        .cloud
        .world(|world| world.tokens.keys().cloned().collect())
}

/// Everything an error can be read from.
fn texts(error: &CloudError) -> String {
    let mut all = format!("{error} {error:?}");
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        all = format!("{all} {inner} {inner:?}");
        cause = inner.source();
    }
    all
}

#[tokio::test(start_paused = true)]
async fn no_error_tells_password_token_or_user_data_that_the_cloud_quotes_back() {
    let stage = Stage::new(Settings::default()).await;
    let encoded = STANDARD.encode(USER_DATA);
    let password = stage.cloud.access.password.clone();
    let quotations = [
        format!(
            "Invalid input for field/attribute user_data. Value: {encoded}. '{encoded}' is not a 'base64'"
        ),
        format!("Invalid input: {USER_DATA}"),
        format!("Invalid input: {USER_DATA:?}"),
        format!("Invalid input: '{}", &encoded[..60]),
        format!("not {password}"),
    ];
    let mut errors = 0;
    for code in [400, 401, 403, 409, 429, 500] {
        for text in &quotations {
            // A token of this provider's own, which the next error quotes.
            let before = tokens(&stage);
            let provider = stage.provider();
            provider.list().await.unwrap();
            let fresh = tokens(&stage);
            let token = fresh.difference(&before).next().unwrap().clone();
            let text = format!("{token} {text}");
            let fault = Fault::on("POST", "/compute/v2.1/servers", quoting(code, &text));
            stage
                .cloud
                .engine
                .with(|cloud| cloud.script_mut().add(fault));
            let error = provider.launch(&stage.order(&ours())).await.unwrap_err();
            let said = texts(&error);
            for secret in [
                "canary-user-data",
                "abcdef.0123456789abcdef",
                &encoded[..24],
                &token[..16],
                &password,
            ] {
                assert!(!said.contains(secret), "{code}: {secret} is told: {said}");
            }
            errors += 1;
            stage.forgive();
            tokio::time::sleep(std::time::Duration::from_mins(1)).await;
        }
    }
    println!("canary: {errors} errors that quoted secrets, none told");
}

#[tokio::test(start_paused = true)]
async fn keystones_refusal_does_not_tell_the_password() {
    let stage = Stage::new(Settings::default()).await;
    let password = stage.cloud.access.password.clone();
    let fault = Fault::on(
        "POST",
        "/identity/v3/auth/tokens",
        quoting(401, &format!("wrong: {password}")),
    );
    stage
        .cloud
        .engine
        .with(|cloud| cloud.script_mut().add(fault));
    let error = stage.provider().list().await.unwrap_err();
    assert!(matches!(error, CloudError::Unauthorized { .. }), "{error}");
    assert!(!texts(&error).contains(&password));
    let trouble = stage.provider().resolve().await.unwrap_err();
    assert!(!format!("{trouble} {trouble:?}").contains(&password));
}
