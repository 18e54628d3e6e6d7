//! What was recorded, and in which world?

use std::collections::BTreeMap;

use emulators::openstack::Object;
use emulators::openstack::world::{
    Flavor, Host, Keypair, Phase, Project, Quota, Role, Server, ServerGroup, Shelf, Trouble, User,
    World,
};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
pub(crate) struct Exchange {
    pub n: u64,
    pub service: String,
    #[serde(default)]
    pub note: String,
    pub request: Asked,
    pub reply: Replied,
}

#[derive(Deserialize)]
pub(crate) struct Asked {
    pub method: String,
    pub path: String,
    pub headers: BTreeMap<String, String>,
    #[serde(default)]
    pub body: Value,
}

#[derive(Deserialize)]
pub(crate) struct Replied {
    pub status: u16,
    pub headers: BTreeMap<String, String>,
    pub body: Value,
}

const ADMIN: &str = "496387b6ea84467c94026cb05c7bdbb6";

pub(crate) fn all() -> Vec<Exchange> {
    let lines = include_str!("openstack.jsonl").lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The world the recorder found, read out of its own lists.
pub(crate) fn world(exchanges: &[Exchange]) -> World {
    let body = |n: usize| &exchanges[n - 1].reply.body;
    let token = |n: usize| &body(n)["token"];
    let user = |n: usize| User {
        id: text(&token(n)["user"]["id"]),
        name: text(&token(n)["user"]["name"]),
        password: "holdout".into(),
        projects: vec![text(&token(n)["project"]["id"])],
    };
    let demo = text(&token(4)["project"]["id"]);
    let user_id = text(&token(4)["user"]["id"]);
    let tiny = text(&token(238)["project"]["id"]);
    let flavors: Vec<Flavor> = list(&body(43)["flavors"]).map(flavor).collect();
    let left_over = server(&body(83)["servers"][0], &flavors);
    World {
        region: "RegionOne".into(),
        default_zone: Some("az-a".into()),
        roles: list(&token(4)["roles"])
            .map(|role| Role {
                id: text(&role["id"]),
                name: text(&role["name"]),
            })
            .collect(),
        projects: vec![
            Project {
                id: demo.clone(),
                name: "demo".into(),
                quota: quota([200, 2000, 4_000_000, 50, 50, 500]),
            },
            Project {
                id: tiny,
                name: "tiny".into(),
                quota: quota([2, 4, 8192, 2, 1, 500]),
            },
            Project {
                id: ADMIN.into(),
                name: "admin".into(),
                quota: quota([-1; 6]),
            },
        ],
        users: vec![user(4), user(238)],
        flavors,
        hosts: list(&body(60)["availabilityZoneInfo"]).map(host).collect(),
        images: list(&body(95)["images"]).map(object).collect(),
        keypairs: vec![keypair(&body(69)["keypairs"][0]["keypair"], &user_id)],
        groups: groups(&body(71)["server_groups"]),
        servers: BTreeMap::from([(left_over.id.clone(), left_over)]),
        networks: shelf(&body(112)["networks"]),
        subnets: shelf(&body(113)["subnets"]),
        ports: shelf(&body(115)["ports"]),
        security_groups: shelf(&body(114)["security_groups"]),
        routers: shelf(&body(126)["routers"]),
        ..World::default()
    }
}

fn keypair(shown: &Value, user: &str) -> Keypair {
    Keypair {
        name: text(&shown["name"]),
        user: user.to_owned(),
        public_key: text(&shown["public_key"]),
        fingerprint: text(&shown["fingerprint"]),
    }
}

fn groups(shown: &Value) -> Vec<ServerGroup> {
    let groups = list(shown).map(|group| ServerGroup {
        id: text(&group["id"]),
        name: text(&group["name"]),
        policy: text(&group["policy"]),
        max_per_host: None,
        project: text(&group["project_id"]),
        user: text(&group["user_id"]),
    });
    groups.collect()
}

fn quota(numbers: [i64; 6]) -> Quota {
    let [
        instances,
        cores,
        ram,
        server_groups,
        server_group_members,
        ports,
    ] = numbers;
    Quota {
        instances,
        cores,
        ram,
        server_groups,
        server_group_members,
        ports,
    }
}

fn flavor(shown: &Value) -> Flavor {
    Flavor {
        id: text(&shown["id"]),
        name: text(&shown["name"]),
        vcpus: u32::try_from(shown["vcpus"].as_u64().unwrap()).unwrap(),
        ram: shown["ram"].as_u64().unwrap(),
        disk: shown["disk"].as_u64().unwrap(),
        ephemeral: shown["OS-FLV-EXT-DATA:ephemeral"].as_u64().unwrap(),
        swap: shown["swap"].as_u64().unwrap_or(0),
        extra_specs: serde_json::from_value(shown["extra_specs"].clone()).unwrap(),
    }
}

/// One host a zone; that of az-broken aborts every build, as the recorded fake driver did.
fn host(zone: &Value) -> Host {
    let zone = text(&zone["zoneName"]);
    Host {
        name: format!("{zone}-1"),
        broken: (zone == "az-broken").then(|| "FakeBuildAbortDriver".to_owned()),
        zone,
        vcpus: 1000,
        ram: 8_000_000,
    }
}

/// The server in error that an earlier run had left behind.
fn server(shown: &Value, flavors: &[Flavor]) -> Server {
    let created = text(&shown["created"]).parse().unwrap();
    let tiny = flavors
        .iter()
        .find(|flavor| flavor.name == "m1.tiny")
        .unwrap();
    Server {
        name: text(&shown["name"]),
        hostname: text(&shown["name"]),
        project: text(&shown["tenant_id"]),
        user: text(&shown["user_id"]),
        image: Some(text(&shown["image"]["id"])),
        launched: None,
        phase: Phase::Error,
        trouble: Some(Trouble {
            code: 500,
            created,
            message: text(&shown["fault"]["message"]),
            hidden_in_lists: false,
        }),
        ..Server::running(&text(&shown["id"]), tiny.clone(), created)
    }
}

fn shelf(values: &Value) -> Shelf {
    list(values)
        .map(|value| (text(&value["id"]), object(value)))
        .collect()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().unwrap().iter()
}

fn object(value: &Value) -> Object {
    value.as_object().unwrap().clone()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}
