//! Does the operator go on with new credentials when the old ones are taken away, without a restart?

use anyhow::{Context, Result, ensure};
use e2e::manifests::{class, deployment, pool, put, secret};
use e2e::operator::{no_claims, running, scale};
use e2e::script::servers;
use e2e::{Emulator, Stage};
use reqwest::Client as Http;
use serde_json::{Value, json};

#[tokio::test]
async fn credentials_that_were_rotated_are_read_again_when_the_cloud_refuses_the_old_ones()
-> Result<()> {
    let test = "rotation: new credentials without a restart";
    let Some(stage) = Stage::set(test, &[]).await? else {
        return Ok(());
    };
    let outcome = story(&stage).await;
    stage.end(outcome).await
}

async fn story(stage: &Stage) -> Result<()> {
    let keystone = Keystone::open(&stage.emulator).await?;
    let old = keystone.credential("old").await?;
    let new = keystone.credential("new").await?;
    let cloud =
        json!({"cloud": {"credentialsSecretRef": {"namespace": "joiner", "name": "cloud"}}});
    put(
        &stage.client,
        [keystone.as_secret(&old), class("default", &cloud)?],
    )
    .await?;
    let workload = [
        pool("general", "default", &json!({})),
        deployment("app", "general", 1, "700m"),
    ];
    put(&stage.client, workload).await?;
    running(&stage.client, "app", 1).await?;

    put(&stage.client, [keystone.as_secret(&new)]).await?;
    keystone.revoke(&old).await?;
    scale(&stage.ground, "app", 4).await?;
    running(&stage.client, "app", 4).await?;
    let log = stage.operator.log();
    ensure!(
        log.contains("the cloud refused the credentials; reading them again"),
        "nobody was refused"
    );

    // The same on the way down: the machines were bought with other credentials than they are removed with.
    let third = keystone.credential("third").await?;
    put(&stage.client, [keystone.as_secret(&third)]).await?;
    keystone.revoke(&new).await?;
    scale(&stage.ground, "app", 0).await?;
    no_claims(&stage.client).await?;
    let left = servers(&stage.emulator).await?;
    ensure!(left.is_empty(), "{left:?}");
    Ok(())
}

/// A person who may make and revoke application credentials.
struct Keystone {
    url: String,
    token: String,
    user: String,
    http: Http,
}

impl Keystone {
    async fn open(emulator: &Emulator) -> Result<Self> {
        let env = |wanted: &str| {
            let mut all = emulator.env();
            let found = all.find(|(name, _)| *name == wanted);
            found
                .map(|(_, value)| value.clone())
                .context(wanted.to_owned())
        };
        let url = env("OS_AUTH_URL")?;
        let domain = json!({"name": "Default"});
        let user =
            json!({"name": env("OS_USERNAME")?, "password": env("OS_PASSWORD")?, "domain": domain});
        let scope = json!({"project": {"name": env("OS_PROJECT_NAME")?, "domain": domain}});
        let proof = json!({"methods": ["password"], "password": {"user": user}});
        let http = Http::new();
        let sent = http.post(format!("{url}/auth/tokens"));
        let sent = sent.body(json!({"auth": {"identity": proof, "scope": scope}}).to_string());
        let answer = sent.send().await?.error_for_status()?;
        let token = answer.headers().get("x-subject-token");
        let token = token.context("a token")?.to_str()?.to_owned();
        let body: Value = answer.json().await?;
        let user = body["token"]["user"]["id"].as_str();
        Ok(Self {
            url,
            token,
            user: user.context("a user")?.to_owned(),
            http,
        })
    }

    fn credentials(&self) -> String {
        format!("{}/users/{}/application_credentials", self.url, self.user)
    }

    async fn credential(&self, name: &str) -> Result<Value> {
        let sent = self.http.post(self.credentials());
        let body = json!({"application_credential": {"name": name}});
        let sent = sent
            .header("x-auth-token", &self.token)
            .body(body.to_string());
        let answer: Value = sent.send().await?.error_for_status()?.json().await?;
        Ok(answer["application_credential"].clone())
    }

    async fn revoke(&self, credential: &Value) -> Result<()> {
        let id = credential["id"].as_str().unwrap_or_default();
        let sent = self.http.delete(format!("{}/{id}", self.credentials()));
        let sent = sent.header("x-auth-token", &self.token).send();
        sent.await?.error_for_status()?;
        Ok(())
    }

    fn as_secret(&self, credential: &Value) -> Value {
        let text = |key: &str| credential[key].as_str().unwrap_or_default();
        let entries = [
            ("OS_AUTH_TYPE", "v3applicationcredential"),
            ("OS_AUTH_URL", self.url.as_str()),
            ("OS_REGION_NAME", "RegionOne"),
            ("OS_APPLICATION_CREDENTIAL_ID", text("id")),
            ("OS_APPLICATION_CREDENTIAL_SECRET", text("secret")),
        ];
        secret("joiner", "cloud", entries)
    }
}
