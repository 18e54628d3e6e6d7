//! Which ports does a cluster listen on, and was a failed start the fault of one of them?

use std::net::{Ipv4Addr, TcpListener};

use anyhow::{Context, Result};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ports {
    pub(super) api: u16,
    pub(super) etcd: u16,
    pub(super) etcd_peer: u16,
    pub(super) controllers: u16,
    pub(super) scheduler: u16,
}

impl Ports {
    /// Free ports of this host; `api` may be fixed by the caller. Somebody else may still take one before we do:
    /// [`clash`] tells, and the start is repeated with others.
    pub(super) fn choose(api: Option<u16>) -> Result<Self> {
        let fixed = api
            .map(|port| listen(port).with_context(|| busy(port)))
            .transpose()?;
        // All held at once: asked one after the other, the kernel may give the same port twice.
        let held: Vec<TcpListener> = (0..5)
            .map(|_| listen(0))
            .collect::<Result<_, _>>()
            .context("no free port on 127.0.0.1")?;
        let free: Vec<u16> = held
            .iter()
            .map(|held| Ok(held.local_addr()?.port()))
            .collect::<Result<_>>()?;
        let [chosen, etcd, etcd_peer, controllers, scheduler] = free[..] else {
            anyhow::bail!("five ports were asked for")
        };
        drop(fixed);
        Ok(Self {
            api: api.unwrap_or(chosen),
            etcd,
            etcd_peer,
            controllers,
            scheduler,
        })
    }
}

/// Does this log say that the port was taken by somebody else?
pub(super) fn clash(log: &str) -> bool {
    log.contains("address already in use")
}

fn listen(port: u16) -> std::io::Result<TcpListener> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port))
}

fn busy(port: u16) -> String {
    format!(
        "port {port} on 127.0.0.1 is busy: stop who listens there, choose another --api-port, or leave it out to get a free one"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_port_is_named() {
        let held = listen(0).unwrap();
        let port = held.local_addr().unwrap().port();
        let error = Ports::choose(Some(port)).unwrap_err();
        assert!(
            error
                .to_string()
                .contains(&format!("port {port} on 127.0.0.1 is busy")),
            "{error}"
        );
    }

    #[test]
    fn no_port_is_chosen_twice() {
        let ports = Ports::choose(None).unwrap();
        let all = std::collections::BTreeSet::from([
            ports.api,
            ports.etcd,
            ports.etcd_peer,
            ports.controllers,
            ports.scheduler,
        ]);
        assert_eq!(all.len(), 5, "{ports:?}");
    }
}
