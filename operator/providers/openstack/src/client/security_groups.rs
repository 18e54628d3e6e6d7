//! Which security groups does the project have?

use cloud::CloudError;

use super::Client;
use super::networks::Tagged;

impl Client {
    pub(crate) async fn security_groups(&self) -> Result<Vec<Tagged>, CloudError> {
        let fields = &["id", "name", "tags"];
        self.tagged(
            "neutron.security_groups.list",
            "security-groups",
            "security_groups",
            fields,
        )
        .await
    }
}
