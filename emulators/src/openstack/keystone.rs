//! Who may come in? Keystone v3, as far as a machine's client uses it.

use http::Method;
use serde_json::{Value, json};

use super::tokens::Grant;
use super::wire::{Ask, Outcome, Refusal, Said, str_of};
use super::world::Credential;
use super::{Object, OpenStack, errors, versions};

impl OpenStack {
    pub(super) fn keystone(&mut self, ask: &Ask) -> Outcome {
        let get = ask.method == Method::GET;
        match ask.parts().as_slice() {
            [] if get => Ok(versions::keystone_root(&ask.base)),
            ["v3"] if get => Ok(versions::keystone_v3(&ask.base)),
            ["v3", "auth", "tokens"] if ask.method == Method::POST => self.sign_in(ask),
            ["v3", rest @ ..] => self.keystone_known(ask, rest),
            _ => Err(not_found()),
        }
    }

    /// What needs a token.
    fn keystone_known(&mut self, ask: &Ask, rest: &[&str]) -> Outcome {
        let token = self.token(ask.header("x-auth-token"), ask.now).cloned();
        let token = token.ok_or_else(|| errors::unauthorized(&ask.base))?;
        match (ask.method.as_str(), rest) {
            ("GET" | "HEAD", ["auth", "tokens"]) => self.look_at_token(ask),
            ("DELETE", ["auth", "tokens"]) => {
                let subject = ask.header("x-subject-token").unwrap_or_default();
                self.world.tokens.remove(subject);
                Ok(Said::empty(204))
            }
            ("GET", ["auth", "catalog"]) => {
                let links = json!({"self": format!("{}/identity/v3/auth/catalog", ask.base)});
                let catalog = self.catalog(&ask.base);
                Ok(Said::json(200, json!({"catalog": catalog, "links": links})))
            }
            ("GET", ["auth", "projects"]) => Ok(self.own_projects(ask, &token.user)),
            ("POST", ["users", user, "application_credentials"]) if *user == token.user => {
                let project = token
                    .project
                    .ok_or_else(|| forbidden("identity:create_application_credential"))?;
                if token.credential.is_some() {
                    return Err(forbidden("identity:create_application_credential"));
                }
                self.make_credential(ask, user, &project)
            }
            ("DELETE", ["users", user, "application_credentials", id]) if *user == token.user => {
                let before = self.world.credentials.len();
                self.world
                    .credentials
                    .retain(|credential| credential.id != *id);
                if self.world.credentials.len() == before {
                    return Err(errors::keystone(
                        404,
                        &format!("Could not find Application Credential: {id}."),
                    ));
                }
                // its tokens go with it
                self.world.tokens.retain(|_, token| {
                    let by = token.credential.as_ref();
                    by.is_none_or(|(by, _)| by != *id)
                });
                Ok(Said::empty(204))
            }
            (
                "GET",
                [
                    "users" | "projects" | "roles" | "services" | "endpoints" | "domains"
                    | "regions",
                ],
            ) => Err(forbidden(&format!("identity:list_{}", rest.join("_")))),
            _ => Err(not_found()),
        }
    }

    fn sign_in(&mut self, ask: &Ask) -> Outcome {
        let body = ask
            .json()
            .ok_or_else(|| errors::keystone_expected("valid JSON in request body"))?;
        let auth = body.get("auth").and_then(Value::as_object);
        let auth = auth.ok_or_else(|| errors::keystone_expected("auth in request body"))?;
        let identity = auth.get("identity").and_then(Value::as_object);
        let identity = identity.ok_or_else(|| errors::keystone_expected("identity in auth"))?;
        let methods = identity.get("methods").and_then(Value::as_array);
        let method = methods
            .and_then(|methods| methods.first())
            .and_then(Value::as_str);
        let method = method.ok_or_else(|| errors::keystone_expected("methods in identity"))?;
        let proof = identity.get(method).and_then(Value::as_object);
        let proof =
            proof.ok_or_else(|| errors::keystone_expected(&format!("{method} in identity")))?;
        let scope = auth.get("scope");
        let grant = match method {
            "password" => self.by_password(proof, scope, ask)?,
            "application_credential" => self.by_credential(proof, scope, ask)?,
            "token" => self.by_token(proof, scope, ask)?,
            _ => return Err(errors::unauthorized(&ask.base)),
        };
        let text = self.grant(grant, ask.now);
        let catalog = ask.param("nocatalog").is_none();
        let body = self
            .world
            .tokens
            .get(&text)
            .map(|token| self.describe(token, &ask.base, catalog));
        Ok(Said::json(201, body.unwrap_or_default()).with("x-subject-token", text))
    }

    fn by_password(
        &self,
        proof: &Object,
        scope: Option<&Value>,
        ask: &Ask,
    ) -> Result<Grant, Refusal> {
        let user = proof.get("user").and_then(Value::as_object);
        let user = user.ok_or_else(|| errors::keystone_expected("user in password"))?;
        let known = self.named_user(user)?;
        let password = str_of(user, "password");
        let refused = || errors::unauthorized(&ask.base);
        let known = known.filter(|id| {
            self.world
                .user(id)
                .is_some_and(|user| user.password == password)
        });
        let user = known.ok_or_else(refused)?;
        let project = self.scoped(&user, scope, ask)?;
        Ok(Grant {
            user,
            project,
            methods: vec!["password".into()],
            credential: None,
            parent: None,
        })
    }

    fn by_credential(
        &self,
        proof: &Object,
        scope: Option<&Value>,
        ask: &Ask,
    ) -> Result<Grant, Refusal> {
        let refused = || errors::unauthorized(&ask.base);
        let owner = match proof.get("user").and_then(Value::as_object) {
            Some(user) => Some(self.named_user(user)?.ok_or_else(refused)?),
            None => None,
        };
        let (id, name) = (str_of(proof, "id"), str_of(proof, "name"));
        let found = self
            .world
            .credentials
            .iter()
            .find(|credential| match &owner {
                Some(owner) if id.is_empty() => {
                    credential.user == *owner && credential.name == name
                }
                _ => credential.id == id,
            });
        let credential = found.filter(|credential| credential.secret == str_of(proof, "secret"));
        let credential = credential.ok_or_else(refused)?;
        if scope.is_some() {
            let mut said = errors::unauthorized(&ask.base);
            if let super::wire::Body::Json(body) = &mut said.0.body {
                body["error"]["identity"] = json!({});
                body["error"]["message"] = "Error authenticating with application credential: Application credentials cannot request a scope.".into();
            }
            return Err(said);
        }
        Ok(Grant {
            user: credential.user.clone(),
            project: Some(credential.project.clone()),
            methods: vec!["application_credential".into()],
            credential: Some((credential.id.clone(), credential.name.clone())),
            parent: None,
        })
    }

    fn by_token(&self, proof: &Object, scope: Option<&Value>, ask: &Ask) -> Result<Grant, Refusal> {
        let old = self.token(Some(str_of(proof, "id")), ask.now);
        let old = old.ok_or_else(|| errors::unauthorized(&ask.base))?;
        let mut methods = old.methods.clone();
        if !methods.iter().any(|method| method == "token") {
            methods.push("token".into());
        }
        let project = match scope {
            None => old.project.clone(),
            scope => self.scoped(&old.user, scope, ask)?,
        };
        let audit = old.audit_ids.first().cloned().unwrap_or_default();
        Ok(Grant {
            user: old.user.clone(),
            project,
            methods,
            credential: old.credential.clone(),
            parent: Some((old.expires, audit)),
        })
    }

    /// `Ok(None)`: there is no such user, which must look like a wrong password.
    fn named_user(&self, user: &Object) -> Result<Option<String>, Refusal> {
        if let Some(id) = user.get("id").and_then(Value::as_str) {
            return Ok(self.world.user(id).map(|user| user.id.clone()));
        }
        let name = user.get("name").and_then(Value::as_str);
        let name = name.ok_or_else(|| errors::keystone_expected("id or name in user"))?;
        let domain = user.get("domain").and_then(Value::as_object);
        let domain = domain.ok_or_else(|| errors::keystone_expected("domain in user"))?;
        let found = self.world.users.iter().find(|user| user.name == name);
        Ok(found
            .filter(|_| is_default(domain))
            .map(|user| user.id.clone()))
    }

    fn scoped(
        &self,
        user: &str,
        scope: Option<&Value>,
        ask: &Ask,
    ) -> Result<Option<String>, Refusal> {
        let refused = || errors::unauthorized(&ask.base);
        let project = match scope {
            None => return Ok(None),
            Some(Value::String(text)) if text == "unscoped" => return Ok(None),
            Some(Value::Object(scope)) => scope.get("project").and_then(Value::as_object),
            Some(_) => None,
        };
        let project = project.ok_or_else(refused)?;
        let found = if let Some(id) = project.get("id").and_then(Value::as_str) {
            self.world.project(id)
        } else {
            let name = str_of(project, "name");
            let domain = project.get("domain").and_then(Value::as_object);
            let domain = domain.ok_or_else(|| errors::keystone_expected("domain in project"))?;
            let mut named = self
                .world
                .projects
                .iter()
                .filter(|project| project.name == name);
            named.next().filter(|_| is_default(domain))
        };
        let member = self
            .world
            .user(user)
            .map(|user| user.projects.as_slice())
            .unwrap_or_default();
        let found = found.filter(|project| member.contains(&project.id));
        found
            .map(|project| Some(project.id.clone()))
            .ok_or_else(refused)
    }

    fn look_at_token(&self, ask: &Ask) -> Outcome {
        let subject = ask.header("x-subject-token");
        let token = self.token(subject, ask.now);
        let token =
            token.ok_or_else(|| errors::keystone(404, "Could not recognize Fernet token"))?;
        let body = self.describe(token, &ask.base, ask.param("nocatalog").is_none());
        Ok(Said::json(200, body).with("x-subject-token", subject.unwrap_or_default()))
    }

    fn own_projects(&self, ask: &Ask, user: &str) -> Said {
        let member = self
            .world
            .user(user)
            .map(|user| user.projects.as_slice())
            .unwrap_or_default();
        let projects = self
            .world
            .projects
            .iter()
            .filter(|project| member.contains(&project.id));
        let projects: Vec<Value> = projects
            .map(|project| {
                json!({
                    "id": project.id, "name": project.name, "domain_id": "default", "description": "",
                    "enabled": true, "parent_id": "default", "is_domain": false, "tags": [], "options": {},
                    "links": {"self": format!("{}/identity/v3/projects/{}", ask.base, project.id)},
                })
            })
            .collect();
        let links = json!({"next": null, "self": format!("{}/identity/v3/auth/projects", ask.base), "previous": null});
        Said::json(200, json!({"projects": projects, "links": links}))
    }

    fn make_credential(&mut self, ask: &Ask, user: &str, project: &str) -> Outcome {
        let body = ask
            .json()
            .ok_or_else(|| errors::keystone_expected("valid JSON in request body"))?;
        let wanted = body
            .get("application_credential")
            .and_then(Value::as_object);
        let wanted = wanted
            .ok_or_else(|| errors::keystone_expected("application_credential in request body"))?;
        let name = wanted.get("name").and_then(Value::as_str);
        let name =
            name.ok_or_else(|| errors::keystone_expected("name in application_credential"))?;
        let secret = match str_of(wanted, "secret") {
            "" => self.dice.word(86),
            secret => secret.to_owned(),
        };
        let credential = Credential {
            id: self.dice.hex(),
            name: name.to_owned(),
            secret,
            user: user.to_owned(),
            project: project.to_owned(),
        };
        let roles: Vec<Value> = self
            .world
            .roles
            .iter()
            .map(|role| {
                json!({"id": role.id, "name": role.name, "domain_id": null, "description": null, "options": {"immutable": true}})
            })
            .collect();
        let body = json!({"application_credential": {
            "id": credential.id, "name": name, "description": null, "user_id": user, "project_id": project,
            "system": null, "expires_at": null, "unrestricted": null, "roles": roles, "secret": credential.secret,
            "links": {"self": format!("{}/identity/v3/application_credentials/{}", ask.base, credential.id)},
        }});
        self.world.credentials.push(credential);
        Ok(Said::json(201, body))
    }
}

fn is_default(domain: &Object) -> bool {
    str_of(domain, "name") == "Default" || str_of(domain, "id") == "default"
}

fn forbidden(action: &str) -> Refusal {
    let message = format!("You are not authorized to perform the requested action: {action}.");
    errors::keystone(403, &message)
}

fn not_found() -> Refusal {
    errors::keystone(404, "The resource could not be found.")
}
