//! Does the operator say once what is wrong with its input, serve everybody else meanwhile, and heal without a restart?

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use e2e::ground::api;
use e2e::manifests::{class, deployment, pool, put, secret};
use e2e::operator::{SOON, condition, running, told};
use e2e::{Emulator, Stage, wait};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{ListParams, Patch, PatchParams};
use kube::{Api, Client};
use serde_json::{Value, json};

/// Something wrong: where it is said, and which words must be there.
struct Case {
    /// Of the pool, and of the class if there is one.
    name: &'static str,
    /// `NodePool` or `OpenStackNodeClass`.
    kind: &'static str,
    condition: &'static str,
    words: &'static [&'static str],
}

const CASES: &[Case] = &[
    Case {
        name: "no-class",
        kind: "NodePool",
        condition: "NodeClassReady",
        words: &["OpenStackNodeClass no-class does not exist", "create it"],
    },
    Case {
        name: "bad-password",
        kind: "OpenStackNodeClass",
        condition: "CredentialsReady",
        words: &["Secret joiner/cloud", "spec.cloud.credentialsSecretRef"],
    },
    Case {
        name: "no-image",
        kind: "OpenStackNodeClass",
        condition: "ImagesReady",
        words: &["no active image matches", "spec.imageSelectorTerms"],
    },
    Case {
        name: "no-secret",
        kind: "OpenStackNodeClass",
        condition: "BootstrapReady",
        words: &[
            "spec.userData.secretRef",
            "Secret joiner/absent does not exist",
        ],
    },
    Case {
        name: "no-key",
        kind: "OpenStackNodeClass",
        condition: "BootstrapReady",
        words: &[
            "spec.userData.secretRef",
            "Secret joiner/other-key has no key \"userData\"",
        ],
    },
    Case {
        name: "far-secret",
        kind: "OpenStackNodeClass",
        condition: "BootstrapReady",
        words: &[
            "spec.userData.secretRef",
            "namespace default may not be read",
            "--secret-namespaces",
        ],
    },
];

#[tokio::test]
async fn bad_input_is_told_once_others_are_served_and_a_repair_needs_no_restart() -> Result<()> {
    let test = "bad input: told once, healed by repair";
    let Some(stage) = Stage::set(test, &[]).await? else {
        return Ok(());
    };
    let outcome = story(&stage.client, &stage.emulator).await;
    stage.end(outcome).await
}

async fn story(client: &Client, emulator: &Emulator) -> Result<()> {
    put(client, mistakes(emulator)?).await?;
    for case in CASES {
        put(client, [pool(case.name, case.name, &json!({}))]).await?;
    }
    for case in CASES {
        says(client, case).await?;
    }
    // One pod for each of two bad pools, one for nobody, and one for the good pool.
    let good = pool("a-good", "a-good", &json!({}));
    put(client, [class("a-good", &json!({}))?, good]).await?;
    usable(client, "a-good").await?;
    let waiting = [
        deployment("fine", "a-good", 1, "100m"),
        deployment("giant", "a-good", 1, "2000"),
        deployment("locked-out", "bad-password", 1, "100m"),
        deployment("untold", "no-secret", 1, "100m"),
    ];
    put(client, waiting).await?;
    running(client, "fine", 1).await?;
    refused(
        client,
        "giant",
        &["pool a-good", "short of cpu", "asked for 2k"],
    )
    .await?;
    refused(client, "locked-out", &["pool bad-password is not ready"]).await?;
    several_looks(client).await?;
    for case in CASES {
        told_once(client, case).await?;
    }
    put(client, repairs(emulator)?).await?;
    for case in CASES {
        usable(client, case.name).await?;
    }
    running(client, "locked-out", 1).await?;
    running(client, "untold", 1).await?;
    Ok(())
}

fn mistakes(emulator: &Emulator) -> Result<Vec<Value>> {
    let user_data = |namespace: &str, name: &str| json!({"userData": {"secretRef": {"namespace": namespace, "name": name}}});
    let image = json!({"imageSelectorTerms": [{"name": "nothing-like-it"}]});
    let cloud =
        json!({"cloud": {"credentialsSecretRef": {"namespace": "joiner", "name": "cloud"}}});
    Ok(vec![
        credentials(emulator, Some("not the password")),
        secret("joiner", "other-key", [("text", "#cloud-config\n")]),
        secret("default", "far", [("userData", "#cloud-config\n")]),
        class("bad-password", &cloud)?,
        class("no-image", &image)?,
        class("no-secret", &user_data("joiner", "absent"))?,
        class("no-key", &user_data("joiner", "other-key"))?,
        class("far-secret", &user_data("default", "far"))?,
    ])
}

fn repairs(emulator: &Emulator) -> Result<Vec<Value>> {
    let near = json!({"userData": {"secretRef": {"namespace": "joiner", "name": "absent"}}});
    Ok(vec![
        class("no-class", &json!({}))?,
        credentials(emulator, None),
        class("no-image", &json!({}))?,
        secret("joiner", "absent", [("userData", "#cloud-config\n")]),
        secret("joiner", "other-key", [("userData", "#cloud-config\n")]),
        class("far-secret", &near)?,
    ])
}

/// A Secret with the cloud's credentials, or with another password.
fn credentials(emulator: &Emulator, password: Option<&str>) -> Value {
    let known = emulator.env().filter(|(name, _)| name.starts_with("OS_"));
    let entries = known.map(|(name, value)| match (name.as_str(), password) {
        ("OS_PASSWORD", Some(other)) => (name.as_str(), other),
        (name, _) => (name, value.as_str()),
    });
    secret("joiner", "cloud", entries)
}

async fn usable(client: &Client, pool: &str) -> Result<()> {
    let pools = api(client, "karpenter.sh/v1", "NodePool");
    let ready = wait::condition("Ready", "True");
    wait::until(&pools, pool, "Ready", SOON, ready)
        .await
        .map(drop)
}

/// Waits for the condition and looks for the words in it.
async fn says(client: &Client, case: &Case) -> Result<()> {
    let objects = api(client, version(case), case.kind);
    let bad = wait::condition(case.condition, "False");
    let object = wait::until(&objects, case.name, case.condition, SOON, bad).await?;
    let object = serde_json::to_value(object)?;
    let said = condition(&object, case.condition)["message"].to_string();
    has_words(&said.replace("\\\"", "\""), case.words).context(case.name)
}

/// One event, not repeated, with the same words.
async fn told_once(client: &Client, case: &Case) -> Result<()> {
    let events = told(client, case.kind, case.name).await?;
    let [event] = events.as_slice() else {
        anyhow::bail!(
            "{}: {} events instead of one: {events:#?}",
            case.name,
            events.len()
        );
    };
    ensure!(
        event.series.is_none(),
        "{}: repeated: {event:#?}",
        case.name
    );
    has_words(event.note.as_deref().unwrap_or_default(), case.words).context(case.name)
}

/// The pod of this Deployment was told once why it got nothing.
async fn refused(client: &Client, app: &str, words: &[&str]) -> Result<()> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), "default");
    let of_app = ListParams::default().labels(&format!("app={app}"));
    wait::succeeds(&format!("{app} to be refused"), SOON, async || {
        let pod = pods
            .list(&of_app)
            .await?
            .items
            .pop()
            .context("no pod yet")?;
        let events = told(client, "Pod", &pod.metadata.name.unwrap_or_default()).await?;
        ensure!(events.len() == 1, "{events:#?}");
        has_words(events[0].note.as_deref().unwrap_or_default(), words)
    })
    .await
}

fn has_words(said: &str, words: &[&str]) -> Result<()> {
    for word in words {
        ensure!(said.contains(word), "{word:?} is missing in {said:?}");
    }
    Ok(())
}

fn version(case: &Case) -> &'static str {
    match case.kind {
        "NodePool" => "karpenter.sh/v1",
        _ => "karpenter.k8s.openstack/v1",
    }
}

/// Makes the operator judge every object again, three times: an annotation is news, time would be too slow.
async fn several_looks(client: &Client) -> Result<()> {
    for look in 1..=3 {
        for case in CASES {
            let objects = api(client, version(case), case.kind);
            let note = json!({"metadata": {"annotations": {"look": look.to_string()}}});
            let params = PatchParams::default();
            objects
                .patch(case.name, &params, &Patch::Merge(note))
                .await?;
        }
        tokio::time::sleep(Duration::from_millis(1500)).await;
    }
    Ok(())
}
