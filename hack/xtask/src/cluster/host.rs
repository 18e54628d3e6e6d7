//! Which address of this host, other than loopback, can the API server dial?
//!
//! Endpoints may not be loopback addresses, so a webhook behind a `service:` reference is reached through the host's own.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};

use anyhow::{Result, bail};

/// This host's own IPv4 address.
pub fn address() -> Result<Ipv4Addr> {
    if let Some(found) = routed().or_else(assigned) {
        return Ok(found);
    }
    bail!(
        "this host has no IPv4 address besides loopback, and Kubernetes refuses loopback in EndpointSlices; \
         give it one, e.g. as root: ip addr add 10.255.255.1/32 dev lo"
    )
}

/// The source address the kernel would use towards the outside. Connecting a UDP socket sends nothing.
fn routed() -> Option<Ipv4Addr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    socket.connect((Ipv4Addr::new(198, 51, 100, 1), 9)).ok()?;
    match socket.local_addr().ok()? {
        SocketAddr::V4(own) => usable(*own.ip()),
        SocketAddr::V6(_) => None,
    }
}

/// Without a default route: any address an interface has.
fn assigned() -> Option<Ipv4Addr> {
    own_addresses(&std::fs::read_to_string("/proc/net/fib_trie").ok()?)
        .into_iter()
        .find_map(usable)
}

/// Leaves of the kernel's routing trie that are marked as this host's own.
fn own_addresses(trie: &str) -> Vec<Ipv4Addr> {
    let lines: Vec<&str> = trie.lines().map(str::trim).collect();
    lines
        .windows(2)
        .filter(|pair| pair[1] == "/32 host LOCAL")
        .filter_map(|pair| pair[0].strip_prefix("|-- ")?.parse().ok())
        .collect()
}

fn usable(address: Ipv4Addr) -> Option<Ipv4Addr> {
    (!address.is_loopback() && !address.is_unspecified() && !address.is_link_local())
        .then_some(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hosts_own_addresses_are_read_from_the_routing_trie() {
        let trie = "Main:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 192.0.2.0\n        /24 link UNICAST\n     |-- 192.0.2.2\n        \
                    /32 host LOCAL\n     |-- 127.0.0.1\n        /32 host LOCAL\n     |-- 192.0.2.255\n        /32 link BROADCAST\n";
        let found: Vec<String> = own_addresses(trie)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(found, ["192.0.2.2", "127.0.0.1"]);
        assert_eq!(
            own_addresses(trie).into_iter().find_map(usable),
            Some(Ipv4Addr::new(192, 0, 2, 2))
        );
    }
}
