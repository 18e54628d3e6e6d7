//! Which cloud stands behind these tests: an emulated one in this process, on real sockets, whose machines join for real?

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};
use e2e::Scratch;
use emulators::boot::kubelet::{Booter, hand};
use emulators::faults::Fault;
use emulators::fronts::axum::{Served, serve};
use emulators::fronts::engine::{Clock, Engine};
use emulators::machine::Machine;
use emulators::openstack::world::World;
use emulators::openstack::{Access, OpenStack, Settings, default_world};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::calls::Kind;

const SEED: u64 = 7;

pub(crate) struct Cloud {
    pub(crate) engine: Arc<Engine<OpenStack>>,
    pub(crate) access: Access,
    served: Served,
    quit: oneshot::Sender<()>,
    booting: JoinHandle<()>,
    _files: Scratch,
}

impl Cloud {
    /// With or without machines that join.
    pub(crate) async fn start(joins: bool) -> Result<Self> {
        let tools = xtask::tools::control_plane()?;
        let files = Scratch::new()?;
        let (world, access) = default_world(SEED, Clock::Wall.now());
        let settings = Settings {
            schedule_ms: 50,
            build_ms: 300,
            delete_ms: 200,
            deleted_ms: 100,
            ..Settings::default()
        };
        let (hand, effects) = hand();
        let engine = Engine::new(OpenStack::new(world, settings, SEED), Clock::Wall, hand);
        let served = serve("127.0.0.1:0".parse()?, Arc::clone(&engine)).await?;
        let booter = Booter {
            kubelet: joins.then(|| tools.hollow_kubelet.clone()),
            dir: files.path().join("k"),
        };
        let (quit, stop) = oneshot::channel::<()>();
        let booting = tokio::spawn(booter.run(Arc::clone(&engine), effects, async {
            let _ = stop.await;
        }));
        Ok(Self {
            engine,
            access,
            served,
            quit,
            booting,
            _files: files,
        })
    }

    /// What a client needs to come in, as `OS_*`.
    pub(crate) fn env(&self) -> BTreeMap<String, String> {
        let Access {
            region,
            project,
            user,
            password,
            ..
        } = &self.access;
        self.entrance(region, project, (user, password))
    }

    /// The same for the other project of this cloud.
    pub(crate) fn neighbours_env(&self) -> BTreeMap<String, String> {
        let (project, user) =
            self.world(|world| (world.projects[1].clone(), world.users[1].clone()));
        self.entrance(
            &self.access.region,
            &project.name,
            (&user.name, &user.password),
        )
    }

    fn entrance(&self, region: &str, project: &str, who: (&str, &str)) -> BTreeMap<String, String> {
        let url = format!("{}/identity/v3", self.served.url());
        let pairs = [
            ("OS_AUTH_URL", url.as_str()),
            ("OS_REGION_NAME", region),
            ("OS_PROJECT_NAME", project),
            ("OS_USERNAME", who.0),
            ("OS_PASSWORD", who.1),
            ("OS_USER_DOMAIN_NAME", "Default"),
            ("OS_PROJECT_DOMAIN_NAME", "Default"),
        ];
        let owned = pairs.map(|(key, value)| (key.to_owned(), value.to_owned()));
        owned.into()
    }

    pub(crate) fn world<T>(&self, look: impl FnOnce(&mut World) -> T) -> T {
        self.engine.with(|cloud| look(&mut cloud.world))
    }

    pub(crate) fn script(&self, faults: impl IntoIterator<Item = Fault>) {
        self.engine.with(|cloud| {
            cloud.script_mut().clear();
            for fault in faults {
                cloud.script_mut().add(fault);
            }
        });
    }

    pub(crate) fn holds(&self) -> bool {
        self.engine.with(|cloud| !cloud.held().is_empty())
    }

    /// After a caller's death: a call that had no effect by then has none, and later ones go through.
    pub(crate) async fn let_go(&self) -> Result<()> {
        let deadline = Instant::now() + Duration::from_secs(10);
        while self.holds() {
            ensure!(
                Instant::now() < deadline,
                "the dead caller's call is still held"
            );
            sleep(Duration::from_millis(10)).await;
        }
        self.script([]);
        Ok(())
    }

    /// The number of the latest entry in the journal.
    pub(crate) fn now(&self) -> u64 {
        self.engine
            .with(|cloud| cloud.journal().calls().last().map_or(0, |call| call.seq))
    }

    pub(crate) fn calls_since(&self, seq: u64) -> Vec<Kind> {
        self.engine.with(|cloud| {
            let calls = cloud.journal().calls().filter(|call| call.seq > seq);
            calls.map(Kind::of).collect()
        })
    }

    /// Names of servers that were created more than once, over the whole life of this cloud.
    pub(crate) fn made_twice(&self) -> Vec<String> {
        let mut made: BTreeMap<String, usize> = BTreeMap::new();
        self.engine.with(|cloud| {
            let servers = cloud.journal().changes().filter(|one| one.kind == "server");
            for change in servers.filter(|change| change.change == "created") {
                *made.entry(change.name.clone()).or_default() += 1;
            }
        });
        let twice = made.into_iter().filter(|(_, count)| *count > 1);
        twice
            .map(|(name, count)| format!("{name} ({count} servers)"))
            .collect()
    }

    pub(crate) async fn stop(self) {
        drop(self.quit);
        let _ = self.booting.await;
        drop(self.served);
    }
}
