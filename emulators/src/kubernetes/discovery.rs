//! How does a client find out what is served?

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use http::Request;
use serde_json::{Value, json};

use super::Said;
use super::ask::header;
use super::crds::priority;
use super::kinds::{Kind, Kinds};
use super::status::Status;

const VERSION: &str = "v1.35.8";

/// `None`: no path of discovery.
pub(super) fn answer(request: &Request<Bytes>, kinds: &Kinds) -> Option<Result<Said, Status>> {
    let path = request.uri().path();
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let aggregated = header(request, "accept").contains("as=APIGroupDiscoveryList");
    let said = match parts.as_slice() {
        [] => {
            json!({"paths": ["/api", "/api/v1", "/apis", "/healthz", "/livez", "/openapi/v3", "/readyz", "/version"]})
        }
        ["version"] => version(),
        ["healthz" | "livez" | "readyz", ..] => return Some(Ok(Said::text(200, "ok"))),
        ["api"] if aggregated => return Some(Ok(all(kinds, true))),
        ["apis"] if aggregated => return Some(Ok(all(kinds, false))),
        ["api"] => {
            json!({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []})
        }
        ["apis"] => json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups(kinds)}),
        ["apis", group] => match groups(kinds)
            .into_iter()
            .find(|have| have["name"] == *group)
        {
            Some(mut found) => {
                found["kind"] = "APIGroup".into();
                found["apiVersion"] = "v1".into();
                found
            }
            None => return Some(Err(Status::no_such_path())),
        },
        ["api", version] => return Some(resources(kinds, "", version)),
        ["apis", group, version] => return Some(resources(kinds, group, version)),
        ["openapi", "v3"] => openapi_root(kinds),
        ["openapi", "v3", "api", version] => return Some(openapi(kinds, "", version)),
        ["openapi", "v3", "apis", group, version] => return Some(openapi(kinds, group, version)),
        _ => return None,
    };
    Some(Ok(Said::json(200, &said)))
}

fn version() -> Value {
    json!({"major": "1", "minor": "35", "gitVersion": VERSION, "gitCommit": "", "gitTreeState": "clean",
        "buildDate": "", "goVersion": "", "compiler": "rustc", "platform": "linux/emulated"})
}

/// Versions of every group, the preferred first.
fn by_group(kinds: &Kinds) -> BTreeMap<String, Vec<String>> {
    let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for kind in kinds.iter() {
        let versions = groups.entry(kind.group.clone()).or_default();
        for version in &kind.versions {
            if !versions.contains(version) {
                versions.push(version.clone());
            }
        }
    }
    for versions in groups.values_mut() {
        versions.sort_by_key(|version| std::cmp::Reverse(priority(version)));
    }
    groups
}

fn groups(kinds: &Kinds) -> Vec<Value> {
    let all = by_group(kinds)
        .into_iter()
        .filter(|(group, versions)| !group.is_empty() && !versions.is_empty());
    let all = all.map(|(group, versions)| {
        let versions: Vec<Value> = versions
            .iter()
            .map(
                |version| json!({"groupVersion": format!("{group}/{version}"), "version": version}),
            )
            .collect();
        json!({"name": group, "versions": versions, "preferredVersion": versions[0]})
    });
    all.collect()
}

fn of_version<'a>(
    kinds: &'a Kinds,
    group: &'a str,
    version: &'a str,
) -> impl Iterator<Item = &'a Arc<Kind>> {
    kinds
        .iter()
        .filter(move |kind| kind.group == group && kind.versions.iter().any(|have| have == version))
}

fn resources(kinds: &Kinds, group: &str, version: &str) -> Result<Said, Status> {
    let mut list = Vec::new();
    for kind in of_version(kinds, group, version) {
        list.push(json!({"name": kind.plural, "singularName": kind.singular, "namespaced": kind.namespaced,
            "kind": kind.kind, "verbs": verbs(kind), "shortNames": kind.short_names, "categories": kind.categories}));
        for sub in kind.subresources.iter().filter(|sub| *sub != "ask") {
            let (group, version, name) = sub_kind(kind, sub);
            let mut entry = json!({"name": format!("{}/{sub}", kind.plural), "singularName": "",
                "namespaced": kind.namespaced, "kind": name, "verbs": sub_verbs(sub)});
            if !version.is_empty() {
                entry["group"] = group.into();
                entry["version"] = version.into();
            }
            list.push(entry);
        }
    }
    if list.is_empty() {
        return Err(Status::no_such_path());
    }
    let group_version = if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    };
    Ok(Said::json(
        200,
        &json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": list}),
    ))
}

/// Everything in one answer, as newer clients ask for it.
fn all(kinds: &Kinds, core: bool) -> Said {
    let mut items = Vec::new();
    for (group, versions) in by_group(kinds) {
        if group.is_empty() != core || versions.is_empty() {
            continue;
        }
        let versions: Vec<Value> = versions
            .iter()
            .map(|version| {
                let resources: Vec<Value> = of_version(kinds, &group, version)
                    .map(|kind| aggregated(kind, version))
                    .collect();
                json!({"version": version, "freshness": "Current", "resources": resources})
            })
            .collect();
        let metadata = if core {
            json!({})
        } else {
            json!({"name": group})
        };
        items.push(json!({"metadata": metadata, "versions": versions}));
    }
    let body = json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items});
    let mut said = Said::json(200, &body);
    said.content_type = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    said
}

fn aggregated(kind: &Kind, version: &str) -> Value {
    let subs: Vec<Value> = kind
        .subresources
        .iter()
        .filter(|sub| *sub != "ask")
        .map(|sub| {
            let (group, version_of, name) = sub_kind(kind, sub);
            let version_of = if version_of.is_empty() {
                version
            } else {
                version_of
            };
            json!({"subresource": sub, "verbs": sub_verbs(sub),
                "responseKind": {"group": group, "version": version_of, "kind": name}})
        })
        .collect();
    json!({"resource": kind.plural, "responseKind": {"group": kind.group, "version": version, "kind": kind.kind},
        "scope": if kind.namespaced { "Namespaced" } else { "Cluster" }, "singularResource": kind.singular,
        "verbs": verbs(kind), "shortNames": kind.short_names, "categories": kind.categories, "subresources": subs})
}

fn verbs(kind: &Kind) -> &'static [&'static str] {
    if kind.asked_only {
        &["create"]
    } else {
        &[
            "create",
            "delete",
            "deletecollection",
            "get",
            "list",
            "patch",
            "update",
            "watch",
        ]
    }
}

fn sub_verbs(sub: &str) -> &'static [&'static str] {
    match sub {
        "binding" | "eviction" | "token" => &["create"],
        "log" => &["get"],
        "finalize" => &["update"],
        _ => &["get", "patch", "update"],
    }
}

fn sub_kind<'a>(kind: &'a Kind, sub: &str) -> (&'a str, &'static str, String) {
    match sub {
        "scale" => ("autoscaling", "v1", "Scale".to_owned()),
        "eviction" => ("policy", "v1", "Eviction".to_owned()),
        "token" => ("authentication.k8s.io", "v1", "TokenRequest".to_owned()),
        "binding" => (&kind.group, "", "Binding".to_owned()),
        _ => (&kind.group, "", kind.kind.clone()),
    }
}

fn openapi_root(kinds: &Kinds) -> Value {
    let mut paths = serde_json::Map::new();
    for (group, versions) in by_group(kinds) {
        for version in versions {
            let path = if group.is_empty() {
                format!("api/{version}")
            } else {
                format!("apis/{group}/{version}")
            };
            let link = json!({"serverRelativeURL": format!("/openapi/v3/{path}")});
            paths.insert(path, link);
        }
    }
    json!({"paths": paths})
}

/// As much as kubectl wants to know: which kinds are there and that the server itself finds unknown fields.
fn openapi(kinds: &Kinds, group: &str, version: &str) -> Result<Said, Status> {
    let mut paths = serde_json::Map::new();
    let mut schemas = serde_json::Map::new();
    for kind in of_version(kinds, group, version) {
        let root = if group.is_empty() {
            format!("/api/{version}")
        } else {
            format!("/apis/{group}/{version}")
        };
        let scope = if kind.namespaced {
            "/namespaces/{namespace}"
        } else {
            ""
        };
        let gvk = json!({"group": group, "version": version, "kind": kind.kind});
        let parameters: Vec<Value> = ["dryRun", "fieldManager", "fieldValidation"]
            .iter()
            .map(|name| json!({"name": name, "in": "query", "schema": {"type": "string"}}))
            .collect();
        let deed = |action: &str| {
            json!({"x-kubernetes-action": action, "x-kubernetes-group-version-kind": gvk,
            "parameters": parameters, "responses": {"200": {"description": "OK"}}})
        };
        paths.insert(
            format!("{root}{scope}/{}", kind.plural),
            json!({"post": deed("post")}),
        );
        paths.insert(
            format!("{root}{scope}/{}/{{name}}", kind.plural),
            json!({"put": deed("put"), "patch": deed("patch")}),
        );
        let custom = kind.custom.get(version).map(|custom| custom.schema.clone());
        let mut schema = custom.unwrap_or_else(
            || json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
        );
        super::paths::set(
            &mut schema,
            &["x-kubernetes-group-version-kind"],
            json!([gvk]),
        );
        schemas.insert(format!("{group}.{version}.{}", kind.kind), schema);
    }
    if paths.is_empty() {
        return Err(Status::no_such_path());
    }
    Ok(Said::json(
        200,
        &json!({"openapi": "3.0.0", "info": {"title": "Kubernetes", "version": VERSION},
        "paths": paths, "components": {"schemas": schemas}}),
    ))
}
