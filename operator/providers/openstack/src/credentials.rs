//! As whom do we speak to which cloud?
//!
//! From a `clouds.yaml` (with a `secure.yaml` merged over it), from `OS_*` variables, or from a Secret that holds either. All
//! inputs are arguments; reading files and the environment is the process's business.

mod clouds;
mod env;

use std::collections::BTreeMap;

use secrecy::SecretString;
use url::Url;

pub use clouds::{from_clouds_yaml, paths};
pub use env::from_env;

/// Which cloud, and as whom.
#[derive(Clone, Debug)]
pub struct Credentials {
    /// Ends in `/v3`.
    pub auth_url: Url,
    pub method: Method,
    pub region: Option<String>,
    pub interface: Interface,
    /// File with CA certificates, to be read by the process.
    pub ca_file: Option<String>,
    pub insecure: bool,
    /// Endpoints to use whatever the catalog says, by service (`compute`, `network`, `image`).
    pub overrides: BTreeMap<String, Url>,
}

#[derive(Clone, Debug)]
pub enum Method {
    Password {
        user: Named,
        password: SecretString,
        project: Named,
    },
    /// Never sends a scope: Keystone refuses one.
    ApplicationCredential {
        who: AppCredential,
        secret: SecretString,
    },
    Token {
        token: SecretString,
        project: Named,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AppCredential {
    Id(String),
    Name { name: String, user: Named },
}

/// A user or project: by id, or by name in a domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Named {
    Id(String),
    Name { name: String, domain: Domain },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Domain {
    Id(String),
    Name(String),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Interface {
    #[default]
    Public,
    Internal,
    Admin,
}

/// Credentials that cannot be used. Never holds a value of a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadCredentials {
    #[error("{wanted} is missing; set it in {place}")]
    Missing { wanted: &'static str, place: String },
    #[error("{key} in {place} is {problem}; {fix}")]
    Wrong {
        key: &'static str,
        place: String,
        problem: String,
        fix: &'static str,
    },
    #[error(
        "{place} cannot be read as YAML; check its indentation (its text is not shown, it may hold secrets)"
    )]
    NotYaml { place: &'static str },
    #[error(
        "clouds.yaml has no cloud {wanted:?}; it has {have}: name one of them in spec.cloud.cloudName or OS_CLOUD"
    )]
    NoSuchCloud { wanted: String, have: String },
}

/// From a Secret: a `clouds.yaml` (and `secure.yaml`) under the given or the usual key, else `OS_*` keys.
pub fn from_secret(
    entries: &BTreeMap<String, Vec<u8>>,
    key: Option<&str>,
    cloud: Option<&str>,
) -> Result<Credentials, BadCredentials> {
    let wanted = key.unwrap_or("clouds.yaml");
    if let Some(clouds) = entries.get(wanted) {
        let secure = entries.get("secure.yaml").map(Vec::as_slice);
        return from_clouds_yaml(clouds, secure, cloud);
    }
    if key.is_none() && entries.contains_key("OS_AUTH_URL") {
        let text = |(key, value): (&String, &Vec<u8>)| {
            Some((key.clone(), String::from_utf8(value.clone()).ok()?))
        };
        return from_env(&entries.iter().filter_map(text).collect());
    }
    Err(BadCredentials::Missing {
        wanted: "clouds.yaml or OS_AUTH_URL",
        place: format!("the Secret (looked for key {wanted:?})"),
    })
}

impl Credentials {
    /// Every secret in it, for the redactor.
    pub fn secrets(&self) -> Vec<SecretString> {
        match &self.method {
            Method::Password { password, .. } => vec![password.clone()],
            Method::ApplicationCredential { secret, .. } => vec![secret.clone()],
            Method::Token { token, .. } => vec![token.clone()],
        }
    }
}

impl Interface {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Internal => "internal",
            Self::Admin => "admin",
        }
    }

    /// Old spellings end in `URL`.
    pub(crate) fn read(text: &str) -> Option<Self> {
        match text.trim_end_matches("URL") {
            "public" => Some(Self::Public),
            "internal" => Some(Self::Internal),
            "admin" => Some(Self::Admin),
            _ => None,
        }
    }
}

/// Where both kinds of source meet: names as `clouds.yaml` has them.
pub(super) struct Fields<'a> {
    pub get: &'a dyn Fn(&str) -> Option<String>,
    pub place: String,
}

impl Fields<'_> {
    fn any(&self, keys: &[&str]) -> Option<String> {
        keys.iter()
            .find_map(|key| (self.get)(key))
            .filter(|value| !value.is_empty())
    }

    fn missing(&self, wanted: &'static str) -> BadCredentials {
        BadCredentials::Missing {
            wanted,
            place: self.place.clone(),
        }
    }

    pub(super) fn auth_url(&self) -> Result<Url, BadCredentials> {
        let text = self
            .any(&["auth_url"])
            .ok_or_else(|| self.missing("auth_url (OS_AUTH_URL)"))?;
        let wrong = |problem: &str| BadCredentials::Wrong {
            key: "auth_url",
            place: self.place.clone(),
            problem: problem.to_owned(),
            fix: "write for example https://keystone.example.org:5000/v3",
        };
        let mut url: Url = text.parse().map_err(|_| wrong("no URL"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(wrong("neither http nor https"));
        }
        let path = url.path().trim_end_matches('/').to_owned();
        let has_version = path.split('/').any(|segment| segment == "v3");
        url.set_path(&if has_version {
            path
        } else {
            format!("{path}/v3")
        });
        url.set_query(None);
        Ok(url)
    }

    pub(super) fn method(&self) -> Result<Method, BadCredentials> {
        let kind = self.any(&["auth_type"]).unwrap_or_default();
        let app = ["application_credential_id", "application_credential_name"];
        let is_app =
            kind == "v3applicationcredential" || (kind.is_empty() && self.any(&app).is_some());
        if is_app {
            return self.application_credential();
        }
        match kind.as_str() {
            "" | "password" | "v3password" => self.password(),
            "token" | "v3token" => {
                let token = self
                    .any(&["token"])
                    .ok_or_else(|| self.missing("token (OS_TOKEN)"))?;
                Ok(Method::Token {
                    token: token.into(),
                    project: self.project()?,
                })
            }
            _ => Err(BadCredentials::Wrong {
                key: "auth_type",
                place: self.place.clone(),
                problem: "not supported".to_owned(),
                fix: "use password or v3applicationcredential",
            }),
        }
    }

    fn application_credential(&self) -> Result<Method, BadCredentials> {
        let secret = self
            .any(&["application_credential_secret"])
            .ok_or_else(|| {
                self.missing("application_credential_secret (OS_APPLICATION_CREDENTIAL_SECRET)")
            })?;
        let who = match (
            self.any(&["application_credential_id"]),
            self.any(&["application_credential_name"]),
        ) {
            (Some(id), _) => AppCredential::Id(id),
            (None, Some(name)) => AppCredential::Name {
                name,
                user: self.user()?,
            },
            (None, None) => {
                return Err(
                    self.missing("application_credential_id (OS_APPLICATION_CREDENTIAL_ID)")
                );
            }
        };
        Ok(Method::ApplicationCredential {
            who,
            secret: secret.into(),
        })
    }

    fn password(&self) -> Result<Method, BadCredentials> {
        let user = self.user()?;
        let password = self
            .any(&["password"])
            .ok_or_else(|| self.missing("password (OS_PASSWORD)"))?;
        Ok(Method::Password {
            user,
            password: password.into(),
            project: self.project()?,
        })
    }

    fn user(&self) -> Result<Named, BadCredentials> {
        let id = self.any(&["user_id", "userid"]);
        let name = self.any(&["username"]);
        self.named(id, name, "user")
            .ok_or_else(|| self.missing("username or user_id (OS_USERNAME)"))
    }

    fn project(&self) -> Result<Named, BadCredentials> {
        let id = self.any(&["project_id", "tenant_id"]);
        let name = self.any(&["project_name", "tenant_name"]);
        self.named(id, name, "project")
            .ok_or_else(|| self.missing("project_name or project_id (OS_PROJECT_NAME)"))
    }

    /// A name without any domain is in `Default`, as the prototypes had it.
    fn named(&self, id: Option<String>, name: Option<String>, what: &str) -> Option<Named> {
        if let Some(id) = id {
            return Some(Named::Id(id));
        }
        let ids = [
            &format!("{what}_domain_id"),
            "domain_id",
            "default_domain_id",
        ];
        let names = [
            &format!("{what}_domain_name"),
            "domain_name",
            "default_domain",
        ];
        let domain = match (self.any(&ids[..1]), self.any(&names[..1])) {
            (Some(id), _) => Domain::Id(id),
            (None, Some(name)) => Domain::Name(name),
            (None, None) => match (self.any(&ids[1..]), self.any(&names[1..])) {
                (Some(id), _) => Domain::Id(id),
                (None, name) => Domain::Name(name.unwrap_or_else(|| "Default".to_owned())),
            },
        };
        name.map(|name| Named::Name { name, domain })
    }

    pub(super) fn interface(&self) -> Result<Interface, BadCredentials> {
        match self.any(&["interface", "endpoint_type"]) {
            None => Ok(Interface::default()),
            Some(text) => Interface::read(&text).ok_or_else(|| BadCredentials::Wrong {
                key: "interface",
                place: self.place.clone(),
                problem: "unknown".to_owned(),
                fix: "use public, internal or admin",
            }),
        }
    }
}

#[cfg(test)]
mod tests;
