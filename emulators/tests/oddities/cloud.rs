//! How does a test talk to the bare machine?

use std::time::Duration;

use bytes::Bytes;
use emulators::machine::{Machine, Reply};
use emulators::openstack::{Access, OpenStack, Settings, default_world};
use http::{Request, Response};
use jiff::Timestamp;
use serde_json::{Value, json};

pub(crate) struct Cloud {
    pub machine: OpenStack,
    pub access: Access,
    pub now: Timestamp,
    pub token: String,
    pub version: &'static str,
}

impl Cloud {
    pub(crate) fn new(settings: Settings) -> Self {
        let now = "2026-11-18T00:00:00Z".parse().unwrap();
        let (world, access) = default_world(1, now);
        let machine = OpenStack::new(world, settings, 1);
        let mut cloud = Self {
            machine,
            access,
            now,
            token: String::new(),
            version: "2.79",
        };
        cloud.token = cloud.sign_in(json!({"project": {"id": cloud.access.project_id}}));
        cloud
    }

    pub(crate) fn sign_in(&mut self, scope: Value) -> String {
        let user = json!({"id": self.access.user_id, "password": self.access.password});
        let auth = json!({"identity": {"methods": ["password"], "password": {"user": user}}, "scope": scope});
        let answer = self.send("POST", "/identity/v3/auth/tokens", &json!({"auth": auth}));
        answer.headers()["x-subject-token"]
            .to_str()
            .unwrap()
            .to_owned()
    }

    pub(crate) fn send(&mut self, method: &str, path: &str, body: &Value) -> Response<Bytes> {
        let text = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("x-auth-token", &self.token)
            .header("content-type", "application/json")
            .header("x-openstack-nova-api-version", self.version)
            .body(Bytes::from(text));
        let (reply, _) = self.machine.handle(&request.unwrap(), self.now);
        let Reply::Answer { response, .. } = reply else {
            panic!("{reply:?}")
        };
        response
    }

    pub(crate) fn call(&mut self, method: &str, path: &str, body: Value) -> (u16, Value) {
        let answer = self.send(method, path, &body);
        (
            answer.status().as_u16(),
            serde_json::from_slice(answer.body()).unwrap_or_default(),
        )
    }

    pub(crate) fn get(&mut self, path: &str) -> (u16, Value) {
        self.call("GET", &format!("/compute/v2.1{path}"), Value::Null)
    }

    pub(crate) fn names(&mut self, query: &str) -> Vec<String> {
        let (status, body) = self.get(&format!("/servers/detail{query}"));
        assert_eq!(status, 200, "{body}");
        let servers = body["servers"].as_array().unwrap();
        servers
            .iter()
            .map(|server| server["name"].as_str().unwrap_or("?").to_owned())
            .collect()
    }

    pub(crate) fn order(&self, name: &str) -> Value {
        let flavor = self
            .machine
            .world
            .flavors
            .iter()
            .find(|flavor| flavor.name == "m1.small")
            .unwrap();
        let network = self
            .machine
            .world
            .networks
            .values()
            .find(|network| network["project_id"] == self.access.project_id.as_str())
            .unwrap();
        json!({"server": {
            "name": name, "flavorRef": flavor.id, "imageRef": self.machine.world.images[0]["id"],
            "networks": [{"uuid": network["id"]}], "tags": [format!("claim={name}")],
        }})
    }

    pub(crate) fn create(&mut self, order: Value) -> String {
        let (status, body) = self.call("POST", "/compute/v2.1/servers", order);
        assert_eq!(status, 202, "{body}");
        body["server"]["id"].as_str().unwrap().to_owned()
    }

    pub(crate) fn wait(&mut self) {
        self.now += Duration::from_mins(1);
    }
}
