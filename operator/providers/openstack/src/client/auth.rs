//! Which token do we speak with, and when is a new one due?
//!
//! One authentication at a time, whoever asks: the others wait for its result. A token is renewed 120 seconds before its
//! end. A failure is remembered for a few seconds, so that many waiting calls do not become many attempts.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use cloud::transport::{Answer, Call, Repeat, Transport};
use cloud::{Clock, CloudError, Said};
use http::{Method as Verb, Request, StatusCode};
use jiff::{SignedDuration, Timestamp};
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio::time::Instant;
use url::Url;

use super::endpoints::{Catalog, Service, choose};
use crate::credentials::{AppCredential, Credentials, Domain, Method, Named};
use crate::error;

/// As early as keystoneauth does it.
const EARLY: SignedDuration = SignedDuration::from_secs(120);
/// Everybody waits for an authentication, so a Keystone that hangs is given up sooner than other calls.
const PATIENCE: Duration = Duration::from_mins(1);
/// How long a failed authentication answers for the next ones.
const REMEMBERED: Duration = Duration::from_secs(5);

pub struct Auth {
    credentials: Credentials,
    state: Mutex<State>,
}

/// A token and what Keystone said with it.
pub struct Session {
    pub(crate) token: SecretString,
    /// Which authentication it came from.
    pub(crate) serial: u64,
    pub(crate) project: String,
    renew_at: Timestamp,
    catalog: Catalog,
    credentials: Credentials,
}

#[derive(Default)]
struct State {
    session: Option<Arc<Session>>,
    serial: u64,
    failed: Option<(Instant, Trouble)>,
}

/// Why there is no token; kept, so it must be repeatable.
#[derive(Clone)]
enum Trouble {
    Refused(Said),
    Later(Option<Duration>, Said),
    Unclear(Said),
}

#[derive(Deserialize)]
struct Issued {
    token: Description,
}

#[derive(Deserialize)]
struct Description {
    expires_at: Timestamp,
    issued_at: Option<Timestamp>,
    project: Option<Project>,
    catalog: Option<Catalog>,
}

#[derive(Deserialize)]
struct Project {
    id: String,
}

impl Session {
    /// The address of a service, without a slash at its end.
    pub(crate) fn endpoint(&self, service: Service) -> Result<String, CloudError> {
        let known = &self.credentials;
        if let Some(address) = known.overrides.get(service.kind()) {
            return Ok(service.versioned(address.as_str()));
        }
        choose(
            &self.catalog,
            service,
            known.interface,
            known.region.as_deref(),
        )
        .map_err(|text| CloudError::Unauthorized {
            said: Said::new(&text),
        })
    }
}

impl Auth {
    pub fn new(credentials: Credentials) -> Self {
        Self {
            credentials,
            state: Mutex::default(),
        }
    }

    /// A token that is good for a while.
    pub(crate) async fn session(
        &self,
        transport: &Transport,
        clock: &dyn Clock,
    ) -> Result<Arc<Session>, CloudError> {
        let mut state = self.state.lock().await;
        match &state.session {
            Some(session) if clock.now() < session.renew_at => Ok(session.clone()),
            _ => self.authenticated(&mut state, transport).await,
        }
    }

    /// A service refused the token of this serial: another one, unless somebody renewed it meanwhile.
    pub(crate) async fn renewed(
        &self,
        serial: u64,
        transport: &Transport,
        clock: &dyn Clock,
    ) -> Result<Arc<Session>, CloudError> {
        let mut state = self.state.lock().await;
        match &state.session {
            Some(session) if session.serial != serial && clock.now() < session.renew_at => {
                Ok(session.clone())
            }
            _ => self.authenticated(&mut state, transport).await,
        }
    }

    async fn authenticated(
        &self,
        state: &mut State,
        transport: &Transport,
    ) -> Result<Arc<Session>, CloudError> {
        state.session = None;
        if let Some((at, trouble)) = &state.failed
            && at.elapsed() < REMEMBERED
        {
            return Err(trouble.clone().into());
        }
        state.serial += 1;
        match self.authenticate(state.serial, transport).await {
            Ok(session) => {
                let session = Arc::new(session);
                state.failed = None;
                state.session = Some(session.clone());
                Ok(session)
            }
            Err(trouble) => {
                state.failed = Some((Instant::now(), trouble.clone()));
                Err(trouble.into())
            }
        }
    }

    async fn authenticate(&self, serial: u64, transport: &Transport) -> Result<Session, Trouble> {
        let call = Call {
            name: "keystone.tokens.create",
            request: token_request(&self.credentials)?,
            // A token too many hurts nobody.
            repeat: Repeat::Safe,
            secrets: Vec::new(),
        };
        let sent = tokio::time::timeout(PATIENCE, transport.send(&call)).await;
        let silent = |_| Trouble::Unclear(Said::new("Keystone gave no token within a minute"));
        let answer = sent
            .map_err(silent)?
            .map_err(|lost| Trouble::Unclear(lost.said))?;
        if answer.status != StatusCode::CREATED {
            return Err(refused(transport, &call, &answer));
        }
        let unclear =
            |text| Trouble::Unclear(Said::new(text).with_request_id(answer.request_id.clone()));
        let token = answer
            .headers
            .get("x-subject-token")
            .and_then(|token| token.to_str().ok());
        let token = token.ok_or_else(|| unclear("Keystone's answer holds no token"))?;
        let token = SecretString::from(token.to_owned());
        transport.redactor().learn(token.clone());
        let issued: Issued = serde_json::from_slice(&answer.body)
            .map_err(|_| unclear("Keystone's description of the token cannot be read"))?;
        session(issued.token, token, serial, &self.credentials)
    }
}

/// An unscoped token lists nothing and says so with 200: it must never be used.
fn session(
    issued: Description,
    token: SecretString,
    serial: u64,
    credentials: &Credentials,
) -> Result<Session, Trouble> {
    let refused = |text| Err(Trouble::Refused(Said::new(text)));
    let Some(project) = issued.project else {
        return refused(
            "the token is not for a project; set project_name or project_id (OS_PROJECT_NAME), or use an application credential",
        );
    };
    let Some(catalog) = issued.catalog.filter(|catalog| !catalog.is_empty()) else {
        return refused(
            "the token came without a service catalog; ask the cloud's operator for the project's endpoints",
        );
    };
    let lifetime = issued
        .issued_at
        .map(|issued_at| issued.expires_at.duration_since(issued_at));
    let early = lifetime.map_or(EARLY, |lifetime| EARLY.min(lifetime / 2));
    Ok(Session {
        token,
        serial,
        project: project.id,
        renew_at: issued
            .expires_at
            .checked_sub(early)
            .unwrap_or(issued.expires_at),
        catalog,
        credentials: credentials.clone(),
    })
}

fn refused(transport: &Transport, call: &Call, answer: &Answer) -> Trouble {
    let message = error::read(&answer.body).message;
    let text = match answer.status {
        StatusCode::UNAUTHORIZED => format!(
            "Keystone refused the credentials; check user, password or application credential, project and domains: {message}"
        ),
        status => format!("Keystone answered {status} to the request for a token: {message}"),
    };
    let said = transport.say(call, answer, &text);
    match answer.status {
        StatusCode::TOO_MANY_REQUESTS => Trouble::Later(answer.retry_after, said),
        status if status.is_server_error() => Trouble::Unclear(said),
        _ => Trouble::Refused(said),
    }
}

fn token_request(credentials: &Credentials) -> Result<Request<Bytes>, Trouble> {
    let address = tokens_address(&credentials.auth_url);
    Request::builder()
        .method(Verb::POST)
        .uri(address)
        .header("accept", "application/json")
        .header("content-type", "application/json")
        .body(Bytes::from(token_body(&credentials.method).to_string()))
        .map_err(|_| {
            Trouble::Refused(Said::new(
                "auth_url is no address; write for example https://keystone:5000/v3",
            ))
        })
}

fn tokens_address(auth_url: &Url) -> String {
    format!("{}/auth/tokens", auth_url.as_str().trim_end_matches('/'))
}

fn token_body(method: &Method) -> Value {
    use secrecy::ExposeSecret;
    match method {
        Method::Password {
            user,
            password,
            project,
        } => {
            let mut user = named(user);
            user["password"] = password.expose_secret().into();
            let identity = json!({"methods": ["password"], "password": {"user": user}});
            json!({"auth": {"identity": identity, "scope": {"project": named(project)}}})
        }
        Method::ApplicationCredential { who, secret } => {
            let mut credential = match who {
                AppCredential::Id(id) => json!({"id": id}),
                AppCredential::Name { name, user } => json!({"name": name, "user": named(user)}),
            };
            credential["secret"] = secret.expose_secret().into();
            let identity = json!({"methods": ["application_credential"], "application_credential": credential});
            json!({"auth": {"identity": identity}})
        }
        Method::Token { token, project } => {
            let identity = json!({"methods": ["token"], "token": {"id": token.expose_secret()}});
            json!({"auth": {"identity": identity, "scope": {"project": named(project)}}})
        }
    }
}

fn named(who: &Named) -> Value {
    match who {
        Named::Id(id) => json!({"id": id}),
        Named::Name {
            name,
            domain: Domain::Id(id),
        } => json!({"name": name, "domain": {"id": id}}),
        Named::Name {
            name,
            domain: Domain::Name(domain),
        } => json!({"name": name, "domain": {"name": domain}}),
    }
}

impl From<Trouble> for CloudError {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Refused(said) => Self::Unauthorized { said },
            Trouble::Later(retry_after, said) => Self::Throttled { retry_after, said },
            Trouble::Unclear(said) => Self::doubt(said),
        }
    }
}
