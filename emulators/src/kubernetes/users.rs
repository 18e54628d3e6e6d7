//! Who is asking? Certificates, bearer tokens, bootstrap tokens, impersonation.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::Request;
use jiff::Timestamp;

use super::ask::header;
use super::paths::text;
use super::status::Status;
use super::store::Store;

/// Put into a request's extensions by a front that knows the caller already.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct User {
    pub name: String,
    pub groups: Vec<String>,
    pub uid: String,
}

/// Tokens that were handed out: service accounts' and fixed ones.
#[derive(Debug, Default)]
pub struct Tokens {
    issued: std::collections::BTreeMap<String, Issued>,
}

#[derive(Debug, Clone)]
struct Issued {
    user: User,
    /// A service account's token dies with it: namespace, name, uid.
    account: Option<(String, String, String)>,
    expires: Option<Timestamp>,
}

pub const MASTERS: &str = "system:masters";

impl User {
    pub fn new(name: &str, groups: &[&str]) -> Self {
        let groups = groups.iter().copied().chain(["system:authenticated"]);
        Self {
            name: name.to_owned(),
            groups: groups.map(str::to_owned).collect(),
            uid: String::new(),
        }
    }

    pub fn admin() -> Self {
        Self::new("kubernetes-admin", &[MASTERS])
    }

    pub fn anonymous() -> Self {
        Self {
            name: "system:anonymous".to_owned(),
            groups: vec!["system:unauthenticated".to_owned()],
            uid: String::new(),
        }
    }

    pub fn account(namespace: &str, name: &str) -> Self {
        let all = format!("system:serviceaccounts:{namespace}");
        Self::new(
            &format!("system:serviceaccount:{namespace}:{name}"),
            &["system:serviceaccounts", &all],
        )
    }

    pub fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|have| have == group)
    }

    pub fn may_everything(&self) -> bool {
        self.is_in(MASTERS)
    }
}

impl Tokens {
    pub fn add(&mut self, token: &str, user: User) {
        let issued = Issued {
            user,
            account: None,
            expires: None,
        };
        self.issued.insert(token.to_owned(), issued);
    }

    pub fn add_account(&mut self, token: &str, account: (&str, &str, &str), expires: Timestamp) {
        let (namespace, name, uid) = account;
        let mut user = User::account(namespace, name);
        uid.clone_into(&mut user.uid);
        let issued = Issued {
            user,
            account: Some((namespace.to_owned(), name.to_owned(), uid.to_owned())),
            expires: Some(expires),
        };
        self.issued.insert(token.to_owned(), issued);
    }

    /// The user behind a bearer token, if it is good now.
    pub fn user(&self, token: &str, store: &Store, now: Timestamp) -> Option<User> {
        let Some(issued) = self.issued.get(token) else {
            return bootstrap(token, store, now);
        };
        if issued.expires.is_some_and(|expires| expires <= now) {
            return None;
        }
        if let Some((namespace, name, uid)) = &issued.account {
            let account = store.get("serviceaccounts", namespace, name)?;
            if account.meta.uid != *uid {
                return None;
            }
        }
        Some(issued.user.clone())
    }
}

/// The caller: what the front knows, else the bearer token, else nobody. Then whom he wants to be.
pub fn caller(
    request: &Request<Bytes>,
    tokens: &Tokens,
    store: &Store,
    now: Timestamp,
) -> Result<(User, Option<User>), Status> {
    let bearer = header(request, "authorization").split_once(' ');
    let bearer = bearer
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .map(|(_, token)| token.trim());
    let real = match (request.extensions().get::<User>(), bearer) {
        (_, Some(token)) => tokens
            .user(token, store, now)
            .ok_or_else(Status::unauthorized)?,
        (Some(user), None) => user.clone(),
        (None, None) => User::anonymous(),
    };
    let wanted = header(request, "impersonate-user");
    if wanted.is_empty() {
        return Ok((real, None));
    }
    let groups = request.headers().get_all("impersonate-group");
    let groups: Vec<&str> = groups
        .iter()
        .filter_map(|group| group.to_str().ok())
        .collect();
    let parts: Vec<&str> = wanted.split(':').collect();
    let other = match parts.as_slice() {
        ["system", "serviceaccount", namespace, name] if groups.is_empty() => {
            User::account(namespace, name)
        }
        _ => User::new(wanted, &groups),
    };
    Ok((real, Some(other)))
}

/// `id.secret` against the Secret `kube-system/bootstrap-token-<id>`.
fn bootstrap(token: &str, store: &Store, now: Timestamp) -> Option<User> {
    let (id, secret) = token.split_once('.')?;
    let plain = |text: &str, length: usize| {
        text.len() == length
            && text
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    if !plain(id, 6) || !plain(secret, 16) {
        return None;
    }
    let object = store.get("secrets", "kube-system", &format!("bootstrap-token-{id}"))?;
    let value = object.value();
    let entry = |name: &str| -> Option<String> {
        let bytes = STANDARD.decode(text(&value["data"], name)).ok()?;
        String::from_utf8(bytes).ok()
    };
    if value["type"] != "bootstrap.kubernetes.io/token"
        || object.meta.deleted_at.is_some()
        || entry("token-id").as_deref() != Some(id)
        || entry("token-secret").as_deref() != Some(secret)
        || entry("usage-bootstrap-authentication").as_deref() != Some("true")
    {
        return None;
    }
    if let Some(expires) = entry("expiration")
        && expires.parse::<Timestamp>().ok()? <= now
    {
        return None;
    }
    let more = entry("auth-extra-groups").unwrap_or_default();
    let groups = more
        .split(',')
        .filter(|group| group.starts_with("system:bootstrappers:"));
    let groups: Vec<&str> = ["system:bootstrappers"].into_iter().chain(groups).collect();
    let mut user = User::new(&format!("system:bootstrap:{id}"), &groups);
    // such a token proves no more than that
    user.groups.dedup();
    Some(user)
}
