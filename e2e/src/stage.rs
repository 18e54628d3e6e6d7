//! Where does a story of operator, cluster and cloud play, and what is shown when it goes wrong?

use std::time::Duration;

use anyhow::{Result, ensure};
use kube::Client;

use crate::ground::Ground;
use crate::operator;
use crate::{Emulator, Running, need_control_plane};

const END: Duration = Duration::from_secs(30);

/// A cluster of its own with our CRDs, an emulated OpenStack whose servers boot, and the operator between them.
pub struct Stage {
    pub ground: Ground,
    pub client: Client,
    pub emulator: Emulator,
    pub operator: Running,
}

impl Stage {
    /// None if there is no control plane here: the test is skipped then. `flags` are the operator's.
    pub async fn set(test: &str, flags: &[&str]) -> Result<Option<Self>> {
        let Some(control_plane) = need_control_plane(test) else {
            return Ok(None);
        };
        let ground = Ground::private(&control_plane).await?;
        let client = ground.cluster.client().await?;
        let tools = xtask::tools::control_plane()?;
        let emulator = Emulator::start(Some(&tools.hollow_kubelet)).await?;
        let operator = operator::start(&ground, &emulator, flags)?;
        Ok(Some(Self {
            ground,
            client,
            emulator,
            operator,
        }))
    }

    /// Ends the operator in peace and starts another one with these flags.
    pub async fn restart(&mut self, flags: &[&str]) -> Result<()> {
        self.operator.terminate(END).await?;
        self.operator = operator::start(&self.ground, &self.emulator, flags)?;
        Ok(())
    }

    /// Ends everything; a story that went wrong is shown with what the operator said.
    pub async fn end(mut self, story: Result<()>) -> Result<()> {
        if story.is_err() {
            println!("the operator said:\n{}", self.operator.log());
        }
        story?;
        let status = self.operator.terminate(END).await?;
        ensure!(status.success(), "the operator ended with {status}");
        self.emulator.stop().await
    }
}
