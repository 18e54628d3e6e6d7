//! May this user do this? Roles and bindings, evaluated as they are stored.

use serde_json::Value;

use super::ask::Ask;
use super::object::Object;
use super::paths::{list, strings, text};
use super::selectors::{all_hold, of_object};
use super::status::Status;
use super::store::Store;
use super::users::User;

const ROLES: &str = "roles.rbac.authorization.k8s.io";
const ROLE_BINDINGS: &str = "rolebindings.rbac.authorization.k8s.io";
const CLUSTER_ROLES: &str = "clusterroles.rbac.authorization.k8s.io";
const CLUSTER_BINDINGS: &str = "clusterrolebindings.rbac.authorization.k8s.io";

/// What somebody wants to do, in RBAC's words.
#[derive(Debug, Clone, Default)]
pub struct Deed {
    pub verb: String,
    pub group: String,
    /// `pods` or `pods/eviction`.
    pub resource: String,
    pub namespace: String,
    pub name: String,
    /// Not about an object but about this path.
    pub path: String,
}

impl Deed {
    pub fn of(ask: &Ask) -> Self {
        let resource = if ask.subresource.is_empty() {
            ask.kind.plural.clone()
        } else {
            format!("{}/{}", ask.kind.plural, ask.subresource)
        };
        Self {
            verb: ask.verb.word().to_owned(),
            group: ask.kind.group.clone(),
            resource,
            // a namespace itself is guarded by roles inside it, too
            namespace: if ask.kind.id == "namespaces" {
                ask.name.clone()
            } else {
                ask.namespace.clone()
            },
            name: ask.name.clone(),
            path: String::new(),
        }
    }

    pub fn on_path(verb: &str, path: &str) -> Self {
        Self {
            verb: verb.to_owned(),
            path: path.to_owned(),
            ..Self::default()
        }
    }

    pub fn of_review(attributes: &Value) -> Self {
        let object = &attributes["resourceAttributes"];
        let own = |member: &str| text(object, member).to_owned();
        let mut resource = own("resource");
        if !own("subresource").is_empty() {
            resource = format!("{resource}/{}", own("subresource"));
        }
        let plain = &attributes["nonResourceAttributes"];
        let verb = if plain.is_object() {
            text(plain, "verb").to_owned()
        } else {
            own("verb")
        };
        Self {
            verb,
            group: own("group"),
            resource,
            namespace: own("namespace"),
            name: own("name"),
            path: text(plain, "path").to_owned(),
        }
    }
}

pub fn may(store: &Store, user: &User, deed: &Deed) -> bool {
    if user.may_everything() {
        return true;
    }
    let public = ["/healthz", "/livez", "/readyz", "/version"];
    if public.iter().any(|path| deed.path.starts_with(path)) {
        return true;
    }
    let discovery = ["/api", "/apis", "/openapi"];
    let known = user.is_in("system:authenticated");
    if known && discovery.iter().any(|path| deed.path.starts_with(path)) {
        return true;
    }
    if known && deed.group.ends_with(".k8s.io") && deed.resource.starts_with("selfsubject") {
        return true;
    }
    let everywhere = store.list(CLUSTER_BINDINGS, None);
    let mut all = everywhere.filter(|binding| binds(&binding.value(), user, ""));
    if all.any(|binding| role_allows(store, &binding.value()["roleRef"], "", deed)) {
        return true;
    }
    if deed.namespace.is_empty() {
        return false;
    }
    let here = store.list(ROLE_BINDINGS, Some(&deed.namespace));
    let mut here = here.filter(|binding| binds(&binding.value(), user, &deed.namespace));
    here.any(|binding| role_allows(store, &binding.value()["roleRef"], &deed.namespace, deed))
}

/// The 403 a real server gives.
pub fn refusal(user: &User, deed: &Deed) -> Status {
    if !deed.path.is_empty() {
        let said = format!(
            "forbidden: User {:?} cannot {} path {:?}",
            user.name, deed.verb, deed.path
        );
        return Status::new(403, "Forbidden", said);
    }
    let (plural, sub) = deed
        .resource
        .split_once('/')
        .unwrap_or((&deed.resource, ""));
    let mut id = super::kinds::id(plural, &deed.group);
    if !sub.is_empty() {
        id = format!("{id}/{sub}");
    }
    let scope = if deed.namespace.is_empty() {
        "at the cluster scope".to_owned()
    } else {
        format!("in the namespace {:?}", deed.namespace)
    };
    let why = format!(
        "User {:?} cannot {} resource {:?} in API group {:?} {scope}",
        user.name, deed.verb, deed.resource, deed.group
    );
    if deed.name.is_empty() {
        let mut status = Status::new(403, "Forbidden", format!("{id} is forbidden: {why}"));
        status = status.about(&id, "");
        return status;
    }
    Status::forbidden(&id, &deed.name, &why)
}

fn binds(binding: &Value, user: &User, namespace: &str) -> bool {
    list(&binding["subjects"]).iter().any(|subject| {
        let name = text(subject, "name");
        match text(subject, "kind") {
            "User" => name == user.name,
            "Group" => user.is_in(name),
            "ServiceAccount" => {
                let home = match text(subject, "namespace") {
                    "" => namespace,
                    named => named,
                };
                user.name == format!("system:serviceaccount:{home}:{name}")
            }
            _ => false,
        }
    })
}

fn role_allows(store: &Store, reference: &Value, namespace: &str, deed: &Deed) -> bool {
    let name = text(reference, "name");
    let role = match text(reference, "kind") {
        "Role" => store.get(ROLES, namespace, name),
        _ => store.get(CLUSTER_ROLES, "", name),
    };
    role.is_some_and(|role| rules(store, role).iter().any(|rule| allows(rule, deed)))
}

/// A role's rules, with those of all roles that aggregate into it.
fn rules(store: &Store, role: &Object) -> Vec<Value> {
    let value = role.value();
    let mut rules = list(&value["rules"]).to_vec();
    for selector in list(&value["aggregationRule"]["clusterRoleSelectors"]) {
        let Some(wanted) = of_object(selector) else {
            continue;
        };
        let others = store.list(CLUSTER_ROLES, None);
        for other in others
            .filter(|other| other.name() != role.name() && all_hold(&wanted, &other.meta.labels))
        {
            rules.extend_from_slice(list(&other.value()["rules"]));
        }
    }
    rules
}

fn allows(rule: &Value, deed: &Deed) -> bool {
    let has = |member: &str, wanted: &str| {
        strings(&rule[member]).any(|have| have == "*" || have == wanted)
    };
    if !has("verbs", &deed.verb) {
        return false;
    }
    if !deed.path.is_empty() {
        return strings(&rule["nonResourceURLs"]).any(|pattern| match pattern.strip_suffix('*') {
            Some(prefix) => deed.path.starts_with(prefix),
            None => deed.path == pattern,
        });
    }
    let sub = deed.resource.split_once('/').map(|(_, sub)| sub);
    let any_sub =
        sub.is_some_and(|sub| strings(&rule["resources"]).any(|have| have == format!("*/{sub}")));
    let names = list(&rule["resourceNames"]);
    has("apiGroups", &deed.group)
        && (has("resources", &deed.resource) || any_sub)
        && (names.is_empty()
            || names.iter().any(|name| name == deed.name.as_str()) && !deed.name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;
    use serde_json::json;

    fn world() -> Store {
        let now = Timestamp::UNIX_EPOCH;
        let mut store = Store::new(1);
        let mut make = |id: &str, value: Value| drop(store.create(id, value, now).unwrap());
        make("namespaces", json!({"metadata": {"name": "a"}}));
        make(
            CLUSTER_ROLES,
            json!({"metadata": {"name": "reader"}, "rules": [
            {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods", "*/status"]},
            {"verbs": ["get"], "nonResourceURLs": ["/metrics/*"]}]}),
        );
        make(
            CLUSTER_ROLES,
            json!({"metadata": {"name": "all"},
            "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"into": "all"}}]}}),
        );
        make(
            CLUSTER_ROLES,
            json!({"metadata": {"name": "part", "labels": {"into": "all"}},
            "rules": [{"verbs": ["*"], "apiGroups": ["g.io"], "resources": ["*"]}]}),
        );
        make(
            ROLES,
            json!({"metadata": {"name": "one", "namespace": "a"}, "rules": [
            {"verbs": ["update"], "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["s"]}]}),
        );
        let account = json!([{"kind": "ServiceAccount", "name": "x", "namespace": "a"}]);
        make(
            CLUSTER_BINDINGS,
            json!({"metadata": {"name": "r"}, "roleRef": {"kind": "ClusterRole", "name": "reader"}, "subjects": account}),
        );
        make(
            CLUSTER_BINDINGS,
            json!({"metadata": {"name": "g"}, "roleRef": {"kind": "ClusterRole", "name": "all"},
            "subjects": [{"kind": "Group", "name": "team"}]}),
        );
        make(
            ROLE_BINDINGS,
            json!({"metadata": {"name": "o", "namespace": "a"}, "roleRef": {"kind": "Role", "name": "one"}, "subjects": account}),
        );
        store
    }

    fn deed(verb: &str, group: &str, resource: &str, namespace: &str, name: &str) -> Deed {
        let own = str::to_owned;
        Deed {
            verb: own(verb),
            group: own(group),
            resource: own(resource),
            namespace: own(namespace),
            name: own(name),
            path: String::new(),
        }
    }

    #[test]
    fn roles_allow_what_they_name_and_nothing_else() {
        let store = world();
        let account = User::account("a", "x");
        let yes = |deed: Deed| assert!(may(&store, &account, &deed), "{deed:?}");
        let no = |deed: Deed| assert!(!may(&store, &account, &deed), "{deed:?}");
        yes(deed("get", "", "pods", "b", "p"));
        yes(deed("get", "", "nodes/status", "", "n"));
        yes(deed("update", "", "secrets", "a", "s"));
        yes(Deed::on_path("get", "/metrics/x"));
        no(deed("delete", "", "pods", "b", "p"));
        no(deed("get", "", "pods/log", "b", "p"));
        no(deed("update", "", "secrets", "a", "t"));
        no(deed("update", "", "secrets", "b", "s"));
        no(deed("get", "g.io", "things", "", ""));
        assert!(may(
            &store,
            &User::new("u", &["team"]),
            &deed("create", "g.io", "things", "", "")
        ));
        assert!(may(
            &store,
            &User::admin(),
            &deed("create", "g.io", "things", "", "")
        ));
        assert!(!may(
            &store,
            &User::anonymous(),
            &deed("get", "", "pods", "", "")
        ));
        assert!(may(
            &store,
            &User::anonymous(),
            &Deed::on_path("get", "/version")
        ));
    }

    #[test]
    fn a_refusal_names_user_verb_and_resource() {
        let said = refusal(
            &User::account("a", "x"),
            &deed("list", "apps", "deployments", "b", ""),
        );
        assert_eq!(
            said.message,
            "deployments.apps is forbidden: User \"system:serviceaccount:a:x\" cannot list resource \"deployments\" in API group \"apps\" in the namespace \"b\""
        );
    }
}
