//! What is in the world of a fresh emulator, and how does one get in?

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::wire::{Object, seconds};
use super::world::{Credential, Flavor, Host, Keypair, Project, Quota, Role, Shelf, User, World};
use crate::dice::Dice;

/// What a client needs to come in.
#[derive(Debug, Clone)]
pub struct Access {
    pub region: String,
    pub project: String,
    pub project_id: String,
    pub user: String,
    pub user_id: String,
    pub password: String,
    pub credential_id: String,
    pub credential_secret: String,
}

/// Name, vCPUs, MiB, GiB, extra specs.
type Size = (
    &'static str,
    u32,
    u64,
    u64,
    &'static [(&'static str, &'static str)],
);

const SIZES: &[Size] = &[
    ("m1.small", 1, 2048, 20, &[("price:hourly", "0.012")]),
    ("m1.medium", 2, 4096, 40, &[("price:hourly", "0.024")]),
    ("m1.large", 4, 8192, 80, &[("price:hourly", "0.048")]),
    ("m1.xlarge", 8, 16384, 160, &[("price:hourly", "0.096")]),
    ("m1.2xlarge", 16, 32768, 320, &[("price:hourly", "0.192")]),
    (
        "c1.medium",
        4,
        4096,
        40,
        &[("hw:cpu_policy", "dedicated"), ("price:hourly", "0.040")],
    ),
    (
        "c1.large",
        8,
        8192,
        80,
        &[("hw:cpu_policy", "dedicated"), ("price:hourly", "0.080")],
    ),
    (
        "c1.xlarge",
        16,
        16384,
        160,
        &[("hw:cpu_policy", "dedicated"), ("price:hourly", "0.160")],
    ),
    ("r1.medium", 2, 16384, 40, &[("price:hourly", "0.052")]),
    ("r1.large", 4, 32768, 80, &[("price:hourly", "0.104")]),
    ("r1.xlarge", 8, 65536, 160, &[]),
    (
        "g1.large",
        8,
        32768,
        100,
        &[
            ("pci_passthrough:alias", "a100:1"),
            ("price:hourly", "1.900"),
        ],
    ),
    ("v1.medium", 2, 4096, 0, &[("price:hourly", "0.020")]),
    ("x1.impossible", 1024, 4_194_304, 100, &[]),
];

const ZONES: &[&str] = &["az-a", "az-b", "az-c"];

/// Flavors of several families, three zones of four hosts, images, networks, groups, a project with a user and an
/// application credential, and a neighbour whose things must not be touched.
pub fn default_world(seed: u64, now: Timestamp) -> (World, Access) {
    let mut dice = Dice::new(seed);
    let quota = Quota {
        instances: 500,
        cores: 5000,
        ram: 20_000_000,
        server_groups: 50,
        server_group_members: 50,
        ports: 1000,
    };
    let projects = ["joiner", "neighbour"].map(|name| Project {
        id: dice.hex(),
        name: name.to_owned(),
        quota,
    });
    let mut world = World {
        region: "RegionOne".into(),
        roles: ["member", "reader"]
            .map(|name| Role {
                id: dice.hex(),
                name: name.to_owned(),
            })
            .into(),
        flavors: flavors(&mut dice),
        hosts: hosts(),
        images: images(&mut dice, &projects[1].id, now),
        ..World::default()
    };
    let access = let_in(&mut world, &mut dice, &projects);
    for owner in &projects {
        let groups = [("default", "Default security group"), ("k8s-node", "nodes")];
        for words in groups {
            let group = security_group(&mut dice, &owner.id, words, now);
            put(&mut world.security_groups, group);
        }
    }
    lay_networks(
        &mut world,
        &mut dice,
        (&projects[0].id, &projects[1].id),
        now,
    );
    world.projects = projects.into();
    (world, access)
}

/// A user in each project, and a key and an application credential for the first.
fn let_in(world: &mut World, dice: &mut Dice, projects: &[Project; 2]) -> Access {
    let [user, neighbour] = projects.each_ref().map(|project| User {
        id: dice.hex(),
        name: project.name.clone(),
        password: dice.word(24),
        projects: vec![project.id.clone()],
    });
    let project = &projects[0];
    let credential = Credential {
        id: dice.hex(),
        name: "joiner".into(),
        secret: dice.word(64),
        user: user.id.clone(),
        project: project.id.clone(),
    };
    let access = Access {
        region: world.region.clone(),
        project: project.name.clone(),
        project_id: project.id.clone(),
        user: user.name.clone(),
        user_id: user.id.clone(),
        password: user.password.clone(),
        credential_id: credential.id.clone(),
        credential_secret: credential.secret.clone(),
    };
    world.keypairs = vec![Keypair {
        name: "joiner".into(),
        user: user.id.clone(),
        public_key:
            "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEmulatedKeyEmulatedKeyEmulatedKeyEmulated joiner"
                .into(),
        fingerprint: "aa:bb:cc:dd:ee:ff:00:11:22:33:44:55:66:77:88:99".into(),
    }];
    world.credentials = vec![credential];
    world.users = vec![user, neighbour];
    access
}

fn flavors(dice: &mut Dice) -> Vec<Flavor> {
    let sizes = SIZES.iter().map(|(name, vcpus, ram, disk, specs)| Flavor {
        id: dice.uuid(),
        name: (*name).to_owned(),
        vcpus: *vcpus,
        ram: *ram,
        disk: *disk,
        ephemeral: 0,
        swap: 0,
        extra_specs: specs
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect::<BTreeMap<_, _>>(),
    });
    sizes.collect()
}

fn hosts() -> Vec<Host> {
    let hosts = ZONES.iter().flat_map(|zone| {
        (1..=4).map(move |at| Host {
            name: format!("{zone}-host-{at}"),
            zone: (*zone).to_owned(),
            vcpus: 512,
            ram: 2 * 1024 * 1024,
            broken: None,
        })
    });
    hosts.collect()
}

fn images(dice: &mut Dice, neighbour: &str, now: Timestamp) -> Vec<Object> {
    let rows = [
        (
            "k8s-ubuntu-24.04",
            "ubuntu",
            "24.04",
            "active",
            "public",
            &["k8s", "v1.35"][..],
        ),
        (
            "k8s-ubuntu-22.04",
            "ubuntu",
            "22.04",
            "active",
            "public",
            &["k8s", "v1.34"][..],
        ),
        (
            "k8s-flatcar",
            "flatcar",
            "3815.2.0",
            "active",
            "public",
            &["k8s"][..],
        ),
        (
            "retired",
            "ubuntu",
            "20.04",
            "deactivated",
            "public",
            &[][..],
        ),
        (
            "somebody-elses",
            "debian",
            "12",
            "active",
            "private",
            &[][..],
        ),
    ];
    let made = rows.iter().map(|(name, distro, version, status, visibility, tags)| {
        let id = dice.uuid();
        object(json!({
            "id": id, "name": name, "status": status, "visibility": visibility, "owner": neighbour,
            "os_distro": distro, "os_version": version, "os_type": "linux", "architecture": "x86_64",
            "hw_disk_bus": "virtio", "hw_vif_model": "virtio", "disk_format": "raw", "container_format": "bare",
            "min_disk": 10, "min_ram": 1024, "size": 1_048_576, "virtual_size": 1_048_576, "protected": false,
            "os_hidden": false, "tags": tags, "checksum": dice.hex(), "os_hash_algo": "sha512",
            "os_hash_value": dice.hex().repeat(4), "created_at": seconds(now), "updated_at": seconds(now),
            "self": format!("/v2/images/{id}"), "file": format!("/v2/images/{id}/file"),
            "schema": "/v2/schemas/image", "stores": "fs",
        }))
    });
    made.collect()
}

fn security_group(dice: &mut Dice, project: &str, words: (&str, &str), now: Timestamp) -> Object {
    let id = dice.uuid();
    let (name, text) = words;
    let mut rule = |ethertype: &str, direction: &str, from: Option<&str>| {
        json!({
            "id": dice.uuid(), "tenant_id": project, "project_id": project, "security_group_id": id,
            "ethertype": ethertype, "direction": direction, "protocol": null, "port_range_min": null,
            "port_range_max": null, "remote_ip_prefix": null, "remote_address_group_id": null,
            "normalized_cidr": null, "remote_group_id": from, "standard_attr_id": 1, "description": null, "tags": [],
            "created_at": seconds(now), "updated_at": seconds(now), "revision_number": 0,
        })
    };
    let rules = [
        rule("IPv4", "egress", None),
        rule("IPv6", "egress", None),
        rule("IPv4", "ingress", Some(&id)),
        rule("IPv6", "ingress", Some(&id)),
    ];
    object(json!({
        "id": id, "name": name, "stateful": true, "tenant_id": project, "project_id": project, "description": text,
        "shared": false, "security_group_rules": rules, "tags": [], "created_at": seconds(now),
        "updated_at": seconds(now), "revision_number": 1,
    }))
}

fn lay_networks(world: &mut World, dice: &mut Dice, owners: (&str, &str), now: Timestamp) {
    let (project, neighbour) = owners;
    let rows = [
        ("k8s", project, "10.20", &["k8s", "nodes"][..], false),
        ("storage", project, "10.30", &["storage"][..], false),
        ("k8s", neighbour, "10.40", &["k8s"][..], false),
        ("public", neighbour, "203.0", &[][..], true),
    ];
    for (name, owner, prefix, tags, external) in rows {
        let (network, subnet) = (dice.uuid(), dice.uuid());
        put(
            &mut world.subnets,
            object(json!({
                "id": subnet, "name": name, "tenant_id": owner, "project_id": owner, "network_id": network,
                "ip_version": 4, "subnetpool_id": null, "enable_dhcp": true, "ipv6_ra_mode": null,
                "ipv6_address_mode": null, "gateway_ip": format!("{prefix}.0.1"), "cidr": format!("{prefix}.0.0/16"),
                "allocation_pools": [{"start": format!("{prefix}.0.2"), "end": format!("{prefix}.255.254")}],
                "host_routes": [], "dns_nameservers": ["192.0.2.53"], "description": "", "service_types": [],
                "tags": tags, "created_at": seconds(now), "updated_at": seconds(now), "revision_number": 1,
            })),
        );
        let mut shown = json!({
            "id": network, "name": name, "tenant_id": owner, "project_id": owner, "admin_state_up": true, "mtu": 1450,
            "status": "ACTIVE", "subnets": [subnet], "shared": false, "availability_zone_hints": [],
            "availability_zones": [], "ipv4_address_scope": null, "ipv6_address_scope": null,
            "router:external": external, "description": "", "port_security_enabled": true, "tags": tags,
            "created_at": seconds(now), "updated_at": seconds(now), "revision_number": 2,
        });
        if external {
            shown["is_default"] = json!(false);
        }
        put(&mut world.networks, object(shown));
    }
}

fn object(value: Value) -> Object {
    match value {
        Value::Object(object) => object,
        _ => Object::new(),
    }
}

fn put(shelf: &mut Shelf, object: Object) {
    let id = super::wire::str_of(&object, "id").to_owned();
    shelf.insert(id, object);
}
