//! Who is asking, and what does a token say about him?

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::wire::{Ask, Refusal, micros};
use super::world::Token;
use super::{OpenStack, errors};

/// A caller whose token was good.
#[derive(Debug, Clone)]
pub(super) struct Caller {
    pub user: String,
    /// `None`: an unscoped token. It sees nothing, and is told so with 200.
    pub project: Option<String>,
}

/// How a new token came to be.
pub(super) struct Grant {
    pub user: String,
    pub project: Option<String>,
    pub methods: Vec<String>,
    pub credential: Option<(String, String)>,
    /// Of a token made from a token: the end and the audit id of the old one.
    pub parent: Option<(Timestamp, String)>,
}

impl Caller {
    pub(super) fn project(&self) -> &str {
        self.project.as_deref().unwrap_or_default()
    }
}

impl OpenStack {
    /// A token that is good now. It is refused from the very second of its expiry.
    pub(super) fn token(&self, text: Option<&str>, now: Timestamp) -> Option<&Token> {
        let token = self.world.tokens.get(text?)?;
        (now < token.expires).then_some(token)
    }

    pub(super) fn caller(&self, ask: &Ask) -> Result<Caller, Refusal> {
        let token = self.token(ask.header("x-auth-token"), ask.now);
        let token = token.ok_or_else(|| errors::unauthorized(&ask.base))?;
        Ok(Caller {
            user: token.user.clone(),
            project: token.project.clone(),
        })
    }

    /// Makes a token and says its text.
    pub(super) fn grant(&mut self, grant: Grant, now: Timestamp) -> String {
        let text = format!("gAAAAA{}", self.dice.word(177));
        let seconds = i64::try_from(self.settings.token_seconds).unwrap_or(i64::MAX);
        let whole = Timestamp::from_second(now.as_second()).unwrap_or(now);
        let fresh = whole
            .checked_add(SignedDuration::from_secs(seconds))
            .unwrap_or(Timestamp::MAX);
        let mut audit_ids = vec![self.dice.word(22)];
        let expires = match grant.parent {
            Some((expires, audit)) => {
                audit_ids.push(audit);
                expires
            }
            None => fresh,
        };
        let token = Token {
            user: grant.user,
            project: grant.project,
            methods: grant.methods,
            audit_ids,
            issued: whole,
            expires,
            credential: grant.credential,
        };
        self.world.tokens.retain(|_, token| now < token.expires);
        self.world.tokens.insert(text.clone(), token);
        text
    }

    pub(super) fn describe(&self, token: &Token, base: &str, catalog: bool) -> Value {
        let domain = json!({"id": "default", "name": "Default"});
        let name = self.world.user(&token.user).map_or("", |user| &user.name);
        let mut body = json!({
            "methods": token.methods,
            "user": {"domain": domain, "id": token.user, "name": name, "password_expires_at": null},
            "audit_ids": token.audit_ids,
            "expires_at": micros(token.expires),
            "issued_at": micros(token.issued),
        });
        if let Some(project) = token
            .project
            .as_deref()
            .and_then(|id| self.world.project(id))
        {
            body["project"] = json!({"domain": domain, "id": project.id, "name": project.name});
            body["is_domain"] = json!(false);
            body["roles"] = json!(self.world.roles);
            if catalog {
                body["catalog"] = self.catalog(base);
            }
        }
        if let Some((id, name)) = &token.credential {
            body["application_credential"] = json!({"id": id, "name": name, "restricted": true});
        }
        json!({"token": body})
    }

    pub(super) fn catalog(&self, base: &str) -> Value {
        let services = [
            ("identity", "keystone", "/identity/v3"),
            ("compute", "nova", "/compute/v2.1"),
            ("network", "neutron", "/networking"),
            ("image", "glance", "/image"),
        ];
        let region = &self.world.region;
        services
            .iter()
            .map(|(kind, name, path)| {
                let endpoints: Vec<Value> = ["public", "internal", "admin"]
                    .iter()
                    .map(|interface| {
                        json!({
                            "id": fixed_id(&format!("{kind}/{interface}/{region}")),
                            "interface": interface, "region": region, "region_id": region,
                            "url": format!("{base}{path}"),
                        })
                    })
                    .collect();
                json!({"id": fixed_id(name), "type": kind, "name": name, "endpoints": endpoints})
            })
            .collect()
    }
}

/// 32 hexadecimal digits that are always the same for the same text (FNV-1a, twice).
pub(super) fn fixed_id(text: &str) -> String {
    let hash = |start: u64| {
        text.bytes().fold(start, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
    };
    format!(
        "{:016x}{:016x}",
        hash(0xcbf2_9ce4_8422_2325),
        hash(0x8422_2325_cbf2_9ce4)
    )
}
