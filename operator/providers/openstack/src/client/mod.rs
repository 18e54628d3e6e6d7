//! Which calls do we make, and in whose name?
//!
//! `client/` mirrors the vendor's nouns. Every call goes through `Client::ask`: endpoint from the catalog, token renewed in
//! time and once more after a 401, errors translated. Nothing here decides.

pub mod auth;
pub mod endpoints;
pub mod flavors;
pub mod images;
pub mod limits;
pub mod networks;
mod page;
pub mod ports;
pub mod security_groups;
pub mod server_groups;
pub mod servers;
pub mod versions;
pub mod zones;

use std::sync::Arc;

use bytes::Bytes;
use cloud::transport::{Answer, Call, Repeat, Transport};
use cloud::{Clock, CloudError, Said};
use http::{HeaderValue, Method, Request, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::credentials::Credentials;
use crate::error::{self, Subject};
use auth::{Auth, Session};
use endpoints::Service;

/// The microversion of every call: the newest that has all we need and that clouds of the last seven years speak.
pub const MICROVERSION: &str = "2.79";

pub struct Client {
    transport: Transport,
    auth: Auth,
    clock: Arc<dyn Clock>,
}

/// One request, before it has an endpoint and a token.
pub(crate) struct Ask {
    pub name: &'static str,
    pub service: Service,
    pub method: Method,
    /// Begins with a slash; ids in it went through `segment`.
    pub path: String,
    pub query: Vec<(&'static str, String)>,
    pub body: Option<Value>,
    pub repeat: Repeat,
    pub subject: Subject,
    pub secrets: Vec<SecretString>,
    /// Above the project that some catalogs append to the address.
    pub at_root: bool,
}

impl Ask {
    pub(crate) fn get(name: &'static str, service: Service, path: impl Into<String>) -> Self {
        Self {
            name,
            service,
            method: Method::GET,
            path: path.into(),
            query: Vec::new(),
            body: None,
            repeat: Repeat::Safe,
            subject: Subject::Other,
            secrets: Vec::new(),
            at_root: false,
        }
    }

    /// A deletion: saying it twice is the same as saying it once.
    pub(crate) fn delete(name: &'static str, service: Service, path: impl Into<String>) -> Self {
        Self {
            method: Method::DELETE,
            subject: Subject::ById,
            ..Self::get(name, service, path)
        }
    }

    /// A request that makes something.
    pub(crate) fn post(
        name: &'static str,
        service: Service,
        path: impl Into<String>,
        body: Value,
    ) -> Self {
        Self {
            method: Method::POST,
            body: Some(body),
            repeat: Repeat::Once,
            ..Self::get(name, service, path)
        }
    }

    /// A create: not about one object by its id, and to be sent once.
    fn makes_something(&self) -> bool {
        self.repeat == Repeat::Once && self.subject == Subject::Other
    }

    pub(crate) fn by_id(self) -> Self {
        Self {
            subject: Subject::ById,
            ..self
        }
    }
}

impl Client {
    pub fn new(credentials: Credentials, transport: Transport, clock: Arc<dyn Clock>) -> Self {
        for secret in credentials.secrets() {
            transport.redactor().keep(secret);
        }
        Self {
            transport,
            auth: Auth::new(credentials),
            clock,
        }
    }

    pub(crate) async fn session(&self) -> Result<Arc<Session>, CloudError> {
        self.auth
            .session(&self.transport, self.clock.as_ref())
            .await
    }

    /// From now on nobody reads this in a text of the vendor, in whatever call it comes.
    pub(crate) fn keep_quiet_about(&self, secret: SecretString) {
        self.transport.redactor().learn(secret);
    }

    /// A text of the vendor that came outside an error, fit to be read by anybody.
    pub(crate) fn say(&self, text: &str) -> Said {
        self.transport.redactor().say(text, &[])
    }

    /// A longer text of the vendor without the secrets we know.
    pub(crate) fn masked(&self, text: &str) -> String {
        self.transport.redactor().masked(text, &[])
    }

    /// Sends a request; only a success is Ok.
    pub(crate) async fn ask(&self, ask: &Ask) -> Result<Answer, CloudError> {
        let session = self.session().await?;
        let (call, answer) = self.sent(ask, &session).await?;
        if answer.status != StatusCode::UNAUTHORIZED {
            return self.judged(ask, &call, answer);
        }
        let session = self
            .auth
            .renewed(session.serial, &self.transport, self.clock.as_ref())
            .await?;
        if ask.makes_something() {
            // A create is sent once, whatever came back. Whoever looks first finds the new token in place.
            let text = "the token was refused and has been renewed; nothing was sent again";
            return Err(CloudError::doubt(self.transport.say(&call, &answer, text)));
        }
        // A 401 comes from the middleware before the service itself: nothing happened.
        let (call, answer) = self.sent(ask, &session).await?;
        self.judged(ask, &call, answer)
    }

    /// Sends a request and reads the answer's JSON.
    pub(crate) async fn read<T: DeserializeOwned>(&self, ask: &Ask) -> Result<T, CloudError> {
        let answer = self.ask(ask).await?;
        serde_json::from_slice(&answer.body).map_err(|_| unreadable(ask, &answer))
    }

    async fn sent(&self, ask: &Ask, session: &Session) -> Result<(Call, Answer), CloudError> {
        let call = Call {
            name: ask.name,
            request: request(ask, session)?,
            repeat: ask.repeat,
            secrets: ask.secrets.clone(),
        };
        let answer = self
            .transport
            .send(&call)
            .await
            .map_err(|lost| CloudError::Unknown(Box::new(lost)))?;
        Ok((call, answer))
    }

    fn judged(&self, ask: &Ask, call: &Call, answer: Answer) -> Result<Answer, CloudError> {
        if answer.status.is_success() {
            return Ok(answer);
        }
        let refusal = error::read(&answer.body);
        let text = match (refusal.message.as_str(), &refusal.kind) {
            ("", _) => format!("{} answered {}", ask.name, answer.status),
            (message, _) => message.to_owned(),
        };
        let said = self.transport.say(call, &answer, &text);
        if answer.status == StatusCode::UNAUTHORIZED && refusal.kind.is_none() {
            // Glance answers so, as a web page, when it cannot reach Keystone: the token may be good.
            return Err(CloudError::doubt(said));
        }
        Err(error::meaning(&answer, &refusal, ask.subject, said))
    }
}

/// An answer of success that cannot be read may hide anything.
pub(crate) fn unreadable(ask: &Ask, answer: &Answer) -> CloudError {
    let text = format!("the answer to {} cannot be read", ask.name);
    CloudError::doubt(Said::new(&text).with_request_id(answer.request_id.clone()))
}

/// An id as one segment of a path. An empty one would ask for the whole collection.
pub(crate) fn segment(id: &str) -> Result<String, CloudError> {
    if id.is_empty() || id == "." || id == ".." {
        return Err(CloudError::rejected(
            "an empty id names nothing in the cloud",
        ));
    }
    let encoded: String = url::form_urlencoded::byte_serialize(id.as_bytes()).collect();
    Ok(encoded.replace('+', "%20"))
}

fn request(ask: &Ask, session: &Session) -> Result<Request<Bytes>, CloudError> {
    let endpoint = session.endpoint(ask.service)?;
    let base = if ask.at_root {
        endpoints::up_to_version(&endpoint)
    } else {
        &endpoint
    };
    let mut address = format!("{base}{}", ask.path);
    if !ask.query.is_empty() {
        let query = url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs(&ask.query)
            .finish();
        address = format!("{address}?{query}");
    }
    let mut token = HeaderValue::from_str(session.token.expose_secret())
        .map_err(|_| CloudError::unknown("Keystone's token is no header value"))?;
    token.set_sensitive(true);
    let mut request = Request::builder()
        .method(ask.method.clone())
        .uri(address)
        .header("x-auth-token", token)
        .header("accept", "application/json");
    if ask.service == Service::Compute {
        // The newer header and the one older clouds understand.
        request = request
            .header("openstack-api-version", format!("compute {MICROVERSION}"))
            .header("x-openstack-nova-api-version", MICROVERSION);
    }
    let body = ask.body.as_ref().map(|body| Bytes::from(body.to_string()));
    if body.is_some() {
        request = request.header("content-type", "application/json");
    }
    request.body(body.unwrap_or_default()).map_err(|_| {
        CloudError::rejected("the catalog's endpoint is no address; ask the cloud's operator")
    })
}
