//! How do bytes really leave the process?

use std::time::Duration;

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use http::{Request, Response};
use reqwest::redirect::Policy;
use reqwest::{Certificate, Client, ClientBuilder};

use crate::http::{Http, HttpFailure};

/// No answer of a cloud is that large; an endless one must not fill the memory.
const LARGEST_BODY: usize = 64 << 20;
const CONNECT_WITHIN: Duration = Duration::from_secs(10);

/// Whom to trust.
#[derive(Clone, Debug, Default)]
pub struct Trust {
    /// PEM certificates to trust besides the system's.
    pub private_ca: Option<Vec<u8>>,
    /// Trust everybody. Wins over the private CA.
    pub insecure: bool,
}

/// Trust that cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum BadTrust {
    #[error(
        "the CA bundle holds no certificate in PEM form; give one or more BEGIN CERTIFICATE blocks"
    )]
    NoCertificate,
    #[error("the HTTP client cannot be built: {0}")]
    Client(String),
}

/// HTTP over real sockets.
pub struct Wire {
    client: Client,
}

impl Wire {
    pub fn new(trust: &Trust) -> Result<Self, BadTrust> {
        // A redirect would carry the token to whoever the answer names.
        let builder = Client::builder()
            .redirect(Policy::none())
            .connect_timeout(CONNECT_WITHIN);
        let client = trusted(builder, trust)?
            .build()
            .map_err(|error| BadTrust::Client(said(error)))?;
        Ok(Self { client })
    }
}

#[async_trait]
impl Http for Wire {
    async fn call(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpFailure> {
        let request =
            reqwest::Request::try_from(request).map_err(|error| HttpFailure::never(said(error)))?;
        let mut response = self.client.execute(request).await.map_err(failure)?;
        let mut body = BytesMut::new();
        while let Some(chunk) = response.chunk().await.map_err(failure)? {
            if body.len() + chunk.len() > LARGEST_BODY {
                return Err(HttpFailure::perhaps("the answer is larger than 64 MiB"));
            }
            body.extend_from_slice(&chunk);
        }
        let mut answer = Response::new(body.freeze());
        *answer.status_mut() = response.status();
        *answer.headers_mut() = std::mem::take(response.headers_mut());
        Ok(answer)
    }
}

fn trusted(builder: ClientBuilder, trust: &Trust) -> Result<ClientBuilder, BadTrust> {
    if trust.insecure {
        return Ok(builder.tls_danger_accept_invalid_certs(true));
    }
    let Some(pem) = &trust.private_ca else {
        return Ok(builder);
    };
    let roots = Certificate::from_pem_bundle(pem).map_err(|_| BadTrust::NoCertificate)?;
    if roots.is_empty() {
        return Err(BadTrust::NoCertificate);
    }
    Ok(builder.tls_certs_merge(roots))
}

fn failure(error: reqwest::Error) -> HttpFailure {
    let never = error.is_connect() || error.is_builder();
    let what = said(error);
    if never {
        HttpFailure::never(what)
    } else {
        HttpFailure::perhaps(what)
    }
}

/// The error with its causes and without its URL.
fn said(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    text
}
