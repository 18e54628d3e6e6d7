//! The API from outside: requests in, answers out.

use super::*;
use crate::faults::{Act, Fault};
use crate::machine::{Machine, Reply};
use serde_json::json;

struct Client {
    cluster: Kubernetes,
    now: Timestamp,
    user: User,
}

impl Client {
    fn new() -> Self {
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        Self {
            cluster: Kubernetes::new(1, now),
            now,
            user: User::admin(),
        }
    }

    fn send(&mut self, method: &str, uri: &str, kind: &str, body: &str) -> Response<Bytes> {
        let mut request = Request::builder()
            .method(method)
            .uri(uri)
            .header("content-type", kind)
            .header("user-agent", "test/1")
            .body(Bytes::from(body.to_owned()))
            .unwrap();
        request.extensions_mut().insert(self.user.clone());
        match self.cluster.handle(&request, self.now).0 {
            Reply::Answer { response, .. } => response,
            other => panic!("{other:?}"),
        }
    }

    fn call(&mut self, method: &str, uri: &str, body: &Value) -> (u16, Value) {
        let kind = match method {
            "PATCH" => "application/merge-patch+json",
            _ => "application/json",
        };
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let response = self.send(method, uri, kind, &body);
        let value = serde_json::from_slice(response.body()).unwrap_or_default();
        (response.status().as_u16(), value)
    }

    fn get(&mut self, uri: &str) -> (u16, Value) {
        self.call("GET", uri, &Value::Null)
    }

    fn watch(&mut self, uri: &str) -> Watch {
        let mut response = self.send("GET", uri, "application/json", "");
        response.extensions_mut().remove().unwrap()
    }

    fn pull(&self, watch: &mut Watch) -> Vec<(String, Value)> {
        let pulled = self.cluster.pull(watch, self.now);
        let lines = pulled.bytes.iter().map(|line| {
            let mut event: Value = serde_json::from_slice(line).unwrap();
            (
                event["type"].as_str().unwrap().to_owned(),
                event["object"].take(),
            )
        });
        lines.collect()
    }

    fn later(&mut self, seconds: i64) {
        self.now += jiff::SignedDuration::from_secs(seconds);
        self.cluster.pass(self.now);
    }
}

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn map(name: &str) -> Value {
    json!({"metadata": {"name": name, "labels": {"app": name}}, "data": {"a": "1"}})
}

fn names(list: &Value) -> Vec<&str> {
    paths::list(&list["items"])
        .iter()
        .map(|item| item["metadata"]["name"].as_str().unwrap())
        .collect()
}

#[test]
fn an_object_is_created_read_changed_and_deleted() {
    let mut client = Client::new();
    let (code, made) = client.call("POST", MAPS, &map("m"));
    assert_eq!(
        (code, made["metadata"]["namespace"].as_str()),
        (201, Some("default"))
    );
    let one = format!("{MAPS}/m");
    let (code, patched) = client.call("PATCH", &one, &json!({"data": {"a": null, "b": "2"}}));
    assert_eq!((code, &patched["data"]), (200, &json!({"b": "2"})));
    let (code, late) = client.call("PUT", &one, &made);
    assert_eq!((code, late["reason"].as_str()), (409, Some("Conflict")));
    let (code, done) = client.call("DELETE", &one, &Value::Null);
    assert_eq!((code, done["status"].as_str()), (200, Some("Success")));
    let (code, gone) = client.get(&one);
    assert_eq!(
        (code, gone["message"].as_str()),
        (404, Some("configmaps \"m\" not found"))
    );
}

#[test]
fn a_dry_run_answers_as_if_and_writes_nothing() {
    let mut client = Client::new();
    let before = client.cluster.world.store.revision();
    let (code, made) = client.call("POST", &format!("{MAPS}?dryRun=All"), &map("m"));
    assert_eq!(code, 201);
    assert_eq!(made["metadata"]["uid"].as_str().unwrap().len(), 36);
    assert_eq!(client.cluster.world.store.revision(), before);
    assert_eq!(client.get(&format!("{MAPS}/m")).0, 404);
}

#[test]
fn a_list_in_pages_is_of_one_moment() {
    let mut client = Client::new();
    for name in ["a", "b", "c", "d"] {
        client.call("POST", MAPS, &map(name));
    }
    let (_, first) = client.get(&format!("{MAPS}?limit=2"));
    assert_eq!(names(&first), ["a", "b"]);
    assert_eq!(first["metadata"]["remainingItemCount"], 2);
    client.call("POST", MAPS, &map("bb"));
    client.call("DELETE", &format!("{MAPS}/d"), &Value::Null);
    let token = first["metadata"]["continue"].as_str().unwrap();
    let (_, second) = client.get(&format!("{MAPS}?limit=2&continue={token}"));
    assert_eq!(names(&second), ["c", "d"]);
    assert_eq!(
        second["metadata"]["resourceVersion"],
        first["metadata"]["resourceVersion"]
    );
    client.cluster.world.store.compact();
    let (code, late) = client.get(&format!("{MAPS}?limit=2&continue={token}"));
    assert_eq!((code, late["reason"].as_str()), (410, Some("Expired")));
}

#[test]
fn a_watch_tells_what_enters_and_leaves_its_selector() {
    let mut client = Client::new();
    client.call("POST", MAPS, &map("m"));
    let (_, list) = client.get(MAPS);
    let from = list["metadata"]["resourceVersion"]
        .as_str()
        .unwrap()
        .to_owned();
    let mut watch = client.watch(&format!(
        "{MAPS}?watch=1&resourceVersion={from}&labelSelector=app%3Dm"
    ));
    assert!(client.pull(&mut watch).is_empty());
    let one = format!("{MAPS}/m");
    client.call("PATCH", &one, &json!({"data": {"x": "y"}}));
    client.call(
        "PATCH",
        &one,
        &json!({"metadata": {"labels": {"app": "z"}}}),
    );
    client.call("POST", MAPS, &map("other"));
    client.call(
        "PATCH",
        &one,
        &json!({"metadata": {"labels": {"app": "m"}}}),
    );
    client.call("DELETE", &one, &Value::Null);
    let seen: Vec<String> = client
        .pull(&mut watch)
        .into_iter()
        .map(|(kind, _)| kind)
        .collect();
    assert_eq!(seen, ["MODIFIED", "DELETED", "ADDED", "DELETED"]);
}

#[test]
fn a_watch_can_begin_with_everything_and_say_when_it_is_through() {
    let mut client = Client::new();
    client.call("POST", MAPS, &map("m"));
    let options = "watch=true&labelSelector=app&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let mut watch = client.watch(&format!("{MAPS}?{options}"));
    let told = client.pull(&mut watch);
    assert_eq!(told[0].0, "ADDED");
    assert_eq!(told[1].0, "BOOKMARK");
    assert_eq!(
        told[1].1["metadata"]["annotations"]["k8s.io/initial-events-end"],
        "true"
    );
    client.later(61);
    let told = client.pull(&mut watch);
    assert_eq!(told[0].0, "BOOKMARK");
    assert_eq!(
        client
            .get(&format!("{MAPS}?watch=1&sendInitialEvents=true"))
            .0,
        422
    );
}

#[test]
fn a_watch_from_a_forgotten_revision_is_expired_and_one_that_is_broken_says_nothing_more() {
    let mut client = Client::new();
    client.call("POST", MAPS, &map("m"));
    client.cluster.world.store.compact();
    let mut watch = client.watch(&format!("{MAPS}?watch=1&resourceVersion=2"));
    let told = client.pull(&mut watch);
    assert_eq!(
        (told[0].0.as_str(), &told[0].1["code"]),
        ("ERROR", &json!(410))
    );
    let mut watch = client.watch(&format!("{MAPS}?watch=1"));
    client.cluster.break_watches();
    let pulled = client.cluster.pull(&mut watch, client.now);
    assert_eq!(pulled.end, Some(watch::End::Broken));
}

#[test]
fn a_watch_ends_when_its_time_is_over() {
    let mut client = Client::new();
    let mut watch = client.watch("/api/v1/pods?watch=1&timeoutSeconds=5");
    assert_eq!(watch.due(), client.now + jiff::SignedDuration::from_secs(5));
    client.later(5);
    assert_eq!(
        client.cluster.pull(&mut watch, client.now).end,
        Some(watch::End::Clean)
    );
}

fn thing_definition() -> Value {
    let version = |name: &str, storage: bool| {
        json!({"name": name, "served": true, "storage": storage,
            "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}},
            "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}],
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                "spec": {"type": "object", "required": ["size"], "properties": {
                    "size": {"type": "integer"}, "mode": {"type": "string", "default": "fast"}}},
                "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}}})
    };
    json!({"metadata": {"name": "things.g.io"}, "spec": {"group": "g.io", "scope": "Cluster",
        "names": {"plural": "things", "kind": "Thing", "shortNames": ["th"]},
        "versions": [version("v1", true), version("v1alpha1", false)]}})
}

fn with_things() -> Client {
    let mut client = Client::new();
    let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let (code, made) = client.call("POST", crds, &thing_definition());
    assert_eq!(code, 201, "{made}");
    assert_eq!(made["status"]["conditions"][1]["type"], "Established");
    client
}

#[test]
fn a_custom_kind_is_served_pruned_defaulted_and_validated() {
    let mut client = with_things();
    let things = "/apis/g.io/v1/things";
    let wish =
        json!({"metadata": {"name": "t"}, "spec": {"size": 1, "foo": 2}, "status": {"x": 1}});
    let (code, made) = client.call("POST", things, &wish);
    assert_eq!(
        (code, &made["spec"]),
        (201, &json!({"size": 1, "mode": "fast"}))
    );
    assert_eq!(made["status"], Value::Null);
    let (code, strict) = client.call("POST", &format!("{things}?fieldValidation=Strict"), &wish);
    assert_eq!((code, strict["reason"].as_str()), (400, Some("BadRequest")));
    let bad = json!({"metadata": {"name": "u"}, "spec": {"size": "x"}});
    let (code, refused) = client.call("POST", things, &bad);
    assert_eq!(
        (code, refused["details"]["causes"][0]["field"].as_str()),
        (422, Some("spec.size"))
    );
    let (code, other) = client.get("/apis/g.io/v1alpha1/things/t");
    assert_eq!(
        (code, other["apiVersion"].as_str()),
        (200, Some("g.io/v1alpha1"))
    );
    let (code, _) = client.call(
        "PATCH",
        &format!("{things}/t/status"),
        &json!({"status": {"size": 1}, "spec": {"size": 9}}),
    );
    assert_eq!(code, 200);
    let (_, scale) = client.get(&format!("{things}/t/scale"));
    assert_eq!(
        (&scale["spec"]["replicas"], &scale["status"]["replicas"]),
        (&json!(1), &json!(1))
    );
    client.call(
        "PATCH",
        &format!("{things}/t/scale"),
        &json!({"spec": {"replicas": 4}}),
    );
    let (_, now) = client.get(&format!("{things}/t"));
    assert_eq!(
        (&now["spec"]["size"], &now["metadata"]["generation"]),
        (&json!(4), &json!(2))
    );
}

#[test]
fn with_its_definition_a_custom_kind_goes() {
    let mut client = with_things();
    client.call(
        "POST",
        "/apis/g.io/v1/things",
        &json!({"metadata": {"name": "t"}, "spec": {"size": 1}}),
    );
    let (code, _) = client.call(
        "DELETE",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.g.io",
        &Value::Null,
    );
    assert_eq!(code, 200);
    assert_eq!(client.get("/apis/g.io/v1/things").0, 404);
}

#[test]
fn a_namespace_takes_what_is_in_it_along() {
    let mut client = Client::new();
    client.call(
        "POST",
        "/api/v1/namespaces",
        &json!({"metadata": {"name": "x"}}),
    );
    let inside = "/api/v1/namespaces/x/configmaps";
    client.call("POST", inside, &map("m"));
    let mut held = map("held");
    held["metadata"]["finalizers"] = json!(["a/b"]);
    client.call("POST", inside, &held);
    let (_, marked) = client.call("DELETE", "/api/v1/namespaces/x", &Value::Null);
    assert_eq!(marked["status"]["phase"], "Terminating");
    client.later(1);
    assert_eq!(client.get(&format!("{inside}/m")).0, 404);
    assert_eq!(client.get("/api/v1/namespaces/x").0, 200);
    client.call(
        "PATCH",
        &format!("{inside}/held"),
        &json!({"metadata": {"finalizers": null}}),
    );
    client.later(1);
    assert_eq!(client.get("/api/v1/namespaces/x").0, 404);
}

fn pod(name: &str) -> Value {
    json!({"metadata": {"name": name, "labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}})
}

#[test]
fn an_eviction_that_would_break_a_budget_is_refused_with_its_cause() {
    let mut client = Client::new();
    let pods = "/api/v1/namespaces/default/pods";
    client.call("POST", pods, &pod("p"));
    let (code, bound) = client.call(
        "POST",
        &format!("{pods}/p/binding"),
        &json!({"target": {"kind": "Node", "name": "n"}}),
    );
    assert_eq!(code, 201, "{bound}");
    let ready = json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}});
    client.call("PATCH", &format!("{pods}/p/status"), &ready);
    let budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
    let budget = json!({"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}});
    client.call("POST", budgets, &budget);
    let set = |client: &mut Client, allowed: i64| {
        let status = json!({"status": {"observedGeneration": 1, "disruptionsAllowed": allowed, "desiredHealthy": 1, "currentHealthy": 1}});
        client.call("PATCH", &format!("{budgets}/b/status"), &status);
    };
    set(&mut client, 0);
    let wish = json!({"metadata": {"name": "p"}});
    let (code, refused) = client.call("POST", &format!("{pods}/p/eviction"), &wish);
    assert_eq!(
        (code, refused["reason"].as_str()),
        (429, Some("TooManyRequests"))
    );
    assert_eq!(
        refused["details"]["causes"][0]["reason"],
        "DisruptionBudget"
    );
    set(&mut client, 1);
    assert_eq!(
        client.call("POST", &format!("{pods}/p/eviction"), &wish).0,
        201
    );
    let (_, left) = client.get(&format!("{budgets}/b"));
    assert_eq!(left["status"]["disruptionsAllowed"], 0);
    assert!(client.get(&format!("{pods}/p")).1["metadata"]["deletionTimestamp"].is_string());
}

#[test]
fn a_pod_is_bound_once_and_its_spec_stays() {
    let mut client = Client::new();
    let pods = "/api/v1/namespaces/default/pods";
    client.call("POST", pods, &pod("p"));
    let wish = json!({"target": {"name": "n"}});
    assert_eq!(
        client.call("POST", &format!("{pods}/p/binding"), &wish).0,
        201
    );
    assert_eq!(
        client.call("POST", &format!("{pods}/p/binding"), &wish).0,
        409
    );
    let moved = json!({"spec": {"nodeName": "m"}});
    assert_eq!(client.call("PATCH", &format!("{pods}/p"), &moved).0, 422);
}

#[test]
fn an_event_is_seen_through_both_groups() {
    let mut client = Client::new();
    let event = json!({"metadata": {"generateName": "e-"}, "regarding": {"kind": "Pod", "name": "p"}, "note": "hello",
        "reason": "R", "type": "Normal", "reportingController": "c"});
    let (code, made) = client.call(
        "POST",
        "/apis/events.k8s.io/v1/namespaces/default/events",
        &event,
    );
    assert_eq!(
        (code, made["note"].as_str()),
        (201, Some("hello")),
        "{made}"
    );
    let (_, list) = client.get("/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3Dp,involvedObject.kind%3DPod");
    assert_eq!(list["items"][0]["message"], "hello");
    assert_eq!(list["items"][0]["apiVersion"], "v1");
}

#[test]
fn an_account_may_what_its_role_says_with_the_token_it_asked_for() {
    let mut client = Client::new();
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    let role = json!({"metadata": {"name": "r"}, "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}]});
    client.call("POST", &format!("{rbac}/namespaces/default/roles"), &role);
    let binding = json!({"metadata": {"name": "b"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
        "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": "default"}]});
    client.call(
        "POST",
        &format!("{rbac}/namespaces/default/rolebindings"),
        &binding,
    );
    client.call("POST", MAPS, &map("m"));
    let (code, given) = client.call(
        "POST",
        "/api/v1/namespaces/default/serviceaccounts/default/token",
        &json!({"spec": {}}),
    );
    assert_eq!(code, 201, "{given}");
    let token = given["status"]["token"].as_str().unwrap().to_owned();
    let mut ask = |method: &str, uri: &str, now: Timestamp| {
        let request = Request::builder()
            .method(method)
            .uri(uri)
            .header("authorization", format!("Bearer {token}"));
        match client
            .cluster
            .handle(&request.body(Bytes::new()).unwrap(), now)
            .0
        {
            Reply::Answer { response, .. } => response.status().as_u16(),
            other => panic!("{other:?}"),
        }
    };
    let now = client.now;
    assert_eq!(ask("GET", &format!("{MAPS}/m"), now), 200);
    assert_eq!(ask("GET", MAPS, now), 403);
    assert_eq!(ask("DELETE", &format!("{MAPS}/m"), now), 403);
    assert_eq!(ask("GET", "/apis", now), 200);
    assert_eq!(
        ask(
            "GET",
            &format!("{MAPS}/m"),
            now + jiff::SignedDuration::from_hours(2)
        ),
        401
    );
}

#[test]
fn a_bootstrap_token_speaks_until_it_expires() {
    let mut client = Client::new();
    let secret = json!({"metadata": {"name": "bootstrap-token-abcdef"}, "type": "bootstrap.kubernetes.io/token", "stringData": {
        "token-id": "abcdef", "token-secret": "0123456789abcdef", "usage-bootstrap-authentication": "true",
        "expiration": "2026-01-01T01:00:00Z"}});
    client.call("POST", "/api/v1/namespaces/kube-system/secrets", &secret);
    let review = json!({"spec": {"token": "abcdef.0123456789abcdef"}});
    let reviews = "/apis/authentication.k8s.io/v1/tokenreviews";
    let (_, said) = client.call("POST", reviews, &review);
    assert_eq!(
        said["status"]["user"]["username"],
        "system:bootstrap:abcdef"
    );
    client.later(3600);
    let (_, said) = client.call("POST", reviews, &review);
    assert_eq!(said["status"]["authenticated"], false);
}

#[test]
fn faults_make_reads_stale_writes_conflict_and_watches_break() {
    let mut client = Client::new();
    client.call("POST", MAPS, &map("m"));
    client.call("PATCH", &format!("{MAPS}/m"), &json!({"data": {"a": "2"}}));
    client.cluster.settings.stale_changes = 1;
    let script = client.cluster.script_mut();
    script.add(Fault::on("GET", "**", Act::Fate("stale-read".into())).nth(1));
    script.add(Fault::on("PATCH", "**", Act::Fate("conflict".into())).nth(1));
    script.add(Fault::on("GET", "**", Act::Fate("watch-breaks".into())).containing("watch=1"));
    assert_eq!(client.get(&format!("{MAPS}/m")).1["data"]["a"], "1");
    assert_eq!(client.get(&format!("{MAPS}/m")).1["data"]["a"], "2");
    let patch = json!({"data": {"a": "3"}});
    assert_eq!(client.call("PATCH", &format!("{MAPS}/m"), &patch).0, 409);
    assert_eq!(client.call("PATCH", &format!("{MAPS}/m"), &patch).0, 200);
    let mut watch = client.watch(&format!("{MAPS}?watch=1"));
    assert_eq!(client.pull(&mut watch).len(), 1);
    client.call("PATCH", &format!("{MAPS}/m"), &json!({"data": {"a": "4"}}));
    assert_eq!(
        client.cluster.pull(&mut watch, client.now).end,
        Some(watch::End::Broken)
    );
}

#[test]
fn the_same_requests_make_the_same_world() {
    let run = || {
        let mut client = with_things();
        client.call("POST", MAPS, &json!({"metadata": {"generateName": "x-"}}));
        client.call("POST", "/api/v1/namespaces/default/pods", &pod("p"));
        client.later(10);
        client.cluster.state().to_string()
    };
    assert_eq!(run(), run());
}
