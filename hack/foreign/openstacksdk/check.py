"""Does the emulated OpenStack satisfy a client that knows nothing of it: openstacksdk?

Run with OS_CLIENT_CONFIG_FILE pointing at the emulator's clouds.yaml. Prints one line per step; any surprise is an
exception and a non-zero exit.
"""

import sys
import time

import openstack
from openstack import exceptions


def step(text):
    print("openstacksdk:", text, flush=True)


def main():
    for cloud in ("emulated", "emulated-credential"):
        check(openstack.connect(cloud=cloud), cloud)
    step("all good")


def check(conn, cloud):
    step(f"{cloud}: signed in to project {conn.current_project_id}")

    flavors = list(conn.compute.flavors(get_extra_specs=True))
    assert len(flavors) >= 10, flavors
    assert any(flavor.extra_specs for flavor in flavors), "no extra specs"
    paged = list(conn.compute.flavors(limit=3))
    assert [f.id for f in paged] == [f.id for f in flavors], "pages lose flavors"
    step(f"{cloud}: {len(flavors)} flavors, also in pages of 3")

    images = list(conn.image.images(status="active"))
    assert {image.status for image in images} == {"active"}, images
    assert len(list(conn.image.images(limit=1))) == len(list(conn.image.images())), "pages lose images"
    assert conn.image.find_image("k8s-ubuntu-24.04").os_distro == "ubuntu"
    assert conn.image.find_image("no-such-image", ignore_missing=True) is None
    step(f"{cloud}: {len(images)} active images, also in pages of 1")

    network = conn.network.find_network("k8s")
    assert network is not None and network.subnet_ids, network
    assert "k8s" in [n.name for n in conn.network.networks(tags="nodes")]
    assert conn.network.find_security_group("k8s-node") is not None
    assert len(list(conn.network.subnets(network_id=network.id))) == 1
    zones = [zone.name for zone in conn.compute.availability_zones()]
    assert zones == ["az-a", "az-b", "az-c"], zones
    step(f"{cloud}: networks, security groups and zones {zones}")

    flavor = conn.compute.find_flavor("m1.medium")
    image = conn.image.find_image("k8s-flatcar")
    conn.compute.default_microversion = "2.79"
    servers = []
    for at in range(5):
        server = conn.compute.create_server(
            name=f"sdk-{at}",
            flavor_id=flavor.id,
            image_id=image.id,
            networks=[{"uuid": network.id}],
            availability_zone=zones[at % 3],
            metadata={"made-by": "check"},
            tags=["sdk=yes", f"sdk-at={at}"],
            user_data="I2Nsb3VkLWNvbmZpZwo=",
        )
        servers.append(server)
    servers = [conn.compute.wait_for_server(server, interval=0.2, wait=60) for server in servers]
    assert all(server.status == "ACTIVE" and server.addresses["k8s"] for server in servers)
    step(f"{cloud}: created {len(servers)} servers and waited for them")

    found = list(conn.compute.servers(tags="sdk=yes", limit=2))
    assert {server.id for server in found} == {server.id for server in servers}, "pages lose servers"
    assert [s.id for s in conn.compute.servers(tags="sdk=yes,sdk-at=3")] == [servers[3].id]
    assert conn.compute.find_server("sdk-1").id == servers[1].id
    assert conn.compute.find_server("sdk", ignore_missing=True) is None
    step(f"{cloud}: found them by tag in pages of 2, and by name")

    server = servers[0]
    server.add_tag(conn.compute, "late")
    assert "late" in conn.compute.get_server(server.id).tags
    server.remove_tag(conn.compute, "late")
    conn.compute.set_server_metadata(server, more="yes")
    assert conn.compute.get_server(server.id).metadata["more"] == "yes"
    ports = list(conn.network.ports(device_id=server.id))
    assert len(ports) == 1 and ports[0].status == "ACTIVE", ports
    console = conn.compute.get_server_console_output(server, length=20)
    assert "Booting" in console["output"], console
    limits = conn.compute.get_limits().absolute
    assert limits.instances_used >= 5, limits
    step(f"{cloud}: tagged one, wrote metadata, saw its port, console and the limits")

    port = conn.network.create_port(network_id=network.id, name="sdk-port")
    conn.network.set_tags(port, ["mine"])
    assert [p.id for p in conn.network.ports(tags="mine")] == [port.id]
    conn.network.delete_port(port)

    refused(exceptions.BadRequestException, conn.compute.create_server, name="x", flavor_id="nope", image_id=image.id, networks="none")
    refused(exceptions.NotFoundException, conn.compute.get_server, "00000000-0000-0000-0000-00000000dead")
    step(f"{cloud}: refusals arrive as the exceptions they are")

    for server in servers:
        conn.compute.delete_server(server)
    for server in servers:
        conn.compute.wait_for_delete(server, interval=0.2, wait=60)
    assert list(conn.compute.servers(tags="sdk=yes")) == []
    deadline = time.monotonic() + 30
    while list(conn.network.ports(network_id=network.id)):
        assert time.monotonic() < deadline, "ports were left behind"
        time.sleep(0.2)
    step(f"{cloud}: deleted them; no server and no port is left")


def refused(kind, call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except kind:
        return
    raise AssertionError(f"{call.__name__} was not refused")


if __name__ == "__main__":
    sys.exit(main())
